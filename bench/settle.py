#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What calls wait for that need a file's blocks on the device, and who waits meanwhile, on stock ext4 and zext4.

    build/venv/bin/python bench/settle.py [NAME=value of settle.sh ...]

CPUS=2 of the guest.  ICOUNT=1 (0 with KVM): its clock counts instructions and skips idle
time.  Medians of the runs; build/results/settle.json has all of them.
"""

import sys

from common import ROOT, accel, arguments, median, run_script, save, vm

FIELDS = ["rounds", "mean_ms", "longest_ms", "creates", "create_longest_ms"]


def parse(text):
    """{(call, type): [run]}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["run"] and len(words) == 4 + len(FIELDS):
            runs.setdefault((words[1], words[2]), []).append(dict(zip(FIELDS, map(float, words[4:]))))
    return runs


def main():
    settings = arguments()
    cpus = int(settings.pop("CPUS", "2"))
    programs = sorted((ROOT / "build/guest").glob("*"))
    with vm.VM(cpus=cpus, memory="2G", programs=programs, accel=accel(settings)) as guest:
        result = run_script(guest, "settle.sh", settings)
    runs = parse(result.out)
    if not result or not runs:
        sys.exit(f"settle.py: failed, status {result.rc}:\n{result.out[-2000:]}")
    save("settle", [{"call": call, "type": kind, "runs": got} for (call, kind), got in runs.items()])
    print(f"{'call':10}{'type':28}{'rounds':>8}{'mean ms':>9}{'longest':>9}{'creates':>9}{'longest':>9}")
    for (call, kind), got in runs.items():
        print(f"{call:10}{kind:28}{median(got, 'rounds'):8.0f}{median(got, 'mean_ms'):9.2f}{median(got, 'longest_ms'):9.2f}"
              f"{median(got, 'creates'):9.0f}{median(got, 'create_longest_ms'):9.2f}")


if __name__ == "__main__":
    main()
