# SPDX-License-Identifier: GPL-2.0-only
"""Stock ext4 with fast commits of all kinds of changes; each crash state is mounted by stock and by FS.

KIND: plain, htree, inline, encrypted, casefold.
"""
import hashlib
import os
import threading

import load as l

MKFS = {
    "plain": "",
    "htree": "-b 1024 -O large_dir",
    "inline": "-O inline_data -I 512",
    "encrypted": "-O encrypt",
    "casefold": "-O encrypt,casefold",
}
TOP = "/mnt/m/d"
LONG = "a-name-that-is-a-little-long-" if l.KIND == "htree" else "f"


def md5_of(path):
    with open(path, "rb") as f:
        return hashlib.md5(f.read()).hexdigest()


def step(n):
    """One change; the path that it was about."""
    folders = [TOP, TOP + "/s0", TOP + "/s1"]
    folder = l.dice.choice(folders)
    path = f"{folder}/{LONG}{l.dice.randrange(60)}{l.dice.choice(['', 'x', 'y'])}"
    other = f"{l.dice.choice(folders)}/{LONG}{l.dice.randrange(60)}z"
    what = l.dice.randrange(12)
    try:
        if what < 4:
            with open(path, "r+b" if os.path.exists(path) and l.dice.random() < 0.6 else "wb") as f:
                f.seek(l.dice.choice([0, 0, 30, 200, 5000, 70000]))
                f.write(b"%d" % n * l.dice.choice([1, 1, 20, 200, 3000]))
        elif what == 4:
            os.unlink(path)
        elif what == 5:
            os.rename(path, other)
        elif what == 6:
            os.link(path, other)
        elif what == 7:
            os.mkdir(f"{TOP}/s{l.dice.randrange(2)}")
        elif what == 8:
            os.truncate(path, l.dice.choice([0, 20, 100, 4000, 50000]))
        elif what == 9:
            os.symlink("x" * l.dice.choice([5, 70]), other)
        elif what == 10:
            os.setxattr(path, "user.a", b"v" * l.dice.choice([3, 60, 500]))
        else:
            os.rmdir(f"{TOP}/s{l.dice.randrange(2)}")
    except OSError:
        pass    # it is not there, or is already
    return path


def tree(top):
    found = []
    for folder, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            at = os.lstat(path)
            what = os.readlink(path) if os.path.islink(path) else md5_of(path) if os.path.isfile(path) else ""
            attrs = [] if os.path.islink(path) else [os.getxattr(path, x) for x in os.listxattr(path)]
            found.append((path[len(top):], at.st_mode, 0 if os.path.isdir(path) else at.st_size, at.st_nlink, what, attrs))
    return sorted(found)


def with_key(at):
    l.sh(f"fsctl add-key {at}", check=False)
    return at


def give_up():
    l.say(stock_hangs=True)
    l.sh("halt -f")


# Stock's fsync of files with inline data sometimes does not return (6.12).
alarm = threading.Timer(l.SECONDS + 20, give_up)
alarm.start()
l.sh(f"mke2fs -q -F -t ext4 -O fast_commit {MKFS[l.KIND]} -J size=4 {l.QUICK} /dev/zjd0")
assert l.mount(fs="ext4", options="commit=600")
os.mkdir(TOP)
if "encrypt" in MKFS[l.KIND]:
    l.sh(f"fsctl encrypt {TOP}")
for i in range(600 if l.KIND == "htree" else 0):
    l.put(f"{TOP}/{LONG}{i}", b"")
l.sh("sync -f /mnt/m")
l.disk("0 record on")
over, n, synced = l.expires(), 0, {}
while not over():
    n += 1
    changed = step(n)
    if os.path.isfile(changed) and not os.path.islink(changed) and l.dice.random() < 0.5:
        l.fsync(changed)
        synced[l.now()] = changed[len("/mnt/m"):], md5_of(changed)
    if l.dice.random() < 0.01:
        l.sh("sync -f /mnt/m")
l.sh("umount /mnt/m")
alarm.cancel()
last = l.now()
l.disk("0 record off")
result = dict.fromkeys(("lost", "refused", "unsound", "differ", "stock_lost", "stock_refused", "stock_unsound"), 0)
for n in range(l.CUTS):
    cut = min(last, l.dice.choice(list(synced)) + l.dice.choice([0, 0, 0, 1, 5]))
    trees = {}
    for nr, fs, options, prefix in ((1, "ext4", "defaults", "stock_"), (2, l.FS, l.OPTS, "")):
        l.disk(f"{nr} rebuild 0 {cut} {l.SEED * 1000 + n}")
        if not l.mount(f"/dev/zjd{nr}", "/mnt/n", fs=fs, options=options):
            result[prefix + "refused"] += 1
            continue
        trees[nr] = tree(with_key("/mnt/n"))
        if cut in synced:
            path, digest = synced[cut]
            result[prefix + "lost"] += not any(x[0] == path and x[4] == digest for x in trees[nr])
        l.sh("umount /mnt/n")
        if not l.sound(f"/dev/zjd{nr}"):
            result[prefix + "unsound"] += 1
            trees.pop(nr)
    if len(trees) == 2 and trees[1] != trees[2]:
        result["differ"] += 1
        print("only stock:", [x for x in trees[1] if x not in trees[2]][:3])
        print("only here:", [x for x in trees[2] if x not in trees[1]][:3])
l.say(fsyncs=len(synced), **result)
