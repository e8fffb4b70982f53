# SPDX-License-Identifier: GPL-2.0-only
"""dbench with its own client.txt, what clients of a file server do"""

import re
import shutil

from apps import said, unpacked
from database import DBENCH

LOADS = {"dbench": "dbench: what clients of a file server do, with fsyncs of files, and of directories "
                   "after a rename or unlink"}
WAITS = {"dbench": "an fsync of a file"}
SYNCING = list(LOADS)
PROGRAMS = unpacked("dbench", "bin/dbench")


def give(at):
    shutil.copy(DBENCH / "share" / "dbench" / "client.txt", at)


def parse(load, text):
    """
    A work is an fsync, as in bench/concurrent.py: of a file, or of a directory after a rename or unlink.

    dbench tells the mean and the longest time of each kind of operation, and no percentiles.
    """
    said.one(r"^Throughput ([0-9.]+) MB/sec", text)
    seconds = max((int(s) for s in re.findall(r" execute +(\d+) sec", text)), default=0)
    table = text.partition(" Operation      Count    AvgLat    MaxLat")[2]
    counts = {name: (int(n), float(mean), float(most))
              for name, n, mean, most in re.findall(r"^ (\w+) +(\d+) +([0-9.]+) +([0-9.]+)$", table, re.M)}
    if not {"Flush", "Rename", "Unlink"} <= set(counts):
        raise ValueError("dbench did not come to all kinds of fsyncs; the run was too short")
    number, mean, most = counts["Flush"]
    fsyncs = said.told("fsyncs", number, mean=1000 * mean, longest=1000 * most)
    return said.run(sum(counts[name][0] for name in ("Flush", "Rename", "Unlink")), seconds, fsyncs=fsyncs, text=text)
