#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The crash battery, in the guest (root): load on a recording disk, then many
# power cuts rebuilt from the recording, each recovered and checked.  Settings
# come as NAME=value arguments:
FSTYPE=ext4		# ext4 or zext4
LOAD=names		# names: zjload's files and directories; fsx: fsxmarks' changes of a file's content; ids: idload's
			# files of IDS users, groups and projects
DATA=ordered		# ordered, journal or writeback
MOUNT_OPTS=		# more options, for example lanes=4
MKFS_OPTS="-b 4096 -J size=16"
SETUP=			# a command that prepares the load's new directory, such as chattr +F
AFTER=			# a command that is given the directory that the load has prepared
WITH=			# a command that runs beside the load; it is given the load's directory, and a
			# file that is there until it has to end
OTHERS=		# not empty: each cut is also recovered by e2fsck, by zjctl and by a stock
			# mount, and right after the replay all must be the same, byte by byte; needs CACHE=1
RECOVER=		# a command that recovers instead of the mount; then it is mounted as ext4
BESIDE=			# aio or uring, for LOAD=fsx: many changes are direct writes in flight
DIRS=			# not empty, for LOAD=fsx: each process works in a directory of its own
UNIT=			# bytes of a cluster, for LOAD=fsx with bigalloc
MEMORY=			# limit of the memory of the load's cgroup, such as 6M; must be met
TRIM=			# not empty: beside the load, free blocks are discarded
GROW=			# FROM TO, in MiB: beside the load, the file system grows in steps
SNAPSHOTS=		# not empty: beside the load, snapshots of the disk are taken and checked
DISTURB=		# not empty: beside the load, files are synced, read, dropped; freeze: and frozen
MIXED=			# not empty: beside the load, mixed has processes change the same files
UNLOCK=			# a command that is given every mount point, such as fsctl add-key
WORKERS=4		# processes of the load
TIME=10			# seconds of load
CUTS=100
NESTED=5		# every n-th cut is cut again inside its recovery; 0: none
SEED=1
CACHE=1			# volatile write cache
FUA=1
LATENCY="100 3000 500"	# us: request, random addition, flush
LIE=0			# the rebuilt disk ignores: 1 flushes, 2 FUA, 4 the last flush; must fail
JOBS=4			# cuts at a time; needs zjdisk.ko ndev=1+3*JOBS, without OTHERS 1+2*JOBS
BIN=$(dirname "$0")	# zjload, zjverify, zjcuts, zjsame, fsxmarks
WORK=/tmp/crash		# scratch, in memory
SAVE=			# directory for the disk image, writes and facts of the first 4 failures
STATS=			# a file of the file system to show after the load
# Prints "ok ..." and "not ok ..." lines and ends on "crash: N passed, N failed".
# A cut is named by cut and seed.  Exit 0: all passed; 1: not; 2: could not run.

for arg in "$@"; do
	case $arg in
	[A-Z]*=*) export "${arg%%=*}=${arg#*=}" ;;
	*) echo "crash.sh: $arg is not NAME=value" >&2; exit 2 ;;
	esac
done
CTL=/dev/zjdctl
DEVICE=/dev/zjd0	# which the load uses
REF=			# number of a disk, see recovered_by_others()
OPTS="data=$DATA${MOUNT_OPTS:+,$MOUNT_OPTS}"
TOP=${SETUP:+/top}
case $LOAD in
names) LOADER="$BIN/zjload" CHOOSE="$BIN/zjcuts" ;;
fsx) LOADER="$BIN/fsxmarks" CHOOSE="$BIN/fsxmarks cuts" ;;
ids) LOADER="$BIN/idload" CHOOSE="$BIN/idload cuts" ;;
*) echo "crash.sh: no load named $LOAD" >&2; exit 2 ;;
esac

die() { echo "crash.sh: $*" >&2; exit 2; }
zjd() { echo "$@" > $CTL; }
zjd_get() { sed -n "s/^zjd$1 .* $2=\([0-9]*\) .*/\1/p" $CTL; }

