# SPDX-License-Identifier: GPL-2.0-only
"""The inode tables of a disk that is full of old data are cleared while it is in use; power cuts."""
import os
import time

import load as l


def create(n):
    l.in_lane(n)
    i = 0
    while True:
        i += 1
        folder = f"/mnt/m/d{n}_{i % 11}"
        os.makedirs(folder, exist_ok=True)
        l.put(f"{folder}/f{i % 300}", b"%d" % i, sync=i % 3 == 0)
        if i % 5 == 0:
            os.unlink(f"{folder}/f{i % 300}")


l.disk("0 fill 0xa5a5a5a55a5a5a5a")
l.sh("mke2fs -q -F -t ext4 -b 1024 -O ^resize_inode -N 40000 -J size=2 "
     "-E lazy_itable_init=1,lazy_journal_init=1,nodiscard /dev/zjd0")
l.disk("0 record on")
assert l.mount(extra=",init_itable=0")
tasks = [l.beside(create, n) for n in range(2)]
time.sleep(max(l.SECONDS, 7))      # the kernel begins to clear them 0 to 5 s after the mount
l.kill(tasks)
last = l.now()
l.sh("umount /mnt/m")
l.disk("0 record off")
unsound = 0
for n in range(l.CUTS):
    l.disk(f"1 rebuild 0 {l.dice.randrange(1, last)} {l.SEED * 1000 + n}")
    assert l.mount("/dev/zjd1", "/mnt/n", ",init_itable=0")
    l.sh("find /mnt/n >/mnt/found; : >/mnt/n/new; sync -f /mnt/n; umount /mnt/n")
    unsound += not l.sound("/dev/zjd1")
cleared = l.sh("dumpe2fs /dev/zjd0 2>&1 | grep -c ITABLE_ZEROED", check=False).stdout.strip()
l.say(groups_cleared=int(cleared), unsound=unsound)
