# SPDX-License-Identifier: GPL-2.0-only
"""Our reader of stock's log against e2fsck, on journals that debugfs wrote."""

import random
import struct

import pytest

from jbd2_images import SB, block0, block_size, build, by_e2fsck, by_us, copy, debugfs, difference, journal_blocks, run

MAGIC = struct.pack(">I", 0xc03b3998)
FIRST = 30000                   # blocks that no file uses


@pytest.fixture(scope="module")
def tool():
    return build()


def mkfs(tmp_path, size, features):
    image = tmp_path / "fs.img"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-b", size, "-O", features, "-J", f"size={size * 1024 >> 20}",
        image, f"{40000 * size // 1024}k")
    return image


def data(tmp_path, rand, n, size):
    """A file of n blocks; some begin as a block of the log does."""
    path = tmp_path / f"data{rand.randrange(1 << 30)}"
    with open(path, "wb") as f:
        for _ in range(n):
            block = bytearray(rand.randbytes(size))
            if rand.randrange(4) == 0:
                block[:4] = MAGIC
            if rand.randrange(8) == 0:
                block[:12] = MAGIC + struct.pack(">II", rand.randrange(1, 6), rand.randrange(20))
            f.write(block)
    return path


def transactions(tmp_path, rand, size, nr, opened="jo -c -v 3", most=40):
    """Commands of debugfs: transactions, revokes in the same and in later ones."""
    commands = []
    for _ in range(nr):
        blocks = rand.sample(range(FIRST, FIRST + 60), rand.randrange(1, most))
        command = "jw -b " + ",".join(map(str, blocks))
        # debugfs writes its revokes behind the images, which they void as well.
        reopen = []
        if rand.randrange(2):
            revokes = rand.sample(range(FIRST, FIRST + 60), rand.randrange(1, 20))
            command += " -r " + ",".join(map(str, revokes))
            # Otherwise its next transaction overwrites the commit block.
            reopen = ["jc", opened]
        commands += [f"{command} {data(tmp_path, rand, len(blocks), size)}", *reopen]
    return commands


def agree(image, tool):
    skip = journal_blocks(image)
    theirs = by_e2fsck(image)
    ours, said = by_us(image, tool)
    wrong = difference(theirs, ours, skip)
    assert not wrong, f"{said}: blocks {wrong[:10]} differ"
    assert difference(image, ours, skip), "nothing was replayed at all"
    return said


OPENS = {"none": "jo", "csum2": "jo -c -v 2", "csum3": "jo -c -v 3"}


@pytest.mark.parametrize("size", [1024, 4096])
@pytest.mark.parametrize("wide", ["64bit", "^64bit"])
@pytest.mark.parametrize("opened", OPENS)
def test_as_e2fsck(tmp_path, tool, opened, wide, size):
    rand = random.Random(f"{opened}{wide}{size}")
    image = mkfs(tmp_path, size, f"metadata_csum,{wide}" if opened in ("csum2", "csum3") else f"^metadata_csum,{wide}")
    debugfs(image, OPENS[opened], *transactions(tmp_path, rand, size, 12, OPENS[opened]), "jc", write=True)
    said = agree(image, tool)
    assert "transactions=12 " in said and "revoked=0 " not in said, said


def test_checksum_of_version_1(tmp_path, tool):
    """Without blocks that must be escaped, because debugfs handles them wrongly."""
    rand = random.Random(5)
    image = mkfs(tmp_path, 1024, "^metadata_csum,64bit")
    plain = tmp_path / "plain"
    plain.write_bytes(rand.randbytes(40 * 1024))
    write = f"jw -b {','.join(map(str, range(FIRST, FIRST + 40)))} {plain}"
    debugfs(image, "jo -c", write, write, write, "jc", write=True)
    assert "transactions=3 " in agree(image, tool)
    # Its last image, in block 41 of three times 42.
    with open(image, "r+b") as f:
        f.seek(int(debugfs(image, "bmap <8> 41").split()[-1]) * 1024)
        f.write(b"damage")
    got = run(tool, image, ok=(1,))
    assert "transaction 1: wrong checksum of its commit block" in got.out


def test_long_transaction(tmp_path, tool):
    """More images than a descriptor block has tags."""
    rand = random.Random(3)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit")
    blocks = range(FIRST, FIRST + 500)
    debugfs(image, "jo -c -v 3", f"jw -b {','.join(map(str, blocks))} {data(tmp_path, rand, 500, 1024)}", "jc",
            write=True)
    assert "replayed=500 " in agree(image, tool)


def test_no_commit_block(tmp_path, tool):
    rand = random.Random(4)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit")
    lost = f"jw -b {FIRST} {data(tmp_path, rand, 1, 1024)}".replace("jw ", "jw -c ")
    debugfs(image, "jo -c -v 3", *transactions(tmp_path, rand, 1024, 3), lost, "jc", write=True)
    assert "transactions=3 " in agree(image, tool)