# e2fsck 1.47.0 miscounts the blocks of an orphan with attributes that it truncates. That an
# extent tree could be narrower then is no error.
miscounted() {
	grep -q "^Truncating orphaned inode" "$1" &&
		! grep '? no$' "$1.fsck" | grep -v 'Optimize? no$' | grep -qv ', i_blocks is '
}

# Nor does it keep such an orphan's block of attributes: is every complaint about one?
took_attributes() {
	awk '$0 ~ "^Truncating orphaned inode" { truncated[$4 ","] }
		$1 == "BAD:" { bad++; taken += $2 == "inode" && $3 in truncated && / is gone$/ }
		/^digest=/ { all = $NF }
		END { exit !(bad == taken && all == "bad=" bad) }' "$1"
}

# replay DISK LOG: by the command RECOVER, not by a mount.
replay() {
	$RECOVER "/dev/zjd$1" >> "$2" 2>&1
	rc=$?
	! dumpe2fs -h "/dev/zjd$1" 2>/dev/null | grep -q needs_recovery || {
		echo "BAD: $RECOVER did not replay the log" >> "$2"; return 1; }
	[ $rc -le 1 ] || { echo "BAD: $RECOVER ended with $rc" >> "$2"; return 1; }
	# Without e2fsck, orphans are left to the mount.
	case $RECOVER in *--no-fsck* | *journal_only*) rc=0 ;; esac
	[ $rc = 0 ] || e2fsck -fn "/dev/zjd$1" >> "$2" 2>&1 || {
		echo "BAD: e2fsck -fn found errors after $RECOVER" >> "$2"; return 1; }
}

# same DISK LOG: is the disk as zext4's replay left it, which disk REF shows?
same() {
	"$BIN/zjsame" "$1" "$REF" "$WORK/journal" >> "$2" 2>&1 || {
		echo "BAD: not the same blocks as after zext4's replay" >> "$2"; return 1; }
}

# verify DIRECTORY CUT: is it what the load's log promises?
verify() {
	[ -z "$MIXED" ] || "$BIN/mixed" verify "$1" || return 1
	case $LOAD in
	names) "$BIN/zjverify" "$1" "$WORK/log" "$WORKERS" "$2" "$DATA" ;;
	fsx) "$BIN/fsxmarks" verify "$1" "$WORK/log" "$WORKERS" "$2" ;;
ids) "$BIN/idload" verify "$1" "$WORK/log" "$WORKERS" "$2" ;;
	esac
}

# try DISK CUT LOG [RECORDING]: recovers the disk and checks it; the digest is left in
# LOG. A recording ends with the mount; "replay": before it.
try() {
	type=$FSTYPE opts=$OPTS
	if [ -n "$RECOVER" ]; then
		replay "$1" "$3" || return 1
		[ "$4" != replay ] || zjd "$1" record off
		type=ext4 opts=data=$DATA
	fi
	mount -t "$type" -o "$opts" "/dev/zjd$1" "$WORK/mnt$1" >> "$3" 2>&1 || {
		echo "BAD: mount failed" >> "$3"; return 1; }
	${UNLOCK:-:} "$WORK/mnt$1" >> "$3" 2>&1 || echo "BAD: $UNLOCK failed" >> "$3"
	[ -z "$4" ] || zjd "$1" record off
	verify "$WORK/mnt$1$TOP" "$2" >> "$3" 2>&1 ||
		took_attributes "$3"
	rc=$?
	umount "$WORK/mnt$1" >> "$3" 2>&1 || { echo "BAD: umount failed" >> "$3"; rc=1; }
	e2fsck -fn "/dev/zjd$1" > "$3.fsck" 2>&1 || miscounted "$3" || {
		echo "BAD: e2fsck -fn found errors" >> "$3"
		cat "$3.fsck" >> "$3"; rc=1; }
	return $rc
}

digest_of() { sed -n 's/^digest=\([0-9a-f]*\) .*/\1/p' "$1"; }

