# SPDX-License-Identifier: GPL-2.0-only
"""dpkg: a package of 40 small files is installed, over its other version"""

import hashlib
import shutil
import subprocess

import trees
from apps import installed, said

LOADS = {"dpkg": "dpkg: a package of 40 files is installed over its other version, in an own root directory"}
WAITS = {"dpkg": "an installation"}
SYNCING = ["dpkg"]
PROGRAMS = installed("dpkg", "dpkg-deb", "dpkg-split", "dpkg-query", "tar", "ldconfig")
FILES = 40
CONTROL = """Package: bench
Version: {}
Architecture: all
Maintainer: bench <bench@localhost>
Description: the files that a benchmark installs
"""


def package(at, version, files):
    """A .deb without compression, which would take most of an emulated CPU's time"""
    top = at / f"tree-{version}"
    sums = []
    for name, data in files.items():
        path = top / "usr" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        sums.append(f"{hashlib.md5(data).hexdigest()}  usr/{name}\n")
    (top / "DEBIAN").mkdir()
    (top / "DEBIAN" / "control").write_text(CONTROL.format(version))
    (top / "DEBIAN" / "md5sums").write_text("".join(sums))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", top, at / f"{version}.deb"],
                   check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(top)


def give(at):
    files = list(trees.kernel_tree(["include/linux/mfd"]).items())[:FILES]
    for version in (1, 2):
        package(at, version, {name: path.read_bytes() + b"/* edited */\n" * (version - 1) for name, path in files})


def parse(_load, text):
    run = said.from_loadgen(text)
    found = said.every(r"^found (.*)$", text)
    if set(found) != {"installed, 0 files changed"}:
        raise ValueError(f"the packages are {'; '.join(sorted(set(found)))}")
    # Each worker's directory had one before.
    said.agree("installations", sum(map(int, said.every(r"^installations (\d+)$", text))) - len(found), run["works"])
    return run
