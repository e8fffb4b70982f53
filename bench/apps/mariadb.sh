#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# MariaDB as a load of bench.sh; see bench/apps/__init__.py.
MARIADB_ROWS=1000	# in the table before
socket=/tmp/mariadb.socket

mariadb_start() {
	set -- --no-defaults --user=root --datadir=$fs/app/data --lc-messages-dir="$AT/share" \
		--character-sets-dir="$AT/share/charsets" --skip-grant-tables --skip-networking \
		--socket=$socket --pid-file=/tmp/mariadb.pid --tmpdir=/tmp \
		--innodb-buffer-pool-size=64M --innodb-log-file-size=16M "$@"
	case $LOAD in
	*-binlog) set -- "$@" --log-bin=binlog --sync-binlog=1 --server-id=1 ;;
	esac
	: >/tmp/mariadb.log	# the last run's says that it is ready
	mariadbd "$@" >/tmp/mariadb.log 2>&1 &
	server=$!
	await "ready for connections" /tmp/mariadb.log
}

query() {
	mariadb --no-defaults -S $socket -u root -N -B -e "$1" || die "MariaDB refuses: $1"
}

oltp_insert() {
	LUA_PATH="$AT/?.lua" sysbench "$AT/oltp_insert.lua" --mysql-socket=$socket --mysql-user=root \
		--mysql-db=sbtest --tables=1 --table-size=$MARIADB_ROWS --threads="$WORKERS" "$@"
}

app_prepare() {
	mkdir $fs/app || die mkdir
	tar -x -C $fs/app -f "$AT/data.tar" || die "cannot unpack the database"
	mariadb_start
	oltp_insert prepare >/tmp/out 2>&1 || die "sysbench: $(tail -n 5 /tmp/out)"
}

app_run() {
	echo "rows before: $(query 'SELECT COUNT(*) FROM sbtest.sbtest1')"
	oltp_insert --time=$seconds --histogram=on run
}

app_stop() {
	kill -TERM "$server"
	wait "$server" || die "MariaDB failed: $(tail -n 5 /tmp/mariadb.log)"
	server=
}

app_check() {
	mariadb_start
	echo "rows: $(query 'SELECT COUNT(*) FROM sbtest.sbtest1')"
	query 'CHECK TABLE sbtest.sbtest1'
	app_stop
}
