#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Two file system types side by side in one boot, in turn, each on a fresh
# file system on the same null_blk device. For a guest: runs as root, needs
# only busybox, mkfs.ext4 and the two static programs. The modules of both
# types must be loaded. See README.md.

set -u

usage() {
	cat >&2 <<-END
	usage: ab.sh [-q] [-a TYPE] [-b TYPE] [-m MODES] [-t TESTS] [-r ROUNDS]
	             [-n OPS] [-w WORKERS] [-o JSON] [-d DIR_OF_PROGRAMS]
	  -q  quick: 3 rounds, less work, the four basic tests
	  -a, -b  file system types (ext4, zext4)
	  -m  data modes ("ordered journal")
	  -t  tests (all; see: ab list)
	environment: AB_LATENCY_NS AB_CACHE_MB AB_FUA AB_QUEUES AB_SIZE_MB
	  AB_JOURNAL_MB AB_DEV AB_MKFS AB_OPT_A AB_OPT_B AB_DIR
	END
	exit 2
}

say() { echo "ab.sh: $*" >&2; }
die() { say "error: $*"; cleanup; exit 1; }

bin=$(cd "$(dirname "$0")" && pwd)
type_a=ext4 type_b=zext4 modes="ordered journal" tests='' rounds=5
ops=500 workers=4 json='' quick=0
while getopts qa:b:m:t:r:n:w:o:d: opt; do
	case $opt in
	q) quick=1; rounds=3; ops=300
	   tests="create overwrite append create-fsync" ;;
	a) type_a=$OPTARG ;;
	b) type_b=$OPTARG ;;
	m) modes=$OPTARG ;;
	t) tests=$OPTARG ;;
	r) rounds=$OPTARG ;;
	n) ops=$OPTARG ;;
	w) workers=$OPTARG ;;
	o) json=$OPTARG ;;
	d) bin=$OPTARG ;;
	*) usage ;;
	esac
done

latency=${AB_LATENCY_NS:-100000}
cache=${AB_CACHE_MB:-1024}
fua=${AB_FUA:-1}
queues=${AB_QUEUES:-$workers}
size=${AB_SIZE_MB:-65536}
journal=${AB_JOURNAL_MB:-128}
dir=${AB_DIR:-/tmp/ab}
conf=/sys/kernel/config/nullb/ab
raw=$dir/raw

# Spelled out, so that no mke2fs.conf of the guest makes a difference; the
# hash seed makes ext4 place the directories alike on both sides.
features=none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent
features=$features,64bit,flex_bg,sparse_super,large_file,huge_file,dir_nlink
features=$features,extra_isize,metadata_csum
# A null_blk device reads as zeros, so nothing has to be zeroed there.
lazy=1
[ -z "${AB_DEV:-}" ] || lazy=0
mkfs_opt="-O $features -b 4096 -I 256 -i 16384 -m 0 -J size=$journal"
mkfs_opt="$mkfs_opt -E lazy_itable_init=$lazy,lazy_journal_init=$lazy"
mkfs_opt="$mkfs_opt,hash_seed=00010203-0405-0607-0809-0a0b0c0d0e0f"
mkfs_opt="$mkfs_opt ${AB_MKFS:-}"

device_off() {
	[ -d "$conf" ] || return 0
	echo 0 >"$conf/power"
	rmdir "$conf"
}

cleanup() {
	umount "$dir/mnt" 2>/dev/null
	[ -n "${AB_DEV:-}" ] || device_off 2>/dev/null
}

put() { echo "$2" >"$conf/$1" || die "null_blk does not accept $1=$2"; }

