# SPDX-License-Identifier: GPL-2.0-only
"""I/O errors from the device: abort, no more writes, and nothing lost once the device is well again."""

import re

import pytest
import vm as vmlib

VERSION = [int(n) for n in re.match(r"(\d+)\.(\d+)", vmlib.Kernel.find().version).groups()]

START = """
. /lib/zj/dm.sh
dm_good
mk $DM -J size=16
mnt $DM
known_tree
fsctl syncfs /mnt || die syncfs
"""

# The device is well again: what was synced is there, and the file system is sound.
WELL_AGAIN = """
dm_good
mnt $DM
check_tree
unmnt
fsck $DM
mnt $DM; check_tree; touch /mnt/tree/after; unmnt; fsck $DM
"""

READ_ONLY = """
touch /mnt/tree/x 2>/dev/null; fsctl syncfs /mnt 2>/dev/null
! touch /mnt/tree/y 2>/dev/null || die "still writable after the error"
"""


@pytest.mark.parametrize("fault", ["dm_dead", "dm_no_writes"])
def test_device_dies_under_load(guest, fault):
    guest(START + f"""
        stress -p 3 -t 30 /mnt >/tmp/load 2>&1 & load=$!
        sleep 1
        {fault}
        wait $load && die "the load saw no error"
    """ + READ_ONLY + "unmnt" + WELL_AGAIN)


def test_commit_fails(guest):
    """Only the journal refuses writes, and no timer has committed before."""
    guest(START.replace("mnt $DM", "mnt $DM commit=300") + """
        mkdir /mnt/dir || die mkdir
        dm_part journal error_writes
        fsctl fsync /mnt/dir && die "fsync reported success"
    """ + READ_ONLY + "unmnt" + WELL_AGAIN)


def test_checkpoint_fails(guest):
    """Only the journal accepts writes; what was committed must be recovered from there."""
    guest(START + """
        mkdir /mnt/dir; last=0
        make() { mkdir /mnt/dir/$1 && fsctl fsync /mnt/dir && last=$1; }
        for n in $(seq 20); do make $n || die "mkdir on a good device"; done
        dm_part home error_writes
        for n in $(seq 21 300); do make $n || break; done 2>/dev/null
        fsctl syncfs /mnt 2>/dev/null
        umount /mnt || umount -l /mnt
        dm_good
        mnt $DM
        for n in $(seq $last); do [ -d /mnt/dir/$n ] || die "lost directory $n of $last"; done
        unmnt; fsck $DM
    """ + WELL_AGAIN, timeout=240)


@pytest.mark.zext4
@pytest.mark.skipif(VERSION < [7, 3], reason="the journal's commit does it there")
@pytest.mark.parametrize("option", ["abort", "ignore"])
def test_data_err_abort(guest, option):
    """File data cannot be written: with data_err=abort the file system stops, else only the file has an error."""
    guest(START.replace("mnt $DM", f"mnt $DM data_err={option}") + f"""
        dm_part home error_writes
        dd if=/dev/zero of=/mnt/large bs=1M count=4 conv=fsync 2>/dev/null && die "fsync reported success"
        touch /mnt/tree/x 2>/dev/null && goes_on=ignore || goes_on=abort
        [ $goes_on = {option} ] || die "as with $goes_on"
        umount /mnt
    """ + WELL_AGAIN)


@pytest.mark.zext4
def test_error_without_a_number(guest):
    """ext4 finds something wrong, and has no number for it: the journal says and records one all the same."""
    guest("""
        mk /dev/vdc
        mnt /dev/vdc errors=remount-ro
        dmesg -c >/dev/null
        echo test >$(echo /sys/fs/$FS/*/trigger_fs_error) || die trigger
        dmesg | grep -q "aborted: error -[1-9]" || die "$(dmesg)"
        umount /mnt || die umount
        mnt /dev/vdc; unmnt
    """)


LIVE_LOG = START + """
    mkdir /mnt/dir
    for n in 1 2 3 4 5 6 7 8; do
        seq $((n * 1000)) >/mnt/dir/$n; fsctl fsync /mnt/dir/$n || die fsync
    done
    crash
    dumpe2fs -h $BACK 2>/dev/null | grep -q needs_recovery || die "the log is not live"
"""

ALL_BACK = """
    dm_good
    mnt $DM
    for n in 1 2 3 4 5 6 7 8; do seq $((n * 1000)) | cmp - /mnt/dir/$n || die "lost file $n"; done
    unmnt
""" + WELL_AGAIN


@pytest.mark.parametrize("part", ["home error_writes", "journal error", "journal error_writes"])
def test_recovery_fails(guest, part):
    """The device fails during recovery: the mount is refused, a later one recovers everything."""
    guest(LIVE_LOG + f"dm_part {part}\nno_mnt $FS $DM\n" + ALL_BACK)


