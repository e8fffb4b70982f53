#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# PostgreSQL as a load of bench.sh; see bench/apps/__init__.py.

# It does not run as root; the paths are for su, which may set PATH.
as_nobody() {
	program=$(command -v "$1") || die "no $1"
	shift
	su -s /bin/sh nobody -c "exec $program $*"
}

postgresql_start() {
	: >/tmp/postgres.log	# the last run's says that it is ready
	as_nobody postgres -D $fs/app/database >/tmp/postgres.log 2>&1 &
	server=$!
	await "ready to accept" /tmp/postgres.log
}

app_prepare() {
	# In a guest the programs are in /usr/bin, from where they look here.
	if [ ! -d "$AT/lib" ] && [ ! -d /usr/share/postgresql ]; then
		mkdir -p /usr/share /usr/lib
		cp -r "$AT/share/postgresql" /usr/share/ || die "no files of PostgreSQL"
	fi
	grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534:nobody:/tmp:/bin/sh >>/etc/passwd
	chmod 1777 /tmp
	mkdir $fs/app || die mkdir
	tar -x -C $fs/app -f "$AT/database.tar" || die "cannot unpack the database"
	postgresql_start
}

app_run() {
	rm -f /tmp/pgbench_log.*
	as_nobody pgbench -h /tmp -U postgres -n -c "$WORKERS" -j "$WORKERS" -T $seconds -l \
		--log-prefix=/tmp/pgbench_log -f "$AT/insert.sql" postgres 2>&1 || return
	awk '{ print "us", $3 }' /tmp/pgbench_log.*
}

app_stop() {
	# $server is the shell that waits for it
	kill -INT "$(head -n 1 $fs/app/database/postmaster.pid)"
	wait "$server" || die "PostgreSQL failed: $(tail -n 5 /tmp/postgres.log)"
	server=
}

app_check() {
	echo 'SELECT count(*) FROM line;' >/tmp/count.sql
	as_nobody postgres --single -D $fs/app/database postgres </tmp/count.sql 2>&1 ||
		die "PostgreSQL cannot read its table"
}
