# SPDX-License-Identifier: GPL-2.0-only
"""A crashed zext4: what stock tools make of it, and logs that are damaged or unknown."""

import struct

import pytest

pytestmark = pytest.mark.zext4

CRASHED = """
mk /dev/vdc -J size=8
mnt /dev/vdc lanes=2
known_tree
fsctl syncfs /mnt || die syncfs
for n in 1 2 3 4 5; do mkdir /mnt/d$n; fsctl fsync /mnt/d$n || die fsync; done
crash
"""

CHECK = """
mnt /dev/vdc; check_tree
for n in 1 2 3 4 5; do [ -d /mnt/d$n ] || die "lost d$n"; done
unmnt; fsck /dev/vdc
"""


def test_stock_tools_refuse_a_crashed_zext4(guest):
    guest(CRASHED + """
        before=$(digest /dev/vdc)
        same() { [ "$(digest /dev/vdc)" = "$before" ] || die "$1 wrote to the disk"; }
        modprobe ext4
        no_mnt ext4 /dev/vdc; same "mount -t ext4"
        no_mnt ext4 /dev/vdc ro; same "mount -t ext4 -o ro"
        for o in -fy -fn; do
            e2fsck $o /dev/vdc </dev/null && die "e2fsck $o found nothing wrong"
            same "e2fsck $o"
        done
        # Whatever stops e2fsck -p, it leaves a mark in the super block (block 0); nothing else.
        rest=$(dd if=/dev/vdc bs=4k skip=1 2>/dev/null | digest)
        e2fsck -p /dev/vdc </dev/null && die "e2fsck -p found nothing wrong"
        [ "$(dd if=/dev/vdc bs=4k skip=1 2>/dev/null | digest)" = "$rest" ] || die "e2fsck -p wrote"
    """ + CHECK)


def test_recovery_says_what_it_did(guest):
    guest(CRASHED + "mark recovery\nmount -t zext4 /dev/vdc /mnt || die mount\nsaid recover\n"
          "check_tree; unmnt; fsck /dev/vdc")


def test_read_only_mount_recovers(guest):
    guest(CRASHED + "mnt /dev/vdc ro; check_tree; [ -d /mnt/d5 ] || die lost; unmnt; fsck /dev/vdc")


def test_noload_is_refused_or_harmless(guest):
    guest(CRASHED + """
        before=$(digest /dev/vdc)
        if mount -t zext4 -o ro,noload /dev/vdc /mnt 2>/dev/null; then umount /mnt; fi
        [ "$(digest /dev/vdc)" = "$before" ] || die "noload wrote to the disk"
    """ + CHECK)


def test_more_and_fewer_lanes_after_a_crash(guest):
    for lanes in (1, 8):
        guest(CRASHED + f"""
            mnt /dev/vdc lanes={lanes}; check_tree; [ -d /mnt/d5 ] || die lost
            stress -p 3 -n 200 /mnt || die stress
            crash; mnt /dev/vdc lanes=3; check_tree; unmnt; fsck /dev/vdc
        """)


def crc32c(data, crc=0xffffffff):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc


class Journal:
    """The journal inside the image file of /dev/vdc."""

    def __init__(self, guest):
        self.path = guest.vm.disks[2].path
        out = guest("debugfs -c -R 'bmap <8> 0' /dev/vdc 2>/dev/null")
        self.start = int(out.split()[-1]) * 4096

    def read(self, block, length=512):
        with open(self.path, "rb") as f:
            f.seek(self.start + block * 4096)
            return bytearray(f.read(length))

    def write(self, block, data):
        with open(self.path, "r+b") as f:
            f.seek(self.start + block * 4096)
            f.write(data)

    def seal(self, sector):
        """Put the right checksum into a changed log super block."""
        sector[4:8] = b"\0\0\0\0"
        sector[4:8] = struct.pack("<I", crc32c(sector))
        return sector


# name: (offset in the log super block, new bytes, with a right checksum)
DAMAGE = {
    "magic": (0, b"XXXX", False),
    "checksum": (4, b"XXXX", False),
    "version": (8, struct.pack("<I", 99), True),
    "block size": (12, struct.pack("<I", 1 << 30), True),
    "length": (0x28, struct.pack("<I", 0xffffffff), True),
    "segments": (0x34, struct.pack("<I", 0xffffffff), True),
    "segment size": (0x30, struct.pack("<I", 0), True),
    "lanes": (0x38, struct.pack("<I", 100000), True),
    "reserved": (0x100, b"\1", True),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_log_super_block(guest, what):
    """It is refused with a message, and nothing is written: without the damage the log is good."""
    offset, value, seal = DAMAGE[what]
    guest(CRASHED)
    journal = Journal(guest)
    good = journal.read(1)
    assert good[:4] == b"ZJSB"
    bad = bytearray(good)
    bad[offset:offset + len(value)] = value
    if seal:
        journal.seal(bad)
    journal.write(1, bad)
    guest("""
        before=$(digest /dev/vdc)
        mark damaged
        no_mnt zext4 /dev/vdc
        said 'zjournal|zext4'; said 'log|journal'
        [ "$(digest /dev/vdc)" = "$before" ] || die "the refused mount wrote to the disk"
    """)
    journal.write(1, good)
    guest(CHECK)


def test_unknown_journal_feature(guest):
    """An INCOMPAT bit from the future in the journal's super block."""
    guest(CRASHED)
    journal = Journal(guest)
    good = journal.read(0, 1024)
    bad = bytearray(good)
    bad[0x28:0x2c] = struct.pack(">I", struct.unpack(">I", good[0x28:0x2c])[0] | 0x10000000)
    if struct.unpack(">I", good[0x28:0x2c])[0] & 0x18:
        bad[0xfc:0x100] = b"\0\0\0\0"
        bad[0xfc:0x100] = struct.pack(">I", crc32c(bad))
    journal.write(0, bad)
    guest("""
        before=$(digest /dev/vdc)
        no_mnt zext4 /dev/vdc
        [ "$(digest /dev/vdc)" = "$before" ] || die "the refused mount wrote to the disk"
    """)
    journal.write(0, good)
    guest(CHECK)


def test_log_full_of_noise(guest):
    """Random bytes over all segments: an empty log or a refusal, never a crash of the kernel."""
    import os
    guest(CRASHED)
    journal = Journal(guest)
    journal.write(4, os.urandom(1 << 20))
    guest("""
        if mount -t zext4 /dev/vdc /mnt 2>/dev/null; then umount /mnt; fi
        true
    """)


def test_stale_log_after_stock_mount(guest):
    """Stock ext4 has used the journal in between: our old segments must not be taken for new ones."""
    guest("""
        mk /dev/vdc -J size=8
        for n in 1 2 3; do
            mnt /dev/vdc; echo $n >/mnt/n; stress -p 2 -n 150 -s $n /mnt; unmnt; fsck /dev/vdc
            mount -t ext4 /dev/vdc /mnt || die "stock mount"
            [ "$(cat /mnt/n)" = $n ] || die "old data"
            stress -p 2 -n 150 -s 1$n /mnt; umount /mnt; fsck /dev/vdc
        done
        mnt /dev/vdc; known_tree; fsctl syncfs /mnt; crash
    """ + "mnt /dev/vdc; check_tree; unmnt; fsck /dev/vdc")
