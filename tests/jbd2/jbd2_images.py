# SPDX-License-Identifier: GPL-2.0-only
"""Images with a journal in stock's format: who recovers them, and whether all agree."""

import os
import pathlib
import struct
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / "tests" / "jbd2"
os.environ["PATH"] += ":/usr/sbin:/sbin"

SB = 1024                       # byte of the super block
# What a recovery may set as it likes: times, counters, the state, whether the orphan file was looked at, and so the checksum.
VOLATILE = [(0x0c, 8), (0x2c, 10), (0x36, 2), (0x3a, 2), (0x40, 4), (0x60, 4), (0x66, 1), (0x158, 4), (0x178, 8),
            (0x274, 2), (0x3fc, 4)]


def build():
    subprocess.run(["make", "-s", "-C", str(TOP / "tests" / "jbd2"), f"O={BUILD}"], check=True)
    return BUILD / "jbd2recover"


def run(*args, ok=(0,), **kw):
    got = subprocess.run([str(a) for a in args], capture_output=True, text=True, **kw)
    got.out = got.stdout + got.stderr
    assert ok is None or got.returncode in ok, f"{args}: {got.returncode}: {got.out}"
    return got


def debugfs(image, *commands, write=False):
    return run("debugfs", *(["-w"] if write else []), "-f", "/dev/stdin", image, input="\n".join(commands)).stdout


def journal_blocks(image):
    """File system blocks of the journal inode, its mapping blocks too."""
    blocks = set()
    for word in debugfs(image, "blocks <8>").split():
        if word.isdigit():
            blocks.add(int(word))
    assert len(blocks) >= 1024
    return blocks


def copy(image, name):
    to = pathlib.Path(image).with_name(name)
    subprocess.run(["cp", "--sparse=always", image, to], check=True)
    return to


def block_size(image):
    with open(image, "rb") as f:
        f.seek(SB + 24)
        return 1024 << struct.unpack("<I", f.read(4))[0]


def block0(image):
    """Byte of the journal's super block in the image."""
    return int(debugfs(image, "bmap <8> 0").split()[-1]) * block_size(image)


def contents(image, skip):
    """Blocks that do not belong to the journal, the super block's volatile fields at 0."""
    size = block_size(image)
    data = bytearray(pathlib.Path(image).read_bytes())
    for at, length in VOLATILE:
        data[SB + at:SB + at + length] = bytes(length)
    return {b: bytes(data[b * size:(b + 1) * size]) for b in range(len(data) // size) if b not in skip}


def difference(a, b, skip):
    one, two = contents(a, skip), contents(b, skip)
    return [n for n in one if one[n] != two.get(n)]


def by_e2fsck(image, name="e2fsck.img"):
    to = copy(image, name)
    run("e2fsck", "-E", "journal_only", "-y", to, ok=(0, 1))
    return to


def by_us(image, tool, name="ours.img"):
    to = copy(image, name)
    return to, run(tool, to).out
