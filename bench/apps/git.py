# SPDX-License-Identifier: GPL-2.0-only
"""git: commits one after the other, and checkouts of two versions of a tree in turn"""

import trees
from apps import installed, said

LOADS = {"git-commit": "git: a line more in a file, and a commit (core.fsync=all), in an own repository",
         "git-checkout": "git: checkouts of two versions of a tree in turn, in an own repository, without fsync"}
WAITS = {"git-commit": "a commit", "git-checkout": "a checkout"}
SYNCING = ["git-commit"]
PROGRAMS = installed("git")
TREE = ["include/linux/mfd", "include/linux/platform_data"]    # of the kernel's headers


def give(at):
    trees.give(at, ["checkout"], TREE, 0)


def parse(load, text):
    run = said.from_loadgen(text)
    if load == "git-commit":
        said.agree("commits", sum(map(int, said.every(r"^commits (\d+)$", text))), run["works"])
    if set(said.every(r"^fsck (\w+)$", text)) != {"clean"}:
        raise ValueError("git fsck did not say that all is clean")
    said.agree("changed files", sum(map(int, said.every(r"^changed (\d+)$", text))), 0)
    return run
