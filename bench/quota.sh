#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What quota costs CLIENTS writers that fsync appends to files of their own, by TYPES in turn, in
# one boot, on devices whose requests all take LATENCY_MS.  For a guest, as root.  Prints
# for each run
#   run CASE TYPE ROUND  FSYNCS SECONDS MEAN_US P50_US P99_US
# and, before that, what ties the lanes, each line after "info".
# CASE: off (no quota), projects (one for each writer), project (one for all), overwrite (one for
# all; the files are overwritten, not appended to).
set -u
. "${0%/*}/device.sh"
ROUNDS=3
LATENCY_MS=20
SIZE_MB=65536
KIND=fua		# the device's cache: none, fua, nofua
MODE=ordered
CASES="off projects project overwrite"
TYPES="ext4 zext4:lanes=8"	# TYPE or TYPE:MOUNT_OPTIONS
FSYNCS=40		# of a client
CLIENTS=8
settings "$@"
fs=/tmp/fs

# own CASE: a directory for each client, with the project of the case
own() {
	for client in $(seq 0 $((CLIENTS - 1))); do
		mkdir $fs/w$client || die mkdir
		case $1 in
		projects) chattr -p $((100 + client)) +P $fs/w$client || die chattr ;;
		project | overwrite) chattr -p 100 +P $fs/w$client || die chattr ;;
		esac
	done
}

# run CASE TYPE ROUND
run() {
	MKFS="-O quota,project" EXTENDED=quotatype=prjquota load=fsync-append
	[ "$1" != off ] || MKFS='' EXTENDED=''
	[ "$1" != overwrite ] || load="fsync-overwrite -f 20"
	fresh "$KIND" "$MODE" "$2"
	own "$1"
	args="-d $fs -w $CLIENTS -t $load -n"
	loadgen $args 3 -P warm >/dev/null || die "$* failed"
	loadgen $args "$FSYNCS" -p || die "$* failed"
	got=$(loadgen $args "$FSYNCS" -r -u | fsynced) || die "$* failed"
	cat /proc/fs/zjournal/*/info 2>/dev/null | sed -n 's/^\(components\|united\|depends\):/info &/p'
	umount $fs || die umount
	echo "run $* $got"
}

modprobe quota_v2 || die "no quota"
run_all
device_off
