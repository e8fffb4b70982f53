# SPDX-License-Identifier: GPL-2.0-only
"""A journal on a device of its own; the two devices come back as they were at one moment, or at two."""
import os
import random
import time

import load as l


def create(n):
    l.in_lane(n)
    dice, i = random.Random(n), 0
    while True:
        i += 1
        folder = f"/mnt/m/d{n}_{i % 9}"
        os.makedirs(folder, exist_ok=True)
        l.put(f"{folder}/f{i % 200}", b"%d" % i * dice.choice([1, 2000]), sync=i % 4 == 0)
        if i % 5 == 0:
            os.unlink(f"{folder}/f{i % 200}")


l.sh("rmmod zjdisk; modprobe -d $ZJ_MODULES zjdisk ndev=4 size_mb=32")
l.sh("mke2fs -q -F -O journal_dev -b 4096 /dev/zjd1 2048")
l.sh("mke2fs -q -F -t ext4 -b 4096 -J device=/dev/zjd1 -E lazy_itable_init=0 /dev/zjd0")
l.disk("0 record on")
l.disk("1 record on")
assert l.mount()
tasks, over, moments = [l.beside(create, n) for n in range(2)], l.expires(), []
while not over():
    moments.append((l.now(0), l.now(1)))
    time.sleep(0.02)
l.kill(tasks)
l.sh("umount /mnt/m")
l.disk("0 record off")
l.disk("1 record off")
found = {}
for kind in ("same", "fs_older", "journal_older"):
    count = found[kind] = {"sound": 0, "refused": 0, "unsound": 0}
    for n in range(l.CUTS):
        late = l.dice.randrange(10, len(moments))
        early = late if kind == "same" else l.dice.randrange(5, late - 2)
        fs, log = (early, late) if kind == "fs_older" else (late, early)
        l.disk(f"2 rebuild 0 {moments[fs][0]} {l.SEED * 1000 + n}")
        l.disk(f"3 rebuild 1 {moments[log][1]} {l.SEED * 1000 + n}")
        if not l.mount("/dev/zjd2", "/mnt/n", ",journal_path=/dev/zjd3"):
            count["refused"] += 1
            continue
        l.sh("umount /mnt/n")
        done = l.sh("e2fsck -fn -j /dev/zjd3 /dev/zjd2", check=False)
        count["unsound" if done.returncode else "sound"] += 1
l.say(**found)
