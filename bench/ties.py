#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What features of the file system cost in ties between lanes ("make bench-ties").

    build/venv/bin/python bench/ties.py [NAME=value of ties.sh ...]

The table has fsyncs per second of stock ext4 and of zext4, the transactions in a component of
zext4, and the cause of most unions.  Medians of the runs; build/results/bench-ties.json has all.
"""

import sys

from common import accel, arguments, median, run_script, save, vm

FIELDS = ["fsyncs", "seconds", "mean_us", "p50_us", "p99_us", "components", "members"]


def parse(text):
    """{(layout, load): {type: [run]}}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 4 + len(FIELDS) + 2:
            continue
        layout, load, fstype, _ = words[:4]
        run = dict(zip(FIELDS, map(float, words[4:])), cause=words[-2], count=int(words[-1]))
        runs.setdefault((layout, load), {}).setdefault(fstype, []).append(run)
    return runs


def summary(runs):
    components = median(runs, "components")
    return {
        "fsyncs_per_second": median(runs, "fsyncs") / median(runs, "seconds"),
        "p99_us": median(runs, "p99_us"),
        "members": median(runs, "members") / components if components else 0,
        "cause": runs[0]["cause"],
    }


def table(results):
    print(f"{'layout':16}{'load':8}{'type':20}{'fsyncs/s':>10}{'p99 ms':>8}{'members':>9}  cause")
    for row in results:
        for fstype, got in row["types"].items():
            print(f"{row['layout']:16}{row['load']:8}{fstype:20}{got['fsyncs_per_second']:10.1f}"
                  f"{got['p99_us'] / 1000:8.0f}{got['members']:9.2f}  {got['cause']}")


def main():
    settings = arguments()
    programs = [vm.BUILD / "guest" / "loadgen"]
    with vm.VM(cpus=8, memory="6G", programs=programs, accel=accel(settings), stock=["quota_v2"]) as guest:
        guest.sh("modprobe quota_v2")
        result = run_script(guest, "ties.sh", settings)
    results = [{"layout": layout, "load": load, "runs": types,
                "types": {fstype: summary(runs) for fstype, runs in types.items()}}
               for (layout, load), types in parse(result.out).items()]
    table(results)
    save("bench-ties", {"settings": settings, "results": results})
    if not result:
        print(result.out[-2000:])
    return result.rc


if __name__ == "__main__":
    sys.exit(main())
