# SPDX-License-Identifier: GPL-2.0-only
"""Files of 16 KiB to 2 MiB, which newer kernels cache in large folios: written at once, then single blocks, then
all of it again, each step synced; power cuts. Two tasks, on two CPUs where there are two.

At a cut each sector has what the last step that had ended gave it, or what the step that was under way gives it.
"""
import json
import mmap
import os
import random

import load as l

BLOCK = 4096
SIZES = [16 << n for n in range(8)]        # KiB
MOST = 5                                   # files of each size and task


def content(version):
    return version.to_bytes(8, "little") * (BLOCK // 8)


def writes(fd, now, changes):
    """Writes blocks, neighbours with one call."""
    todo = sorted(changes)
    while todo:
        n = 1
        while n < len(todo) and todo[n] == todo[0] + n:
            n += 1
        os.pwrite(fd, b"".join(content(now) for _ in range(n)), todo[0] * BLOCK)
        todo = todo[n:]


def one_block_direct(path, block, now):
    """A direct write past what may be in the log."""
    page = mmap.mmap(-1, BLOCK)
    page.write(content(now))
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    os.pwrite(fd, page, block * BLOCK)
    os.fsync(fd)
    os.close(fd)


def same(path, have):
    with open(path, "rb") as f:
        data = f.read()
    return len(data) == len(have) * BLOCK and all(
        data[i * BLOCK:(i + 1) * BLOCK] == content(v) for i, v in enumerate(have))


def task(n):
    l.in_lane(n)
    os.sched_setaffinity(0, {n % os.cpu_count()})
    dice, over, steps, version, wrong, round_ = random.Random(l.SEED * 100 + n), l.expires(), [], 0, 0, 0
    # The disk keeps all that is written in memory.
    while not over() and round_ < MOST * len(SIZES):
        kib = SIZES[round_ % len(SIZES)]
        round_ += 1
        path, blocks, have = f"/mnt/m/{n}_{kib}", kib * 1024 // BLOCK, []
        if os.path.exists(path):
            os.unlink(path)
            l.fsync("/mnt/m")
            steps.append((l.now(), kib, "gone", 0, []))
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        for what in ["all", "one", "one", "one", "one", "direct", "one", "few", "all", "one", "shorter", "one"]:
            version += 1
            if what == "all":
                changed = list(range(blocks))
            elif what == "few":
                changed = sorted(dice.sample(range(len(have)), min(len(have), 12)))
            else:
                changed = [dice.randrange(len(have))] if have else []
            if what == "shorter":
                # What is before the end may be in the log, in the folio that is cut.
                at = max(dice.randrange(len(have)), 1)
                os.pwrite(fd, content(version), 0)
                os.fsync(fd)
                changed, have = [0], [version] + have[1:at]
                os.truncate(path, at * BLOCK)
                os.fsync(fd)
            elif what == "direct":
                one_block_direct(path, changed[0], version)
            else:
                have += [0] * (blocks - len(have)) if what == "all" else []
                writes(fd, version, changed)
                os.fsync(fd)
            for block in changed:
                if what != "shorter":
                    have[block] = version
            steps.append((l.now(), kib, what, len(have), [(block, version) for block in changed]))
            wrong += not same(path, have)
        os.close(fd)
        if round_ % len(SIZES) == 0:
            l.sh("echo 3 >/proc/sys/vm/drop_caches")
    with open(f"/mnt/notes{n}", "w", encoding="ascii") as f:
        json.dump([wrong, steps], f)


def check(cut, steps, n):
    """How many blocks have neither?"""
    bad = 0
    for kib in SIZES:
        mine = [i for i, s in enumerate(steps) if s[1] == kib]
        done = [i for i in mine if steps[i][0] <= cut]
        # The step under way: the task's next one, if it is this file's.
        running = next((i for i, s in enumerate(steps) if s[0] > cut), None)
        running = steps[running] if running is not None and steps[running][1] == kib else None
        if not done:
            continue
        have, length = {}, 0
        for i in done:
            _, _, what, length, changed = steps[i]
            if what == "gone":
                have = {}
            have.update(changed)
        if steps[done[-1]][2] == "gone" or running and running[2] in ("gone", "shorter"):
            continue
        new = dict(running[4]) if running else {}
        with open(f"/mnt/n/{n}_{kib}", "rb") as f:
            data = f.read()
        for block in range(length):
            got = data[block * BLOCK:(block + 1) * BLOCK]
            # Sectors, as a block that is being written in place may be torn.
            may = [content(v)[:512] for v in (have.get(block, 0), new.get(block, have.get(block, 0)))]
            if any(got[at:at + 512] not in may for at in range(0, BLOCK, 512)):
                bad += 1
                print(f"lost: task {n}, {kib} KiB, block {block} of {length}: {int.from_bytes(got[:8], 'little')},"
                      f" not {have.get(block, 0)}; last {steps[done[-1]][2]}, next {running and running[2]}")
    return bad


l.sh(f"mke2fs -q -F -t ext4 -J size=8 {l.QUICK} /dev/zjd0")
l.disk("0 latency 100 50 200")
l.disk("0 record on")
assert l.mount()
l.wait([l.beside(task, n) for n in range(2)])
l.sh("umount /mnt/m")
l.disk("0 record off")
unsound = int(not l.sound("/dev/zjd0"))
wrong, lost, all_steps = 0, 0, []
for n in range(2):
    with open(f"/mnt/notes{n}", encoding="ascii") as f:
        found = json.load(f)
    wrong += found[0]
    all_steps.append(found[1])
ends = sorted(s[0] for steps in all_steps for s in steps)
for n in range(l.CUTS):
    cut = l.dice.randrange(ends[0], ends[-1])
    l.disk(f"1 rebuild 0 {cut} {l.SEED * 1000 + n}")
    if not l.mount("/dev/zjd1", "/mnt/n"):
        unsound += 1
        continue
    lost += sum(check(cut, steps, n) for n, steps in enumerate(all_steps))
    l.sh("umount /mnt/n")
    unsound += not l.sound("/dev/zjd1")
l.say(steps=len(ends), cpus=os.cpu_count(), wrong=wrong, lost=lost, unsound=unsound)
