# SPDX-License-Identifier: GPL-2.0-only
"""Under dm-log-writes, whose log is not in the order of completion (tests/README.md)."""

import re

RECORD = """
    modprobe -q dm_mod; modprobe -q dm_log_writes
    record() {
        dmsetup create lw --table "0 32768 log-writes /dev/vda /dev/vdb" || die dmsetup
        [ -e /dev/mapper/lw ] || dmsetup mknodes lw
    }
    letter() { tr '\\0' "$1" </dev/zero | head -c 4096; }
"""


def test_it_logs_a_plain_write_behind_a_later_one_with_fua(guest):
    """Why fsx over dm-log-writes wrongly reports overwrites with FUA, shown without a file system."""
    out = guest(RECORD + """
        record
        logwrites put /dev/mapper/lw 8 A || die A
        logwrites put /dev/mapper/lw 8 B fua || die B
        # Of a file on a disk its flush goes out in any case.
        blockdev --flushbufs /dev/mapper/lw
        dmsetup message lw 0 mark end
        dmsetup remove lw || die remove
        logwrites list /dev/vdb | sed 's/^[0-9]* //'
        letter B | cmp -n 4096 - /dev/vda 0 32768 || die "the disk has not what was written last"
        logwrites replay /dev/vdb /dev/vdc end || die replay
        letter A | cmp -n 4096 - /dev/vdc 0 32768 || die "the log has not brought the older write back"
    """)
    assert re.search(r"^write 64 8 fua\nwrite 64 8\nflush\n(?:.*\n)*mark end$", out, re.M), out


def test_fsynced_data_is_where_it_logs_last(guest):
    """A plain write of a block, then a buffered one with fsync: a flush is needed, so FUA is not used."""
    guest(RECORD + """
        mke2fs -q -F -t ext4 -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda 16M || die mke2fs
        mount -t ext4 /dev/vda /mnt && letter 0 >/mnt/file && umount /mnt || die prepare
        dd if=/dev/vda of=/tmp/base bs=1M count=16 2>/dev/null
        record
        mnt /dev/mapper/lw
        for n in 1 2 3; do
            letter A | dd of=/mnt/file bs=4k oflag=direct conv=notrunc 2>/dev/null || die direct
            letter $n | dd of=/mnt/file bs=4k conv=notrunc,fsync 2>/dev/null || die fsync
            # Somebody's flush.
            fsctl syncfs /mnt || die syncfs
            dmsetup message lw 0 mark $n
        done
        unmnt
        dmsetup remove lw || die remove
        for n in 1 2 3; do
            dd if=/tmp/base of=/dev/vdc bs=1M 2>/dev/null
            logwrites replay /dev/vdb /dev/vdc $n || die replay
            mnt /dev/vdc
            letter $n | cmp - /mnt/file || die "mark $n: $(head -c 1 /mnt/file); $(logwrites list /dev/vdb)"
            unmnt
        done
        rm /tmp/base
    """)