# say FILE: prints it in one piece, not mixed with the output of other jobs.
say() {
	while ! mkdir "$WORK/saying" 2> /dev/null; do sleep 0.1; done
	cat "$1"
	rmdir "$WORK/saying"
}

# report RC DISK LOG TEXT REBUILD...: the result lines; saves what failed.
report() {
	rc=$1 disk=$2 log=$3 text=$4
	shift 4
	if [ "$rc" = 0 ]; then
		echo "ok $text $(sed -n 's/^digest=[0-9a-f]* //p' "$log")" \
			"$(sed -n "s/^zjd$disk .* \(durable=.*\)/\1/p" $CTL)" > "$log.say"
	else
		{ echo "not ok $text"; head -n 30 "$log" | sed 's/^/# /'; } > "$log.say"
	fi
	cat "$log.say" >> "$WORK/results"
	say "$log.say"
	[ "$rc" != 0 ] && [ -n "$SAVE" ] || return 0
	[ "$(ls "$SAVE" | wc -l)" -lt 4 ] || return 0
	img="$SAVE/$(echo "$text" | tr ' /' '--')"
	mkdir -p "$img"
	zjd "$disk" rebuild "$@" && gzip -1 < "/dev/zjd$disk" > "$img/disk.gz"
	cat "/sys/kernel/debug/zjdisk/$1" > "$img/writes"
	cp "$log" "$img/output"
	cp -r "$WORK/log" "$img/facts"
}

# replayed TO DISK CUT SEED NTH: disk TO shows the cut as DISK's recovery, which was
# recorded, left it right after the replay: at the last flush before the write of journal
# block 0 that empties the log, which is the NTH write of it. Orphans come later.
replayed() {
	if [ "$start" = 0 ]; then
		zjd "$1" rebuild 0 "$3" "$4" $LIE 8
		return
	fi
	end=$(awk -v "sector=sector=$sector" -v "nth=$5" '
		$1 == "flush" { flush[$3] }
		$1 == "write" && $5 == sector && ++n == nth { super = $3 }
		END {
			for (done in flush)
				if (done + 0 < super && done + 0 > end)
					end = done + 0
			print end
		}' "/sys/kernel/debug/zjdisk/$2")
	[ -n "$end" ] && zjd "$1" rebuild "$2" "$end" "$4"
}

# recovered_by_others DISK CUT SEED DIGEST: the same cut, recovered in other ways than by zext4.
recovered_by_others() {
	d2=$(($1 + 1)) log=$WORK/out.$1 REF=$((1 + 2 * JOBS + $1 / 2))
	zjd $d2 record clear && zjd $d2 rebuild 0 "$2" "$3" $LIE 8 ||
		die "rebuild of cut=$2 seed=$3 failed"
	"$BIN/zjsame" start $d2 "$WORK/journal" > "$WORK/start.$1"
	read -r start sector < "$WORK/start.$1"
	replayed $REF "$1" "$2" "$3" 1 || {
		echo "not ok cut=$2 seed=$3: where zext4's replay ends is not known" |
			tee -a "$WORK/results"
		return; }
	for how in e2fsck zjctl ext4; do
		rm -f "$log"
		zjd $d2 rebuild 0 "$2" "$3" $LIE 8 && zjd $d2 record on ||
			die "rebuild of cut=$2 seed=$3 failed"
		nth=1
		case $how in
		# It writes block 0 once before it replays.
		e2fsck) nth=2; (RECOVER="e2fsck -E journal_only -y"; try $d2 "$2" "$log" replay) ;;
		zjctl) (RECOVER="zjctl recover --no-fsck"; replay $d2 "$log" && same $d2 "$log") ;;
		ext4) (FSTYPE=ext4 OPTS=data=$DATA; try $d2 "$2" "$log" mount) ;;
		esac
		rc=$?
		zjd $d2 record off
		[ $rc != 0 ] || [ $how = zjctl ] || {
			replayed $d2 $d2 "$2" "$3" $nth && same $d2 "$log"; } || rc=1
		# The same is the same, also to a mount. e2fsck takes the attributes of orphans that
		# it truncates.
		if [ $how != zjctl ] && [ "$(digest_of "$log")" != "$4" ] &&
				! grep -q "^Truncating orphaned inode" "$log"; then
			echo "BAD: not the same files as zext4's recovery leaves ($4)" >> "$log"
			rc=1
		fi
		report $rc $d2 "$log" "by-$how: cut=$2 seed=$3" 0 "$2" "$3" $LIE 8
	done
	zjd $d2 record clear
}

