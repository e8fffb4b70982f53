# SPDX-License-Identifier: GPL-2.0-only
# One set of features from mke2fs to the next mount, for test_feature_sets.py.  It is sourced
# behind lib.sh with MKFS, MOUNT, USES, LANES, SEED, REFUSED and WHAT (one of the last three
# functions) set, perhaps LIE and POLICY of the cut, and zjdisk loaded with three disks: zjd0 has
# the load, zjd1 and zjd2 show the same power cut of it, recovered in two ways.
# Each step that is passed is a line "step NAME ok"; the first that is not ends the script.

LOG=/tmp/features.log
KEPT=/tmp/features.kept
MANY=200	# names in a directory

step() { echo "step $1 ok"; }
zjd() { echo "$@" >/dev/zjdctl || die "zjdctl: $*"; }
zjd_seq() { sed -n "s/^zjd0 .* seq=\([0-9]*\) .*/\1/p" /dev/zjdctl; }
letters() { head -c "$1" /dev/zero | tr '\0' "$2"; }
each_use() { for _use in $USES; do "$1_$_use" || die "$1_$_use"; done; }

# ---- what the load does, by the features: make_ is fsynced, more_ is not, check_ is after a cut ----

make_casefold() {
	mkdir /mnt/fold && chattr +F /mnt/fold && echo folded >/mnt/fold/Straße &&
		fsctl fsync /mnt/fold/Straße /mnt/fold
}
more_casefold() { echo more >/mnt/fold/Äpfel; mv /mnt/fold/ÄPFEL /mnt/fold/birnen; }
check_casefold() {
	[ "$(cat /mnt/fold/STRASSE)" = folded ] && ! (set -C; : >/mnt/fold/sTRASSE) 2>/dev/null
}

make_encrypt() {
	mkdir /mnt/secret && fsctl add-key /mnt && fsctl encrypt /mnt/secret &&
		seq 3000 >/mnt/secret/numbers && ln -s numbers /mnt/secret/link &&
		fsctl fsync /mnt/secret/numbers /mnt/secret
}
more_encrypt() { seq 3001 6000 >>/mnt/secret/numbers; echo more >/mnt/secret/more; }
check_encrypt() {
	[ ! -e /mnt/secret/link ] || [ -n "$UNLOCKED" ] || return 1
	fsctl add-key /mnt && seq 3000 >/tmp/numbers || return 1
	UNLOCKED=1
	head -n 3000 /mnt/secret/link | cmp - /tmp/numbers
}

make_verity() {
	seq 9000 >/mnt/sealed && fsctl verity /mnt/sealed && fsctl fsync /mnt/sealed
}
more_verity() { seq 5000 >/mnt/half && fsctl verity /mnt/half; }
check_verity() {
	seq 9000 | cmp - /mnt/sealed && lsattr /mnt/sealed | grep -q V &&
		! (echo x >>/mnt/sealed) 2>/dev/null
}

BIG=40000	# bytes of an attribute
make_ea_inode() {
	touch /mnt/attr && setfattr -n user.big -v "$(letters $BIG a)" /mnt/attr &&
		fsctl fsync /mnt/attr
}
more_ea_inode() {
	touch /mnt/attr2 && setfattr -n user.big -v "$(letters $BIG a)" /mnt/attr2 &&
		setfattr -n user.more -v "$(letters 9000 m)" /mnt/attr && rm /mnt/attr2
}
check_ea_inode() {
	[ "$(getfattr --only-values -n user.big /mnt/attr)" = "$(letters $BIG a)" ]
}

names() { _n=$1; while [ $((_n += 1)) -le "$2" ]; do : >"/mnt/many/a-name-of-some-length-$_n"; done; }
make_directory() { mkdir /mnt/many && names 0 $MANY && fsctl fsync /mnt/many; }
more_directory() { names $MANY $((MANY + 50)); }
check_directory() {
	_n=0
	while [ $((_n += 1)) -le $MANY ]; do
		[ -e "/mnt/many/a-name-of-some-length-$_n" ] || return 1
	done
}

DEEP=36000	# names of 250 characters, for which two levels of blocks of 1 KiB have no room
deep() {
	_n=$1 _long=$(letters 244 n)
	while [ $((_n += 1)) -le "$2" ]; do : >"/mnt/deep/$_long-$_n" || return 1; done
}
make_levels() { mkdir /mnt/deep && deep 0 $DEEP && fsctl fsync /mnt/deep; }
more_levels() { deep $DEEP $((DEEP + 100)); }
check_levels() {
	[ "$(find /mnt/deep | wc -l)" -ge $DEEP ] || return 1
	debugfs -c -R "htree_dump /deep" "$DEV" 2>/dev/null | grep -q "Indirect levels: 2$"
}

make_inline() {
	mkdir /mnt/inline || return 1
	for _n in 1 2 3 4 5 6; do
		letters 100 i >/mnt/inline/$_n && fsctl fsync /mnt/inline/$_n || return 1
	done
	filefrag -v /mnt/inline/1 | grep -q inline
}
more_inline() { for _n in 1 2 3; do letters 3000 i >>/mnt/inline/$_n; done; : >/mnt/inline/more; }
check_inline() {
	for _n in 1 2 3 4 5 6; do
		[ "$(head -c 100 /mnt/inline/$_n)" = "$(letters 100 i)" ] || return 1
	done
}

PROJECT=42
make_project() {
	mkdir /mnt/project && chattr -p $PROJECT +P /mnt/project && chmod 777 /mnt/project &&
		letters 50000 p >/mnt/project/file && fsctl fsync /mnt/project/file /mnt/project
}
more_project() { letters 50000 p >>/mnt/project/file; mkdir /mnt/project/more; }
check_project() {
	[ "$(lsattr -pd /mnt/project/file | awk '{ print $1 }')" = $PROJECT ] &&
		[ "$(head -c 50000 /mnt/project/file)" = "$(letters 50000 p)" ]
}

