# SPDX-License-Identifier: GPL-2.0-only
"""Files go back and forth between two projects at their limits, others between users; power cuts."""
import errno
import os
import random
import time

import load as l

LIMIT = 65536
FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR = 0x801c581f, 0x401c5820
OPTIONS = ",usrquota,prjquota"


def transfer(n):
    l.in_lane(n)
    os.setgid(1000)
    os.setuid(1000)
    dice, over, kept, refused = random.Random(n), l.expires(), 0, 0
    while not over():
        path = f"/mnt/m/f{n}_{dice.randrange(3)}"
        for project in (0, 10, 11, 10):
            try:
                if project:
                    attr = bytearray(l.ioctl(path, FS_IOC_FSGETXATTR, bytes(28)))
                    attr[12:16] = project.to_bytes(4, "little")
                    l.ioctl(path, FS_IOC_FSSETXATTR, bytes(attr))
                else:
                    l.put(path, b"a" * 8192 * dice.randrange(1, 7), sync=dice.random() < 0.3)
                kept += 1
            except OSError as e:
                if e.errno != errno.EDQUOT:
                    raise
                refused += 1
    with open(f"/mnt/did{n}", "w", encoding="ascii") as f:
        f.write(f"{kept} {refused}")


def change_owner(n):
    l.in_lane(n)
    over = l.expires()
    while not over():
        for user in (1001, 1002):
            os.chown(f"/mnt/m/g{n}", user, user)


def usage(project):
    return int(l.sh(f"limit /dev/zjd0 {project}").stdout.split()[0])


l.sh("mke2fs -q -F -t ext4 -O quota,project -E quotatype=usrquota:prjquota,lazy_itable_init=0 -J size=4 /dev/zjd0")
l.disk("0 record on")
assert l.mount(extra=OPTIONS)
for number in (10, 11):
    l.sh(f"limit /dev/zjd0 {number} {LIMIT}")
for name in [f"f{n}_{k}" for n in range(2) for k in range(3)] + ["g0", "g1"]:
    l.put(f"/mnt/m/{name}", b"")
    os.chown(f"/mnt/m/{name}", 1000, 1000)
l.sh("chmod 777 /mnt")
tasks = [l.beside(what, n) for what in (transfer, change_owner) for n in range(2)]
end, most = l.expires(), 0
while not end():
    most = max(most, usage(10), usage(11))
    time.sleep(0.02)
l.wait(tasks)
last = l.now()
l.sh("umount /mnt/m")
l.disk("0 record off")
unsound = 0
for n in range(l.CUTS):
    l.disk(f"1 rebuild 0 {l.dice.randrange(last // 4, last)} {l.SEED * 1000 + n}")
    assert l.mount("/dev/zjd1", "/mnt/n", OPTIONS)
    l.sh("umount /mnt/n")
    unsound += not l.sound("/dev/zjd1")
did = []
for n in range(2):
    with open(f"/mnt/did{n}", encoding="ascii") as f:
        did.append([int(x) for x in f.read().split()])
l.say(kept_and_refused=did, over_limit=max(0, most - LIMIT), unsound=unsound)
