#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs in the guest: makes the devices and mount points, loads one of the two file systems as type
# ext4, and runs xfstests' own check over the tests that the file "tests" in the results' folder
# names. What check prints goes to standard output, where run.py reads it.
#
#   guest.sh CHECKOUT RESULTS
#
# RESULTS/env has: MODULE (ext4, or a command that loads zext4), OPTIONS for mount, MKFS options,
# EXTERNAL (1: the scratch file system's journal has a device of its own).
checkout=$1
export RESULT_BASE=$2
. "$RESULT_BASE/env"
say() { echo "xfstests-guest: $*"; }
die() { say "$*"; exit 1; }

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
cd / && umask 022
for d in /tmp /var/tmp /var/log; do
	mountpoint -q $d || mount -t tmpfs tmp $d
done
mkdir -p /run/lock /run/xfs/test /run/xfs/scratch /run/xfs/home /dev/shm /dev/pts
mountpoint -q /dev/shm || mount -t tmpfs -o mode=1777 shm /dev/shm
mountpoint -q /dev/pts || mount -t devpts pts /dev/pts 2>/dev/null
mountpoint -q /sys/kernel/debug || mount -t debugfs debug /sys/kernel/debug
mountpoint -q /sys/kernel/config || modprobe configfs 2>/dev/null
mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config
for n in 0:stdin 1:stdout 2:stderr; do
	[ -e /dev/${n#*:} ] || ln -s /proc/self/fd/${n%:*} /dev/${n#*:}
done
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd
# Without udevd, libdevmapper makes the nodes, and "udevadm wait" would never return.
if [ ! -S /run/udev/control ]; then
	export DM_DISABLE_UDEV=1
	printf '#!/bin/sh\n' >/run/xfs/udevadm
	chmod 755 /run/xfs/udevadm
	! real=$(type -P udevadm) || mount --bind /run/xfs/udevadm "$(realpath "$real")"
fi
echo "|/bin/false" >/proc/sys/kernel/core_pattern

# The users that tests want, in copies of the host's files.
cp /etc/passwd /etc/group /etc/shadow /run/xfs/
id=31000
for user in fsgqa 123456-fsgqa fsgqa2; do
	grep -q "^$user:" /run/xfs/passwd || echo "$user:x:$id:$id::/run/xfs/home:/bin/bash" >>/run/xfs/passwd
	grep -q "^$user:" /run/xfs/group || echo "$user:x:$id:" >>/run/xfs/group
	grep -q "^$user:" /run/xfs/shadow || echo "$user:*:20000:0:99999:7:::" >>/run/xfs/shadow
	id=$((id + 1))
done
for f in passwd group shadow; do
	mount --bind /run/xfs/$f /etc/$f
done
chmod 777 /run/xfs/home

# Disks in memory that have a volatile cache, flush, FUA and discard.
disk() {
	dir=/sys/kernel/config/nullb/nullb$1
	mkdir $dir && echo "$2" >$dir/size && echo 1 >$dir/memory_backed && echo 1 >$dir/discard &&
		echo 512 >$dir/blocksize && echo 64 >$dir/cache_size && echo 1 >$dir/power || die "no disk $1"
}
modprobe null_blk nr_devices=0 || die "no null_blk"
disk 0 "$TEST_MB"
disk 1 "$SCRATCH_MB"
disk 2 256
disk 3 2048
for m in loop dm-mod dm-flakey dm-log-writes dm-snapshot dm-thin-pool dm-zero dm-delay dm-dust quota_v2 quota_v1 \
	 crc32c_generic libcrc32c mbcache crc16; do
	modprobe $m 2>/dev/null
done

! grep -qw ext4 /proc/filesystems || [ "$MODULE" = ext4 ] || die "stock ext4 is built in or loaded already"
if [ "$MODULE" = ext4 ]; then
	modprobe ext4 || die "no ext4"
	[ ! -e /sys/module/zext4 ] || die "zext4 is loaded"
else
	eval "$MODULE" || die "zext4 does not load: $(dmesg | tail -n 5)"
	[ -e /sys/module/zext4 ] && [ ! -e /sys/module/ext4 ] || die "type ext4 is not zext4's"
fi

export FSTYP=ext4 TEST_DIR=/run/xfs/test TEST_DEV=/dev/nullb0 SCRATCH_MNT=/run/xfs/scratch SCRATCH_DEV=/dev/nullb1
export SCRATCH_LOGDEV=/dev/nullb2 LOGWRITES_DEV=/dev/nullb3 MKFS_OPTIONS="$MKFS" DIFF_LENGTH=40
export HOST_OPTIONS=/run/xfs/no-local-config
[ -z "$OPTIONS" ] || export EXT_MOUNT_OPTIONS="-o $OPTIONS"
[ "$EXTERNAL" != 1 ] || export USE_EXTERNAL=yes
hostname zjxfs
# shellcheck disable=SC2086
mke2fs -q -F -t ext4 $MKFS $TEST_DEV || die "mke2fs refuses '$MKFS'"
# shellcheck disable=SC2086
mount -t ext4 ${OPTIONS:+-o $OPTIONS} $TEST_DEV $TEST_DIR || die "mount refuses '$OPTIONS': $(dmesg | tail -n 3)"
say "ready: $(uname -r), $MODULE, $(grep " $TEST_DIR " /proc/mounts)"
say "$(sed -n 's/^\(log\|lanes\):/\1:/p' /proc/fs/zjournal/*/info 2>/dev/null | tr '\n' ' ')"

cd "$checkout" || die "no $checkout"
# shellcheck disable=SC2046
./check --exact-order $(cat "$RESULT_BASE/tests") 2>"$RESULT_BASE/check.err"
say "end $?"
