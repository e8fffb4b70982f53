#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# One load at one number of workers, on each of ARMS in turn, round by round, each time on a
# new file system. For a guest, or for real hardware with DEV=; as root. Prints
#   machine NAME VALUE			what it runs on, once
#   run ARM ROUND WRITES FLUSHES	of the device, from the load's start to its syncfs
# and after each "run" what loadgen prints (bench/gen/main.c), or, of an application, a line
# "app SAID" for each line that it and the check after a remount have printed, and "synced SECONDS".
# ARM: nojournal, fastcommit, xfs, btrfs, or ext4 or zext4 with mount options: zext4:lanes=1.
# LOAD: a load of loadgen; varmail, fileserver and insert with "-shared" have one directory (or
# redo log) for all workers; over-N: each worker overwrites a block of its file N times, with an fsync.
# APP: an application (bench/apps) that has this load.
set -u
. "${0%/*}/device.sh"
DEV=			# a block device to use instead of DISK; it is overwritten
DISK=zjdisk
PLAIN_MB=		# zjdisk costs the CPU a copy of each block and no more, so much that is new included
KIND=fua		# the device's cache: none, fua, nofua
LATENCY_MS=20
SIZE_MB=16384
ROUNDS=5
ARMS="ext4 zext4"
LOAD=DWSL
WORKERS=1
MODE=ordered
MS=2000			# of a run
FILES=2000		# of each worker: MWUL, MWUM, MWRM
MAIL_FILES=1000
SERVER_FILES=1000
OVERWRITE_FILES=80 OVERWRITE_SIZE=1048576
OVERWRITE_EVERY=100	# writes of randsync until an fsync; 0: none
APP=			# bench/apps/APP.sh
AT=			# directory of its files, which bench/apps has made
server=			# process of its server while that runs
app_stop() { :; }
for arg in "$@"; do
	[ "${arg#APP=}" = "$arg" ] || APP=${arg#APP=}
done
# Before the settings, so that these replace those of the application's script.
# shellcheck source=bench/apps/fio.sh
[ -z "$APP" ] || . "${0%/*}/apps/$APP.sh"
settings "$@"
fs=/tmp/fs
seconds=$(((MS + 999) / 1000))	# MS, for programs that take whole ones

# one FILE: its first line, or nothing
one() { [ ! -r "$1" ] || head -n 1 "$1"; }

machine() {
	sys=/sys/class/block/$name
	# A partition has no queue of its own.
	queue=$sys/queue
	[ -d $queue ] || queue=$sys/../queue
	cpu=/sys/devices/system/cpu
	echo "machine CPU model: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
	echo "machine CPUs: $(grep -c ^processor /proc/cpuinfo)"
	echo "machine NUMA nodes: $(ls -d /sys/devices/system/node/node* 2>/dev/null | wc -l)"
	echo "machine memory: $(awk '/^MemTotal/ { print int($2 / 1024) " MiB" }' /proc/meminfo)"
	echo "machine kernel: $(uname -r)"
	echo "machine frequency governor: $(one $cpu/cpu0/cpufreq/scaling_governor)"
	echo "machine turbo switched off (intel_pstate): $(one $cpu/intel_pstate/no_turbo)"
	echo "machine device: $name $(one $sys/device/model)"
	echo "machine size: $(($(cat $sys/size) / 2048)) MiB"
	echo "machine rotational: $(one $queue/rotational)"
	echo "machine write cache: $(one $queue/write_cache)"
	echo "machine FUA: $(one $queue/fua)"
	echo "machine scheduler: $(one $queue/scheduler)"
	[ -n "$DEV" ] || echo "machine simulated disk: $DISK, $LATENCY_MS ms for each request, cache: $KIND"
	echo "machine journal: $JOURNAL_MB MiB (ext4, zext4), the tool's default (XFS)"
}

# The file system is made and filled on a fast disk; only the load meets its latency.
latency() {
	[ "$name" = zjd0 ] || return 0
	latency=$(us "$1") || exit 1
	zjd 0 latency $latency 0 $latency
}

disk_on() {
	if [ -z "$DEV" ]; then
		device_on $KIND
		[ -z "$PLAIN_MB" ] || zjd 0 plain $((PLAIN_MB * 256))
		return
	fi
	[ -b "$DEV" ] || die "$DEV is no block device"
	name=$(basename "$(readlink -f "$DEV")")
}

# ext [mkfs options], besides those of MKFS
ext() {
	# shellcheck disable=SC2086
	mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -E lazy_itable_init=1,lazy_journal_init=1 $MKFS "$@" /dev/$name ||
		die "mkfs.ext4 $MKFS $*"
}

# make_arm ARM MODE: a new file system; sets $fstype, $options
make_arm() {
	fstype=ext4 options=noatime
	case $1 in
	nojournal) ext -O ^has_journal,^orphan_file ;;
	fastcommit) ext -O fast_commit -J "$(journal_option)" ;;
	ext4 | zext4 | ext4:* | zext4:*) ext -J "$(journal_option)"; fstype=${1%%:*} ;;
	xfs | btrfs) fstype=$1; mkfs.$1 -q -f /dev/$name || die "mkfs.$1" ;;
	*) die "$1 is no arm" ;;
	esac
	# Otherwise a thread of ext4 sets up inode tables, or reads bitmaps, beside what is measured.
	case $1 in
	xfs | btrfs) ;;
	nojournal) options=$options,noinit_itable,no_prefetch_block_bitmaps ;;
	*) options=$options,noinit_itable,no_prefetch_block_bitmaps,data=$2 ;;
	esac
	case $1 in
	*:*) options=$options,${1#*:} ;;
	esac
}

