#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an fsync costs on zext4 and on stock ext4, XFS and btrfs beside, in one boot ("make bench-fsync").

    build/venv/bin/python bench/fsync.py [NAME=value of fsync.sh ...]
    build/venv/bin/python bench/fsync.py ROUNDS=5 KINDS=fua \
        TYPES='zext4:tune=frozen_copy:auto zext4:tune=frozen_copy:always zext4:tune=frozen_copy:never'

With other TYPES than ext4 and zext4 the table has a line for each, and its speed relative
to the best of them. BESIDE="xfs btrfs" adds these to the default ones; without BESIDE, those
of them that have a mkfs here.

Rounds are the mean time of an fsync divided by the device's latency; flushes are counted
by the block layer.  ICOUNT=1 (0 with KVM): the guest's clock counts instructions and skips
idle time.  Medians of the runs; build/results/fsync.json has all of them.
"""

import re
import sys

from common import accel, arguments, median, run_script, save, vm

PAIR = ["ext4", "zext4"]

# The programs that make file systems have something to say, too.
LINE = re.compile(r"\S+ (none|fua|nofua) \S+ \S+ \d+( [0-9.e+-]+){8}")
FIELDS = ["fsyncs", "seconds", "mean_us", "p50_us", "p99_us", "writes", "flushes", "bytes"]


def parse(text):
    """{(case, kind, mode): {type: [run]}}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["hist"] and len(words) == 8:
            runs[tuple(words[1:4])][words[4]][-1]["hist"].append([int(words[6]), int(words[7])])
        if not LINE.fullmatch(line):
            continue
        case, kind, mode, fstype, _ = words[:5]
        run = dict(zip(FIELDS, map(float, words[5:]))) | {"hist": []}
        runs.setdefault((case, kind, mode), {}).setdefault(fstype, []).append(run)
    return runs


def summary(runs, latency_us):
    return {
        "rounds": median(runs, "mean_us") / latency_us,
        "writes_per_fsync": median(runs, "writes") / median(runs, "fsyncs"),
        "flushes_per_fsync": median(runs, "flushes") / median(runs, "fsyncs"),
        "bytes_per_fsync": median(runs, "bytes") / median(runs, "fsyncs"),
        "p50_us": median(runs, "p50_us"), "p99_us": median(runs, "p99_us"),
        "fsyncs_per_second": median(runs, "fsyncs") / median(runs, "seconds"),
    }


def table(results):
    print(f"{'case':12}{'cache':7}{'data':9}{'rounds':>14}{'flush/fsync':>14}{'KiB/fsync':>14}{'p99 ms':>16}{'fsyncs/s':>16}{'ratio':>7}")
    for r in results:
        a, b = r["ext4"], r["zext4"]
        print(f"{r['case']:12}{r['kind']:7}{r['mode']:9}"
              f"{a['rounds']:7.2f}{b['rounds']:7.2f}"
              f"{a['flushes_per_fsync']:7.2f}{b['flushes_per_fsync']:7.2f}"
              f"{a['bytes_per_fsync'] / 1024:7.1f}{b['bytes_per_fsync'] / 1024:7.1f}"
              f"{a['p99_us'] / 1000:8.0f}{b['p99_us'] / 1000:8.0f}"
              f"{a['fsyncs_per_second']:8.1f}{b['fsyncs_per_second']:8.1f}{r['ratio']:7.2f}")


def table_beside(results, types):
    """Rounds, flushes and rates of other file systems in the same boot"""
    print(f"\nbeside: {', '.join(types)}")
    print(f"{'case':12}{'cache':7}{'rounds':>14}{'flush/fsync':>14}{'KiB/fsync':>14}{'p99 ms':>16}{'fsyncs/s':>16}")
    for r in results:
        found = [r[t] for t in types if t in r]
        if not found:
            continue
        print(f"{r['case']:12}{r['kind']:7}" + "".join(
            "".join(f"{s[field] / unit:{width}.{digits}f}" for s in found)
            for field, unit, width, digits in (("rounds", 1, 7, 2), ("flushes_per_fsync", 1, 7, 2),
                                               ("bytes_per_fsync", 1024, 7, 1), ("p99_us", 1000, 8, 0),
                                               ("fsyncs_per_second", 1, 8, 1))))


def table_of_types(results, types):
    print(f"{'case':12}{'cache':7}{'data':9}{'type':28}{'rounds':>8}{'flush/fsync':>12}{'p99 ms':>8}{'fsyncs/s':>10}{'of best':>9}")
    for r in results:
        best = max(r[t]["fsyncs_per_second"] for t in types)
        for t in types:
            s = r[t]
            print(f"{r['case']:12}{r['kind']:7}{r['mode']:9}{t:28}{s['rounds']:8.2f}"
                  f"{s['flushes_per_fsync']:12.2f}{s['p99_us'] / 1000:8.1f}"
                  f"{s['fsyncs_per_second']:10.1f}{s['fsyncs_per_second'] / best:9.3f}")


def others(settings):
    """File systems beside the two, which have no journal on a second device of this kind"""
    if "BESIDE" in settings:
        return settings.pop("BESIDE").split()
    if "TYPES" in settings or settings.get("LOG_MS"):
        return []
    return [fstype for fstype in ("xfs", "btrfs") if vm.pack.which(f"mkfs.{fstype}")]


def main():
    settings = arguments()
    latency_us = float(settings.get("LATENCY_MS", 20)) * 1000
    wanted = settings.get("TYPES", " ".join(PAIR)).split()
    beside = others(settings)
    settings["TYPES"] = " ".join(wanted + beside)
    programs = [vm.BUILD / "guest" / "loadgen", *(vm.pack.which(f"mkfs.{fstype}") for fstype in beside)]
    if None in programs:
        sys.exit("fsync.py: BESIDE: mkfs is missing; run tools/deps bench")
    with vm.VM(cpus=8, memory="6G", programs=programs, accel=accel(settings), stock=beside) as guest:
        result = run_script(guest, "fsync.sh", settings)
    results = []
    for (case, kind, mode), types in parse(result.out).items():
        if not set(wanted) <= set(types):
            continue
        row = {"case": case, "kind": kind, "mode": mode, "runs": types}
        row |= {fstype: summary(runs, latency_us) for fstype, runs in types.items()}
        if wanted == PAIR:
            row["ratio"] = row["zext4"]["fsyncs_per_second"] / row["ext4"]["fsyncs_per_second"]
        results.append(row)
    if wanted == PAIR:
        print("ext4 left, zext4 right; ratio: zext4's fsyncs per second to ext4's")
        table(results)
    else:
        table_of_types(results, wanted)
    if beside:
        table_beside(results, beside)
    save("fsync", {"settings": settings, "results": results})
    if not result:
        print(result.out[-2000:])
    return result.rc


if __name__ == "__main__":
    sys.exit(main())
