# SPDX-License-Identifier: GPL-2.0-only
"""git with core.fsync=all, whose processes change their lanes all the time; power cuts."""
import os
import threading
import time

import load as l

os.environ.update(HOME="/mnt", GIT_CONFIG_GLOBAL="/dev/null", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
                  GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
REPO = "/mnt/m/r"
over = l.expires()


def move_about():
    while not over():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                    is_git = f.read().startswith("git")
                if is_git:
                    with open(f"/mnt/cgroups/lane{l.dice.randrange(2)}/cgroup.procs", "w", encoding="ascii") as f:
                        f.write(pid)
            except OSError:
                pass
        time.sleep(0.003)


def git(command, repo=REPO):
    return l.sh(f"cd {repo} && git -c safe.directory='*' {command}", check=False)


l.sh(f"mke2fs -q -F -t ext4 -J size=8 {l.QUICK} /dev/zjd0")
assert l.mount()
l.sh(f"git init -q -b main {REPO}")
for setting in ("core.fsync all", "core.fsyncMethod fsync", "gc.auto 40", "gc.autoDetach false"):
    git(f"config {setting}")
git("commit -q --allow-empty -m 0")
l.sh("sync -f /mnt/m")
l.disk("0 record on")
mover = threading.Thread(target=move_about)
mover.start()
notes = []
while not over():
    n = len(notes) + 1
    os.makedirs(f"{REPO}/d{n % 7}", exist_ok=True)
    l.put(f"{REPO}/d{n % 7}/f{n % 13}", b"%d\n" % n * l.dice.choice([1, 100, 3000]))
    git("add -A")
    git(f"commit -qm {n}")
    if n % 5 == 0:
        git(f"branch -f b{n % 3}")
    if n % 23 == 0:
        git("gc -q")
    notes.append(l.now())
mover.join()
l.sh("umount /mnt/m")
l.disk("0 record off")
damaged = unsound = 0
for n in range(l.CUTS):
    l.disk(f"1 rebuild 0 {l.dice.randrange(notes[0], notes[-1])} {l.SEED * 1000 + n}")
    assert l.mount("/dev/zjd1", "/mnt/n")
    done = git("fsck --full --no-dangling", "/mnt/n/r")
    if done.returncode:
        damaged += 1
        print(done.stdout[-200:], done.stderr[-200:])
    l.sh("umount /mnt/n")
    unsound += not l.sound("/dev/zjd1")
l.say(commits=len(notes), damaged=damaged, unsound=unsound)
