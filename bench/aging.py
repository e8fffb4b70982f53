#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Fragmentation after an aging run, on stock ext4 and on zext4, in one boot ("make bench-aging").

    build/venv/bin/python bench/aging.py [NAME=value ...]

ROUNDS=3  SIZE_MB=16384  LIVE_MB, CHURN_MB: 70 % of it each  WORKERS=4  OPTIONS=alloc=core

The device is sparse and does not rotate.  Extents of a file are counted by FIEMAP, free
extents by e2freefrag.  Medians; build/results/aging.json has all runs.
"""

import json
import re
import statistics
import sys

from common import SILENCE, vm

ONE = """
mkdir -p /sys/kernel/config /tmp/fs
[ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config
nb=/sys/kernel/config/nullb/aging
mkdir $nb || die configfs
for v in size={size} blocksize=512 memory_backed=1 power=1; do echo ${{v#*=}} >$nb/${{v%%=*}} || die $v; done
dev=/dev/nullb$(cat $nb/index); [ -b $dev ] || dev=/dev/aging
mkfs.ext4 -q -F -b 4096 -m 0 -O orphan_file $dev || die mkfs
mount -t {fstype} -o {options} $dev /tmp/fs || die mount
age -d /tmp/fs -w {workers} -l {live} -c {churn} -s {seed} || die age
umount /tmp/fs || die umount
e2freefrag $dev
e2fsck -fn $dev >/dev/null || die "e2fsck"
echo 0 >$nb/power; rmdir $nb
"""


def run(guest, settings, fstype, seed):
    size = int(settings["SIZE_MB"])
    options = "noatime," + settings["OPTIONS"] if fstype == "zext4" else "noatime"
    part = size * 7 // 10
    result = guest.sh(ONE.format(size=size, fstype=fstype, options=options, seed=seed, workers=settings["WORKERS"],
                                 live=settings.get("LIVE_MB", part), churn=settings.get("CHURN_MB", part)),
                      timeout=SILENCE)
    guest.check_console()
    if not result:
        sys.exit(result.out)
    files, extents, small, small_extents = map(int, re.search(r"^(\d+) (\d+) (\d+) (\d+)$", result.out, re.M).groups())
    return {"files": files, "extents_per_file": extents / files, "extents_per_small_file": small_extents / small,
            "free_extents": int(re.search(r"Num\. free extent: *(\d+)", result.out)[1])}


def main():
    settings = {"ROUNDS": 3, "SIZE_MB": 16384, "WORKERS": 4, "OPTIONS": "alloc=core"}
    settings |= dict(arg.split("=", 1) for arg in sys.argv[1:])
    runs = {"ext4": [], "zext4": []}
    with vm.VM(cpus=4, memory="8G", programs=[vm.BUILD / "guest" / "age", "/usr/sbin/e2freefrag"]) as guest:
        guest.sh("modprobe null_blk nr_devices=0; modprobe ext4; modprobe zext4")
        for seed in range(1, int(settings["ROUNDS"]) + 1):
            for fstype, done in runs.items():
                done.append(run(guest, settings, fstype, seed))
    rows = {}
    print(f"{'':26}{'ext4':>10}{'zext4':>10}{'ratio':>8}")
    for field in ("extents_per_file", "extents_per_small_file", "free_extents"):
        a, b = (statistics.median(r[field] for r in runs[t]) for t in ("ext4", "zext4"))
        rows[field] = {"ext4": a, "zext4": b, "ratio": b / a}
        print(f"{field:26}{a:10.2f}{b:10.2f}{b / a:8.2f}")
    out = vm.BUILD / "results" / "aging.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"settings": settings, "rows": rows, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
