# SPDX-License-Identifier: GPL-2.0-only
"""A small ext4, changed step by step with debugfs: each step is what one transaction logs."""

import hashlib
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import logwriter

ENV = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin", LC_ALL="C",
           E2FSPROGS_FAKE_TIME="1700000000")
UUID = "7a6a6f75-726e-616c-2d69-6d6167657321"
FEATURES = "has_journal,extent,64bit,metadata_csum,filetype,sparse_super,dir_index"


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, env=ENV)
    if done.returncode:
        raise RuntimeError(f"{args}: {done.stdout}{done.stderr}")
    return done.stdout


def debugfs(path, *commands):
    script = Path(str(path) + ".cmd")
    script.write_text("\n".join(commands) + "\n")
    out = run("debugfs", "-w", "-f", script, path)
    script.unlink()
    return out


def extents(blocks):
    """[[first, number], ...] of a list of block numbers in the file's order."""
    found = []
    for b in blocks:
        if found and b == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([b, 1])
    return found


def journal_extents(path):
    return extents([int(b) for b in run("debugfs", "-R", "blocks <8>", path).split()])


def log_map(journal):
    return [first + n for first, number in journal for n in range(number)]


def home_hash(data, block_size, journal):
    """Of all that is not the journal's; the super block's write time and flags vary."""
    data = bytearray(data)
    data[1024:2048] = bytes(1024)
    for first, number in journal:
        data[first * block_size:(first + number) * block_size] = bytes(number * block_size)
    return hashlib.sha256(data).hexdigest()


class FileSystem:
    """States of one file system: states[0] is empty, each step adds one."""

    def __init__(self, block_size, spare_blocks=0):
        self.block_size = block_size
        self.dir = tempfile.TemporaryDirectory(prefix="zjimages-")
        self.path = Path(self.dir.name) / "fs"
        journal = 1 if block_size == 1024 else 4
        run("mke2fs", "-q", "-F", "-t", "ext4", "-b", block_size, "-N", 64, "-m", 0, "-U", UUID,
            "-O", "none," + FEATURES, "-J", f"size={journal}", "-E",
            f"hash_seed={UUID},lazy_itable_init=0", self.path, f"{journal * 3}M")
        os.truncate(self.path, self.path.stat().st_size + spare_blocks * block_size)
        self.empty = self.path.read_bytes()
        debugfs(self.path, "feature +needs_recovery")
        self.journal = journal_extents(self.path)
        self.map = log_map(self.journal)
        self.device_blocks = self.path.stat().st_size // block_size
        self.uuid = self.path.read_bytes()[1024 + 0x68:1024 + 0x78]
        self.states = [self.path.read_bytes()]

    def step(self, *commands):
        debugfs(self.path, *commands)
        self.states.append(self.path.read_bytes())
        return self.changed(len(self.states) - 2, len(self.states) - 1)

    def file(self, data):
        """A file of the host with this contents, for debugfs's write."""
        path = Path(self.dir.name) / hashlib.sha256(data).hexdigest()[:12]
        path.write_bytes(data)
        return path

    def at(self, state, block):
        return state[block * self.block_size:(block + 1) * self.block_size]

    def changed(self, old, new):
        """{block: contents} of what one step changed."""
        old, new = self.states[old], self.states[new]
        return {b: self.at(new, b) for b in range(self.device_blocks)
                if self.at(old, b) != self.at(new, b)}

    def log(self, lanes, **more):
        return logwriter.Log(self.uuid, self.block_size, len(self.map), lanes, **more)

    def image(self, log, home=0, live=True):
        """The device: this state at home, this log in the journal."""
        data = bytearray(self.states[home] if isinstance(home, int) else home)
        for at, block in log.blocks.items():
            self.put(data, self.map[at], block)
        if live:
            self.patch_block0(data, lambda sb: make_live(sb))
        return data

    def put(self, data, block, contents):
        data[block * self.block_size:(block + 1) * self.block_size] = contents

    def patch_block0(self, data, change, sealed=True):
        sb = bytearray(self.at(data, self.map[0]))
        change(sb)
        if sealed:
            logwriter.seal_block0(sb)
        self.put(data, self.map[0], sb)


def make_live(sb):
    # csum_v3, which a mount of ext4 with metadata_csum sets
    incompat = struct.unpack_from(">I", sb, 0x28)[0] | logwriter.INCOMPAT_LANES | 0x10
    struct.pack_into(">I", sb, 0x28, incompat)
    sb[0x50] = 4
    struct.pack_into(">I", sb, 0x1c, 1)
