# SPDX-License-Identifier: GPL-2.0-only
"""SysBench: its test fileio, and what its other tests print"""

import re

from apps import installed, said

LOADS = {"sysbench-fileio": "SysBench fileio: random writes of 4 KiB to 80 files that all share, "
                            "an fsync of each file after each 100"}
WAITS = {"sysbench-fileio": "a write or an fsync"}
SYNCING = list(LOADS)
PROGRAMS = installed("sysbench")


def events(text):
    """(number of events, seconds, their latencies); SysBench's buckets are 1.8 % wide"""
    count = int(said.one(r"^ *total number of events: +(\d+)$", text))
    latencies = said.Latencies()
    for ms, number in re.findall(r"^ *([0-9.]+) \|[* ]* (\d+)$", text, re.M):
        latencies.add(float(ms) * 1e6, int(number))
    if latencies.count != count:
        raise ValueError(f"{latencies.count} latencies of {count} events")
    # What the histogram's ends and its resolution of 1 us hide
    latencies.longest = float(said.one(r"^ *max: +([0-9.]+)$", text)) * 1e6
    latencies.sum = float(said.one(r"^ *sum: +([0-9.]+)$", text)) * 1e6
    return count, float(said.one(r"^ *total time: +([0-9.]+)s$", text)), latencies


def parse(load, text):
    count, seconds, latencies = events(text)
    if float(said.one(r"^ *fsyncs/s: +([0-9.]+)$", text)) <= 0:
        raise ValueError("SysBench did no fsync; the run was too short")
    said.agree("bytes of valid blocks", int(said.one(r"^valid (\d+)$", text)), int(said.one(r"^bytes (\d+)$", text)))
    return said.run(count, seconds, works=latencies, text=text)
