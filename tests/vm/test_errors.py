# SPDX-License-Identifier: GPL-2.0-only
"""I/O errors from the device: abort, no more writes, and nothing lost once the device is well again."""

import pytest

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
    """Only the journal refuses writes."""
    guest(START + """
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
