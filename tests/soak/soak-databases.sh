# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# PostgreSQL and MariaDB as applications of a soak (soak-apps.sh). A client reads statements and
# says "CYCLE CLIENT N" after each commit; the server's table must have each of these rows.

# await TEXT LOG PID: until the server says so
await() {
	until grep -q "$1" "$2"; do
		kill -0 "$3" 2>/dev/null || die "the server ended: $(tail -n 5 "$2")"
		sleep 0.2
	done
}

# inserts CLIENT MD5: statements without an end
inserts() {
	n=0
	while n=$((n + 1)); do
		echo "INSERT INTO soak VALUES ($CYCLE, $1, $n, $2);"
		echo "SELECT '$CYCLE $1 $n';"
	done
}

# missing NOTED FOUND: what was noted must be among what was found.
missing() {
	grep -E '^[0-9]+ [0-9]+ [0-9]+$' "$1" | sort >/tmp/noted.sorted
	sort "$2" >/tmp/found.sorted
	awk 'NR == FNR { found[$0]; next } !($0 in found)' /tmp/found.sorted /tmp/noted.sorted >/tmp/lost
	[ ! -s /tmp/lost ] || die "$3: $(wc -l </tmp/lost) rows are lost, the first: $(head -n 1 /tmp/lost)"
	echo "checked rows $(wc -l </tmp/noted.sorted)"
}

as_nobody() {
	program=$(command -v "$1") || die "no $1"
	shift
	su -s /bin/sh nobody -c "exec $program $*"
}

postgresql_files() {
	[ -d /usr/share/postgresql ] || {
		mkdir -p /usr/share /usr/lib && cp -r /share/postgresql/share/postgresql /usr/share/ || die "no files of PostgreSQL"
	}
}

postgresql_start() {
	postgresql_files
	# Of a server that was killed in this boot
	rm -f /mnt/postgresql/database/postmaster.pid /tmp/.s.PGSQL.*
	: >/tmp/postgres.log
	as_nobody postgres -D /mnt/postgresql/database >/tmp/postgres.log 2>&1 &
	server=$!
	await "ready to accept" /tmp/postgres.log $server
}

postgresql_stop() {
	kill -INT "$(head -n 1 /mnt/postgresql/database/postmaster.pid)"
	wait $server || die "PostgreSQL failed: $(tail -n 5 /tmp/postgres.log)"
}

pg() {
	psql -h /tmp -U postgres -qAtX -F ' ' -v ON_ERROR_STOP=1 postgres "$@"
}

postgresql_prepare() {
	mkdir /mnt/postgresql && tar -x -C /mnt/postgresql -f /share/postgresql/database.tar || die "the database"
	postgresql_start
	echo 'CREATE TABLE soak (cycle int, client int, n int, pad text, PRIMARY KEY (cycle, client, n));' | pg ||
		die "no table"
	postgresql_stop
	fsctl syncfs /mnt || die syncfs
}

postgresql_run() {
	postgresql_start
	for client in 1 2; do
		inserts $client "md5($client::text)" | pg >>$ACK/postgresql 2>/tmp/psql.$client &
	done
	wait $server
	die "PostgreSQL ended: $(tail -n 5 /tmp/postgres.log)"
}

postgresql_check() {
	[ -s $ACK/postgresql ] || return 0
	postgresql_start
	echo 'SELECT cycle, client, n FROM soak WHERE pad = md5(client::text);' | pg >/tmp/found ||
		die "PostgreSQL cannot read its table"
	postgresql_stop
	missing $ACK/postgresql /tmp/found PostgreSQL
}

mariadb_start() {
	: >/tmp/mariadb.log
	mariadbd --no-defaults --user=root --datadir=/mnt/mariadb/data --lc-messages-dir=/share/mariadb/share \
		--character-sets-dir=/share/mariadb/share/charsets --skip-grant-tables --skip-networking \
		--socket=/tmp/mariadb.socket --pid-file=/tmp/mariadb.pid --tmpdir=/tmp \
		--innodb-buffer-pool-size=16M --innodb-log-file-size=16M >/tmp/mariadb.log 2>&1 &
	server=$!
	await "ready for connections" /tmp/mariadb.log $server
}

mariadb_stop() {
	kill -TERM $server
	wait $server || die "MariaDB failed: $(tail -n 5 /tmp/mariadb.log)"
}

my() {
	mariadb --no-defaults -S /tmp/mariadb.socket -u root -N -B -n "$@" sbtest
}

mariadb_prepare() {
	mkdir /mnt/mariadb && tar -x -C /mnt/mariadb -f /share/mariadb/data.tar || die "the database"
	mariadb_start
	echo 'CREATE TABLE soak (cycle int, client int, n int, pad text, PRIMARY KEY (cycle, client, n)) ENGINE=InnoDB;' |
		my || die "no table"
	mariadb_stop
	fsctl syncfs /mnt || die syncfs
}

mariadb_run() {
	mariadb_start
	for client in 1 2; do
		inserts $client "MD5($client)" | my >>$ACK/mariadb 2>/tmp/my.$client &
	done
	wait $server
	die "MariaDB ended: $(tail -n 5 /tmp/mariadb.log)"
}

mariadb_check() {
	[ -s $ACK/mariadb ] || return 0
	mariadb_start
	echo "SELECT CONCAT_WS(' ', cycle, client, n) FROM soak WHERE pad = MD5(client);" | my >/tmp/found ||
		die "MariaDB cannot read its table"
	echo 'CHECK TABLE soak;' | my | grep -q 'status.OK$' || die "MariaDB: CHECK TABLE: $(tail -n 3 /tmp/mariadb.log)"
	mariadb_stop
	missing $ACK/mariadb /tmp/found MariaDB
}
