# SPDX-License-Identifier: GPL-2.0-only
"""log=jbd2: after a crash stock ext4, e2fsck and zext4 recover the same file system."""

import pathlib
import sys

import pytest

import conftest
import vm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "jbd2"))
from jbd2_images import (block0, build, by_e2fsck, by_us, copy, debugfs, difference,  # noqa: E402
                         journal_blocks, run)

pytestmark = pytest.mark.zext4

LIVE = 0x40000000               # our bit in the journal's features
MOUNT = "lanes=1,log=jbd2"


def test_option(guest):
    guest("""
        mk /dev/vda; mnt /dev/vda log=jbd2
        grep -q ' /mnt zext4.*log=jbd2' /proc/mounts || die "not shown: $(cat /proc/mounts)"
        grep -q '^log: jbd2' /proc/fs/zjournal/*/info || die "no log: line"
        grep -q 'in 1 lanes' /proc/fs/zjournal/*/info || die "more than one lane"
        mount -o remount,log=zj /mnt 2>/dev/null && die "changed by a remount"
        unmnt
        mark refused
        no_mnt zext4 /dev/vda lanes=2,log=jbd2; said 'log=jbd2 has one lane'
        no_mnt zext4 /dev/vda log=ext3; said 'log= takes'
        mnt /dev/vda lanes=1; grep -q '^log: jbd2' /proc/fs/zjournal/*/info || die "not the default of one lane"; unmnt
        mnt /dev/vda lanes=1,log=zj; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
        mnt /dev/vda; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
        mnt /dev/vda log=zj; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
    """)


LOADS = {
    # What /mnt sees before the power goes.
    "tree": "known_tree; fsctl syncfs /mnt; for i in 1 2 3 4 5; do mkdir /mnt/d$i; fsctl fsync /mnt/d$i; done",
    "revokes": """
        mkdir /mnt/many; for i in $(seq 60); do mkdir /mnt/many/d$i; done; fsctl syncfs /mnt
        rm -rf /mnt/many; fsctl syncfs /mnt
        dd if=/dev/zero of=/mnt/data bs=4k count=80 2>/dev/null; fsctl fsync /mnt/data
        mkdir /mnt/again; for i in $(seq 40); do mkdir /mnt/again/d$i; done; fsctl fsync /mnt/again
    """,
    "wrap": """
        for n in $(seq 12); do
            stress -p 2 -n 150 -s $n /mnt >/dev/null || die stress; fsctl syncfs /mnt
        done
        for i in 1 2 3; do mkdir /mnt/last$i; fsctl fsync /mnt/last$i; done
    """,
    "escape": r"""
        for i in $(seq 200); do printf '\300\073\071\230\000\000\000\002'; dd if=/dev/zero bs=4088 count=1 2>/dev/null; done >/tmp/magic
        cp /tmp/magic /mnt/magic; fsctl fsync /mnt/magic
    """,
}
OPTIONS = {"escape": ",data=journal"}


def live_log(image):
    """What block 0 says: it is in use, and not by us alone."""
    with open(image, "rb") as f:
        f.seek(block0(image))
        sb = f.read(1024)
    word = [int.from_bytes(sb[i:i + 4], "big") for i in range(0, 96, 4)]
    assert word[7] != 0, "the log is not live"
    assert not word[10] & LIVE, "our own feature bit"
    return word


def four_ways(image, tool):
    """The image as e2fsck, our reader, a stock mount and a zext4 mount recover it."""
    paths = [copy(image, "stock.img"), copy(image, "zext4.img")]
    with conftest.new_vm(disks=[vm.Disk(str(p)) for p in paths]) as machine:
        result = machine.sh("""
            mount -t ext4 -o ro /dev/vda /mnt || die "stock mount"; umount /mnt
            mount -t zext4 -o ro /dev/vdb /mnt || die "zext4 mount"; umount /mnt
        """)
        assert result, result.out
        machine.check_console()
    return {"e2fsck": by_e2fsck(image), "reader": by_us(image, tool)[0], "stock": paths[0], "zext4": paths[1]}


