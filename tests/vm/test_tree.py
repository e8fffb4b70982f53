# SPDX-License-Identifier: GPL-2.0-only
"""What a lane did only because of what another had done is not there without that after a crash.

Lane 0 and lane 1 share no block: each object below has a block of the inode table of its own.
"""

import pytest

LIB = """
    zero() { taskset 1 "$@" || die "lane 0: $*"; }
    one() { taskset 2 "$@" || die "lane 1: $*"; }
    # Directories whose inodes are in blocks of their own.
    apart() {
        for d in "$@"; do
            mkdir /mnt/$d || die "mkdir $d"
            for f in $(seq 20); do : >/mnt/$d/.f$f; done
        done
    }
    # As on a disk that nobody has changed for long.
    settle() {
        fsctl syncfs /mnt || die syncfs
        unmnt; fsck /dev/vda
        mnt /dev/vda noatime,commit=300
        find /mnt >/dev/null
        fsctl syncfs /mnt || die syncfs
    }
    # evict FILE: its inode leaves core; nothing is committed
    evict() {
        [ -e /tmp/tracing/trace ] || { mkdir /tmp/tracing; mount -t tracefs tracefs /tmp/tracing || die tracefs; }
        echo "ino == $(stat -c %i $1)" >/tmp/tracing/events/$FS/ext4_evict_inode/filter
        echo 1 >/tmp/tracing/events/$FS/ext4_evict_inode/enable
        echo >/tmp/tracing/trace
        until grep -q ext4_evict_inode: /tmp/tracing/trace; do
            # Another interval starts write-back of all that is dirty.
            echo $((n = n == 499 ? 500 : 499)) >/proc/sys/vm/dirty_writeback_centisecs
            echo 3 >/proc/sys/vm/drop_caches
        done
    }
    after_crash() {
        crash
        mnt /dev/vda noatime
        find /mnt/p /mnt/q -type d
    }
"""

# How lane 0 gets c, which holds k, out of p/a, and where it is then.
MOVES = {
    "moved": ("", "mv /mnt/p/a/x/c /mnt/q/c", "q/c"),
    "over a directory": ("mkdir /mnt/q/c", "mv -T /mnt/p/a/x/c /mnt/q/c", "q/c"),
    "for a directory": ("apart p/b p/b/v", "fsctl exchange /mnt/p/b/v /mnt/p/a/x/c", "p/b/v"),
    "for a file": ("echo >/mnt/q/f", "fsctl exchange /mnt/p/a/x/c /mnt/q/f", "q/f"),
    "the other way": ("echo >/mnt/q/f", "fsctl exchange /mnt/q/f /mnt/p/a/x/c", "q/f"),
}


@pytest.mark.parametrize("how", MOVES)
@pytest.mark.parametrize("then", ["mv", "exchange"])
def test_no_ring_of_directories(guest, how, then):
    """a can be moved below c once c is no longer below a; so after a crash both moves are there, or none."""
    setup, move, place = MOVES[how]
    second = {"mv": f"one mv /mnt/p/a /mnt/{place}/k/a",
              "exchange": f"one fsctl exchange /mnt/p/a /mnt/{place}/k/a"}[then]
    guest(LIB + f"""
        mk /dev/vda
        mnt /dev/vda noatime,commit=300
        apart q p p/a p/a/x p/a/x/c p/a/x/c/k
        {setup}
        apart between
        [ {then} = mv ] || echo >/mnt/p/a/x/c/k/a
        echo precious >/mnt/p/a/file
        settle
        zero {move}
        {second}
        one fsctl fsync /mnt/{place}/k
        after_crash
        [ "$(cat /mnt/{place}/k/a/file)" = precious ] || die "lost: $(ls -lR /mnt/p /mnt/q)"
        unmnt; fsck /dev/vda
    """)


def test_unnamed_file_inherits_what_is_there(guest):
    """A file of O_TMPFILE inherits its group from a directory that another lane has just changed."""
    guest(LIB + """
        mk /dev/vda -O orphan_file
        mnt /dev/vda noatime,commit=300
        apart p q r
        settle
        zero chgrp 77 /mnt/p
        zero chmod 2755 /mnt/p
        one fsctl tmpfile /mnt/p /mnt/q/f
        after_crash
        [ "$(stat -c %g /mnt/q/f)" = 77 ] || die "its group: $(stat -c %g /mnt/q/f)"
        [ "$(stat -c %g:%a /mnt/p)" = 77:2755 ] || die "without its cause: $(stat -c %g:%a /mnt/p)"
        unmnt; fsck /dev/vda
    """)


def test_migration_in_two_transactions(guest):
    """The temporary inode of chattr +e belongs to the first, which is durable, and changes in the second."""
    guest("""
        mk /dev/vda -O ^extents,^64bit
        mnt /dev/vda noatime
        for n in $(seq 60); do seq $n 3000 | dd of=/mnt/file bs=4k seek=$((n * 3)) conv=notrunc 2>/dev/null; done
        cp /mnt/file /tmp/copy
        unmnt
        tune2fs -O extents /dev/vda >/dev/null || die tune2fs
        # A create waits for its commit then: so does the first half of the migration.
        mnt /dev/vda noatime,dirsync
        chattr +e /mnt/file || die chattr
        lsattr /mnt/file | grep -q 'e.* /mnt/file' || die "no extents: $(lsattr /mnt/file)"
        unmnt; fsck /dev/vda
        mnt /dev/vda; cmp /mnt/file /tmp/copy || die "its data"
        unmnt; fsck /dev/vda
    """)


