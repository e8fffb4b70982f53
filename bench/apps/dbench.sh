#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# dbench as a load of bench.sh; see bench/apps/__init__.py.

app_prepare() { mkdir $fs/app || die mkdir; }

app_run() {
	dbench --sync-dir -t $seconds -D $fs/app -c "$AT/client.txt" "$WORKERS" | tr '\r' '\n'
}

# It has deleted its files; e2fsck looks at what is left.
app_check() { ls $fs/app >/dev/null || die "no directory app"; }
