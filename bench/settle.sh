#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What calls cost that need the blocks of a file on the device while its data is in the log, and
# what a neighbour waits for meanwhile (settle.c), by TYPES in turn, in one boot, on a device whose
# requests all take LATENCY_MS.  For a guest, as root.  Prints for each run
#   run CALL TYPE ROUND  ROUNDS MEAN_MS LONGEST_MS CREATES LONGEST_MS
set -u
. "${0%/*}/device.sh"
ROUNDS=1
LATENCY_MS=2
SIZE_MB=65536
KIND=fua		# the device's cache: none, fua, nofua
MODE=ordered
CASES="none fsync read write fiemap punch zero collapse insert move"
TYPES="ext4 zext4:lanes=2"	# TYPE or TYPE:MOUNT_OPTIONS
SECONDS_EACH=5
DIRS=3000		# directories made before and not synced
settings "$@"

# run CALL TYPE ROUND
run() {
	fresh "$KIND" "$MODE" "$2"
	got=$(settle "$1" /tmp/fs "$SECONDS_EACH" "$DIRS") || die "$* failed"
	umount /tmp/fs || die umount
	echo "run $* ${got#* }"
}

run_all
device_off
