# SPDX-License-Identifier: GPL-2.0-only
"""A large log: what zjctl recover needs for it, against reading and writing alone.

    build/venv/bin/python tests/zjctl/big_log.py [MIB TRANSACTIONS LANES [TIMES]]

The floor is reading the log once and writing as many blocks in one piece. Its parts and
the recovery take turns TIMES times, on the same file, with nothing of it in the cache;
what counts is the median. Reading and writing are each done through the page cache and
past it, and the faster way counts. Two logs: home blocks all over the device, which no
program writes at sequential speed ("in_place_s" is what a bare loop over them takes), and
home blocks in runs of 64, as in inode tables. ZJCTL=FILE measures another zjctl.
"""

import json
import mmap
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "tests" / "big-log"
ZJCTL = os.environ.get("ZJCTL", BUILD / "plain" / "zjctl")
PIECE = 4 << 20
os.environ["PATH"] += ":/usr/sbin:/sbin"


def sh(*args):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True).stdout


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    sh("make", "-s", "-j2", "-C", ROOT / "user", f"O={BUILD}/plain")
    sources = [ROOT / "tests/zjctl/biglog.c", ROOT / "user/extimage.c",
               ROOT / "user/mmp.c",
               *sorted((ROOT / "src/format").glob("*.c")),
               *sorted((ROOT / "user/lib").glob("*.c"))]
    sh("gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
       "-Wno-unused-parameter", "-Wno-sign-compare", f"-I{ROOT}/user/include", f"-I{ROOT}/include",
       f"-I{ROOT}/src", f"-I{ROOT}/user", "-o", BUILD / "biglog", *sources,
       "-lext2fs", "-lcom_err", "-lpthread")


def make(path, mib, transactions, lanes, run=1):
    """A crashed image with a journal of that size; the number of distinct home blocks."""
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", f"size={mib}", "-E",
       "nodiscard,lazy_itable_init=0,lazy_journal_init=0", path, f"{4 * mib}M")
    homes = sh(BUILD / "biglog", path, transactions, lanes, run)
    Path(f"{path}.homes").write_text(homes)
    return len(homes.split())


# A small process in between: a child's peak counts what its parent was at the fork.
MEASURE = """
import resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.run(sys.argv[1:]).returncode
print(code, time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
      file=sys.stderr)
"""


def recover(path):
    """Recover it: JSON, seconds, peak memory in KiB."""
    done = subprocess.run([sys.executable, "-c", MEASURE, ZJCTL, "recover", "--no-fsck", "--json",
                           path], capture_output=True, text=True, check=True)
    code, seconds, peak = done.stderr.split()
    assert code == "1", done.stdout
    return json.loads(done.stdout), float(seconds), int(peak)


def fill(path, size):
    """A file with all its blocks in place and none in the cache, like a device."""
    with open(path, "wb", buffering=0) as f:
        for _ in range(0, size, PIECE):
            f.write(b"x" * PIECE)
    uncache(path)


def uncache(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def seconds_of(path, flags, work):
    """Of work(fd), with what it writes made durable."""
    uncache(path)
    fd = os.open(path, os.O_RDWR | flags)
    start = time.monotonic()
    work(fd)
    os.fsync(fd)
    seconds = time.monotonic() - start
    os.close(fd)
    return seconds


class Measure:
    """One image: the floor's parts and the recovery, as often as wanted."""

    def __init__(self, path):
        self.path = str(path)
        self.homes = [int(n) for n in Path(f"{path}.homes").read_text().split()]
        spans = re.findall(r"\((\d+)(?:-\d+)?\):(\d+)(?:-(\d+))?",
                           sh("debugfs", "-R", "stat <8>", path))
        self.log = [(int(first) * 4096, (int(last or first) + 1) * 4096) for _, first, last in spans]
        self.sequential = f"{path}.seq"
        fill(self.sequential, len(self.homes) * 4096)
        # What a recovery changes apart from home blocks: both super blocks, the log's state.
        first = self.log[0][0]
        self.before = {at: self.peek(at) for at in (0, first, first + 4096)}
        self.memory = mmap.mmap(-1, PIECE)
        self.memory.write(os.urandom(PIECE))

    def peek(self, at):
        with open(self.path, "rb") as f:
            f.seek(at)
            return f.read(4096)

    def crash_again(self):
        with open(self.path, "r+b") as f:
            for at, block in self.before.items():
                f.seek(at)
                f.write(block)
        uncache(self.path)

    def read(self, fd):
        for at, end in self.log:
            while at < end:
                at += os.preadv(fd, [memoryview(self.memory)[:min(PIECE, end - at)]], at)

    def write(self, fd):
        at, end = 0, len(self.homes) * 4096
        while at < end:
            at += os.pwritev(fd, [memoryview(self.memory)[:min(PIECE, end - at)]], at)

    def write_in_place(self, fd):
        block = memoryview(self.memory)[:4096]
        for home in self.homes:
            os.pwrite(fd, block, home * 4096)

    def once(self):
        got = {"read_cached": seconds_of(self.path, 0, self.read),
               "read_direct": seconds_of(self.path, os.O_DIRECT, self.read),
               "write_cached": seconds_of(self.sequential, 0, self.write),
               "write_direct": seconds_of(self.sequential, os.O_DIRECT, self.write),
               "in_place": seconds_of(self.path, 0, self.write_in_place)}
        self.crash_again()
        result, got["recover"], peak = recover(self.path)
        assert result["blocks_written"] == len(self.homes)
        return got, result, peak


def report(rounds, **more):
    every = {name: [got[name] for got, _, _ in rounds] for name in rounds[0][0]}
    middle = {name: statistics.median(times) for name, times in every.items()}
    read = min(middle["read_cached"], middle["read_direct"])
    write = min(middle["write_cached"], middle["write_direct"])
    print(json.dumps({
        **more, "transactions": rounds[0][1]["transactions"],
        "blocks_written": rounds[0][1]["blocks_written"],
        "peak_mib": round(max(peak for _, _, peak in rounds) / 1024, 1),
        "read_s": round(read, 2), "write_s": round(write, 2),
        "in_place_s": round(middle["in_place"], 2), "recover_s": round(middle["recover"], 2),
        "ratio": round(middle["recover"] / (read + write), 2),
        "ratio_in_place": round(middle["recover"] / (read + middle["in_place"]), 2),
        "all": {name: [round(t, 2) for t in times] for name, times in every.items()}}))


def main(mib=1024, transactions=200000, lanes=64, times=7):
    build()
    for run in (1, 64):
        with tempfile.TemporaryDirectory(dir=BUILD) as where:
            path = Path(where) / "big.img"
            fill(path, 4 * mib << 20)
            make(path, mib, transactions, lanes, run)
            image = Measure(path)
            report([image.once() for _ in range(times)], journal_mib=mib, lanes=lanes, run=run)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
