#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What an fsync costs, on ext4 and on zext4 (TYPES) in turn, in one boot, on null_blk
# devices whose requests all take LATENCY_MS.  For a guest, as root.  Prints a
# line for every run:
#   CASE KIND MODE TYPE ROUND  FSYNCS SECONDS MEAN_US P50_US P99_US  WRITES FLUSHES
# CASE: lone, eight (private files), split, shared (create + fsync by eight),
# quiet, bulk, storm (50 appends beside a neighbour).  KIND: none, fua, nofua: the
# device's volatile cache.  WRITES, FLUSHES: what the block layer counted.
set -u
ROUNDS=5
LATENCY_MS=20
KINDS="none fua nofua"
MODES="ordered journal"
CASES="lone eight split shared quiet bulk storm"	# on a device with FUA; else the first two
TYPES="ext4 zext4"	# TYPE or TYPE:MOUNT_OPTIONS
SIZE_MB=1048576		# sparse: neighbours in different groups
FSYNCS=50
for arg in "$@"; do
	case $arg in
	[A-Z]*=*) eval "${arg%%=*}=\${arg#*=}" ;;
	*) echo "fsync.sh: $arg is not NAME=value" >&2; exit 2 ;;
	esac
done
conf=/sys/kernel/config/nullb/fs

die() { echo "fsync.sh: $*" >&2; exit 1; }
put() { echo "$2" >$conf/$1 || die "null_blk does not accept $1=$2"; }

device_off() {
	[ -d $conf ] || return 0
	echo 0 >$conf/power
	rmdir $conf
}

# device_on KIND: fast until slow is called
device_on() {
	device_off
	mkdir $conf || die "no configfs for null_blk"
	put size $SIZE_MB; put blocksize 512; put memory_backed 1
	put queue_mode 2; put submit_queues 8; put hw_queue_depth 128
	put irqmode 2; put completion_nsec $((LATENCY_MS * 1000000))
	case $1 in
	none) put cache_size 0 ;;
	fua) put cache_size 1024; put fua 1 ;;
	nofua) put cache_size 1024; put fua 0 ;;
	esac
	put power 1
	name=nullb$(cat $conf/index)
	[ -b /dev/$name ] || name=fs
	[ -b /dev/$name ] || die "null_blk made no device"
}

counters() { awk '{ print $5, $16 }' /sys/block/$name/stat; }

# run CASE KIND MODE TYPE ROUND
run() {
	args="-w 1 -n $FSYNCS" where=/tmp/fs/near
	case $1 in
	# Orlov puts directories of the top level far apart.
	eight) args="-w 8 -n $FSYNCS" where=/tmp/fs ;;
	split) args="-w 8 -n $FSYNCS -t create" where=/tmp/fs ;;
	shared) args="-w 8 -n $FSYNCS -t create -s" ;;
	bulk | storm) args="$args -N $1 -D /tmp/fs/far" ;;
	esac
	device_on "$2"
	mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -J size=128 \
		-E lazy_itable_init=1,lazy_journal_init=1,nodiscard /dev/$name || die mkfs
	options=noatime,noinit_itable,data=$3
	case $4 in
	*:*) options=$options,${4#*:} ;;
	esac
	mount -t "${4%%:*}" -o "$options" /dev/$name /tmp/fs || die "mount $4"
	mkdir /tmp/fs/warm /tmp/fs/near /tmp/fs/far
	fsyncs -d /tmp/fs/warm -n 3 >/dev/null || die warm-up
	sync
	before=$(counters)
	got=$(fsyncs -d $where $args) || die "$* failed"
	after=$(counters)
	umount /tmp/fs || die umount
	echo "$*" "$got" "$before" "$after" |
		awk '{ print $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $13 - $11, $14 - $12 }'
}

mkdir -p /tmp/fs
[ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config || die configfs
for kind in $KINDS; do
	for mode in $MODES; do
		for case in $CASES; do
			case $kind-$case in
			fua-* | *-lone | *-eight) ;;
			*) continue ;;
			esac
			for round in $(seq $ROUNDS); do
				for type in $TYPES; do
					run $case $kind $mode $type $round
				done
			done
		done
	done
done
device_off