def patch_super(image, words):
    """Set words of block 0 and correct its checksum; {byte: value}."""
    at = block0(image)
    with open(image, "r+b") as f:
        f.seek(at)
        block = bytearray(f.read(1024))
        for offset, value in words.items():
            block[offset:offset + 4] = struct.pack(">I", value)
        block[0xfc:0x100] = bytes(4)
        block[0xfc:0x100] = struct.pack(">I", crc32c(block))
        f.seek(at)
        f.write(block)


def crc32c(buf, crc=0xffffffff):
    for byte in buf:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82f63b78 if crc & 1 else 0)
    return crc


@pytest.mark.parametrize("start", [1000, 1020, 1021, 1022, 1023])
def test_wrap(tmp_path, tool, start):
    """Rotates the ring: everything is so many blocks further on."""
    rand = random.Random(start)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit")
    debugfs(image, "jo -c -v 3", *transactions(tmp_path, rand, 1024, 6), "jc", write=True)
    where = [int(debugfs(image, f"bmap <8> {n}").split()[-1]) for n in (1, 1023)]
    assert where[1] == where[0] + 1022, "the journal is not in one piece"
    with open(image, "r+b") as f:
        f.seek(where[0] * 1024)
        ring = f.read(1023 * 1024)
        turn = (start - 1) * 1024
        f.seek(where[0] * 1024)
        f.write(ring[-turn:] + ring[:-turn])
    patch_super(image, {0x1c: start})
    assert "transactions=6 " in agree(image, tool)


@pytest.mark.parametrize("what", ["descriptor block) at", "commit block) at", "revoke table) at", "image"])
@pytest.mark.parametrize("byte", [12, 700])
def test_damage_is_refused(tmp_path, tool, what, byte):
    """A bit flip in a transaction that is not the last; nothing is written."""
    rand = random.Random(7)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit")
    keep = f"jw -b {FIRST} -r {FIRST + 100} {data(tmp_path, rand, 1, 1024)}"
    debugfs(image, *["jo -c -v 3", keep, "jc"] * 3, write=True)
    # Of the second transaction: descriptor, image, revokes, commit from block 5 on.
    at = {"descriptor block) at": 5, "image": 6, "revoke table) at": 7, "commit block) at": 8}[what]
    with open(image, "r+b") as f:
        where = int(debugfs(image, f"bmap <8> {at}").split()[-1]) * 1024 + byte
        f.seek(where)
        old = f.read(1)[0]
        f.seek(where)
        f.write(bytes([old ^ 4]))
    before = image.read_bytes()
    got = run(tool, image, ok=None)
    if what == "commit block) at" and byte == 700:
        # Torn, not damaged: its first sector is whole.
        assert got.returncode == 0, got.out
        return
    assert got.returncode == 1 and "damaged log" in got.out, got.out
    assert image.read_bytes() == before


def test_damaged_image_that_is_revoked(tmp_path, tool):
    rand = random.Random(8)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit")
    debugfs(image, "jo -c -v 3", f"jw -b {FIRST} {data(tmp_path, rand, 1, 1024)}",
            f"jw -b {FIRST + 1} -r {FIRST} {data(tmp_path, rand, 1, 1024)}", "jc", write=True)
    with open(image, "r+b") as f:
        f.seek(int(debugfs(image, "bmap <8> 2").split()[-1]) * 1024 + 99)
        f.write(b"flipped")
    assert "revoked=1 " in agree(image, tool)


def test_fast_commits_are_left_to_a_mount(tmp_path, tool):
    rand = random.Random(9)
    image = mkfs(tmp_path, 1024, "metadata_csum,64bit,fast_commit")
    debugfs(image, "jo -c -v 3", *transactions(tmp_path, rand, 1024, 3), "jc", write=True)
    at = block0(image)
    with open(image, "rb") as f:
        f.seek(at)
        block = f.read(1024)
    maxlen, incompat = struct.unpack_from(">I", block, 0x10)[0], struct.unpack_from(">I", block, 0x28)[0]
    fast = struct.unpack_from(">I", block, 0x54)[0] or 256
    sequence = struct.unpack_from(">I", block, 0x18)[0]
    patch_super(image, {0x28: incompat | 0x20})
    other = copy(image, "other.img")
    for path, tid in ((image, sequence + 3), (other, sequence + 2)):
        with open(path, "r+b") as f:
            f.seek(int(debugfs(image, f"bmap <8> {maxlen - fast + 1}").split()[-1]) * 1024)
            f.write(struct.pack("<HHII", 9, 8, 0, tid))
    before = image.read_bytes()
    got = run(tool, image, ok=(1,))
    assert "fast commits" in got.out and "ext4" in got.out
    assert image.read_bytes() == before
    # Of an older transaction: stale.
    run(tool, other)
    assert block_size(image) == 1024 and SB == 1024
