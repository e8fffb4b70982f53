# SPDX-License-Identifier: GPL-2.0-only
"""register_as=ext4: zext4 serves the type ext4 where stock ext4 is not loaded."""

import pytest

pytestmark = pytest.mark.zext4


def test_serves_ext4(guest):
    """Stock's names, and a log that stock's tools recover, unless lanes are asked for."""
    guest("""
        rmmod zext4 2>/dev/null; modprobe -r ext4 2>/dev/null; dmesg -c >/dev/null
        grep -qw ext4 /proc/filesystems && die "ext4 is there already"
        modprobe zext4 register_as=ext4 || die "modprobe: $(dmesg)"
        grep -qw ext4 /proc/filesystems && ! grep -q zext4 /proc/filesystems || die names
        mk /dev/vda
        mount -t ext4 /dev/vda /mnt || die mount
        [ -d /sys/fs/ext4/$(kernel_name /dev/vda) ] && [ -d /proc/fs/ext4/$(kernel_name /dev/vda) ] || die "sysfs or procfs"
        [ ! -e /sys/fs/zext4 ] && [ ! -e /proc/fs/zext4 ] || die "the other name is there, too"
        grep -q '^log: jbd2' /proc/fs/zjournal/*/info || die "$(cat /proc/fs/zjournal/*/info)"
        zjctl stats --all /dev/vda >/tmp/out 2>&1 || die "zjctl stats: $(cat /tmp/out)"
        echo a >/mnt/a; fsctl fsync /mnt/a
        fsctl shutdown 2 /mnt; umount /mnt
        e2fsck -fy /dev/vda >/tmp/out 2>&1; [ $? -le 1 ] || die "e2fsck: $(cat /tmp/out)"
        mount -t ext4 -o lanes=2 /dev/vda /mnt || die "mount with lanes"
        grep -q '^log: jbd2' /proc/fs/zjournal/*/info && die "lanes=2 is ignored"
        [ "$(cat /mnt/a)" = a ] || die "a is lost"
        umount /mnt
        # Debian's stock ext4 serves these types, too, and a /boot is often an ext2.
        for type in ext2 ext3; do
            mke2fs -q -F -t $type /dev/vda || die "mke2fs -t $type"
            mount -t $type /dev/vda /mnt || die "mount -t $type: $(dmesg | tail -n 3)"
            echo $type >/mnt/a; fsctl fsync /mnt/a; umount /mnt; fsck /dev/vda
            mount -t $type /dev/vda /mnt && [ "$(cat /mnt/a)" = $type ] || die "$type: a is lost"
            umount /mnt
        done
        mk /dev/vda; mount -t ext4 /dev/vda /mnt || die mount
        echo a >/mnt/a
        # Stock ext4, beside it: no second directory in /sys, and a program that only makes sure of the type goes on.
        modprobe ext4 || die "modprobe ext4 where the type is there"
        ! grep -q '^ext4 ' /proc/modules || die "both are loaded"
        dmesg | grep -q 'the module ext4 is not loaded, because zext4 serves the type ext4' || die "$(dmesg)"
        ! dmesg | grep -q duplicate || die "$(dmesg)"
        umount /mnt
        # Stock ext4, after it again.
        rmmod zext4 || die rmmod
        [ ! -e /sys/fs/ext4 ] && [ ! -e /proc/fs/ext4 ] || die "something is left"
        modprobe ext4; mount -t ext4 /dev/vda /mnt || die "mount by stock"
        [ "$(cat /mnt/a)" = a ] || die "a is lost on stock"
        umount /mnt; fsck /dev/vda
        modprobe zext4 || die "zext4 beside ext4"
    """)


def test_kernel_without_zext4(guest):
    """Lanes that are stored in the file system: stock ext4 overlooks them, and mounts it when the log is replayed."""
    guest("""
        rmmod zext4 2>/dev/null; modprobe -r ext4 2>/dev/null; dmesg -c >/dev/null
        modprobe zext4 register_as=ext4 || die "modprobe: $(dmesg)"
        mk /dev/vda; tune2fs -E mount_opts=lanes=2 /dev/vda >/dev/null || die tune2fs
        mount -t ext4 /dev/vda /mnt || die mount
        grep -q '^log: zj' /proc/fs/zjournal/*/info || die "$(cat /proc/fs/zjournal/*/info)"
        echo a >/mnt/a; fsctl fsync /mnt/a; fsctl shutdown 2 /mnt; umount /mnt
        rmmod zext4; modprobe ext4
        ! mount -t ext4 /dev/vda /mnt 2>/dev/null || die "stock ext4 takes a log of lanes"
        zjctl recover /dev/vda >/tmp/out 2>&1; [ $? -eq 1 ] || die "$(cat /tmp/out)"
        mount -t ext4 /dev/vda /mnt || die "mount by stock: $(dmesg | tail -n 3)"
        dmesg | grep -q 'failed to parse options in superblock' || die "$(dmesg)"
        [ "$(cat /mnt/a)" = a ] || die "a is lost"
        umount /mnt; fsck /dev/vda
        modprobe zext4 || die "zext4 beside ext4"
    """)


def test_refusals(guest):
    """Beside stock ext4, or with another name: refused with the remedy, and nothing is left or was seen."""
    guest("""
        rmmod zext4 2>/dev/null; modprobe ext4; dmesg -c >/dev/null
        [ -e /tmp/tracing/trace ] || { mkdir /tmp/tracing; mount -t tracefs tracefs /tmp/tracing || die tracefs; }
        registered() { grep -c 'shown: (register_filesystem' /tmp/tracing/trace; }
        echo 'p:shown register_filesystem' >/tmp/tracing/kprobe_events || die kprobe
        echo 1 >/tmp/tracing/events/kprobes/shown/enable
        ! modprobe zext4 register_as=ext4 2>/dev/null || die "a second ext4"
        dmesg | grep -q 'register_as=ext4: a file system of this name is loaded already; unmount what uses it and run rmmod ext4 first' || die "$(dmesg)"
        ! modprobe zext4 register_as=xfs 2>/dev/null || die "another name"
        dmesg | grep -q 'register_as=xfs is not supported; it is zext4 or ext4' || die "$(dmesg)"
        # A type that is there to try the name alone could be mounted.
        [ $(registered) = 0 ] || die "a type was registered: $(cat /tmp/tracing/trace)"
        modprobe zext4 || die "zext4 does not load any more"
        [ $(registered) = 1 ] || die "types were registered: $(cat /tmp/tracing/trace)"
        echo 0 >/tmp/tracing/events/kprobes/shown/enable; echo >/tmp/tracing/kprobe_events
        [ -d /sys/fs/zext4 ] || die "no directory in sysfs"
    """)
