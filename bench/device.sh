# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Sourced by benches that run in a guest, as root: a null_blk device whose
# requests all take LATENCY_MS, a new file system on it, and what it counts.
SIZE_MB=1048576		# sparse: neighbours in different groups
conf=/sys/kernel/config/nullb/fs

die() { echo "${0##*/}: error: $*" >&2; exit 1; }
put() { echo "$2" >$conf/$1 || die "null_blk does not accept $1=$2"; }

# settings NAME=value...: what the command line says over the script's defaults
settings() {
	for arg in "$@"; do
		case $arg in
		[A-Z]*=*) eval "${arg%%=*}=\${arg#*=}" ;;
		*) die "$arg is not NAME=value" ;;
		esac
	done
}

device_off() {
	[ -d $conf ] || return 0
	echo 0 >$conf/power
	rmdir $conf
}

# device_on KIND: none, fua, nofua: its volatile cache; sets $name
device_on() {
	device_off
	[ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config || die "no configfs"
	mkdir $conf || die "no configfs for null_blk"
	put size $SIZE_MB; put blocksize 512; put memory_backed 1
	put queue_mode 2; put submit_queues 8; put hw_queue_depth 128
	put irqmode 2; put completion_nsec $((LATENCY_MS * 1000000))
	case $1 in
	none) put cache_size 0 ;;
	fua) put cache_size 1024; put fua 1 ;;
	nofua) put cache_size 1024; put fua 0 ;;
	*) die "$1 is no kind of cache" ;;
	esac
	put power 1
	name=nullb$(cat $conf/index)
	[ -b /dev/$name ] || name=fs
	[ -b /dev/$name ] || die "null_blk made no device"
}

# fresh KIND MODE TYPE[:MOUNT_OPTIONS]: a new file system on /tmp/fs, its code run once;
# directories near and far
fresh() {
	device_on "$1"
	mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -J size=128 \
		-E lazy_itable_init=1,lazy_journal_init=1,nodiscard /dev/$name || die mkfs
	options=noatime,noinit_itable,data=$2
	case $3 in
	*:*) options=$options,${3#*:} ;;
	esac
	mkdir -p /tmp/fs
	mount -t "${3%%:*}" -o "$options" /dev/$name /tmp/fs ||
		die "mount -t ${3%%:*} -o $options: $(dmesg | tail -n 3)"
	mkdir /tmp/fs/warm /tmp/fs/near /tmp/fs/far || die mkdir
	fsyncs -d /tmp/fs/warm -n 3 >/dev/null || die warm-up
	sync
}

# What the block layer counted: writes and flushes
counters() { awk '{ print $5, $16 }' /sys/block/$name/stat; }

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
