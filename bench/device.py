# SPDX-License-Identifier: GPL-2.0-only
"""A block device of the user's that a bench may overwrite, if its owner says so."""

import errno
import os
import stat
import subprocess
import sys


def holds(path):
    """What blkid finds on it, as "ext4, label root"; nothing if it is blank."""
    found = subprocess.run(["blkid", "-p", "-o", "export", path], capture_output=True, text=True, check=False)
    if found.returncode not in (0, 2):    # 2: nothing found
        return "something that blkid cannot tell"
    values = dict(line.split("=", 1) for line in found.stdout.splitlines() if "=" in line)
    kind = values.get("TYPE") or (f"a partition table ({values['PTTYPE']})" if "PTTYPE" in values else "")
    label = values.get("LABEL")
    return f"{kind}, label {label}" if kind and label else kind


def in_use(path):
    """Whether it, or a partition of it, is mounted, swapped to or part of another device."""
    try:
        # The kernel gives a block device exclusively to one user, and all of those are users.
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    return False


def ask(question, wanted):
    print(question, file=sys.stderr, end=" ", flush=True)
    if sys.stdin.readline().strip() != wanted:
        sys.exit("bench.py: not confirmed; nothing was written")


def give_up(path):
    """The device, after its owner has typed its name; or the end of everything."""
    try:
        if not stat.S_ISBLK(os.stat(path).st_mode):
            sys.exit(f"bench.py: {path} is no block device")
        if in_use(path):
            sys.exit(f"bench.py: {path} or a partition of it is in use (mounted, swap, RAID, LVM); nothing was written")
    except OSError as error:
        sys.exit(f"bench.py: {path}: {error.strerror}")
    content = holds(path)
    if content:
        ask(f"{path} holds {content}. To lose that, type \"overwrite\":", "overwrite")
    ask(f"All data on {path} will be lost. Type the device's name to go on:", path)
    return path
