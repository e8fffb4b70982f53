# SPDX-License-Identifier: GPL-2.0-only
"""RocksDB's db_bench: fillsync, each of whose writes is synced, and fillrandom, which syncs none"""

import math
import re

from apps import installed, said

LOADS = {"rocksdb": "RocksDB: db_bench fillsync, writes of 100 bytes that are each synced",
         "rocksdb-random": "RocksDB: db_bench fillrandom, writes of 100 bytes, with flushes and compactions behind them"}
WAITS = {load: "a write" for load in LOADS}
SYNCING = ["rocksdb"]
PROGRAMS = installed("db_bench", "ldb")
NAMES = {"rocksdb": "fillsync", "rocksdb-random": "fillrandom"}
KEYS = 1_000_000    # of which db_bench writes any, so that some are written twice


def distinct(writes):
    """How many different keys so many random writes touch, in the mean"""
    return KEYS * -math.expm1(writes * math.log1p(-1 / KEYS))


def histogram(text):
    """[[lower end in ns, count]]; these buckets are half as wide as they are long"""
    return [[int(low) * 1000, int(count)]
            for low, count in re.findall(r"^[(\[] +(\d+), +\d+ [)\]] +(\d+) ", text, re.M)]


def parse(load, text):
    seconds, writes = re.search(rf"^{NAMES[load]} +: .* ([0-9.]+) seconds (\d+) operations", text, re.M).groups() \
        if re.search(rf"^{NAMES[load]} ", text, re.M) else ("0", "0")
    writes = int(writes)
    found, wanted = int(said.one(r"^Keys in range: (\d+)$", text)), distinct(writes)
    if abs(found - wanted) > 0.02 * wanted + 1:
        raise ValueError(f"{found} keys were found after the remount, about {wanted:.0f} were written")
    said.one(r"^(verified)$", text)
    count, mean = re.search(r"^Count: (\d+) Average: ([0-9.]+)", text, re.M).groups()
    said.agree("measured writes", int(count), writes)
    p50, p99, p999 = (float(said.one(rf"^Percentiles:.* {name}: ([0-9.]+)", text)) for name in ("P50", "P99", r"P99\.9"))
    longest = float(said.one(r"^Min: .* Max: ([0-9.]+)$", text))
    run = said.run(writes, float(seconds), text=text,
                   works=said.told("works", writes, mean=float(mean), p50=p50, p99=p99, p999=p999, longest=longest))
    run["hist"]["works"] = histogram(text)
    return run
