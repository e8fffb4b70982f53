#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What an fsync costs, on file systems (TYPES) in turn, in one boot, on null_blk
# devices whose requests all take LATENCY_MS.  For a guest, as root.  Prints a
# line for every run, and one for each bucket of its fsyncs' latencies:
#   CASE KIND MODE TYPE ROUND  FSYNCS SECONDS MEAN_US P50_US P99_US  WRITES FLUSHES BYTES
#   hist CASE KIND MODE TYPE ROUND  LOWER_END_NS COUNT
# CASE: lone (appends of 4 KiB), lone-100 (appends of 100 bytes), lone-over4 and lone-over16
# (overwrites of 4 and 16 KiB), lone-new (a new file with 4 KiB), eight (private files), split, shared (create + fsync by eight),
# quiet, bulk, storm, rewrite, reread, limited (50 appends beside a neighbour of gen/noise.c;
# limited: one that appends in a cgroup with MEMORY bytes), the same with -tied on a device
# whose groups share one descriptor block.  KIND: none, fua, nofua: the device's
# volatile cache.  LOG_MS=2: the journal is on a second device, whose requests take 2 ms.
# WRITES, FLUSHES: what the block layer counted meanwhile; BYTES: written to the end of the unmount.
set -u
. "${0%/*}/device.sh"
ROUNDS=5
LATENCY_MS=20
KINDS="none fua nofua"
MODES="ordered journal"
CASES="lone lone-100 lone-over4 lone-over16 lone-new eight split shared quiet bulk storm quiet-tied bulk-tied storm-tied"	# on a device with FUA; else the first two
TYPES="ext4 zext4"	# TYPE or TYPE:MOUNT_OPTIONS; fastcommit: ext4 with it; xfs and btrfs in the first mode only
FSYNCS=50
MEMORY=6M
group=/cg/limited
settings "$@"
large=$SIZE_MB

# run CASE KIND MODE TYPE ROUND
run() {
	args="-w 1 -n $FSYNCS -t fsync-append" where=/tmp/fs/near
	case $1 in
	# Orlov puts directories of the top level far apart.
	lone-100) args="-w 1 -n $FSYNCS -t writesync -e 1 -a 100" ;;
	lone-over*) args="-w 1 -n $FSYNCS -t fsync-overwrite -f 20 -a $((${1#lone-over} * 1024))" ;;
	lone-new) args="-w 1 -n $FSYNCS -t fsync-create" ;;
	eight) args="-w 8 -n $FSYNCS -t fsync-append" where=/tmp/fs ;;
	split) args="-w 8 -n $FSYNCS -t fsync-create" where=/tmp/fs ;;
	shared) args="-w 8 -n $FSYNCS -t fsync-create -s" ;;
	esac
	SIZE_MB=$large
	case $1 in
	*-tied) SIZE_MB=4096 ;;
	esac
	fresh "$2" "$3" "$4"
	# The first writes of a directory read bitmaps and inode tables.
	loadgen -d $where $args -n 3 -P warm >/dev/null || die "$* failed"
	loadgen -d $where $args -p || die "$* failed"
	case $1 in
	bulk* | storm* | rewrite* | reread*) args="$args -N ${1%-tied} -D /tmp/fs/far" ;;
	limited*) args="$args -N append -D /tmp/fs/far -G $group" ;;
	esac
	before=$(counters) begin=$(sectors)
	loadgen -d $where $args -r -u -H >/tmp/said || die "$* failed"
	got=$(fsynced </tmp/said) || die "$* has no fsyncs"
	after=$(counters)
	umount /tmp/fs || die umount
	end=$(sectors)
	echo "$*" "$got" "$before" "$after" $begin $end |
		awk '{ print $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $13 - $11, $14 - $12, 512 * ($16 - $15) }'
	sed -n "s/^hist fsyncs/hist $1 $2 $3 $4 $5/p" /tmp/said
}

# has_mode MODE TYPE
has_mode() {
	case $2 in
	xfs* | btrfs*) [ "$1" = "${MODES%% *}" ] ;;
	esac
}

# A cgroup with little memory for the pages that its processes write.
limited_group() {
	grep -q ' /cg ' /proc/mounts || { mkdir -p /cg && mount -t cgroup2 none /cg; } || die "no cgroup2"
	echo +memory >/cg/cgroup.subtree_control && mkdir -p $group && echo "$MEMORY" >$group/memory.max ||
		die "no limit of memory"
}

case $CASES in
*limited*) limited_group ;;
esac
for kind in $KINDS; do
	for mode in $MODES; do
		for case in $CASES; do
			case $kind-$case in
			fua-* | *-lone* | *-eight) ;;
			*) continue ;;
			esac
			for round in $(seq $ROUNDS); do
				for type in $TYPES; do
					has_mode $mode $type || continue
					run $case $kind $mode $type $round
				done
			done
		done
	done
done
device_off
