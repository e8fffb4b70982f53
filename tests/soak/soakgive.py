# SPDX-License-Identifier: GPL-2.0-only
"""What a soak's guest is given: programs, databases, trees to unpack, sources to compile."""

import contextlib
import hashlib
import shutil
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import database
import vm as vmlib
from apps import mariadb

HERE = Path(__file__).resolve().parent
REMEDY = "run tools/deps soak"
UNITS = 8    # sources of the small build


@dataclass
class Gifts:
    share: Path        # is copied into the directory that each guest shares
    programs: list


def programs(apps):
    """Paths of programs, of which the initramfs takes the libraries, too"""
    wanted = [vmlib.pack.which("e4defrag") or Path("/usr/sbin/e4defrag")]
    if "trees" in apps:
        wanted.append(vmlib.pack.which("rsync") or Path("/usr/bin/rsync"))
    if "build" in apps:
        wanted += [vmlib.pack.which(name) or Path("/usr/bin") / name for name in ("tcc", "make")]
    if "postgresql" in apps:
        wanted += [database.POSTGRES / database.BIN / "postgres",
                   vmlib.BUILD / "debian" / "postgresql-client-15" / "usr" / database.BIN / "psql"]
    if "mariadb" in apps:
        wanted += mariadb.PROGRAMS[:2]
    for path in wanted:
        if not path.exists():
            sys.exit(f"soak.py: {path.name} is missing; {REMEDY}")
    return [*sorted((vmlib.BUILD / "guest").glob("*")), *wanted]


def tree(share):
    """A tree of files, with their sums"""
    sums = []
    with tarfile.open(share / "tree.tar", "w") as tar:
        for part in ("src", "include", "user"):
            for path in sorted((vmlib.ROOT / part).rglob("*")):
                if path.is_file():
                    name = str(path.relative_to(vmlib.ROOT))
                    tar.add(path, name)
                    sums.append(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {name}\n")
    (share / "tree.md5").write_text("".join(sums))


def sources(share):
    """Small sources that need no header, and a Makefile for tcc"""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        for n in range(1, UNITS + 1):
            lines = [f"int unit{n}_{k}(int x)\n{{\n\treturn x * {k} + {n};\n}}\n" for k in range(200)]
            (where / f"unit{n}.c").write_text("".join(lines))
        objects = " ".join(f"unit{n}.o" for n in range(1, UNITS + 1))
        (where / "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\ttcc -c -nostdinc -o $@ $<\n")
        with tarfile.open(share / "sources.tar", "w") as tar:
            tar.add(where, ".")


def databases(share, apps):
    if "postgresql" in apps:
        (share / "postgresql").mkdir()
        database.give_database(share / "postgresql")
    if "mariadb" in apps:
        (share / "mariadb").mkdir()
        stamp = mariadb.PROGRAMS[0].stat().st_mtime_ns
        shutil.copy(database.packed("mariadb", [mariadb.LOG_SIZE, stamp], mariadb.make), share / "mariadb" / "data.tar")
        for part in ("english", "charsets"):
            shutil.copytree(mariadb.SHARE / part, share / "mariadb" / "share" / part)


@contextlib.contextmanager
def given(apps):
    with tempfile.TemporaryDirectory(prefix="zjsoak-") as name:
        share = Path(name)
        found = programs(apps)
        (share / "soak").mkdir()
        for path in [*HERE.glob("*.sh"), vmlib.ROOT / "user" / "as-ext4"]:
            shutil.copy(path, share / "soak")
        if "trees" in apps:
            tree(share)
        if "build" in apps:
            sources(share)
        databases(share, apps)
        yield Gifts(share, found)
