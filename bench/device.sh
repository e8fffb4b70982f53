# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Sourced by benches that run in a guest, as root: a device (DISK) whose requests
# all take LATENCY_MS, a new file system on it, and what it counts.
# null_blk copies data under one lock, with interrupts off, and a flush copies all
# that its cache holds: with a lot of it the latency is far from what was asked for.
# zjdisk (tests/vm/zjdisk) does neither; it needs 2 KiB of memory for a MiB.
DISK=null_blk
SIZE_MB=1048576		# sparse: neighbours in different groups
JOURNAL_MB=128
MKFS=			# more options of mke2fs
EXTENDED=		# more extended options of it
LOG_MS=			# the time of each request of a journal device (null_blk); empty: the journal is inside
nullb=/sys/kernel/config/nullb
journal_dev=		# its name, if there is one

die() { echo "${0##*/}: error: $*" >&2; exit 1; }
put() { echo "$2" >"$conf/$1" || die "null_blk does not accept $1=$2"; }

# settings NAME=value...: what the command line says over the script's defaults
settings() {
	for arg in "$@"; do
		case $arg in
		[A-Z]*=*) eval "${arg%%=*}=\${arg#*=}" ;;
		*) die "$arg is not NAME=value" ;;
		esac
	done
}

# us MS: as microseconds; fractions of a millisecond are a fast drive's
us() {
	awk -v ms="$1" 'BEGIN { if (ms !~ /^[0-9]+([.][0-9]+)?$/) exit 1; printf "%d", ms * 1000 }' ||
		die "$1 is no number of milliseconds"
}

zjd() { echo "$*" >/dev/zjdctl || die "zjdisk refuses $*"; }

null_blk_off() {
	conf=$nullb/$1
	[ -d "$conf" ] || return 0
	put power 0
	rmdir "$conf"
}

device_off() {
	rmmod zjdisk 2>/dev/null
	null_blk_off fs
	null_blk_off log
}

# zjdisk_on KIND
zjdisk_on() {
	modprobe zjdisk ndev=1 size_mb=$SIZE_MB || die "cannot load zjdisk: $(dmesg | grep zjdisk: | tail -n 1)"
	case $1 in
	none) zjd 0 cache 0 0 ;;
	fua) zjd 0 cache 1 1 ;;
	nofua) zjd 0 cache 1 0 ;;
	*) die "$1 is no kind of cache" ;;
	esac
	latency=$(us "$LATENCY_MS") || exit 1
	zjd 0 latency $latency 0 $latency
	name=zjd0
}

# null_blk_on DISK MIB MS KIND: sets $made
null_blk_on() {
	conf=$nullb/$1
	[ -d $nullb ] || mount -t configfs none /sys/kernel/config || die "no configfs"
	mkdir $conf || die "no configfs for null_blk"
	put size "$2"; put blocksize 512; put memory_backed 1
	put queue_mode 2; put submit_queues 8; put hw_queue_depth 128
	latency=$(us "$3") || exit 1
	put irqmode 2; put completion_nsec $((latency * 1000))
	case $4 in
	none) put cache_size 0 ;;
	fua) put cache_size 1024; put fua 1 ;;
	nofua) put cache_size 1024; put fua 0 ;;
	*) die "$4 is no kind of cache" ;;
	esac
	put power 1
	made=nullb$(cat $conf/index)
	[ -b /dev/$made ] || made=$1
	[ -b /dev/$made ] || die "null_blk made no device"
}

# device_on KIND: none, fua, nofua: its volatile cache; sets $name and $journal_dev
device_on() {
	device_off
	case $DISK in
	null_blk) ;;
	zjdisk)
		[ -z "$LOG_MS" ] || die "LOG_MS needs DISK=null_blk"
		zjdisk_on "$1"
		return ;;
	*) die "DISK is null_blk or zjdisk" ;;
	esac
	null_blk_on fs $SIZE_MB "$LATENCY_MS" "$1"
	name=$made
	[ -n "$LOG_MS" ] || return 0
	null_blk_on log $((JOURNAL_MB + 1)) "$LOG_MS" "$1"
	journal_dev=$made
	mke2fs -q -F -b 4096 -O journal_dev /dev/$journal_dev $((JOURNAL_MB * 256)) || die "mke2fs of the journal"
}

