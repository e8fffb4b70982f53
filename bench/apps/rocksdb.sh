#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# RocksDB's db_bench as loads of bench.sh; see bench/apps/__init__.py.
ROCKSDB_BUFFER=1048576	# bytes in memory until they are written to a file of the tree

db() {
	db_bench --db=$fs/app/db --threads="$WORKERS" --compression_type=none --seed=1 "$@"
}

app_prepare() { mkdir $fs/app || die mkdir; }

# fillsync takes the thousandth part of --num. What it prints to stderr counts its writes.
app_run() {
	set -- --histogram=1 --duration=$seconds --ops_between_duration_checks=1 --value_size=100 \
		--write_buffer_size=$ROCKSDB_BUFFER
	case $LOAD in
	rocksdb) db --benchmarks=fillsync --num=1000000000 "$@" ;;
	rocksdb-random) db --benchmarks=fillrandom --num=1000000 "$@" ;;
	esac 2>/tmp/out || die "db_bench failed: $(tail -c 2000 /tmp/out)"
}

# All checksums of all files, and all keys
app_check() {
	db_bench --db=$fs/app/db --use_existing_db=1 --benchmarks=verifychecksum >/tmp/out 2>&1 ||
		die "db_bench found damage: $(tail -c 2000 /tmp/out)"
	! grep -qi 'corrupt\|fail\|error' /tmp/out || die "db_bench found damage: $(tail -c 2000 /tmp/out)"
	echo verified
	ldb --db=$fs/app/db dump --count_only 2>&1 | grep '^Keys in range' || die "ldb finds no keys"
}
