#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# How long the recovery of a large log takes, against the device alone.  For a guest, as
# root, with the modules of both file systems loaded.  Prints a line for every run:
#   DISK LOG WHO ROUND SECONDS READS WRITES
# DISK: fast (LATENCY_US each, many at a time, RATE_MIB a second together), slow (one head,
# SEEK_US).  LOG: zj (lanes), jbd2 (stock's, of a stock mount), empty (zj, freshly mounted).
# WHO: read, write (the device alone: the log, and the home blocks, in one piece), ext4,
# zext4, zjctl: recovery in a mount or without one.
set -u
. "${0%/*}/device.sh"
SIZE_MB=2048
ROUNDS=1
DISKS="fast slow"
LOGS="zj jbd2 empty"
WHO="ext4 zext4 zjctl"
RATE_MIB=50
LATENCY_US=100
SEEK_US=4000
JOURNAL_MIB=144
LOG_MIB=64		# below half of it nothing is brought home before the crash
RUN_KIB=256		# home blocks side by side
settings "$@"
dev=/dev/zjd0
used=zext4
runs=$((LOG_MIB * 1024 / RUN_KIB))

now() { cut -d' ' -f1 /proc/uptime; }

speed() {
	case $1 in
	fast) zjd 0 latency $LATENCY_US 0 $LATENCY_US; zjd 0 head 0 $RATE_MIB ;;
	slow) zjd 0 latency 0 0 0; zjd 0 head $SEEK_US $RATE_MIB ;;
	none) zjd 0 latency 0 0 0; zjd 0 head 0 0 ;;
	*) die "$1 is no kind of disk" ;;
	esac
}

# Reads and writes of zjdisk
requests() { sed -n 's/^zjd0 .* reads=\([0-9]*\) writes=\([0-9]*\).*/\1 \2/p' /dev/zjdctl; }

# A file in place, then the log of its overwriting: make_log LOG
make_log() {
	use zext4
	speed none
	mkfs.ext4 -q -F -b 4096 -J size=$JOURNAL_MIB -E lazy_itable_init=0,lazy_journal_init=0,nodiscard $dev ||
		die mkfs
	mkdir -p /tmp/fs
	mount -t ext4 $dev /tmp/fs || die mount
	dd if=/dev/zero of=/tmp/fs/file bs=1M count=$LOG_MIB 2>/dev/null || die "no space"
	umount /tmp/fs
	case $1 in
	jbd2) mount -t ext4 -o data=journal,commit=300 $dev /tmp/fs || die mount ;;
	*) mount -t zext4 -o data=journal,commit=300 $dev /tmp/fs || die mount ;;
	esac
	dd if=/dev/urandom of=/tmp/piece bs=${RUN_KIB}k count=1 2>/dev/null
	[ $1 = empty ] || awk -v n=$runs 'BEGIN { srand(1); for (i = 0; i < n; i++) print rand(), i }' |
		sort -n | while read -r _ at; do
			dd if=/tmp/piece of=/tmp/fs/file bs=${RUN_KIB}k seek=$at conv=notrunc 2>/dev/null
		done
	echo x >/tmp/fs/last
	fsctl fsync /tmp/fs/file || die fsync
	fsctl fsync /tmp/fs/last || die fsync
	fsctl shutdown 2 /tmp/fs || die shutdown
	umount /tmp/fs
	# Of what was written home since, if anything, recovery is to do all again.
	zjd 1 copy 0
}

# recover WHO
recover() {
	case $1 in
	read) dd if=$dev of=/dev/null bs=1M skip=$(($SIZE_MB / 2)) count=$LOG_MIB iflag=direct 2>/dev/null ;;
	write) dd if=/dev/zero of=$dev bs=1M seek=$(($SIZE_MB / 2)) count=$LOG_MIB conv=notrunc,fsync 2>/dev/null ;;
	zjctl | old-zjctl) $1 recover --no-fsck $dev >/tmp/said; [ $? = 1 ] ;;
	*) mount -t ${1#old-} $dev /tmp/fs ;;
	esac || die "$1: $(dmesg | tail -n 3)"
}

# Both modules have the same names: use zext4|old-zext4
use() {
	[ "$used" != "$1" ] || return 0
	rmmod zext4 zjournal || die "rmmod: $(dmesg | tail -n 3)"
	case $1 in
	zext4) modprobe zext4 ;;
	*) insmod /usr/bin/old-zjournal.ko && insmod /usr/bin/old-zext4.ko ;;
	esac || die "cannot load $1"
	used=$1
}

# run DISK LOG WHO ROUND
run() {
	speed none
	case $3 in
	*zext4) use $3 ;;
	esac
	zjd 0 copy 1
	echo 3 >/proc/sys/vm/drop_caches
	speed $1
	before=$(requests) start=$(now)
	recover $3
	end=$(now) after=$(requests)
	speed none
	umount /tmp/fs 2>/dev/null
	echo "$*" "$start" "$end" "$before" "$after" |
		awk '{ print $1, $2, $3, $4, $6 - $5, $9 - $7, $10 - $8 }'
}

modprobe zjdisk ndev=2 size_mb=$SIZE_MB cache=1 fua=1 || die "cannot load zjdisk"
for log in $LOGS; do
	make_log $log
	for disk in $DISKS; do
		for round in $(seq $ROUNDS); do
			for who in read write $WHO; do
				case $log-$who in
				zj-ext4 | empty-ext4 | empty-read | empty-write) ;;
				*) run $disk $log $who $round ;;
				esac
			done
		done
	done
done
rmmod zjdisk
