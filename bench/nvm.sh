#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads on ext4 and zext4 with the journal in different places, in one boot, each of TYPES
# in turn.  For a guest with /dev/pmem0, as root.  Prints for each run
#   run CASE TYPE ROUND  OPERATIONS SECONDS  JOURNAL_BYTES COMMITS FULL
# JOURNAL_BYTES: written to the journal; COMMITS: transactions; FULL: of these, closed for
# a full TxnInfo; "-": not known.  SECONDS count to the end of a syncfs.
# TYPE: hdd (ext4, journal on a disk of its own), pmem (ext4, journal on the block device
# pmem0), block and line (zext4, journal_nvm=/dev/pmem0, tune=log_unit:), ext4 and zext4 (journal in
# the file system), none (ext4 without a journal); each may have mount options:
# line:tune=txninfo_max:4096.
# CASE: varmail, fileserver, writesync, postmark, postmark-all.
# Disks take one request at a time, DISK_US each and what DISK_MBPS allows.
set -u
. "${0%/*}/device.sh"
. /lib/zj/pmem.sh
ROUNDS=1
CASES="varmail fileserver writesync postmark"
TYPES="hdd pmem block line"
DISK_US=3000		# of reads and writes: the paper's Table I
DISK_MBPS=150
DIRTY_MB=8		# a hundredth of what the paper's 4 GiB let be dirty
SIZE_MB=16384		# of the file system's disk; takes memory as it is written
JOURNAL_MB=128
WORKERS=4
MAIL_FILES=9600 MAIL_SIZE=12288 MAIL_LOOPS=400 MAIL_APPEND=4096
SERVER_FILES=8000 SERVER_SIZE=16384 SERVER_LOOPS=1000 SERVER_APPEND=4096
SYNC_LOOPS=1000 SYNC_APPEND=4096 SYNC_EVERY=32 SYNC_WORKERS=1
SYNC_FILE_MB=0		# of the file that writesync appends to, before it begins
MARK_FILES=5000 MARK_TRANSACTIONS=10000 MARK_SIZE=4096
settings "$@"
fs=/tmp/fs

# hdd_on NAME MIB: a disk; sets $name
hdd_on() {
	null_blk_off "$1"
	mkdir "$conf" || die "no configfs for null_blk"
	put size "$2"; put blocksize 512; put memory_backed 1; put cache_size 0
	put queue_mode 2; put submit_queues 1; put hw_queue_depth 1
	put irqmode 2; put completion_nsec $((DISK_US * 1000)); put mbps "$DISK_MBPS"
	put power 1
	name=nullb$(cat "$conf/index")
	[ -b "/dev/$name" ] || name=$1
	[ -b "/dev/$name" ] || die "null_blk made no device"
	echo 1 >"/sys/block/$name/queue/rotational" || die "$name does not rotate"
}

hdds_off() {
	null_blk_off home
	null_blk_off journal
}

# make_fs [mke2fs options]: on $home
make_fs() {
	mkfs.ext4 -q -F -b 4096 -I 256 -m 0 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard \
		"$@" "/dev/$home" || die mkfs
}

# A journal for stock on a device of its own, all of it; sets $journal
outside() {
	journal=$1
	mkfs.ext4 -q -F -O journal_dev -b 4096 "/dev/$journal" || die "journal on $journal"
	make_fs -J "device=/dev/$journal"
}

# place TYPE: a new file system, with its journal where TYPE has it; sets $fstype, $options
place() {
	hdds_off
	hdd_on home "$SIZE_MB"
	home=$name journal='' fstype=zext4 options=noatime,noinit_itable
	case ${1%%:*} in
	hdd) hdd_on journal $((JOURNAL_MB + 1)); fstype=ext4; outside "$name" ;;
	pmem) fstype=ext4; outside pmem0 ;;
	ext4) fstype=ext4; make_fs -J size=$JOURNAL_MB ;;
	none) fstype=ext4; make_fs -O ^has_journal ;;
	zext4) make_fs -J size=$JOURNAL_MB ;;
	block | line)
		make_fs -J size=$JOURNAL_MB
		zjctl nvm-format --force /dev/pmem0 "/dev/$home" >/tmp/out 2>&1 ||
			die "type $1: no journal in NVM: zjctl nvm-format: $(tail -n 2 /tmp/out)"
		options=$options,journal_nvm=/dev/pmem0,tune=log_unit:${1%%:*} ;;
	*) die "$1 is no type" ;;
	esac
	case $1 in
	*:*) options=$options,${1#*:} ;;
	esac
	mount -t $fstype -o "$options" "/dev/$home" $fs ||
		die "type $1: mount -t $fstype -o $options: $(dmesg | tail -n 3)"
}