def all_agree(image, without=None):
    """The same file system, sound, whoever recovers it."""
    skip = journal_blocks(image)
    ways = four_ways(image, build())
    ways.pop(without, None)
    assert difference(image, ways["stock"], skip), "nothing was in the log"
    for name, path in ways.items():
        wrong = difference(ways["stock"], path, skip)
        assert not wrong, f"{name}: blocks {wrong[:10]} differ from what a stock mount makes of it"
        run("e2fsck", "-fn", path)


CASES = [(load, "-J size=4") for load in LOADS] + [
    (load, "-J size=4 -O ^metadata_csum,^64bit") for load in ("wrap",)] + [
    ("wrap", "-J size=5,fast_commit_size=1024 -O fast_commit")]


@pytest.mark.parametrize("load,mkfs", CASES)
def test_recovered_by_strangers(tmp, load, mkfs):
    """A power cut of the whole machine."""
    image = str(tmp / "disk.img")
    with conftest.new_vm(disks=[vm.Disk(image, size="128M")]) as machine:
        result = machine.sh(f"mk /dev/vda {mkfs}; mnt /dev/vda {MOUNT}{OPTIONS.get(load, '')}\n{LOADS[load]}")
        assert result, result.out
        machine.check_console()
        machine.kill()
    word = live_log(image)
    log = debugfs(image, "logdump -a")
    assert "Found expected sequence" in log, log
    if load == "escape":
        assert "(flags 0x3)" in log or "(flags 0x1)" in log, "nothing was escaped"
    if load == "revokes":
        assert "Revoke FS block" in log, "nothing was revoked"
    if load == "wrap":
        assert word[6] > 15, "too few transactions"
    all_agree(image)


@pytest.mark.parametrize("mkfs,options", [
    ("-J size=8", "data=ordered"), ("-J size=8", "data=journal"), ("-J size=4 -O ^64bit,^metadata_csum", "data=ordered"),
    ("-J size=8 -O ^metadata_csum", "journal_checksum"), ("-J size=8", "data=writeback,journal_async_commit"),
    ("-J size=8 -O fast_commit", "data=ordered")])
def test_log_that_stock_left(tmp, mkfs, options):
    """A crashed stock ext4: recovered by us as by itself."""
    image = str(tmp / "disk.img")
    # An fsync would be a fast commit: the timer makes a full one.
    last = "mkdir /mnt/last; " + ("sleep 8" if "fast_commit" in mkfs else "fsctl fsync /mnt/last")
    with conftest.new_vm(disks=[vm.Disk(image, size="128M")]) as machine:
        result = machine.sh(f"mk /dev/vda {mkfs}; mount -t ext4 -o {options} /dev/vda /mnt || die mount\n"
                            + LOADS["revokes"] + last)
        assert result, result.out
        machine.kill()
    # e2fsck 1.47.0 fails where older fast commits are left ("Invalid argument").
    all_agree(image, without="e2fsck" if "fast_commit" in mkfs else None)


def test_fast_commits_are_refused(tmp):
    """Changes that only stock ext4 can replay."""
    image = str(tmp / "disk.img")
    with conftest.new_vm(disks=[vm.Disk(image, size="128M")]) as machine:
        result = machine.sh("""
            mk /dev/vda -J size=8 -O fast_commit; mount -t ext4 /dev/vda /mnt || die mount
            echo one >/mnt/file; sync
            for i in 1 2 3; do echo more >>/mnt/file; fsctl fsync /mnt/file; done
        """)
        assert result, result.out
        machine.kill()
    with conftest.new_vm(disks=[vm.Disk(image)]) as machine:
        result = machine.sh("""
            before=$(sha256sum </dev/vda); mark fast
            no_mnt zext4 /dev/vda; said 'fast commits.*mount it once as ext4'
            [ "$(sha256sum </dev/vda)" = "$before" ] || die "the refused mount wrote"
            mount -t ext4 /dev/vda /mnt || die "stock mount"; umount /mnt
            mnt /dev/vda; [ "$(wc -l </mnt/file)" = 4 ] || die "$(cat /mnt/file)"; unmnt; fsck /dev/vda
        """)
        assert result, result.out
        machine.check_console()
