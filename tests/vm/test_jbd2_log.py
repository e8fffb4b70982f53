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
        no_mnt zext4 /dev/vda lanes=2,log=jbd2; said 'log=jbd2 requires lanes=1'
        no_mnt zext4 /dev/vda log=ext3; said 'log= must be'
        mnt /dev/vda lanes=1; grep -q '^log: jbd2' /proc/fs/zjournal/*/info || die "not the default of one lane"; unmnt
        mnt /dev/vda lanes=1,log=zj; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
        mnt /dev/vda; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
        mnt /dev/vda log=zj; grep -q '^log: zj' /proc/fs/zjournal/*/info || die "not zj"; unmnt
    """)


LOADS = {
    # What /mnt sees before the power goes.
    "tree": "known_tree; fsctl syncfs /mnt; for i in 1 2 3 4 5; do mkdir /mnt/d$i; fsctl fsync /mnt/d$i; done",
    # A syncfs would bring blocks home: what is reclaimed needs no revokes.
    "revokes": """
        mkdir /mnt/many; for i in $(seq 60); do mkdir /mnt/many/d$i; done; fsctl fsync /mnt/many/d60
        rm -rf /mnt/many; fsctl fsync /mnt
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
    """Block 0 says that the log is in use, in stock's format."""
    with open(image, "rb") as f:
        f.seek(block0(image))
        sb = f.read(1024)
    word = [int.from_bytes(sb[i:i + 4], "big") for i in range(0, 96, 4)]
    assert word[7] != 0, "the log is not live"
    assert not word[10] & LIVE, "our own feature bit"
    return word


def device(n):
    return f"/dev/vd{chr(ord('a') + n)}"


def crash(where, cases):
    """Each case (type, mkfs options, mount options, load) on its own disk, at a power cut of the machine."""
    images = [str(where / f"{n}.img") for n in range(len(cases))]
    with conftest.new_vm(disks=[vm.Disk(image, size="128M") for image in images]) as machine:
        # What is written home is not missing in the end.
        machine.sh("echo 360000 >/proc/sys/vm/dirty_writeback_centisecs")
        for n, (fs, mkfs, options, load) in enumerate(cases):
            result = machine.sh(f"""
                mk {device(n)} {mkfs}; mount -t {fs} -o {options} {device(n)} /mnt || die mount
                {load}
                mkdir -p /left/{n}; mount -o move /mnt /left/{n} || die "mount -o move"
            """)
            assert result, result.out
        # Where the loads take minutes, a checkpoint has emptied the first ones' logs.
        machine.sh("for d in $(grep ' /left/.* zext4 ' /proc/mounts | cut -d' ' -f2); do mkdir $d/newest; fsctl fsync $d/newest; done")
        machine.check_console()
        machine.kill()
    return images


def recover(images):
    """[{program: image}]: each disk as stock ext4, zext4, e2fsck and our reader recover it."""
    tool = build()
    ways = [{who: copy(image, f"{n}.{who}") for who in ("ext4", "zext4")} for n, image in enumerate(images)]
    disks = [(who, path) for way in ways for who, path in way.items()]
    with conftest.new_vm(disks=[vm.Disk(str(path)) for _, path in disks]) as machine:
        result = machine.sh("".join(
            f"mount -t {who} -o ro {device(n)} /mnt || die '{path.name}'; umount /mnt\n"
            for n, (who, path) in enumerate(disks)))
        assert result, result.out
        machine.check_console()
    for n, (image, way) in enumerate(zip(images, ways)):
        way |= {"e2fsck": by_e2fsck(image, f"{n}.e2fsck"), "reader": by_us(image, tool, f"{n}.reader")[0]}
    return ways


def all_agree(image, ways, without=None):
    """Every program recovers it to the same sound file system."""
    skip = journal_blocks(image)
    assert difference(image, ways["ext4"], skip), "nothing was in the log"
    for who in set(ways) - {without}:
        wrong = difference(ways["ext4"], ways[who], skip)
        assert not wrong, f"{who}: blocks {wrong[:10]} differ from what a stock mount makes of it"
        run("e2fsck", "-fn", ways[who])


# The newest last: a checkpoint leaves nothing of an old log to replay.
OURS = [("wrap", "-J size=4 -O ^metadata_csum,^64bit"), ("wrap", "-J size=5,fast_commit_size=1024 -O fast_commit"),
        *((load, "-J size=4") for load in ("tree", "wrap", "escape", "revokes"))]


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    images = crash(tmp_path_factory.mktemp("ours"), [
        ("zext4", mkfs, MOUNT + OPTIONS.get(load, ""), LOADS[load]) for load, mkfs in OURS])
    return list(zip(images, recover(images)))


@pytest.mark.parametrize("n", range(len(OURS)), ids=[" ".join(case) for case in OURS])
def test_recovered_by_other_programs(ours, n):
    """A power cut of the whole machine."""
    image, ways = ours[n]
    load = OURS[n][0]
    word = live_log(image)
    log = debugfs(image, "logdump -a")
    assert "Found expected sequence" in log, log
    if load == "escape":
        assert "(flags 0x3)" in log or "(flags 0x1)" in log, "nothing was escaped"
    if load == "revokes":
        assert "Revoke FS block" in log, "nothing was revoked"
    if load == "wrap":
        assert word[6] > 15, "too few transactions"
    all_agree(image, ways)


STOCK = [("-J size=8", "data=ordered"), ("-J size=8", "data=journal"), ("-J size=4 -O ^64bit,^metadata_csum", "data=ordered"),
         ("-J size=8 -O ^metadata_csum", "journal_checksum"), ("-J size=8", "data=writeback,journal_async_commit"),
         ("-J size=8 -O fast_commit", "data=ordered")]


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    # An fsync would be a fast commit: the timer makes a full one.
    images = crash(tmp_path_factory.mktemp("stock"), [
        ("ext4", mkfs, options, LOADS["revokes"] + "mkdir /mnt/last; " +
         ("sleep 8" if "fast_commit" in mkfs else "fsctl fsync /mnt/last")) for mkfs, options in STOCK])
    return list(zip(images, recover(images)))


@pytest.mark.parametrize("n", range(len(STOCK)), ids=[" ".join(case) for case in STOCK])
def test_log_that_stock_left(stock, n):
    """A crashed stock ext4: zext4 recovers it as stock ext4 does."""
    image, ways = stock[n]
    # e2fsck 1.47.0 fails where older fast commits are left ("Invalid argument").
    all_agree(image, ways, without="e2fsck" if "fast_commit" in STOCK[n][0] else None)
