# SPDX-License-Identifier: GPL-2.0-only
"""Damaged devices and images that somebody has made: what a mount does with them, beside stock ext4."""

import os

import pytest

pytestmark = pytest.mark.zext4

# Five small commits, a crash, and one block of the journal that cannot be read.
BAD_BLOCK = """
. /lib/zj/dm.sh
bad() { # OPTIONS JOURNALBLOCK
    JFIRST=
    dmsetup remove faulty 2>/dev/null
    mk /dev/vda -J size=16
    mnt /dev/vda $1
    for i in 1 2 3 4 5; do echo $i >/mnt/f$i; fsctl fsync /mnt/f$i || die fsync; done
    fsctl shutdown 2 /mnt; umount /mnt
    journal_range
    at=$((JFIRST + $2 * 8))
    dm_set "$(dm_piece good 0 $at)
$at 8 flakey $BACK $at 0 600 1 error_reads
$(dm_piece good $((at + 8)) $(($(dm_size) - at - 8)))"
}
all_there() { [ "$(cat /mnt/f?)" = "$(seq 5)" ] || die "$(cat /mnt/f?)"; }
"""


@pytest.mark.parametrize("options, block", [("lanes=2", 60), ("lanes=2", 2), ("lanes=1", 200)])
def test_unreadable_block_that_holds_nothing(guest, options, block):
    """Behind the records of a segment; a checkpoint slot; behind the end of a ring."""
    guest(BAD_BLOCK + f"""
        bad {options} {block}
        zjctl check $DM >/tmp/o 2>&1 || die "check: $(cat /tmp/o)"
        grep -q "the log is good" /tmp/o || die "$(cat /tmp/o)"
        zjctl recover -n $DM >/tmp/o 2>&1 || die "recover -n: $(cat /tmp/o)"
        mark unread
        mnt $DM {options}; all_there; unmnt
        # Of a ring, nothing behind its end is read.
        [ {options} = lanes=1 ] || said "blocks of the log cannot be read, the first is journal block {block}"
        fsck /dev/vda
    """)


@pytest.mark.parametrize("options", ["lanes=2", "lanes=1"])
def test_unreadable_block_of_a_record(guest, options):
    """Block 6 is an image in the first record of both formats: stock ext4 refuses this, too."""
    guest(BAD_BLOCK + f"""
        bad {options} 6
        zjctl check $DM >/tmp/o 2>&1; [ $? = 4 ] || die "check: $(cat /tmp/o)"
        grep -q "journal block 6 cannot be read" /tmp/o || die "$(cat /tmp/o)"
        mark refused
        no_mnt $FS $DM {options}
        said "journal block 6 cannot be read"
        [ {options} = lanes=2 ] || no_mnt ext4 $DM
        fsck.zext4 -p $DM >/tmp/o 2>&1; [ $? = 4 ] || die "fsck: $(cat /tmp/o)"
        zjctl recover --drop-damaged $DM >/tmp/o 2>&1; [ $? = 4 ] || die "$(cat /tmp/o)"
        grep -q "run e2fsck -f" /tmp/o || die "$(cat /tmp/o)"
        e2fsck -fy $DM >/tmp/o 2>&1; [ $? -le 1 ] || die "$(cat /tmp/o)"
        mnt $DM {options}; touch /mnt/after; unmnt; fsck /dev/vda
    """)


# Stock ext4 leaves a fast commit, then an inode claims 16 TiB.
CLAIM = """
sync_file() { fsctl fsync "$@" || die "fsync $*"; }
echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
modprobe ext4
mk $dev -J size=8,fast_commit_size=1024 -O fast_commit,large_dir,orphan_file
mount -t ext4 $dev /mnt || die mount
# So the inodes are in blocks of the table of their own, and the log brings none of them back.
pad() { i=0; while [ $((i += 1)) -le 40 ]; do : >/mnt/pad$1$i; done; }
pad a; mkdir /mnt/d; pad b; mkdir /mnt/e; echo 1 >/mnt/e/file; : >/mnt/e/f1; pad c; echo 2 >/mnt/other
sync; umount /mnt
mount -t ext4 -o commit=600,noatime $dev /mnt || die mount
echo more >>/mnt/other; fsctl syncfs /mnt
"""


