# SPDX-License-Identifier: GPL-2.0-only
"""blockdev --flushbufs all the time, beside fsyncs of little data; power cuts."""
import hashlib
import json
import random
import time

import load as l

BLKFLSBUF = 0x1261
FILES = 8


def md5(data):
    return hashlib.md5(data).hexdigest()


def write(n):
    """Replaces contents of files, one after the other."""
    l.in_lane(n)
    dice, over, longest, notes = random.Random(n), l.expires(), 0, []
    while not over():
        k, data = dice.randrange(FILES), b"%08d" % len(notes) * dice.choice([1, 100, 512, 3000])
        begun = time.monotonic()
        l.put(f"/mnt/m/f{n}_{k}", data, sync=True)
        longest = max(longest, time.monotonic() - begun)
        notes.append((l.now(), k, md5(data)))
    with open(f"/mnt/notes{n}", "w", encoding="ascii") as f:
        json.dump([longest, notes], f)


def flush():
    while True:
        l.ioctl("/dev/zjd0", BLKFLSBUF)
        time.sleep(0.01)


def check(cut):
    """How many files have not what was synced last; one that was being written again may have anything."""
    bad = 0
    for n, (_, steps) in enumerate(notes):
        for k in range(FILES):
            mine = [(i, s) for i, s in enumerate(steps) if s[1] == k]
            done = [(i, s) for i, s in mine if s[0] <= cut]
            if not done:
                continue
            following = [i for i, s in mine if s[0] > cut]
            # The next step of this file began after the end of the one before it in its task.
            if following and (following[0] == 0 or steps[following[0] - 1][0] <= cut):
                continue
            with open(f"/mnt/n/f{n}_{k}", "rb") as f:
                bad += md5(f.read()) != done[-1][1][2]
    return bad


l.sh(f"mke2fs -q -F -t ext4 -J size=4 {l.QUICK} /dev/zjd0")
l.disk("0 latency 300 100 500")
l.disk("0 record on")
assert l.mount()
writers, flusher = [l.beside(write, n) for n in range(2)], l.beside(flush)
l.wait(writers)
l.kill([flusher])
end = l.now()
l.sh("umount /mnt/m")
l.disk("0 record off")
notes = []
for n in range(2):
    with open(f"/mnt/notes{n}", encoding="ascii") as f:
        notes.append(json.load(f))
lost = unsound = 0
for n in range(l.CUTS):
    at = l.dice.randrange(end // 4, end)
    l.disk(f"1 rebuild 0 {at} {l.SEED * 1000 + n}")
    assert l.mount("/dev/zjd1", "/mnt/n")
    lost += check(at)
    l.sh("umount /mnt/n")
    unsound += not l.sound("/dev/zjd1")
l.say(syncs=[len(x[1]) for x in notes], longest_ms=[round(x[0] * 1000) for x in notes], lost=lost, unsound=unsound)
