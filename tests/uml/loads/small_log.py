# SPDX-License-Identifier: GPL-2.0-only
"""Eight tasks with a journal of 1 MiB on a slow disk; how long one of them does nothing but wait.

The kernel's detector of hung tasks counts in the same way: a task in state D that was not switched to.
"""
import errno
import os
import random
import time

import load as l


def work(n):
    l.in_lane(n)
    dice, over, folder = random.Random(n), l.expires(), f"/mnt/m/t{n}"
    os.makedirs(folder, exist_ok=True)
    while not over():
        path, what = f"{folder}/{dice.randrange(40)}", dice.randrange(6)
        try:
            if what < 3:
                l.put(path, b"y" * dice.choice([10, 3000, 60000, 900000]), sync=what == 0)
            elif what == 3:
                os.unlink(path)
            elif what == 4:
                os.rename(path, f"{folder}/{dice.randrange(40)}")
            else:
                os.truncate(path, dice.randrange(100000))
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ENOSPC):
                raise


def state(pid):
    """Does it wait, and how often has it been switched to?"""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        lines = f.read().splitlines()
    return any(x.startswith("State:\tD") for x in lines), [x for x in lines if "ctxt_switches" in x]


l.sh(f"mke2fs -q -F -t ext4 -b 1024 -J size=1 {l.QUICK} /dev/zjd0")
l.disk(f"0 latency {l.KIND or '4000 2000 8000'}")
assert l.mount()
tasks = [l.beside(work, n) for n in range(8)]
over, since, longest = l.expires(), {}, 0
while not over():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            waits, switches = state(pid)
        except OSError:
            continue
        if not waits:
            since.pop(pid, None)
        elif since.get(pid, (None,))[0] == switches:
            longest = max(longest, time.monotonic() - since[pid][1])
        else:
            since[pid] = switches, time.monotonic()
    time.sleep(0.05)
l.wait(tasks)
l.sh("umount /mnt/m")
l.say(longest_ms=round(longest * 1000), unsound=int(not l.sound("/dev/zjd0")))
