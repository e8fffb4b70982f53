#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What features of the file system cost in ties between lanes: the same work on file systems
# with different LAYOUTS, on each of TYPES in turn, in one boot, on null_blk devices with a
# volatile cache and FUA whose requests all take LATENCY_MS.  For a guest, as root.  Prints a
# line for every run:
#   LAYOUT LOAD TYPE ROUND  FSYNCS SECONDS MEAN_US P50_US P99_US  COMPONENTS MEMBERS CAUSE COUNT
# COMPONENTS, MEMBERS: sealed meanwhile, and the transactions in them, CAUSE: what united most
# of them (0 and none on ext4).  LOAD: append (each task appends to its own file and fsyncs),
# mail (delete, create, fsync, append, fsync in a directory of its own), beside (one task of mail
# while another one makes and deletes files without an fsync).
set -u
. "${0%/*}/device.sh"
ROUNDS=1
LATENCY_MS=20
LAYOUTS="orphan-list orphan-file quota quota-project descriptors-4 small"
LOADS="append mail beside"
TYPES="ext4 zext4:lanes=1 zext4"	# TYPE or TYPE:MOUNT_OPTIONS
WORKERS=8
LARGE_MB=1048576	# the file systems that are not small; sparse
TIMES=40		# fsyncs of a worker in append, twice in mail
settings "$@"

# layout NAME: sets MKFS and SIZE_MB
layout() {
	SIZE_MB=$LARGE_MB MKFS=
	case $1 in
	orphan-list) MKFS="-O ^orphan_file" ;;
	orphan-file) MKFS="-O orphan_file" ;;
	quota) MKFS="-O orphan_file,quota" ;;
	quota-project) MKFS="-O orphan_file,quota,project -E quotatype=usrquota:grpquota:prjquota" ;;
	descriptors-4) MKFS="-O orphan_file" SIZE_MB=32768 ;;	# blocks of group descriptors
	small) MKFS="-O orphan_file" SIZE_MB=2048 ;;
	*) die "no layout named $1" ;;
	esac
}

# tied: components and members so far
tied() {
	sed -n 's/^components: \([0-9]*\) closed, \([0-9]*\) members.*/\1 \2/p' /proc/fs/zjournal/*/info \
		2>/dev/null | grep . || echo 0 0
}

# causes: "cause count" of unions so far, one a line
causes() {
	sed -n 's/^united: [0-9]* in all, *//p' /proc/fs/zjournal/*/info 2>/dev/null |
		tr ',' '\n' | awk '{ print $3, $1 }'
}

# most BEFORE AFTER: the cause that has grown most
most() {
	awk 'FILENAME == ARGV[1] { before[$1] = $2; next }
		$2 - before[$1] > n { n = $2 - before[$1]; cause = $1 }
		END { print cause ? cause : "none", n + 0 }' "$1" "$2"
}

# run LAYOUT LOAD TYPE ROUND
run() {
	case $2 in
	beside) args="-w 1 -n $TIMES -t mail" ;;
	append) args="-w $WORKERS -n $TIMES -t fsync-append" ;;
	mail) args="-w $WORKERS -n $TIMES -t mail" ;;
	*) die "no load named $2" ;;
	esac
	layout "$1"
	fresh fua ordered "$3"
	# The first writes of a directory read bitmaps and inode tables.
	loadgen -d /tmp/fs $args -n 3 -P warm >/dev/null || die "$* failed"
	loadgen -d /tmp/fs $args -p || die "$* failed"
	sync
	[ "$2" != beside ] || args="$args -N storm -D /tmp/fs/far"
	before=$(tied)
	causes >/tmp/causes
	got=$(loadgen -d /tmp/fs $args -r -u | fsynced) || die "$* failed"
	after=$(tied)
	causes >/tmp/causes.after
	umount /tmp/fs || die umount
	echo "$*" "$got" $before $after "$(most /tmp/causes /tmp/causes.after)" |
		awk '{ print $1, $2, $3, $4, $5, $6, $7, $8, $9, $12 - $10, $13 - $11, $14, $15 }'
}

for layout in $LAYOUTS; do
	for load in $LOADS; do
		for round in $(seq "$ROUNDS"); do
			for type in $TYPES; do
				run "$layout" "$load" "$type" "$round"
			done
		done
	done
done
device_off