LIMIT=1048576
make_limit() {
	limit "$DEV" $PROJECT $LIMIT && fsctl syncfs /mnt || return 1
	as_user "head -c 3000000 /dev/zero >/mnt/project/full" 2>/dev/null && return 1
	rm -f /mnt/project/full
}
more_limit() { letters 200000 q >/mnt/project/more-bytes; }
check_limit() {
	set -- $(limit "$DEV" $PROJECT)
	[ "$2" = $LIMIT ] && [ "$1" -ge 50000 ] && [ "$1" -le $LIMIT ] || return 1
	as_user "head -c 3000000 /dev/zero >/mnt/project/full" 2>/dev/null && return 1
	rm -f /mnt/project/full
}

make_orphans() {
	letters 300000 o >/mnt/shrinks; letters 200000 o >/mnt/gone; fsctl fsync /mnt/shrinks /mnt/gone
	exec 8<>/mnt/open && letters 100000 o >&8 && rm /mnt/open
}
more_orphans() {
	exec 9</mnt/gone && rm /mnt/gone && truncate -s 10000 /mnt/shrinks && letters 50000 o >&8
}
check_orphans() {
	[ ! -e /mnt/open ] && [ "$(head -c 10000 /mnt/shrinks)" = "$(letters 10000 o)" ]
}

# ---- the steps ----

# check_all: what was fsynced is on /mnt
check_all() {
	UNLOCKED=
	stress -v $KEPT /mnt/load || die "$1: fsynced files of the load are gone"
	[ "$(cat /mnt/marker)" = marker ] || die "$1: the fsynced marker is gone"
	each_use check
}

# check_and_write TYPE: mounted as TYPE, everything is there, and more can be written
check_and_write() {
	mount -t "$1" ${MOUNT:+-o "$MOUNT"} "$DEV" /mnt || die "mount -t $1 $DEV: $(dmesg | tail -n 5)"
	check_all "$DEV as $1"
	# Stock ext4 dies where truncate() makes inline data grow that nobody has opened (tests/stock).
	[ "$1" != ext4 ] || find /mnt/load -type f | while read -r _file; do : >>"$_file"; done
	stress -p 2 -n 30 /mnt/load || die "$DEV as $1: writing"
	unmnt
	fsck "$DEV"
}

make_fs() {
	mke2fs -q -F -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 $MKFS "$DEV" ||
		die "mke2fs $MKFS"
	step create
}

# load: when it ends, everything before $synced was durable; $KEPT.* has the files of stress
load() {
	mkdir /mnt/load
	rm -f $LOG.* $KEPT.*
	stress -p 3 -t 2 -s "$SEED" -l $LOG /mnt/load >/tmp/stress.out 2>&1 & _load=$!
	each_use make
	echo marker >/mnt/marker && fsctl fsync /mnt/marker || die "fsync of the marker"
	for _n in 0 1 2; do
		until [ -s $LOG.$_n ]; do kill -0 $_load || [ -s $LOG.$_n ] || die "stress fsynced nothing"; sleep 0.1; done
		cp $LOG.$_n $KEPT.$_n
	done
	synced=$(zjd_seq)
	each_use more
	wait $_load || die "stress: $(cat /tmp/stress.out)"
}

load_and_cut() {
	mount -t "$FS" -o "${LANES:+lanes=$LANES,}$MOUNT" "$DEV" /mnt || die "mount: $(dmesg | tail -n 5)"
	step mount
	zjd 0 record on
	load
	zjd 0 record off
	exec 8>&- 9>&-
	unmnt
	fsck "$DEV"
	step load
	cut=$((synced + SEED % ($(zjd_seq) - synced + 1)))
	zjd 1 rebuild 0 $cut "$SEED" "${LIE:-0}" 8 "${POLICY:-0}"
	zjd 2 rebuild 0 $cut "$SEED" "${LIE:-0}" 8 "${POLICY:-0}"
	zjd 0 record clear
	# A disk that lies may have lost all of it.
	[ -n "${LIE:-}" ] || zjctl info /dev/zjd1 | grep -q 'recovery is due' ||
		die "the log is empty after cut=$cut"
	step cut
}

# with_journal: all steps
with_journal() {
	DEV=/dev/zjd0
	make_fs
	load_and_cut
	DEV=/dev/zjd1
	check_and_write "$FS"
	step recover
	DEV=/dev/zjd2
	zjctl recover $DEV >/tmp/recover.out 2>&1 || [ $? = 1 ] ||
		die "zjctl recover: $(cat /tmp/recover.out)"
	fsck $DEV
	step zjctl
	check_and_write ext4
	DEV=/dev/zjd1
	check_and_write ext4
	step stock
	check_and_write "$FS"
	DEV=/dev/zjd2
	check_and_write "$FS"
	step again
}

# without_journal: a power cut promises nothing; what is unmounted is there
without_journal() {
	DEV=/dev/zjd0
	make_fs
	mnt $DEV "$MOUNT"
	step mount
	load
	unmnt
	fsck $DEV
	step load
	check_and_write ext4
	step stock
	check_and_write "$FS"
	step again
}

# refused: neither type mounts it, and the kernel says $REFUSED
refused() {
	DEV=/dev/zjd0
	make_fs
	for _type in ext4 "$FS"; do
		mark "$_type"
		no_mnt "$_type" $DEV
		said "$REFUSED"
	done
}

mark features
_begin=$_mark
modprobe "$FS"
$WHAT
! dmesg | sed -n "/$_begin/,\$p" | grep "EXT4-fs error" || die "an error of the file system"
