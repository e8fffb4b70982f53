#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What a load pays that never syncs (varmail does): each of TYPES in turn, in one boot, on new file systems.
# For a guest, as root, with the modules of both file systems loaded.  Prints for each run
#   row LOAD TASKS MODE DISK JOURNAL TYPE ROUND
#   synced|unmounted LINE_OF_/proc/zjmeter		(bench/zjmeter) at the end of the syncfs, of the unmount
#   run OPERATIONS SECONDS UNMOUNT_SECONDS
# LOAD: those of bench/gen; untar, cp (-a), rm (-rf), checkout (git), compile, of a tree for each
# task; dbench.  SECONDS: of the load with the syncfs after it.  TASKS: 4, or 4m: they move from CPU to CPU.
# DISK: hdd (one head, which takes SEEK_US to another place and chooses among HDD_DEPTH requests),
# ssd (a volatile cache, no FUA), nvme (no cache, any number of requests at a time).
# JOURNAL: MiB, inside the file system.  MODE: data=.
set -u
. "${0%/*}/device.sh"
ROUNDS=1
# One of each; bulk.py goes through several.
LOADS=fileserver
TASKS=4
MODES=ordered
DISKS=hdd
JOURNALS=128
TYPES="ext4 zext4"
SCALE=100		# percent of what the loads do
SIZE_MB=16384		# takes memory as it is written
DIRTY_MB=100
SLOWER=1		# how many times: the disks, and the kernel's timers of write-back and commit
SEEK_US=3000 HDD_MIB=150 HDD_DEPTH=32
SSD_US=80 SSD_FLUSH_US=2000 SSD_MIB=500
NVME_US=15 NVME_MIB=3000
# Of all tasks together
SERVER_FILES=4000 SERVER_SIZE=16384 SERVER_LOOPS=2000
MARK_FILES=8000 MARK_SIZE=4096 MARK_LOOPS=8000
MAIL_FILES=1000 MAIL_SIZE=12288 MAIL_LOOPS=400
BLOCK=4096 APPENDS=160000 FILE_BLOCKS=16000 OVERWRITES=160000	# with data=journal several times the log
MOVE=16 MOVE_MS=5	# loops, and milliseconds of a command, on one CPU
DBENCH_SECONDS=3	# and a fifth of it to warm up
TREE_FILES='' CHANGED_FILES='' SOURCES=''	# bench/trees.py sets these
settings "$@"
fs=/tmp/fs
# Nothing is synced on the way.
git="git -c core.fsync=none"
inc=host/usr/include
cc="gcc -B/usr/bin -std=gnu11 -D_GNU_SOURCE -nostdinc -isystem $inc -isystem $inc/x86_64-linux-gnu \
	-isystem host/usr/lib/gcc/x86_64-linux-gnu/12/include -Iuser/include -Iinclude -Isrc -Iuser"

now() { cut -d' ' -f1 /proc/uptime; }

# slow US FLUSH_US MIB: a disk without a head
slow() {
	zjd 0 latency $(($1 * SLOWER)) 0 $(($2 * SLOWER))
	zjd 0 head 0 $(($3 / SLOWER))
}

disk_on() {
	device_off
	modprobe zjdisk ndev=1 size_mb=$SIZE_MB || die "cannot load zjdisk: $(dmesg | grep zjdisk: | tail -n 1)"
	name=zjd0
	case $1 in
	hdd)
		zjd 0 cache 0 0; zjd 0 head $((SEEK_US * SLOWER)) $((HDD_MIB / SLOWER)) $HDD_DEPTH
		echo 1 >/sys/block/$name/queue/rotational || die "$name does not rotate" ;;
	ssd) zjd 0 cache 1 0; slow $SSD_US $SSD_FLUSH_US $SSD_MIB ;;
	nvme) zjd 0 cache 0 0; slow $NVME_US $NVME_US $NVME_MIB ;;
	*) die "$1 is no kind of disk" ;;
	esac
}

# First and last sectors of the journal's extents, with commas
log_extents() {
	debugfs -c -R 'ex <8>' /dev/$name 2>/dev/null | awk '
		$1 + 0 == $2 + 0 && $1 ~ /\/$/ { printf "%s%.0f,%.0f", sep, $8 * 8, $10 * 8 + 7; sep = "," }'
}

# meter_on TYPE
meter_on() {
	case $1 in
	ext4*) starts=jbd2__journal_start,jbd2_journal_start_reserved,jbd2__journal_restart ;;
	*) starts=zj_journal_start_in,zj_journal_start_reserved,zj_journal_restart ;;
	esac
	extents=$(log_extents)
	[ -n "$extents" ] || die "no extents of the journal"
	modprobe zjmeter disk=$name log="$extents" starts=$starts || die "zjmeter: $(dmesg | tail -n 2)"
}

meter() { sed "s/^/$1 /" /proc/zjmeter || die "no /proc/zjmeter"; }

# Of what all tasks do: what one does
each() { echo $(($1 * SCALE / 100 / workers)); }

