#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# SQLite as loads of bench.sh; see bench/apps/__init__.py.

app_prepare() {
	mkdir $fs/app || die mkdir
	loadgen -d $fs/app -w "$WORKERS" -t "$LOAD" -p || die "$LOAD: no databases"
}

app_run() { loadgen -d $fs/app -w "$WORKERS" -t "$LOAD" -T "$MS" -r -H; }

app_check() {
	for db in $fs/app/w*/rows.db; do
		sqlite3 "$db" "SELECT 'integrity ' || integrity_check FROM pragma_integrity_check;
			SELECT 'rows ' || count(*) FROM line" || die "sqlite3 cannot read $db"
	done
}
