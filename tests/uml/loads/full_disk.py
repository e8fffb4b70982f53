# SPDX-License-Identifier: GPL-2.0-only
"""Four tasks fill the disk, sync, and delete all; then there has to be room at once, each time."""
import errno
import os
import random

import load as l

ROUNDS = 4


def fill(n, round_nr):
    l.in_lane(n)
    dice = random.Random(n + 10 * round_nr)
    os.makedirs(f"/mnt/m/d{n}", exist_ok=True)
    i = refused = 0
    while refused < 20:
        i += 1
        try:
            l.put(f"/mnt/m/d{n}/{i}", b"x" * dice.choice([100, 5000, 20000, 70000]), sync=i % 4 == 0)
        except OSError as e:
            if e.errno != errno.ENOSPC:
                raise
            refused += 1


l.sh(f"mke2fs -q -F -t ext4 -b {l.KIND or 4096} -J size=4 -m 0 {l.QUICK} /dev/zjd0")
assert l.mount()
free, no_room = [], 0
for number in range(ROUNDS):
    l.wait([l.beside(fill, n, number) for n in range(4)])
    l.sh("sync -f /mnt/m")
    state = os.statvfs("/mnt/m")
    free.append(state.f_bfree * state.f_frsize >> 10)
    l.sh("rm -rf /mnt/m/d*")
    try:
        l.put("/mnt/m/probe", b"x" * (20 << 20), sync=True)
    except OSError:
        no_room += 1
    os.unlink("/mnt/m/probe")
l.sh("umount /mnt/m")
l.say(free_kib=free, no_room=no_room, unsound=int(not l.sound("/dev/zjd0")))