def test_moved_extents_of_a_file_that_was_read_in_again(guest):
    """Lane 0 moves a block of a file whose extents are in a tree, and the inode leaves core: what lane 1
    then writes to the new block, and syncs, is not there without the move."""
    guest(LIB + """
        mk /dev/vda
        mnt /dev/vda
        apart p q
        for f in p/file q/donor; do
            for n in 0 2 4 6 8 10 12; do
                echo old | dd of=/mnt/$f bs=4096 seek=$n conv=notrunc 2>/dev/null
            done
        done
        settle
        zero fsctl move-first /mnt/q/donor /mnt/p/file
        evict /mnt/p/file
        echo new | one dd of=/mnt/p/file conv=notrunc 2>/dev/null
        one fsctl fsync /mnt/p/file
        crash
        mnt /dev/vda noatime
        [ "$(head -c 3 /mnt/p/file)" = new ] || die "synced data is gone: $(head -c 3 /mnt/p/file)"
        unmnt; fsck /dev/vda
    """)


def test_converted_extents_of_a_file_that_was_read_in_again(guest):
    """Lane 0 writes back what was written to blocks that were allocated before, in a tree; the inode has been
    committed and leaves core: an fsync of what is read in again still finds the tree."""
    guest(LIB + """
        mk /dev/vda
        mnt /dev/vda
        apart p q
        for n in 0 2 4 6 8 10 12; do
            fallocate -o $((n * 4096)) -l 4096 /mnt/p/file || die fallocate
        done
        echo old >/mnt/q/other
        settle
        mount -o remount,dioread_lock /mnt || die remount
        echo new | zero dd of=/mnt/p/file conv=notrunc 2>/dev/null
        zero chmod 600 /mnt/q/other
        zero fsctl fsync /mnt/q/other
        evict /mnt/p/file
        one fsctl fsync /mnt/p/file
        crash
        mnt /dev/vda noatime
        [ "$(head -c 3 /mnt/p/file)" = new ] || die "synced data is gone"
        unmnt; fsck /dev/vda
    """)


# Lane 0 writes to the one page of p/file, then the same directly: that is beyond the size on the disk until the
# page is written back, so the inode becomes an orphan, and is none any more in a handle that changes nothing else.
# In between is a commit. Then the inode leaves core.
ORPHAN_FOR_A_WHILE = """
        modprobe zjdisk ndev=1 || die zjdisk
        mk /dev/zjd0 -O orphan_file -J size=8
        mnt /dev/zjd0 noatime
        apart p q
        : >/mnt/p/file; : >/mnt/q/other
        fsctl syncfs /mnt || die syncfs
        unmnt
        mnt /dev/zjd0 noatime,commit=300
        find /mnt >/dev/null; : >>/mnt/q/other
        fsctl syncfs /mnt || die syncfs

        zero dd if=/dev/zero of=/mnt/p/file bs=4k count=1 conv=notrunc 2>/dev/null
        echo 0 latency 3000000 0 0 >/dev/zjdctl
        taskset 1 dd if=/dev/zero of=/mnt/p/file bs=4k count=1 oflag=direct conv=notrunc 2>/dev/null & direct=$!
        until grep -q iomap_dio_rw /proc/$direct/stack && ! grep -q filemap /proc/$direct/stack; do
            kill -0 $direct || die "too fast"
        done
        sleep 0.5
        echo 0 latency 0 0 0 >/dev/zjdctl
        zero chmod 600 /mnt/q/other
        zero fsctl fsync /mnt/q/other
        kill -0 $direct || die "too late: it is no orphan any more"
        wait $direct || die "direct write"
        evict /mnt/p/file
"""


@pytest.mark.zext4
def test_orphan_that_was_read_in_again(guest):
    """Its removal is never on the disk without the removal of its orphan entry."""
    guest(LIB + ORPHAN_FOR_A_WHILE + """
        one rm /mnt/p/file
        one fsctl fsync /mnt/p
        crash
        dmesg -c >/dev/null
        mnt /dev/zjd0 noatime
        ! dmesg | grep "bad orphan" || die "an orphan that is no inode"
        [ ! -e /mnt/p/file ] || die "it is there"
        unmnt; fsck /dev/zjd0
        rmmod zjdisk
    """)


@pytest.mark.zext4
def test_blocks_of_an_orphan_that_was_read_in_again(guest):
    """Synced blocks beyond its end are kept, because recovery does not truncate it as an orphan."""
    guest(LIB + ORPHAN_FOR_A_WHILE + """
        one fsctl preallocate /mnt/p/file
        one fsctl fsync /mnt/p/file
        blocks=$(stat -c %b /mnt/p/file)
        crash
        mnt /dev/zjd0 noatime
        [ "$(stat -c %b /mnt/p/file)" = $blocks ] || die "it has $(stat -c %b /mnt/p/file) of $blocks blocks"
        unmnt; fsck /dev/zjd0
        rmmod zjdisk
    """)