@pytest.mark.parametrize("what", ["orphan file", "directory"])
def test_fast_commits_and_a_claimed_size(guest, what):
    """The replay looks at what is there; stock refuses the first file system and mounts the second one."""
    change, inode = {
        "orphan file": ("rm /mnt/e/f1; sync_file /mnt/e/file",
                        "$(dumpe2fs -h $dev 2>/dev/null | sed -n 's/^Orphan file inode: *//p')"),
        "directory": ("mkdir /mnt/d/x; echo y >/mnt/d/x/f; sync_file /mnt/d/x/f", "$d"),
    }[what]
    end = {
        "orphan file": """[ $rc != 0 ] || die "mounted"; said "the orphan file claims" """,
        "directory": """[ $rc = 0 ] || die "mount: $rc: $(dmesg | tail -3)"; said "fast commits replayed"
            [ $(cat /mnt/d/x/f) = y ] || die lost; umount /mnt""",
    }[what]
    guest(f"""
        dev=/dev/vda
        {CLAIM}
        {change}
        d=$(stat -c %i /mnt/d)
        fsctl shutdown 2 /mnt; umount /mnt
        debugfs -w -R "sif <{inode}> size 0xfffffffe000" $dev >/dev/null 2>&1
        mark claimed
        # It would run for hours.
        timeout -s KILL 200 mount -t $FS $dev /mnt; rc=$?
        [ $rc != 137 ] || die "the mount does not end"
        {end}
        echo 500 >/proc/sys/vm/dirty_writeback_centisecs
        # A cache that goes with objects in it is a complaint of the kernel's.
        if [ $FS = zext4 ]; then rmmod zext4 || die rmmod; modprobe zext4; fi
    """, timeout=400)


@pytest.mark.parametrize("options", ["lanes=2", "lanes=1"])
def test_noload_and_then_read_write(guest, options):
    """The next recovery would put the log over what is written. Stock ext4 allows the remount."""
    guest(f"""
        mk /dev/vda -J size=16
        mnt /dev/vda {options}
        echo old >/mnt/a; fsctl syncfs /mnt; mkdir /mnt/d; echo 1 >/mnt/d/1; fsctl fsync /mnt/d/1 /mnt/d
        fsctl shutdown 2 /mnt; umount /mnt
        mnt /dev/vda ro,noload
        mark remount
        mount -o remount,rw /mnt 2>/dev/null && die "remounted"
        said "the journal must be recovered, or cannot be read: mount without noload"
        unmnt
        no_mnt $FS /dev/vda noload
        mnt /dev/vda {options}; [ $(cat /mnt/d/1) = 1 ] || die lost; unmnt
        # A clean one may be remounted.
        mnt /dev/vda ro,noload
        mount -o remount,rw /mnt || die "clean, and refused: $(dmesg | tail -3)"
        unmnt; fsck /dev/vda
    """)


def test_noload_and_a_journal_that_cannot_be_read(guest):
    """It may hold anything, so nothing is written."""
    guest("""
        . /lib/zj/dm.sh
        mk /dev/vda -J size=16
        journal_range
        dm_set "$(dm_piece good 0 $JFIRST)
$(dm_piece error $JFIRST 8)
$(dm_piece good $((JFIRST + 8)) $(($(dm_size) - JFIRST - 8)))"
        mark unread
        no_mnt $FS $DM
        said "journal block 0 .* cannot be read"
        no_mnt $FS $DM noload
        mnt $DM ro,noload
        mount -o remount,rw /mnt 2>/dev/null && die "remounted"
        unmnt
    """)


