#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# fio as a load of bench.sh; see bench/apps/__init__.py.
FIO_SIZE=8m	# of each of a worker's four files
FIO_EVERY=16	# writes to an fsync

# section NAME: one section of the load's job file
section() {
	DIR=$fs/app WORKERS=$WORKERS MS=$MS SIZE=$FIO_SIZE EVERY=$FIO_EVERY \
		fio --output-format=json+ --section="$1" "$AT/${LOAD#fio-}.fio"
}

app_prepare() {
	mkdir $fs/app || die mkdir
	[ "$LOAD" = fio-append ] || section layout >/tmp/out 2>&1 || die "fio: $(tail -n 5 /tmp/out)"
}

app_run() { section load; }

app_check() {
	section check || die "fio's check failed"
	echo "bytes $(cat $fs/app/f.* | wc -c)"
}
