# SPDX-License-Identifier: GPL-2.0-only
"""Full logs made to keep recovery busy, against an honest one: what zjctl recover executes.

    build/venv/bin/python tests/zjctl/hostile_log.py [MIB]

For each kind of log the CPU seconds of zjctl recover (user; system) and, with --count, the
instructions that valgrind counts in it, which takes a hundred times as long. Takes 2 GiB of disk
for each GiB of log, one image at a time.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import big_log

LANES = 256
KINDS = {
    # KIND of biglog, share of the blocks that are headers
    "honest": ("", 0.5),
    "no images": ("", 0.995),
    "dependencies": ("deps", 0.995),
    "dependencies, images": ("deps", 0.5),
    "revokes": ("revokes", 0.995),
    "revokes, images": ("revokes", 0.5),
}


def make(path, mib, kind, headers):
    path.unlink(missing_ok=True)
    big_log.sh("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", f"size={mib}", "-E",
               "nodiscard,lazy_itable_init=1,lazy_journal_init=1", path, f"{4 * mib}M")
    # Without what biglog leaves free: a segment for each lane, a block of each segment.
    segment = max(64, min(256, mib * 256 // (4 * LANES)))
    blocks = (mib * 256 // segment - 1 - LANES) * (segment - 1)
    big_log.sh(big_log.BUILD / "biglog", path, int(blocks * headers), LANES, 1, kind)


def seconds(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = json.loads(subprocess.run(
        [big_log.ZJCTL, "recover", "--no-fsck", "--json", path], capture_output=True,
        text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return got, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def instructions(path):
    said = subprocess.run(
        ["valgrind", "--tool=none", "--log-file=/dev/null", big_log.ZJCTL, "--version"],
        capture_output=True, text=True)
    assert said.returncode == 0, "valgrind is missing"
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", big_log.ZJCTL,
         "recover", "--dry-run", path], capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--count"]
    mib, count = int(args[0]) if args else 1024, "--count" in sys.argv
    big_log.build()
    print(f"{'log':22}{'transactions':>14}{'user s':>8}{'system s':>10}{'of honest':>11}"
          + ("    instructions  of honest" if count else ""))
    first = None
    with tempfile.TemporaryDirectory(dir=big_log.BUILD) as where:
        path = Path(where) / "log.img"
        for name, (kind, headers) in KINDS.items():
            make(path, mib, kind, headers)
            ran = instructions(path) if count else 0
            got, user, system = seconds(path)
            first = first or (user + system, ran)
            line = (f"{name:22}{got['transactions']:14}{user:8.2f}{system:10.2f}"
                    f"{(user + system) / first[0]:11.2f}")
            print(line + (f"{ran:16}{ran / first[1]:11.2f}" if count else ""), flush=True)


if __name__ == "__main__":
    main()