# every COMMAND: in a directory of each task's own
every() {
	for w in $(seq 0 $((workers - 1))); do
		mkdir -p $fs/load/$w
		(cd $fs/load/$w && eval "$1") || die "cannot prepare: $1"
	done
}

untar() { tar -x -f /tmp/$1.tar || die "cannot unpack $1"; }

repository() {
	untar repository
	mkdir -p .git/refs/heads .git/refs/tags
	$git checkout -q one
}

# make_trees LOAD: what the commands find there
make_trees() {
	case $1 in
	untar) every : ;;
	cp | rm) every 'mkdir a && cd a && untar tree' ;;
	checkout) every repository ;;
	compile) every 'untar sources' ;;
	dbench) ;;
	*) return 1 ;;
	esac
}

# commands LOAD
commands() {
	case $1 in
	untar) set -- "$TREE_FILES" 'tar -x -f /tmp/tree.tar' ;;
	cp) set -- "$TREE_FILES" 'cp -a a b' ;;
	rm) set -- "$TREE_FILES" 'rm -rf a' ;;
	checkout) set -- "$CHANGED_FILES" "$git checkout -q two" ;;
	compile) set -- "$SOURCES" "for c in user/zjctl/*.c; do TMPDIR=. $cc -c -o \${c%.c}.o \$c || exit; done" ;;
	dbench) dbench_run; return ;;
	*) return 1 ;;
	esac
	loadgen -d $fs/load -w $workers ${move:+-m $MOVE_MS} -t command -n "$@" | synced ||
		die "$2 failed"
}

# All that it does after its warm-up, without its fsyncs; the time with the sync after it
dbench_run() {
	dbench -t "$DBENCH_SECONDS" -D $fs/load -c /tmp/client.txt $workers >/tmp/out 2>&1 ||
		die "dbench failed: $(tail -n 5 /tmp/out)"
	start=$(now)
	sync
	awk -v start="$start" -v end="$(now)" '
		/ execute / { for (i = 2; i <= NF; i++) if ($i == "execute") seconds = $(i + 1) }
		$1 == "Operation" { counts = 1 }
		counts && NF == 4 && $2 ~ /^[0-9]+$/ { n += $2 }
		END { if (!n || !seconds) exit 1; print n, seconds + end - start }' /tmp/out ||
		die "dbench did nothing: $(tail -n 25 /tmp/out)"
}

# load LOAD [-p]: with -p only what it finds there
load() {
	case $1 in
	fileserver) set -- "$@" -n "$(each $SERVER_LOOPS)" -f $SERVER_FILES -b $SERVER_SIZE -a 4096 ;;
	postmark) set -- "$@" -n "$(each $MARK_LOOPS)" -f $MARK_FILES -b $MARK_SIZE -a 2048 ;;
	varmail) set -- "$@" -n "$(each $MAIL_LOOPS)" -f $MAIL_FILES -b $MAIL_SIZE -a 4096 ;;
	append) set -- "$@" -n "$(each $APPENDS)" -a $BLOCK ;;
	overwrite | randwrite) set -- "$@" -n "$(each $OVERWRITES)" -f $((FILE_BLOCKS / workers)) -a $BLOCK ;;
	*)
		if [ "${2:-}" = -p ]; then make_trees $1; else commands $1; fi || die "$1 is no load"
		return ;;
	esac
	set -- "$@" -s
	case "$*" in
	*-p*) loadgen -d $fs/load -w $workers -t "$@" || die "$1 failed" ;;
	*) loadgen -d $fs/load -w $workers ${move:+-m $move} -r -t "$@" | synced || die "$1 failed" ;;
	esac
}

# run LOAD TASKS MODE DISK JOURNAL TYPE ROUND
run() {
	workers=${2%m} move=
	[ "$workers" = "$2" ] || move=$MOVE
	JOURNAL_MB=$5
	disk_on $4
	fresh_on "$3,commit=$((5 * SLOWER))" "$6"
	mkdir $fs/load || die mkdir
	load $1 -p
	sync
	meter_on $6
	echo "row $*"
	got=$(load $1) || exit
	meter synced
	start=$(now)
	umount $fs || die umount
	end=$(now)
	meter unmounted
	rmmod zjmeter || die rmmod
	echo "run $got $start $end" | awk '{ printf "%s %s %s %.2f\n", $1, $2, $3, $5 - $4 }'
}

mkdir -p $fs
for f in tree.tar repository.tar sources.tar client.txt; do
	[ ! -f /share/$f ] || cp /share/$f /tmp/ || die "no memory for $f"
done
echo $((DIRTY_MB << 20)) >/proc/sys/vm/dirty_bytes
echo $((DIRTY_MB << 19)) >/proc/sys/vm/dirty_background_bytes
echo $((500 * SLOWER)) >/proc/sys/vm/dirty_writeback_centisecs
echo $((3000 * SLOWER)) >/proc/sys/vm/dirty_expire_centisecs
for round in $(seq $ROUNDS); do
	for type in $TYPES; do
		run $LOADS $TASKS $MODES $DISKS $JOURNALS $type $round
	done
done
device_off