# one DISK NUMBER CUT SEED: one cut, perhaps with a second one in its recovery.
one() {
	d=$1 log=$WORK/out.$1
	rm -f "$log"
	zjd "$d" record clear
	zjd "$d" rebuild 0 "$3" "$4" $LIE 8 || die "rebuild of cut=$3 seed=$4 failed"
	nested=
	[ "$NESTED" = 0 ] || [ $(($2 % NESTED)) != 0 ] || nested=1
	[ -z "$nested$OTHERS" ] || zjd "$d" record on
	try "$d" "$3" "$log" $nested$OTHERS
	report $? "$d" "$log" "cut=$3 seed=$4" 0 "$3" "$4" $LIE 8
	first=$(digest_of "$log")
	[ -z "$OTHERS" ] || (recovered_by_others "$d" "$3" "$4" "$first")
	[ -n "$nested" ] && [ -n "$first" ] || return
	seq=$(zjd_get "$d" seq)
	cut2=$((1 + ($4 * 48271 + $3) % (seq > 0 ? seq : 1)))
	[ "$seq" -ge "$cut2" ] || return
	# The recording of the recovery is now the source: not rebuilt by report.
	d2=$((d + 1))
	rm -f "$log"
	zjd $d2 rebuild "$d" $cut2 "$4" $LIE 8 || die "rebuild in recovery of cut=$3 failed"
	try $d2 "$3" "$log"
	rc=$?
	if [ "$(digest_of "$log")" != "$first" ]; then
		echo "BAD: not the same files as after the first recovery ($first)" >> "$log"
		rc=1
	fi
	report $rc $d2 "$log" "cut=$3 seed=$4 in-recovery=$cut2/$seq" "$d" $cut2 "$4" $LIE 8
}

# The device that is behind NAME, of the device mapper: a line of its table.
table() {
	dmsetup create "$1" --table "$2" || die "dmsetup create $1"
	[ -e "/dev/mapper/$1" ] || dmsetup mknodes "$1"
}

# ---- beside the load, until it has ended ----

loading() { [ -e "$WORK/loading" ]; }

trim_beside() {
	while loading; do
		fstrim "$1" || return 1
		n=$((n + 1)); sleep 0.2
	done
}

# resize2fs before 1.47.1 reads the super block while the kernel changes it.
grow_beside() {
	size=${GROW% *}
	while loading && [ "$size" -lt "${GROW#* }" ]; do
		size=$((size + 2))
		until resize2fs "$DEVICE" "${size}M" > "$WORK/resized" 2>&1; do
			grep -q "checksum does not match" "$WORK/resized" || { cat "$WORK/resized"; return 1; }
		done
		n=$((n + 1)); sleep 0.1
	done
}

# Each of them is a file system that was frozen: nothing to repair, nothing to replay.
snapshots_beside() {
	while loading; do
		dd if=/dev/zero of=/dev/zjd1 bs=4k count=1 2> /dev/null
		dmsetup suspend origin && table snapshot "0 $SECTORS snapshot /dev/zjd0 /dev/zjd1 N 8" &&
			dmsetup resume origin || return 1
		e2fsck -fn /dev/mapper/snapshot > "$WORK/snapshot" 2>&1 || { cat "$WORK/snapshot"; return 1; }
		dmsetup suspend origin && dmsetup remove snapshot && dmsetup resume origin || return 1
		n=$((n + 1)); sleep 0.2
	done
}

