#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What quota costs writers that fsync, on stock ext4 and on zext4, in one boot.

    build/venv/bin/python bench/quota.py [NAME=value of quota.sh ...]

CPUS=8 of the guest.  ICOUNT=1 (0 with KVM): its clock counts instructions and skips idle
time.  Medians of the runs; build/results/quota.json has all of them.
"""

import sys

from common import ROOT, accel, arguments, median, run_script, save, vm

FIELDS = ["fsyncs", "seconds", "mean_us", "p50_us", "p99_us"]


def parse(text):
    """{(case, type): [run]}"""
    runs, info = {}, []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["info"]:
            info.append(line.removeprefix("info "))
        elif words[:1] == ["run"] and len(words) == 4 + len(FIELDS):
            run = dict(zip(FIELDS, map(float, words[4:])), info=info)
            run["per_second"] = run["fsyncs"] / run["seconds"]
            runs.setdefault((words[1], words[2]), []).append(run)
            info = []
    return runs


def main():
    settings = arguments()
    cpus = int(settings.pop("CPUS", "8"))
    programs = sorted((ROOT / "build/guest").glob("*"))
    with vm.VM(cpus=cpus, memory="3G", programs=programs, accel=accel(settings)) as guest:
        result = run_script(guest, "quota.sh", settings)
    runs = parse(result.out)
    if not result or not runs:
        sys.exit(f"quota.py: failed, status {result.rc}:\n{result.out[-2000:]}")
    save("quota", [{"case": case, "type": kind, "runs": got} for (case, kind), got in runs.items()])
    print(f"{'case':12}{'type':28}{'fsyncs/s':>10}{'to off':>8}{'p50 ms':>8}{'p99 ms':>8}")
    for (case, kind), got in runs.items():
        base = runs.get(("off", kind))
        ratio = median(got, "per_second") / median(base, "per_second") if base else float("nan")
        print(f"{case:12}{kind:28}{median(got, 'per_second'):10.1f}{ratio:8.2f}"
              f"{median(got, 'p50_us') / 1000:8.1f}{median(got, 'p99_us') / 1000:8.1f}")
        for line in got[0]["info"]:
            print("   ", line)


if __name__ == "__main__":
    main()