# Of all lanes: the sum of what stands before a word in the statistics; "-": it is not there
lanes() {
	cat /proc/fs/zjournal/*/info | awk -v word="$1" '
		$1 == "lane" { for (i = 3; i < NF; i++) if ($(i + 1) == word) { sum += $i; seen = 1 } }
		END { print seen ? sum : "-" }'
}

# bytes commits full, until now
counted() {
	if [ $fstype = ext4 ]; then
		if [ -n "$journal" ]; then
			awk '{ printf "%d ", $7 * 512 }' "/sys/block/$journal/stat"
		else
			# A mean in whole blocks.
			cat /proc/fs/jbd2/*/info 2>/dev/null | awk '
				NR == 1 { txns = $1 }
				/ logged blocks per/ { bytes = txns * $1 * 4096 }
				END { printf "%s ", NR ? bytes : "-" }'
		fi
		cat /proc/fs/jbd2/*/info 2>/dev/null | awk 'NR == 1 { txns = $1 } END { print NR ? txns : "-", "-" }'
		return
	fi
	case $options in
	*journal_nvm*) bytes=$(lanes nvm_bytes) ;;
	# All blocks that were logged, and what goes with them.
	*) bytes=$((($(lanes blocks) + $(lanes headers)) * 4096)) ;;
	esac
	echo "$bytes $(lanes txns) $(lanes nvm_full)"
}

uptime() { awk '{ print $1 }' /proc/uptime; }

# PostMark with creates and deletes only, half and half.
postmark_start() {
	cat >/tmp/mark <<-END
	set location $fs/load
	set size $MARK_SIZE $MARK_SIZE
	set number $MARK_FILES
	set transactions $MARK_TRANSACTIONS
	set subdirectories 10
	set bias read -1
	set bias create 5
	set buffering false
	set report verbose
	run
	quit
	END
	: >/tmp/out
	postmark /tmp/mark >>/tmp/out 2>&1 &
	mark=$!
}

postmark_end() {
	wait $mark || die "postmark: $(tail -n 5 /tmp/out)"
}

# Until it says so; then it stops, and all is committed.
postmark_until() {
	until grep -q "$1" /tmp/out; do
		kill -0 $mark 2>/dev/null || die "postmark: $(tail -n 5 /tmp/out)"
		sleep 0.01
	done
	kill -STOP $mark
	sync
}

# What PostMark calls transactions, and reports as its rate: not the creation of the files
# before; their deletion afterwards is left out.
postmark_run() {
	postmark_start
	postmark_until "Performing transactions"
	before=$(counted) start=$(uptime)
	kill -CONT $mark
	postmark_until "Deleting files"
	end=$(uptime) after=$(counted)
	kill -KILL $mark
	wait $mark
	echo $MARK_TRANSACTIONS $start $end $before $after | awk '{ $2 = $3 - $2; $3 = ""; print }'
}

# All that it does: files that it made and deleted.
postmark_all() {
	start=$(uptime)
	postmark_start
	postmark_end
	sync
	end=$(uptime)
	awk -v start="$start" -v end="$end" '
		$2 == "created" || $2 == "deleted" { n += $1 }
		END { if (!n) exit 1; print n, end - start }' /tmp/out || die "postmark did nothing: $(cat /tmp/out)"
}

# load CASE [-p]
load() {
	case $1 in
	varmail) set -- "$@" -w "$WORKERS" -f "$MAIL_FILES" -b "$MAIL_SIZE" -n "$MAIL_LOOPS" -a "$MAIL_APPEND" ;;
	fileserver) set -- "$@" -w "$WORKERS" -f "$SERVER_FILES" -b "$SERVER_SIZE" -n "$SERVER_LOOPS" \
		-a "$SERVER_APPEND" ;;
	writesync) set -- "$@" -w "$SYNC_WORKERS" -n "$SYNC_LOOPS" -a "$SYNC_APPEND" -e "$SYNC_EVERY" ;;
	postmark) [ "${2:-}" = -p ] || postmark_run; return ;;
	postmark-all) [ "${2:-}" = -p ] || postmark_all; return ;;
	*) die "$1 is no case" ;;
	esac
	case "$*" in
	*-p*) loadgen -d $fs/load -s -t "$@" || die "$1 failed" ;;
	*) loadgen -d $fs/load -s -r -t "$@" | synced || die "$1 failed" ;;
	esac
}

# What writesync appends to has been written before, as in the paper.
grow() {
	for file in $fs/load/all/*; do
		dd if=/dev/zero of="$file" bs=1M count="$SYNC_FILE_MB" 2>/dev/null || die "dd $file"
	done
}

# run CASE TYPE ROUND
run() {
	place "$2"
	mkdir $fs/load || die mkdir
	load "$1" -p
	[ "$1" != writesync ] || [ "$SYNC_FILE_MB" = 0 ] || grow
	sync
	before=$(counted) || exit
	got=$(load "$1") || exit
	after=$(counted) || exit
	# With counters of its own?
	case $got in
	*\ *\ *\ *) before='' after='' ;;
	esac
	umount $fs || die umount
	echo "$*" "$got" "$before" "$after" | awk '
		function less(a, b) { return a == "-" || b == "-" ? "-" : a - b }
		{ print "run", $1, $2, $3, $4, $5, less($9, $6), less($10, $7), less($11, $8) }'
}

mkdir -p $fs
[ -d $nullb ] || mount -t configfs none /sys/kernel/config || die "no configfs"
[ -b /dev/pmem0 ] || die "no /dev/pmem0"
echo $((DIRTY_MB << 20)) >/proc/sys/vm/dirty_bytes
echo $((DIRTY_MB << 19)) >/proc/sys/vm/dirty_background_bytes
run_all
hdds_off