# A new device each time: it starts empty, and gives its memory back.
device_on() {
	if [ -n "${AB_DEV:-}" ]; then
		dev=$AB_DEV
		return
	fi
	device_off || die "the null_blk device is in use; unmount it first"
	mkdir "$conf" || die "no configfs; run: mount -t configfs none /sys/kernel/config"
	put size "$size"
	put blocksize 512
	put memory_backed 1
	put queue_mode 2
	put submit_queues "$queues"
	put hw_queue_depth 128
	if [ "$latency" -gt 0 ]; then
		put irqmode 2
		put completion_nsec "$latency"
	else
		put irqmode 0
	fi
	put cache_size "$cache"
	[ "$cache" -eq 0 ] || put fua "$fua"
	put power 1
	dev=/dev/ab
	[ -b "$dev" ] || dev=/dev/nullb$(cat "$conf/index")
	[ -b "$dev" ] || die "$dev did not appear; is devtmpfs on /dev?"
}

# fresh TYPE MODE OPTIONS: a new file system, mounted
fresh() {
	device_on
	# Not "mke2fs": busybox puts a program of its own before it.
	mkfs.ext4 -q -F $mkfs_opt "$dev" >"$dir/mkfs" 2>&1 ||
		die "mkfs.ext4 failed: $(cat "$dir/mkfs")"
	mount -t "$1" -o "noatime,noinit_itable,no_prefetch_block_bitmaps,data=$2${3:+,$3}" "$dev" \
		"$dir/mnt" || die "mount -t $1 failed: $(dmesg | tail -n 3)"
}

# one SIDE TYPE MODE OPTIONS ROUND TEST
one() {
	fresh "$2" "$3" "$4"
	"$bin/ab" run -u -d "$dir/mnt" -t "$6" -n "$ops" -w "$workers" \
		-p "R $3 $1 $5" >>"$raw" || die "$2, data=$3: $6 failed"
}

# warm_up TYPE MODE OPTIONS: run every code path once, uncounted
warm_up() {
	fresh "$@"
	for test in $tests; do
		"$bin/ab" run -d "$dir/mnt" -t "$test" -n 40 -w "$workers" \
			>/dev/null || die "$1, data=$2: $test failed"
	done
	umount "$dir/mnt" || die "$1, data=$2: umount failed"
}

for prog in ab report; do
	[ -x "$bin/$prog" ] || die "no $bin/$prog; run make in bench/ and use -d"
done
[ -n "$tests" ] || tests=$("$bin/ab" list)
mkdir -p "$dir/mnt" || die "cannot make $dir"
if [ -z "${AB_DEV:-}" ]; then
	[ -d /sys/module/null_blk ] || modprobe null_blk nr_devices=0 ||
		die "no null_blk; load its module first, with nr_devices=0"
	[ -d /sys/kernel/config/nullb ] ||
		mount -t configfs none /sys/kernel/config ||
		die "cannot mount configfs"
fi
for type in "$type_a" "$type_b"; do
	grep -qw "$type" /proc/filesystems || modprobe "$type" ||
		die "no file system $type; load its module first"
done

cat >"$raw" <<END
P a $type_a
P b $type_b
P workers $workers
P rounds $rounds
P ops $ops
P quick $quick
P kernel $(uname -r)
P cpus $(grep -c ^processor /proc/cpuinfo)
P device ${AB_DEV:-null_blk}
P latency_ns $latency
P cache_mb $cache
P fua $fua
P queues $queues
P mkfs $mkfs_opt
P mount_a ${AB_OPT_A:-}
P mount_b ${AB_OPT_B:-}
END

for mode in $modes; do
	say "data=$mode: warming up"
	warm_up "$type_a" "$mode" "${AB_OPT_A:-}"
	warm_up "$type_b" "$mode" "${AB_OPT_B:-}"
	for round in $(seq "$rounds"); do
		say "data=$mode: round $round of $rounds"
		for test in $tests; do
			one A "$type_a" "$mode" "${AB_OPT_A:-}" "$round" "$test"
			one B "$type_b" "$mode" "${AB_OPT_B:-}" "$round" "$test"
		done
	done
done
cleanup
"$bin/report" "$raw" ${json:+"$json"} || exit 1
[ -z "$json" ] || say "figures in $json"
