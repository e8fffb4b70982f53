# SPDX-License-Identifier: GPL-2.0-only
"""Errors and aborts while file data is in the log (data=ordered): it stays what was synced last."""

import pytest
from log_data import LIB, with_each_log

pytestmark = pytest.mark.zext4
run_fixture = with_each_log(LIB)


@pytest.mark.parametrize("call", ["punch", "zero-first", "collapse-first", "insert-first"])
def test_f2_pages_stay_if_the_log_cannot_be_emptied(run, call):
    """A call that drops pages fails, because the block's place cannot be written: the file has its synced data."""
    run(f"""
        . /lib/zj/dm.sh
        dm_good
        DEV=$DM
        begin -J size=16
        sync_put /mnt/f a 4; fsctl syncfs /mnt
        log_put /mnt/f a 1; empty
        log_put /mnt/f b 1
        dm_part home error_writes
        # After the error ext4 refuses to read, but not by a mapping.
        seen=$(fsctl mapped-run /mnt/f 'fsctl {call} /mnt/f 2>/dev/null && echo success')
        [ "$seen" = b ] || die "seen: $seen"
        dm_good
        umount /mnt
        mnt $DM; is /mnt/f b 0 1; is /mnt/f a 1 3; unmnt; fsck $DM
    """)


def test_inode_evicted_if_the_log_cannot_be_emptied(run):
    """An inode that is not to be cached (chattr +x) stays with its pages as long as they are not home."""
    run("""
        . /lib/zj/dm.sh
        dm_good
        DEV=$DM
        begin -J size=16
        log_put /mnt/f a 1; empty
        exec 8</mnt/f
        chattr +x /mnt/f || die "chattr +x"
        log_put /mnt/f b 1
        dm_part home error_writes
        exec 8<&-
        is /mnt/f b 0 1
        dm_good
        umount /mnt
        mnt $DM; is /mnt/f b 0 1; unmnt; fsck $DM
    """)


def test_next_mount_finds_nothing_in_the_devices_cache(run):
    """
    After an abort a page of the device has a block of file data that is not home, and one of a directory
    with a change that was not committed. Somebody keeps the device open over the next mount, and with
    blocks of 1 KiB that sets no new block size, so the cache stays.
    """
    run("""
        # A tree that mke2fs fills has the first block of each directory beside that of its file.
        for n in 1 2 3 4 5 6; do mkdir -p /tmp/made/d$n; printf %01024d 1 >/tmp/made/d$n/f; done
        begin -b 1024 -d /tmp/made
        for n in 1 2 3 4 5 6; do echo "blocks /d$n"; echo "blocks /d$n/f"; done >/tmp/ask
        debugfs -f /tmp/ask $DEV 2>/dev/null | grep -o '^ *[0-9][0-9]*' >/tmp/blocks
        dir=$(paste - - </tmp/blocks | awk 'int($1 / 4) == int($2 / 4) { print "/mnt/d" NR; exit }')
        [ "$dir" ] || die "no file is beside its directory: $(cat /tmp/blocks)"
        exec 9<$DEV
        was=$(logged)
        printf %01024d 2 | dd of=$dir/f bs=1k conv=notrunc,fsync 2>/dev/null || die write
        [ $(logged) = $((was + 1)) ] || die "not logged"
        mkdir $dir/new || die mkdir
        crash
        mnt $DEV $OPTS
        [ ! -e $dir/new ] && [ "$(ls $dir)" = f ] || die "a directory that was not committed: $(ls $dir)"
        [ "$(cat $dir/f)" = $(printf %01024d 2) ] || die "lost data"
        unmnt; exec 9<&-; fsck $DEV; rm -r /tmp/made
    """)