def test_recovery_from_read_only_device(guest):
    guest("BACK=/dev/vdc\n" + LIVE_LOG + """
        before=$(digest $BACK)
        dm_set "0 $(dm_size) flakey $BACK 0 0 600 1 error_writes"
        no_mnt $FS $DM ro
        [ "$(digest $BACK)" = "$before" ] || die "something was written"
    """ + ALL_BACK)


@pytest.mark.zext4
@pytest.mark.parametrize("errors", ["remount-ro", "continue"])
def test_error_while_it_becomes_read_only(guest, errors):
    """Errors of a read and of a handle, both from before SB_RDONLY was set: nobody hangs, and they are recorded."""
    # Newer kernels neither say nor record what comes after the first one, unless they continue.
    least = 1 if VERSION >= [7, 3] and errors == "remount-ro" else 2
    guest(f"ERRORS={errors} LEAST={least}\n" + r"""
        needs_stacks
        modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
        DEV=/dev/zjd0 OPTS=lanes=1,commit=300
        say() { echo "0 $*" >/dev/zjdctl || die "$*"; }
        # wait_until COMMAND: for up to a minute; what happens meanwhile decides, not how long it takes
        wait_until() {
            n=0
            until eval "$1"; do n=$((n + 1)); [ $n -lt 600 ] || die "never: $1"; sleep 0.1; done
        }
        held() { grep -q " $1 " /dev/zjdctl; }
        at() { grep -qs $1 /proc/[0-9]*/stack; }
        gone() { ! grep -qs '^State:.[^Z]' /proc/$1/status; }
        errors() { dumpe2fs -h $DEV 2>/dev/null | sed -n 's/^FS Error count: *//p'; }

        mke2fs -q -F -t ext4 -b 1024 -O ^orphan_file $DEV || die mke2fs
        mnt $DEV $OPTS; touch /mnt/a; mkdir /mnt/d; echo b >/mnt/d/b
        fsctl syncfs /mnt || die syncfs
        group=$(($(filefrag -b1024 -v /mnt/d/b | awk '$1 == "0:" { print $4 - 1 }') / 8192))
        [ $group -gt 0 ] || die "all is in the first group"
        unmnt
        bitmap=$(debugfs -R stats $DEV 2>/dev/null | sed -n "s/^ *Group *$group: block bitmap at \([0-9]*\).*/\1/p")
        root=$(debugfs -R 'bmap <2> 0' $DEV 2>/dev/null)
        dd if=/dev/zero of=$DEV bs=1k count=1 seek=${bitmap:?} conv=notrunc 2>/dev/null

        mnt $DEV $OPTS,errors=$ERRORS,no_prefetch_block_bitmaps
        sleep 10000 8</mnt/a & a=$!
        sleep 10000 9</mnt/d/b & b=$!
        rm /mnt/d/b /mnt/a || die rm
        # The remount, which goes on with deleted files open, has committed, and waits for the root directory's block.
        # On a slow host they are held for so long that the kernel would call them hung.
        patience=/proc/sys/kernel/hung_task_timeout_secs; was=$(cat $patience); echo 0 >$patience
        say hold $((2 * root)) $((2 * root + 1))
        dmesg -c >/dev/null; echo u >/proc/sysrq-trigger
        wait_until "held held=1 && at filemap_write_and_wait_range"
        # An uncommitted change of the super block, which has the list of orphans.
        kill $a; wait_until "gone $a"
        # A read of the bitmap holds a lock, which a handle waits for.
        say hold-read $((2 * bitmap)) $((2 * bitmap + 1))
        cat /proc/fs/$FS/zjd0/mb_groups >/tmp/groups & groups=$!
        wait_until "held held_reads=1"
        kill $b; wait_until "grep -q evict_inode /proc/$b/stack && grep -q '^State:.D' /proc/$b/status"
        say release
        wait_until "grep -q ' /mnt .* ro,' /proc/mounts"
        ! gone $b && ! gone $groups || die "they did not wait"
        say release-read
        wait_until "gone $groups"; wait_until "gone $b"; wait_until "dmesg | grep -q 'Emergency Remount complete'"
        echo $was >$patience
        said=$(dmesg | grep -c 'fs error (')
        [ $said -ge $LEAST ] || die "$(dmesg | tail)"
        wait_until '[ "$(errors)" = $said ]'
        umount /mnt || die umount
        [ "$(errors)" = $said ] || die "errors: $said were said, recorded $(errors)"
        dumpe2fs -h $DEV 2>/dev/null | grep -q 'state: *clean with errors' || die "$(dumpe2fs -h $DEV)"
        e2fsck -fy $DEV >/tmp/out 2>&1; fsck $DEV; rmmod zjdisk
    """)
