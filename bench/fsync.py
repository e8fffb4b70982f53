#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What an fsync costs on zext4 and on stock ext4, in one boot ("make bench-fsync").

    build/venv/bin/python bench/fsync.py [NAME=value of fsync.sh ...]
    build/venv/bin/python bench/fsync.py ROUNDS=5 KINDS=fua \
        TYPES='zext4:tune=frozen_copy:auto zext4:tune=frozen_copy:always zext4:tune=frozen_copy:never'

With other TYPES than ext4 and zext4 the table has a line for each, and its speed relative
to the best of them.

Rounds are the mean time of an fsync divided by the device's latency; flushes are counted
by the block layer.  ICOUNT=1 (0 with KVM): the guest's clock counts instructions and skips
idle time.  Medians of the runs; build/results/fsync.json has all of them.
"""

import sys

from common import accel, arguments, median, run_script, save, vm

FIELDS = ["fsyncs", "seconds", "mean_us", "p50_us", "p99_us", "writes", "flushes", "bytes"]


def parse(text):
    """{(case, kind, mode): {type: [run]}}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 5 + len(FIELDS):
            continue
        case, kind, mode, fstype, _ = words[:5]
        run = dict(zip(FIELDS, map(float, words[5:])))
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


def table_of_types(results, types):
    print(f"{'case':12}{'cache':7}{'data':9}{'type':28}{'rounds':>8}{'flush/fsync':>12}{'p99 ms':>8}{'fsyncs/s':>10}{'of best':>9}")
    for r in results:
        best = max(r[t]["fsyncs_per_second"] for t in types)
        for t in types:
            s = r[t]
            print(f"{r['case']:12}{r['kind']:7}{r['mode']:9}{t:28}{s['rounds']:8.2f}"
                  f"{s['flushes_per_fsync']:12.2f}{s['p99_us'] / 1000:8.1f}"
                  f"{s['fsyncs_per_second']:10.1f}{s['fsyncs_per_second'] / best:9.3f}")


def main():
    settings = arguments()
    latency_us = float(settings.get("LATENCY_MS", 20)) * 1000
    programs = [vm.BUILD / "guest" / "loadgen"]
    with vm.VM(cpus=8, memory="6G", programs=programs, accel=accel(settings)) as guest:
        result = run_script(guest, "fsync.sh", settings)
    results = []
    wanted = settings.get("TYPES", "ext4 zext4").split()
    for (case, kind, mode), types in parse(result.out).items():
        if len(types) < len(wanted):
            continue
        row = {"case": case, "kind": kind, "mode": mode, "runs": types}
        row |= {fstype: summary(runs, latency_us) for fstype, runs in types.items()}
        if wanted == ["ext4", "zext4"]:
            row["ratio"] = row["zext4"]["fsyncs_per_second"] / row["ext4"]["fsyncs_per_second"]
        results.append(row)
    if wanted == ["ext4", "zext4"]:
        print("ext4 left, zext4 right; ratio: zext4's fsyncs per second to ext4's")
        table(results)
    else:
        table_of_types(results, wanted)
    save("fsync", {"settings": settings, "results": results})
    if not result:
        print(result.out[-2000:])
    return result.rc


if __name__ == "__main__":
    sys.exit(main())