with_beside() { $WITH "$1" "$WORK/loading" && n=1; }

# beside COMMAND: begins it; that it did nothing is an error.
beside() {
	touch "$WORK/loading"
	( n=0; "$@"; rc=$?
	[ $rc = 0 ] && [ $n -gt 0 ] || { echo "$1: ended with $rc after $n rounds"; exit 1; }
	) >> "$WORK/errors" 2>&1 &
	others="$others $!"
}

# limited COMMAND: the load, in a cgroup whose memory is limited.
limited() {
	[ -n "$MEMORY" ] || { "$@"; return; }
	mkdir -p /cg
	grep -q ' /cg ' /proc/mounts || mount -t cgroup2 none /cg || die "no cgroup2"
	echo +memory > /cg/cgroup.subtree_control || die "no memory controller"
	mkdir -p /cg/load && echo "$MEMORY" > /cg/load/memory.max || die "no memory.max"
	met=$(sed -n 's/^max //p' /cg/load/memory.events)
	# shellcheck disable=SC2016
	sh -c 'echo $$ > /cg/load/cgroup.procs && exec "$@"' sh "$@"
	rc=$?
	[ "$(sed -n 's/^max //p' /cg/load/memory.events)" -gt "$met" ] || {
		echo "the load did not need $MEMORY" >> "$WORK/errors"; rc=1; }
	return $rc
}

prepare() {
	[ -w $CTL ] || die "no $CTL: load zjdisk.ko with ndev=$((1 + 2 * JOBS)) first"
	each=2
	[ -z "${OTHERS:-}" ] || each=3
	most=$((each * JOBS))
	[ -b "/dev/zjd$most" ] || die "JOBS=$JOBS needs zjdisk.ko ndev=$((1 + most))"
	[ -d /sys/kernel/debug/zjdisk ] || mount -t debugfs debugfs /sys/kernel/debug
	rm -rf "$WORK"
	mkdir -p "$WORK/log" ${SAVE:+"$SAVE"}
	d=0
	while [ $d -le $most ]; do
		mkdir -p "$WORK/mnt$d"
		zjd $d record clear && zjd $d fail off && zjd $d power on &&
			zjd $d latency 0 0 0 && zjd $d cache "$CACHE" "$FUA" && zjd $d stats ||
			die "zjd$d is in use"
		d=$((d + 1))
	done
	# "ZJPOISON" all over: what no file may ever show.
	zjd 0 fill 0x4e4f53494f504a5a || die "cannot fill zjd0"
	mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 $MKFS_OPTS /dev/zjd0 \
		${GROW:+"${GROW% *}M"} || die "mkfs.ext4 failed"
	# Four jobs at once would not wait for each other to load it.
	[ -z "$OTHERS$RECOVER" ] || modprobe ext4
	[ -z "$OTHERS" ] || debugfs -R "blocks <8>" /dev/zjd0 > "$WORK/journal" 2> /dev/null
}