# For mkfs.ext4 -J
journal_option() { echo "${journal_dev:+device=/dev/}${journal_dev:-size=$JOURNAL_MB}"; }

# make_fs MODE TYPE[:MOUNT_OPTIONS]: the file system; sets $options and $fstype; fastcommit is ext4
# made with that feature
make_fs() {
	options=noatime fstype=${2%%:*}
	[ "$fstype" != fastcommit ] || fstype=ext4
	case ${2%%:*} in
	xfs) mkfs.xfs -q -f -K -l size=${JOURNAL_MB}m /dev/$name || die mkfs.xfs ;;
	btrfs) mkfs.btrfs -q -f -K /dev/$name || die mkfs.btrfs ;;
	*)
		[ "${2%%:*}" != fastcommit ] || set -- "$1" "$2" "-O fast_commit"
		# shellcheck disable=SC2086
		mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -J "$(journal_option)" $MKFS ${3:-} \
			-E lazy_itable_init=1,lazy_journal_init=1,nodiscard${EXTENDED:+,$EXTENDED} /dev/$name || die mkfs
		options=$options,noinit_itable,data=$1 ;;
	esac
	case $2 in
	*:*) options=$options,${2#*:} ;;
	esac
}

# fresh_on MODE TYPE[:MOUNT_OPTIONS]: a new file system on /tmp/fs, its code run once;
# directories near and far
fresh_on() {
	make_fs "$1" "$2"
	mkdir -p /tmp/fs
	mount -t $fstype -o "$options" /dev/$name /tmp/fs ||
		die "mount -t $fstype -o $options: $(dmesg | tail -n 3)"
	mkdir /tmp/fs/warm /tmp/fs/near /tmp/fs/far || die mkdir
	loadgen -d /tmp/fs/warm -t fsync-append -n 3 >/dev/null || die warm-up
	sync
}

# fresh KIND MODE TYPE[:MOUNT_OPTIONS]: the same on a device of this kind
fresh() {
	device_on "$1"
	fresh_on "$2" "$3"
}

# What the block layer (zjdisk: the disk itself) counted: writes and flushes
sectors() { awk '{ s += $7 } END { print s }' /sys/class/block/$name/stat ${journal_dev:+/sys/class/block/$journal_dev/stat}; }
counters() {
	case $name in
	zjd0) sed -n 's/.* writes=\([0-9]*\) .* flushes=\([0-9]*\) .*/\1 \2/p' /dev/zjdctl ;;
	*) awk '{ w += $5; f += $16 } END { print w, f }' /sys/class/block/$name/stat ${journal_dev:+/sys/class/block/$journal_dev/stat} ;;
	esac
}

# What loadgen has printed: operations and seconds to the end of the syncfs; fails if it has failed
synced() { sed -n 's/.* operations=\([0-9]*\) .* synced=\([0-9.]*\) .*/\1 \2/p' | grep .; }

# The same of fsyncs: their number, seconds without the syncfs, and their mean, p50 and p99 in us
fsynced() {
	sed -n 's/.* seconds=\([0-9.]*\) .* fsyncs_count=\([0-9]*\) fsyncs_mean=\([0-9.]*\) fsyncs_p50=\([0-9.]*\) fsyncs_p99=\([0-9.]*\) .*/\2 \1 \3 \4 \5/p' |
		grep .
}

# Every case by every type in turn, round by round; run is the script's own
run_all() {
	for case in $CASES; do
		for round in $(seq "$ROUNDS"); do
			for type in $TYPES; do
				run "$case" "$type" "$round"
			done
		done
	done
}