# ---- the superblocks: every field of the journal's, and of the file system's what concerns it ----

MAX = 0xffffffff
LEN = 2048
# Name: offset, width (big-endian in the journal's, little-endian in the file system's), values.
# The first values are tried always, the others with ZJ_SUPER_WALK=1.
JOURNAL = {
    "s_magic": (0, [0], [1, MAX]),
    "s_blocktype": (4, [3, 5], [0, 1, 2, 4, MAX]),
    "s_header_sequence": (8, [], [1, MAX]),
    "s_blocksize": (12, [2048], [0, 1, 1023, 1025, 4096, MAX]),
    "s_maxlen": (16, [100, 1023, LEN + 1], [0, 1, 1024, LEN - 1, MAX]),
    "s_first": (20, [0, LEN - 1023, LEN - 1022], [1, 2, LEN - 1, LEN, MAX]),
    "s_sequence": (24, [0], [1, MAX]),
    "s_start": (28, [1, LEN - 1, LEN], [2, LEN + 1, MAX]),
    "s_errno": (32, [], [1, MAX - 4, MAX]),
    "s_feature_compat": (36, [1], [2, MAX]),
    "s_feature_incompat": (40, [8, 24, 32], [1, 2, 4, 16, 64, 0x20000000, MAX]),
    "s_feature_ro_compat": (44, [1], [MAX]),
    "s_uuid": (48, [], [1, MAX]),
    "s_nr_users": (64, [], [0, 1, 2, 49, MAX]),
    "s_dynsuper": (68, [], [1, MAX]),
    "s_max_transaction": (72, [], [1, MAX]),
    "s_max_trans_data": (76, [], [1, MAX]),
    "s_checksum_type": (80, [], [1 << 24, 4 << 24, MAX]),
    "s_num_fc_blks": (84, [], [1, LEN - 1024, LEN - 1023, MAX]),
    "s_head": (88, [], [1, LEN, MAX]),
    "s_checksum": (252, [], [1, MAX]),
    "s_users": (256, [], [1, MAX]),
}
FILE_SYSTEM = {
    "journal_uuid": (0xd0, [], [1, MAX]),
    "journal_inum": (0xe0, [0, 7], [1, 2, 9, 11, 12, MAX]),
    "journal_dev": (0xe4, [1], [MAX]),
    "jnl_blocks": (0x10c, [], [0, MAX]),
}
# With the feature needs_recovery, in an old log of stock's that holds nothing.
DUE = {
    "s_start": (28, [1, LEN - 1, LEN], [2, LEN + 1, MAX]),
    "s_sequence": (24, [], [0, MAX]),
    "s_first": (20, [], [2, LEN - 1]),
}

# Where zext4 and stock differ, and why that is right.
DIFFERENT = {
    # The log starts before its first block.  Stock reads on from there, and takes what it finds
    # for the end of a log that holds nothing; here nobody knows what the log was.
    ("due", "s_first", 2): ("mounted", "refused"),
}

# Where e2fsck -fn is content though a mount is refused, or complains though it is not.
FSCK_DIFFERENT = {
    # A mount takes the error over into the file system's superblock.
    ("journal", "s_errno", 1), ("journal", "s_errno", MAX - 4), ("journal", "s_errno", MAX),
    # A journal in an inode has no list of users.
    ("journal", "s_nr_users", 2), ("journal", "s_nr_users", 49), ("journal", "s_nr_users", MAX),
    # It asks for no least length, and does not look at a log that is not due.
    *(("journal", "s_maxlen", n) for n in (0, 1, 100, 1023)),
    *(("journal", "s_first", n) for n in (0, LEN - 1022, LEN - 1, LEN, MAX)),
    *(("journal", "s_start", n) for n in (LEN, LEN + 1, MAX)),
    # A mount asks for the UUID only of a device, and refuses an inode and a device at once.
    *(("file system", "journal_uuid", n) for n in (1, MAX)),
    *(("file system", "journal_dev", n) for n in (1, MAX)),
}