load() {
	if [ -n "$SNAPSHOTS" ]; then
		SECTORS=$(blockdev --getsz /dev/zjd0)
		table origin "0 $SECTORS snapshot-origin /dev/zjd0"
		DEVICE=/dev/mapper/origin
	fi
	mount -t "$FSTYPE" -o "$OPTS" $DEVICE "$WORK/mnt0" || die "cannot mount $FSTYPE with $OPTS"
	if [ -n "$SETUP" ]; then
		# The check expects what a root directory has.
		mkdir "$WORK/mnt0$TOP" && $SETUP "$WORK/mnt0$TOP" &&
			mkdir "$WORK/mnt0$TOP/lost+found" || die "$SETUP failed"
	fi
	"$LOADER" setup "$WORK/mnt0$TOP" "$WORKERS" || die "setup failed"
	${AFTER:-:} "$WORK/mnt0$TOP" || die "$AFTER failed"
	: > "$WORK/errors"
	# Much goes home between two flushes: early and in any order.
	echo 20 > /proc/sys/vm/dirty_writeback_centisecs
	echo 50 > /proc/sys/vm/dirty_expire_centisecs
	zjd 0 latency $LATENCY
	zjd 0 record on || die "cannot record"
	others=
	[ -z "$TRIM" ] || beside trim_beside "$WORK/mnt0"
	[ -z "$GROW" ] || beside grow_beside
	[ -z "$WITH" ] || beside with_beside "$WORK/mnt0$TOP"
	[ -z "$SNAPSHOTS" ] || beside snapshots_beside
	disturbed='' mixed=''
	if [ -n "$DISTURB" ]; then
		"$BIN/disturb" "$WORK/mnt0$TOP" "$TIME" "$SEED" ${DISTURB#1} 2>> "$WORK/errors" &
		disturbed=$!
	fi
	if [ -n "$MIXED" ]; then
		"$BIN/mixed" run "$WORK/mnt0$TOP" "$TIME" "$SEED" 2>> "$WORK/errors" &
		mixed=$!
	fi
	limited "$LOADER" run "$WORK/mnt0$TOP" "$WORK/log" "$WORKERS" "$TIME" "$SEED" 0 2>> "$WORK/errors"
	rc=$?
	rm -f "$WORK/loading"
	for other in $others; do wait "$other" || rc=1; done
	[ -z "$disturbed" ] || wait "$disturbed" || rc=1
	[ -z "$mixed" ] || wait "$mixed" || rc=1
	zjd 0 record off
	zjd 0 latency 0 0 0
	echo 500 > /proc/sys/vm/dirty_writeback_centisecs
	echo 3000 > /proc/sys/vm/dirty_expire_centisecs
	[ -z "$STATS" ] || cat "$STATS"
	verify "$WORK/mnt0$TOP" 0 > "$WORK/out.live" 2>&1 || rc=1
	umount "$WORK/mnt0" || rc=1
	[ -z "$SNAPSHOTS" ] || dmsetup remove origin || rc=1
	e2fsck -fn /dev/zjd0 >> "$WORK/out.live" 2>&1 || rc=1
	sed -n 's/^zjd0 /# zjd0 /p' $CTL
	if [ $rc = 0 ]; then
		echo "ok load without a cut: $(sed -n 's/^digest=[0-9a-f]* //p' "$WORK/out.live")"
	else
		echo "not ok load without a cut (load $rc)"
		sed 's/^/# /' "$WORK/errors" "$WORK/out.live"
	fi
}

job() {
	n=0
	while read -r cut seed; do
		[ $((n % JOBS)) != "$1" ] || one $((1 + 2 * $1)) $((n / JOBS)) "$cut" "$seed"
		n=$((n + 1))
	done < "$WORK/cuts"
}

prepare
load > "$WORK/loaded" 2>&1
tee "$WORK/results" < "$WORK/loaded"
last=$(zjd_get 0 seq)
$CHOOSE "$WORK/log" "$WORKERS" "${last:-0}" "$CUTS" "$SEED" > "$WORK/cuts" || exit 2
j=0
while [ $j -lt "$JOBS" ]; do
	job $j &
	j=$((j + 1))
done
wait
dmesg > "$WORK/dmesg"
if grep -E "EXT4-fs error|ZEXT4-fs error|WARNING: |BUG: |Oops|INFO: task" "$WORK/dmesg" > "$WORK/complaints"; then
	echo "not ok kernel messages" | tee -a "$WORK/results"
	sed 's/^/# /' "$WORK/complaints" | head -20
fi
passed=$(grep -c "^ok " "$WORK/results")
failed=$(grep -c "^not ok " "$WORK/results")
want=$((CUTS + 1))
[ $((passed + failed)) -ge $want ] || {
	echo "crash.sh: $((passed + failed)) results, expected $want or more" >&2; failed=$((failed + 1)); }
echo "crash: $passed passed, $failed failed"
[ "$failed" = 0 ]
