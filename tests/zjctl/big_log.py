# SPDX-License-Identifier: GPL-2.0-only
"""A large log: what zjctl recover needs for it, against reading and writing alone.

    build/venv/bin/python tests/zjctl/big_log.py [MIB TRANSACTIONS LANES]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "tests" / "big-log"
os.environ["PATH"] += ":/usr/sbin:/sbin"


def sh(*args):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True).stdout


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    sh("make", "-s", "-j2", "-C", ROOT / "user", f"O={BUILD}/plain")
    sources = [ROOT / "tests/zjctl/biglog.c", ROOT / "user/extimage.c", ROOT / "src/codec.c",
               *sorted((ROOT / "user/lib").glob("*.c"))]
    sh("gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
       "-Wno-unused-parameter", "-Wno-sign-compare", f"-I{ROOT}/user/include", f"-I{ROOT}/include",
       f"-I{ROOT}/src", f"-I{ROOT}/user", "-o", BUILD / "biglog", *sources,
       "-lext2fs", "-lcom_err", "-lpthread")


def make(path, mib, transactions, lanes):
    """A crashed image with a journal of that size; its number of distinct home blocks."""
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", f"size={mib}", "-E",
       "lazy_itable_init=0,lazy_journal_init=0", path, f"{4 * mib}M")
    return int(sh(BUILD / "biglog", path, transactions, lanes))


def uncache(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


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
    done = subprocess.run([sys.executable, "-c", MEASURE, BUILD / "plain" / "zjctl", "recover",
                           "--no-fsck", "--json", path], capture_output=True, text=True, check=True)
    code, seconds, peak = done.stderr.split()
    assert code == "1", done.stdout
    return json.loads(done.stdout), float(seconds), int(peak)


def floor(path, home_blocks):
    """Seconds to read the log once and to write so many blocks in one piece, durably."""
    spans = re.findall(r"\((\d+)(?:-\d+)?\):(\d+)(?:-(\d+))?", sh("debugfs", "-R", "stat <8>", path))
    start = time.monotonic()
    with open(path, "rb", buffering=0) as f:
        for _, first, last in spans:
            left = (int(last or first) - int(first) + 1) * 4096
            f.seek(int(first) * 4096)
            while left:
                left -= len(f.read(min(left, 1 << 20)))
    read = time.monotonic() - start
    data = os.urandom(1 << 20)
    left = home_blocks * 4096
    start = time.monotonic()
    with open(f"{path}.seq", "wb", buffering=0) as f:
        while left > 0:
            left -= f.write(data[:left])
        os.fsync(f.fileno())
    written = time.monotonic() - start
    os.unlink(f"{path}.seq")
    return read, written


def main(mib=1024, transactions=200000, lanes=64):
    build()
    with tempfile.TemporaryDirectory(dir=BUILD) as where:
        path = Path(where) / "big.img"
        blocks = make(path, mib, transactions, lanes)
        # Before and after: the one in between must not be the only one with warm disks.
        uncache(path)
        before = floor(path, blocks)
        uncache(path)
        got, seconds, peak = recover(path)
        uncache(path)
        after = floor(path, blocks)
        read, written = min(before[0], after[0]), min(before[1], after[1])
        print(json.dumps({"journal_mib": mib, "transactions": got["transactions"], "lanes": lanes,
                          "blocks_written": got["blocks_written"], "read_s": round(read, 2),
                          "write_s": round(written, 2), "recover_s": round(seconds, 2),
                          "ratio": round(seconds / (read + written), 2),
                          "peak_mib": round(peak / 1024, 1)}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