WALK = r"""
modprobe ext4
dev=/dev/vdc
word() { printf "\\$(printf %o $(($1>>24&255)))\\$(printf %o $(($1>>16&255)))\\$(printf %o $(($1>>8&255)))\\$(printf %o $(($1&255)))"; }
swab() { echo $((($1&255)<<24 | ($1>>8&255)<<16 | ($1>>16&255)<<8 | $1>>24&255)); }
mke2fs -q -F -t ext4 -b 1024 -O ^metadata_csum,^64bit,^resize_inode -J size=2 -E lazy_itable_init=0 $dev 8M || die mke2fs
block=$(debugfs -c -R 'bmap <8> 0' $dev 2>/dev/null)
dd if=$dev of=/tmp/walk.img bs=1M count=8 2>/dev/null
put() { word $2 | dd of=$dev bs=1 seek=$1 conv=notrunc 2>/dev/null; }
incompat=$(od -An -tu4 -j$((1024 + 0x60)) -N4 /tmp/walk.img)
# With needs_recovery and a log.
due() { put $((1024 + 0x60)) $(swab $((4 | $incompat))); put $((block * 1024 + 28)) 1; }
fresh() { dd if=/tmp/walk.img of=$dev bs=1M 2>/dev/null; }
try() { # NAME VALUE: the device is as it shall be tried; saved, because a mount changes it
    dd if=$dev of=/tmp/tried.img bs=1M count=8 2>/dev/null
    for type in ext4 zext4; do
        [ $type = ext4 ] || dd if=/tmp/tried.img of=$dev bs=1M 2>/dev/null
        if mount -t $type $dev /mnt 2>/dev/null; then
            verdict=mounted
            # Stock ext4 warns of a bug where no handle fits into the journal; we must not.
            [ $type = ext4 ] || (mkdir /mnt/new && fsctl syncfs /mnt) 2>/dev/null
            umount /mnt
        else
            verdict=refused
        fi
        echo "walk $1 $2 $type $verdict"
    done
    e2fsck -fn /tmp/tried.img >/dev/null 2>&1; echo "walk $1 $2 e2fsck $?"
}
"""


@pytest.mark.parametrize("which", ["journal", "file system", "due"])
def test_superblocks_as_stock_takes_them(guest, which):
    """Each field with values at its edges: zext4 says what stock ext4 says."""
    full = os.environ.get("ZJ_SUPER_WALK") == "1"
    table, base, prepare = {
        "journal": (JOURNAL, "block * 1024", ""),
        "file system": (FILE_SYSTEM, "1024", ""),
        "due": (DUE, "block * 1024", "due;"),
    }[which]
    script = [WALK]
    for name, (offset, values, more) in table.items():
        for value in values + (more if full else []):
            number = f"$(swab {value})" if which == "file system" else value
            script.append(f"fresh; {prepare} put $(({base} + {offset})) {number}; try {name} {value}")
    count = len(script) - 1
    out = guest("\n".join(script), timeout=1800 if full else 600)
    seen = {}
    for line in out.splitlines():
        if line.startswith("walk "):
            _, name, value, who, verdict = line.split()
            seen.setdefault((which, name, int(value)), {})[who] = verdict
    for key, got in seen.items():
        print(key, got)
    assert len(seen) == out.count("e2fsck") == count
    different = {key: (got["ext4"], got["zext4"]) for key, got in seen.items()
                 if got["ext4"] != got["zext4"]}
    assert different == {k: v for k, v in DIFFERENT.items() if k in seen}
    # With -n, e2fsck does not look at a log that is due.
    other = {key for key, got in seen.items() if which != "due" and
             (got["zext4"] == "mounted") != (got["e2fsck"] == "0")}
    assert other == FSCK_DIFFERENT & seen.keys()
