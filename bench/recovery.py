#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How long the recovery of a large log takes, against the device alone, in one boot.

    build/venv/bin/python bench/recovery.py [NAME=value of recovery.sh ...]
    build/venv/bin/python bench/recovery.py BEFORE=OTHER_TREE/build

With BEFORE that tree's modules and zjctl run beside, as old-zext4 and old-zjctl. The share is
that of the device's own speed: the time of reading as much as the log holds and writing as much
as goes home, in one piece each, by the time of the recovery. ICOUNT as in bench/fsync.py.
build/results/recovery.json has all runs.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from common import accel, arguments, median, run_script, save, vm

FIELDS = ["seconds", "reads", "writes"]


def parse(text):
    """{(disk, log): {who: [run]}}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4 + len(FIELDS) and words[0] in ("fast", "slow"):
            run = dict(zip(FIELDS, map(float, words[4:])))
            runs.setdefault((words[0], words[1]), {}).setdefault(words[2], []).append(run)
    return runs


def table(runs):
    print(f"{'disk':6}{'log':7}{'who':12}{'s':>8}{'share':>8}{'reads':>9}{'writes':>9}")
    for (disk, log), by_who in runs.items():
        alone = sum(median(by_who[who], "seconds") for who in ("read", "write") if who in by_who)
        for who, got in by_who.items():
            seconds = median(got, "seconds")
            share = f"{alone / seconds:8.2f}" if alone and who not in ("read", "write") else f"{'':8}"
            print(f"{disk:6}{log:7}{who:12}{seconds:8.2f}{share}"
                  f"{median(got, 'reads'):9.0f}{median(got, 'writes'):9.0f}")


def older(build, where):
    """The other tree's modules and zjctl, under names that do not clash."""
    kmod = vm.Kernel.find().version
    for name in ("zjournal.ko", "zext4.ko"):
        shutil.copy(Path(build) / f"kmod-{kmod}" / name, where / f"old-{name}")
    shutil.copy(Path(build) / "zjctl", where / "old-zjctl")
    return sorted(where.iterdir())


def main():
    settings = arguments()
    before = settings.pop("BEFORE", None)
    programs = [vm.BUILD / "zjctl", vm.BUILD / "guest" / "fsctl"]
    with tempfile.TemporaryDirectory() as where:
        if before:
            programs += older(before, Path(where))
            settings.setdefault("WHO", "ext4 old-zext4 zext4 old-zjctl zjctl")
        with vm.VM(cpus=4, memory="4G", programs=programs, accel=accel(settings)) as guest:
            result = run_script(guest, "recovery.sh", settings)
    runs = parse(result.out)
    table(runs)
    save("recovery", {"settings": settings, "results": [
        {"disk": disk, "log": log, "runs": by_who} for (disk, log), by_who in runs.items()]})
    if not result:
        print(result.out[-2000:])
    return result.rc


if __name__ == "__main__":
    sys.exit(main())
