# SPDX-License-Identifier: GPL-2.0-only
"""EXT4_IOC_SET_TUNE_SB_PARAM of Linux 7.3, as tune2fs uses it on a mounted file system; power cuts.

What it has set is there after a cut; features it must not change.
"""
import errno
import re
import struct

import load as l

SIZE = 232
GET, SET = (2 << 30 | SIZE << 16 | ord("f") << 8 | 45), (1 << 30 | SIZE << 16 | ord("f") << 8 | 46)
RAID_STRIDE, FEATURES, EDIT_FEATURES = 0x400, 0x2000, 0x4000


def tune(flags, stride=0):
    """Sets what the flags say; returns the error."""
    try:
        l.ioctl("/mnt/m", SET, bytearray(struct.pack("<IIHHHH", flags, 0, 0, 0, 0, stride).ljust(SIZE, b"\0")))
    except OSError as e:
        return e.errno
    return 0


def writes():
    """Commits in another lane."""
    l.in_lane(1)
    n = 0
    while True:
        n += 1
        l.put(f"/mnt/m/f{n % 5}", b"%d" % n, sync=True)


l.sh(f"mke2fs -q -F -t ext4 -J size=8 -g 2048 {l.QUICK} /dev/zjd0")
l.disk("0 latency 300 100 500")
l.disk("0 record on")
assert l.mount()
refused = [tune(flags) for flags in (FEATURES, EDIT_FEATURES)].count(errno.EOPNOTSUPP)
told = struct.unpack("<I", l.ioctl("/mnt/m", GET, bytes(SIZE))[:4])[0] & (FEATURES | EDIT_FEATURES)
writer, over, ends, stride = l.beside(writes), l.expires(), [], 0
l.in_lane(0)
while not over() and stride < 0xffff:
    stride += 1
    assert not tune(RAID_STRIDE, stride)
    ends.append(l.now())
l.kill([writer])
l.sh("umount /mnt/m")
l.disk("0 record off")
lost = unsound = 0
for n in range(l.CUTS):
    at = l.dice.randrange(1, len(ends))
    # As late as the return of that call, and not later than that of the next one.
    l.disk(f"1 rebuild 0 {l.dice.choice([ends[at - 1], ends[at - 1], ends[at] - 1])} {l.SEED * 1000 + n}")
    if not l.mount("/dev/zjd1", "/mnt/n"):
        unsound += 1
        continue
    l.sh("umount /mnt/n")
    found = re.search(r"RAID stride:\s+(\d+)", l.sh("dumpe2fs -h /dev/zjd1").stdout)
    got = int(found[1]) if found else 0
    if got < at:
        lost += 1
        print(f"lost: {got} where {at} had been set")
    unsound += not l.sound("/dev/zjd1")
l.say(steps=len(ends), refused=refused, told=told, lost=lost, unsound=unsound)
