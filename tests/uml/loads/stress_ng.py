# SPDX-License-Identifier: GPL-2.0-only
"""stress-ng's file-system class, each of its loads for SECONDS, by tasks in both lanes at once.

KIND: the folder in which its packages are unpacked; / if it is installed.
"""
import os
import re
import subprocess

import load as l


def stress(n):
    """One of two runs, whose loads begin at different ends of the list, so that unlike loads meet."""
    l.in_lane(n)
    folder = f"/mnt/m/{n}"
    os.mkdir(folder)
    path = f"{l.KIND}/usr/bin/stress-ng"
    env = dict(os.environ, LD_LIBRARY_PATH=f"{l.KIND}/usr/lib/x86_64-linux-gnu")
    which = subprocess.run([path, "--class", "filesystem?"], env=env, capture_output=True, text=True, check=True)
    names = which.stdout.split(":")[1].split()
    with open(f"/mnt/said{n}", "w", encoding="utf-8") as said:
        for name in names if n == 0 else reversed(names):
            # Bytes for each that writes much: the disk is small, and full for a part of the time all the same.
            subprocess.run([path, f"--{name}", "2", "-t", f"{max(l.SECONDS, 1):.0f}", "--temp-path", folder, "--verify",
                            "--hdd-bytes", "8m", "--iomix-bytes", "8m", "--seed", str(l.SEED)],
                           env=env, stdout=said, stderr=said, check=False)


l.sh(f"mke2fs -q -F -t ext4 -J size=4 {l.QUICK} /dev/zjd0")
assert l.mount()
l.wait([l.beside(stress, n) for n in range(2)])
failed, loads = set(), 0
for n in range(2):
    with open(f"/mnt/said{n}", encoding="utf-8", errors="replace") as f:
        text = f.read()
    loads += len(re.findall(r"dispatching hogs", text))
    failed |= {f"{name}: {why}" for name, why in re.findall(r"fail: +\[\d+\] ([\w-]+): (.*)", text)}
assert l.sh("umount /mnt/m").returncode == 0
for line in sorted(failed):
    print(line)
l.say(loads=loads, failed=sorted({x.split(":")[0] for x in failed}), unsound=int(not l.sound("/dev/zjd0")))
