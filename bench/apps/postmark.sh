#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# PostMark as a load of bench.sh; see bench/apps/__init__.py.
POSTMARK_FILES=1000		# of each worker
POSTMARK_TRANSACTIONS=4000

app_prepare() {
	for w in $(seq "$WORKERS"); do
		mkdir -p $fs/app/$w || die mkdir
		cat >/tmp/postmark.$w <<-END
		set location $fs/app/$w
		set number $POSTMARK_FILES
		set transactions $POSTMARK_TRANSACTIONS
		set subdirectories 10
		set seed $w
		set buffering false
		set report verbose
		run
		quit
		END
	done
}

app_run() {
	begin=$(now)
	pids=
	for w in $(seq "$WORKERS"); do
		postmark /tmp/postmark.$w >/tmp/postmark.said.$w 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || die "postmark failed: $(tail -n 5 /tmp/postmark.said.*)"
	done
	echo "took $(now) $begin" | awk '{ print $1, $2 - $3 }'
	for w in $(seq "$WORKERS"); do
		cat /tmp/postmark.said.$w
	done
}

app_check() { echo "left $(find $fs/app -type f | wc -l)"; }
