# SPDX-License-Identifier: GPL-2.0-only
"""Every command of zjctl on mutated file systems: it must judge or refuse, never fail itself.

    build/venv/bin/python tests/zjctl/fuzz.py [--seconds N] [--seed N] [--runs N]

Each run takes one of a few file systems (clean, crashed with lanes, with a log in stock's format,
in persistent memory, with a journal of its own device), changes some of its fields, mostly with
checksums made right again, and gives it to some commands, as text or JSON. What must hold:

- nothing of ASan or UBSan, no signal, no more than MOST_SECONDS of CPU time or MOST_MEMORY;
- an exit status that zjctl(8) names, and under -n, info, check and dump an image as before;
- JSON that docs/zjctl-json.md describes, or text without control characters.

A finding ends the program; it is kept in build/tests/zjctl/findings, and --seed SEED --runs 1
repeats it.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import zjctl_images  # noqa: E402
from nvmlog import CrashedNvm  # noqa: E402
from test_commands import INFO  # noqa: E402
from test_stock import Dirty  # noqa: E402
from zjctl_machine import machine  # noqa: E402
from zjlog import crc32c  # noqa: E402

FINDINGS = zjctl_images.BUILD / "findings"
MOST_SECONDS = 20               # of CPU time, on images that take 0.05 s
MOST_MEMORY = 300 << 20         # bytes, of which ASan takes some 50 MiB
STATUS = (0, 1, 4, 5, 8, 16, 32)
EDGES = (0, 1, 2, 3, 7, 8, 11, 12, 0x7f, 0xff, 0x100, 0x3ff, 0x400, 0xffff, 0x10000, 0x7fffffff,
         0x80000000, 0xfffffffe, 0xffffffff)
WAITS = "now lane=0 reason=space us=17 for=3 for_lane=1 phase=running pid=5 comm=dbench\n" \
        "past lane=1 reason=locked us=9999 pid=6 comm=git\n"


class Finding(Exception):
    pass


class Base:
    """A file system as it is before a mutation, and where its structures are."""

    def __init__(self, name, path, log=None, memory=None, device=None):
        self.name, self.data = name, Path(path).read_bytes()
        self.size = 1024 << struct.unpack_from("<I", self.data, 1024 + 24)[0]
        self.map = log.map if log else [int(b) for b in zjctl_images.sh(
            "debugfs", "-R", "blocks <8>", path).stdout.split()] if not device else []
        self.seed = log.seed if log else 0
        self.heads = [n for n in range(4, len(self.map)) if self.block(n)[:4] in (b"ZJCH",)]
        self.memory = Path(memory).read_bytes() if memory else None
        self.device = Path(device).read_bytes() if device else None
        out = zjctl_images.sh("debugfs", "-R", "imap <8>", path).stdout if not device else ""
        at = re.search(r"block (\d+), offset (0x\w+)", out)
        self.inode = int(at[1]) * self.size + int(at[2], 16) if at else 0

    def block(self, n):
        at = self.map[n] * self.size
        return self.data[at:at + self.size]


def bases(where):
    where.mkdir(exist_ok=True)

    def folder(name):
        (where / name).mkdir()
        return where / name

    clean = zjctl_images.mkfs(folder("clean") / "a.img", "8M")
    yield Base("clean", clean)
    lanes = zjctl_images.Crashed(folder("lanes"), size="8M")
    yield Base("lanes", lanes.path, lanes.log)
    dirty = Dirty(folder("stock"))
    yield Base("stock", dirty.path)
    nvm = CrashedNvm(folder("nvm"), size="8M")
    yield Base("nvm", nvm.path, memory=nvm.log.memory)
    own = zjctl_images.Crashed(folder("own"), size="8M")
    yield Base("own", own.path, device=zjctl_images.move_out(own.path, own.path.parent / "log.img"))


# ---- mutations ----

def change(rnd, data, at, room):
    """One field, or some bytes, within @room bytes."""
    width = rnd.choice((1, 2, 4, 4, 4, 8))
    at += rnd.randrange(max(1, room // width)) * width
    old = int.from_bytes(data[at:at + width], "little")
    value = rnd.choice((rnd.choice(EDGES), rnd.getrandbits(8 * width), old + rnd.choice((-1, 1)),
                        old ^ 1 << rnd.randrange(8 * width)))
    order = rnd.choice(("little", "little", "big"))
    data[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, order)


def seal_super(data):
    data[1024 + 0x3fc:2048] = struct.pack("<I", crc32c(data[1024:1024 + 0x3fc]))


def seal_block0(data, at):
    data[at + 0xfc:at + 0x100] = bytes(4)
    data[at + 0xfc:at + 0x100] = struct.pack(">I", crc32c(data[at:at + 1024]))


def seal_ours(data, at, size, seed=0xffffffff):
    data[at + 4:at + 8] = bytes(4)
    data[at + 4:at + 8] = struct.pack("<I", crc32c(data[at:at + size], seed))


def mutate(rnd, base, image, memory, device):
    """Changes some places; what it says of them is for a finding's reader."""
    log = device if device else image
    size = base.size

    def start(n):
        return n * size + 2 * size if device else base.map[n] * size

    def super_block():
        change(rnd, image, 1024, 0x3fc)
        if rnd.random() < 0.9:
            seal_super(image)

    def block0():
        at = start(0)
        change(rnd, log, at, rnd.choice((0x60, 0x100)))
        if rnd.random() < 0.9:
            seal_block0(log, at)

    def ours():
        at = start(rnd.choice((1, 2, 3)))
        change(rnd, log, at, 0x60)
        if rnd.random() < 0.8:
            seal_ours(log, at, 512)

    def head():
        at = start(rnd.choice(base.heads) if base.heads else rnd.randrange(4, 64))
        change(rnd, log, at, 200)
        if base.heads and rnd.random() < 0.9:
            seal_ours(log, at, size, base.seed)

    def anywhere():
        change(rnd, image, rnd.randrange(len(image) // size) * size, size)

    def descriptors():
        change(rnd, image, 2048, 64)

    def inode():
        change(rnd, image, base.inode, 128)

    def in_memory():
        at = rnd.choice((0, 4096, 8192, 16384, 65536))
        change(rnd, memory, at, rnd.choice((64, 256)))
        if at < 16384 and rnd.random() < 0.8:
            seal_ours(memory, at, 512)

    def device_super():
        change(rnd, device, 1024, 0x3fc)

    def cut():
        del image[rnd.randrange(len(image)):]

    kinds = [super_block] * 3 + [block0] * 4 + [ours] * 2 + [head] * 4 + [anywhere, descriptors]
    kinds += [inode] * 2 * bool(base.inode) + [in_memory] * 8 * bool(memory) + [device_super] * 3 * bool(device)
    done = []
    for _ in range(rnd.choice((1, 1, 1, 2, 3, 8))):
        kind = rnd.choice(kinds)
        kind()
        done.append(kind.__name__)
    if rnd.random() < 0.02:
        cut()
        done.append("cut")
    return done


def mutate_text(rnd, text):
    data = bytearray(text.encode())
    for _ in range(rnd.choice((1, 2, 5))):
        at = rnd.randrange(len(data))
        what = rnd.random()
        if what < 0.3:
            data[at] = rnd.choice(b"\x1b\n \"\\:,0123456789\xff")
        elif what < 0.6:
            data[at:at] = rnd.choice((b"99999999999999999999", b"-1", b"lane 4294967295:", b" ", b"\n" * 3, b"a" * 300))
        else:
            del data[at:at + rnd.randrange(20)]
    return bytes(data)


# ---- runs ----

READERS = (["info"], ["check"], ["dump"], ["dump", "--block", "N"], ["dump", "--graph"], ["recover", "-n"],
           ["recover", "-n", "--drop-damaged"], ["convert", "--check"], ["resize-journal", "-n"])
WRITERS = (["recover", "--no-fsck"], ["recover", "--no-fsck", "--drop-damaged"], ["convert", "--to-ext4"],
           ["resize-journal", "--size", "2"])


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def call(zjctl, words, as_json):
    """Runs it, and looks at all that needs no knowledge of the image."""
    words = [*words, "--json"] if as_json else words
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Its own process, so that wait4() has its memory and nobody else's.
        run = subprocess.Popen([zjctl, *map(str, words)], stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                               preexec_fn=limits, env={**os.environ, "TZ": "UTC", "LC_ALL": "C"})
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        out, err = (f.read().decode("latin-1") for f in (out, err))
    said = f"{' '.join(map(str, words))}: {run.returncode}\n{err[-6000:]}\n{out[-2000:]}"
    if run.returncode not in STATUS or "Sanitizer" in err or "runtime error" in err:
        raise Finding(said)
    if used.ru_maxrss * 1024 > MOST_MEMORY:
        raise Finding(f"{used.ru_maxrss} KiB: {said}")
    if as_json:
        try:
            document = json.loads(out)
            zjctl_images.validate(document)
            assert document["exit"] == run.returncode, "exit"
        except (ValueError, AssertionError, KeyError) as wrong:
            raise Finding(f"{wrong}: {said}") from wrong
    elif not all(c in "\n\t" or " " <= c <= "~" for c in out + err):
        raise Finding(f"control characters: {said!r}")
    return run.returncode


class Runs:
    def __init__(self, zjctl, where):
        self.zjctl, self.where = zjctl, where
        self.bases = list(bases(where / "bases"))
        self.statuses = collections.Counter()

    def on_text(self, rnd):
        file = self.where / "text"
        for words, text in ((["stats"], INFO), (["stats", "--all"], INFO), (["stats", "--prometheus"], INFO),
                            (["top", "-n", "1", "-d", "0.05"], INFO),
                            (["top", "-n", "1", "-d", "0.05", "-s", "fsync ms"], INFO), (["stalls"], WAITS)):
            file.write_bytes(mutate_text(rnd, text))
            as_json = "--prometheus" not in words and rnd.random() < 0.5
            self.statuses[call(self.zjctl, [*words, "--from", file], as_json)] += 1

    def on_machine(self, rnd):
        """zjctl status and kernels on a machine of which one file is not as it should be."""
        root = self.where / "machine"
        if root.exists():
            shutil.rmtree(root)
        files = sorted(path for path in machine(root).rglob("*") if path.is_file())
        file = rnd.choice(files)
        if file.stat().st_size:
            file.write_bytes(mutate_text(rnd, file.read_text()))
        for words in (["status", "--root", root], ["kernels", "--root", root]):
            self.statuses[call(self.zjctl, words, rnd.random() < 0.5)] += 1
        self.what = f"machine: {file.relative_to(root)}"

    def on_image(self, rnd):
        base = rnd.choice(self.bases)
        image, memory = bytearray(base.data), bytearray(base.memory or b"")
        device = bytearray(base.device or b"")
        self.what = f"{base.name}: {' '.join(mutate(rnd, base, image, memory, device))}"
        path, nvm, own = (self.where / name for name in ("image", "memory", "device"))
        for file, content in ((path, image), (nvm, memory), (own, device)):
            file.write_bytes(content)
        more = [f"--nvm={nvm}"] if base.memory else []
        journal = [f"--journal={own}"] if base.device else []

        def run(words):
            words = [str(rnd.randrange(len(image) // base.size + 2)) if w == "N" else w for w in words]
            nvm_too = more if words[0] in ("info", "check", "dump", "recover") else []
            as_json = "--graph" not in words and rnd.random() < 0.5
            self.statuses[call(self.zjctl, [*words, *nvm_too, *journal, path], as_json)] += 1

        def digest():
            return [hashlib.sha1(file.read_bytes()).digest() for file in (path, nvm, own)]

        before = digest()
        for words in rnd.sample(READERS, 4):
            run(words)
            if digest() != before:
                raise Finding(f"{words} has written")
        # It takes a second, and is made of the others.
        if rnd.random() < 0.02:
            self.statuses[call(self.zjctl, ["report", path], False)] += 1
        run(rnd.choice(WRITERS))
        if base.memory and rnd.random() < 0.3:
            self.statuses[call(self.zjctl, ["nvm-format", "--force", nvm, path], False)] += 1
        run(rnd.choice(READERS))

    def one(self, seed):
        rnd = random.Random(seed)
        self.what = "text"
        try:
            kind = rnd.random()
            if kind < 0.1:
                self.on_text(rnd)
            elif kind < 0.15:
                self.on_machine(rnd)
            else:
                self.on_image(rnd)
        except Finding as finding:
            kept = FINDINGS / str(seed)
            kept.mkdir(parents=True, exist_ok=True)
            for name in ("image", "memory", "device", "text"):
                if (self.where / name).exists():
                    shutil.copy(self.where / name, kept)
            if (self.where / "machine").exists():
                shutil.copytree(self.where / "machine", kept / "machine", symlinks=True, dirs_exist_ok=True)
            raise Finding(f"seed {seed}, {self.what} (kept in {kept}): {finding}") from finding


def fuzz(zjctl, where, seed, seconds, most=None):
    """Runs until the time is up; how many, and which exit statuses there were."""
    runs, done, end = Runs(zjctl, where), 0, time.monotonic() + (seconds or 0)
    while (time.monotonic() < end) if most is None else done < most:
        runs.one(seed + done)
        done += 1
    return done, runs.statuses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--runs", type=int)
    args = parser.parse_args()
    seed = random.randrange(10 ** 9) * 1000 if args.seed is None else args.seed
    zjctl_images.make(f"O={zjctl_images.BUILD}/san", f"CFLAGS={zjctl_images.SAN}")
    with tempfile.TemporaryDirectory(dir=zjctl_images.BUILD) as where:
        try:
            done, statuses = fuzz(zjctl_images.BUILD / "san" / "zjctl", Path(where), seed, args.seconds, args.runs)
        except Finding as finding:
            sys.exit(f"zjctl: {finding}")
    print(f"zjctl: {done} runs from seed {seed}, exit statuses {dict(sorted(statuses.items()))}")


if __name__ == "__main__":
    main()
