#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# SysBench's fileio as a load of bench.sh; see bench/apps/__init__.py.
SYSBENCH_FILES=80
SYSBENCH_MB=80		# of all files together
SYSBENCH_BLOCK=4096
SYSBENCH_EVERY=100	# writes after which each file gets an fsync

# fileio WHAT [options]; blocks have a checksum
fileio() {
	(cd $fs/app && sysbench fileio --file-num=$SYSBENCH_FILES --file-total-size=${SYSBENCH_MB}M \
		--file-block-size=$SYSBENCH_BLOCK --validate=on "$@")
}

app_prepare() {
	mkdir $fs/app || die mkdir
	fileio prepare >/tmp/out 2>&1 || die "sysbench: $(tail -n 5 /tmp/out)"
}

app_run() {
	fileio --file-test-mode=rndwr --file-fsync-freq=$SYSBENCH_EVERY --file-fsync-end=off \
		--threads="$WORKERS" --time=$seconds --histogram=on run
}

# Each block is read once.
app_check() {
	bytes=$(cat $fs/app/test_file.* | wc -c)
	fileio --file-test-mode=seqrd --threads=1 --time=0 --events=$((bytes / SYSBENCH_BLOCK)) run \
		>/tmp/out 2>&1 || die "sysbench found damage: $(tail -n 5 /tmp/out)"
	echo "bytes $bytes"
	awk '/total number of events/ { print "valid", $NF * '$SYSBENCH_BLOCK' }' /tmp/out
}