# load LOAD [options]: loadgen with what this load takes
load() {
	load=$1
	shift
	case $load in
	*-shared) set -- "$@" -s ;;
	esac
	load=${load%-shared} limit="-T $MS"
	case $load in
	over-*) set -- "$@" -f 1 -a 4096; limit="-n ${load#over-}" load=fsync-overwrite ;;
	MWUL | MWUM | MWRM) set -- "$@" -f $FILES ;;
	varmail) set -- "$@" -f $MAIL_FILES -b 16384 -a 8192 -g ;;
	fileserver) set -- "$@" -f $SERVER_FILES -b 131072 -a 8192 -g ;;
	randsync) set -- "$@" -f $OVERWRITE_FILES -b $OVERWRITE_SIZE -e $OVERWRITE_EVERY ;;
	esac
	# shellcheck disable=SC2086
	loadgen -d $fs -w $WORKERS -t $load $limit "$@" || die "$load failed on $arm"
}

mount_arm() {
	mount -t $fstype -o "$options" /dev/$name $fs ||
		die "mount -t $fstype -o $options: $(dmesg | tail -n 3)"
}

# ---- applications ----

# What has failed must leave neither a server nor a mounted file system on real hardware.
stop_server() { [ -z "$server" ] || kill "$server"; }
leave() {
	stop_server
	umount $fs 2>/dev/null
}

now() { cut -d' ' -f1 /proc/uptime; }

# await TEXT FILE: until the server has written that
await() {
	tries=0
	until grep -q "$1" "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] && [ -d /proc/$server ] ||
			die "$APP did not start: $(tail -n 5 "$2")"
		sleep 0.2
	done
}

# The clock starts with the application's files on the disk.
prepare() {
	if [ -z "$APP" ]; then
		load $LOAD -p
	else
		app_prepare
		sync -f $fs
	fi
}

measure() {
	if [ -z "$APP" ]; then
		load $LOAD -r -H
		return
	fi
	(app_run) >/tmp/said 2>&1 || die "$LOAD failed on $arm: $(tail -n 15 /tmp/said)"
	begin=$(now)
	sync -f $fs
	echo "synced $(now) $begin" | awk '{ printf "app synced %.2f\n", $2 - $3 }'
	sed 's/^/app /' /tmp/said
}

# What the application finds after a remount, and what the file system's own check says
found() {
	[ -n "$APP" ] || return 0
	mount_arm
	(trap stop_server EXIT; app_check) >/tmp/said 2>&1 || die "$LOAD on $arm, after a remount: $(tail -n 15 /tmp/said)"
	sed 's/^/app /' /tmp/said
	umount $fs || die umount
	case $fstype in
	xfs) xfs_repair -n /dev/$name >/tmp/said 2>&1 ;;
	btrfs) btrfs check /dev/$name >/tmp/said 2>&1 ;;
	*) e2fsck -fn /dev/$name >/tmp/said 2>&1 ;;
	esac || die "$LOAD on $arm left damage: $(tail -n 15 /tmp/said)"
}

# run ARM ROUND
run() {
	arm=$1
	disk_on
	[ -n "$told" ] || machine
	told=1
	latency 0
	make_arm "$1" $MODE
	sync
	echo 3 >/proc/sys/vm/drop_caches
	mount_arm
	# What the file system's code and the directory's first blocks cost once is not counted.
	mkdir $fs/warm || die mkdir
	loadgen -d $fs/warm -t fsync-create -n 3 >/dev/null || die warm-up
	prepare
	latency $LATENCY_MS
	before=$(counters)
	got=$(measure) || exit
	after=$(counters)
	latency 0
	app_stop
	umount $fs || die umount
	checked=$(found) || exit
	echo "$arm $2 $before $after" | awk '{ print "run", $1, $2, $5 - $3, $6 - $4 }'
	echo "$got"
	[ -z "$checked" ] || echo "$checked"
}

told=
mkdir -p $fs
[ -z "$APP" ] || trap leave EXIT
case ${APP:+$AT} in
# With ICOUNT=1 a guest's clock runs ahead while a program waits for a file of the host.
/share/*) rm -rf /tmp/at && cp -r "$AT" /tmp/at && AT=/tmp/at || die "no memory for $AT" ;;
esac
for round in $(seq "$ROUNDS"); do
	for arm in $ARMS; do
		run "$arm" "$round"
	done
done
[ -n "$DEV" ] || device_off
