# SPDX-License-Identifier: GPL-2.0-only
"""What bulk.sh unpacks in a guest: a tree of the kernel's headers, a git repository of it, sources with a compiler."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from common import ROOT, vm
from database import DBENCH

DATE = "2001-01-01T00:00:00Z"
INCLUDE = ["-Iuser/include", "-Iinclude", "-Isrc", "-Iuser"]


def kernel_tree(parts):
    """{name in the tree: file} of the headers' package"""
    version = vm.Kernel.find().version
    top = Path(f"/lib/modules/{version}/source").resolve()
    files = {str(path.relative_to(top)): path for part in parts for path in sorted((top / part).rglob("*"))
             if path.is_file() and not path.is_symlink()}
    if not files:
        sys.exit(f"no headers of the kernel in {top}: {' '.join(parts)}; run tools/deps")
    return files


def pack(target, files):
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in files.items():
            entry = tar.gettarinfo(path, name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            with open(path, "rb") as data:
                tar.addfile(entry, data)


def git(where, *args):
    who = {"GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench", "GIT_COMMITTER_NAME": "bench",
           "GIT_COMMITTER_EMAIL": "bench", "GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE,
           "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", where, *args], env=os.environ | who, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(args)} failed: {done.stdout}{done.stderr}")
    return done.stdout


def next_release(where):
    """Of every four files one goes, one moves, one is edited, one stays."""
    for n, path in enumerate(sorted(p for p in where.rglob("*") if p.is_file() and ".git" not in p.parts)):
        if n % 4 == 0:
            path.unlink()
        elif n % 4 == 1:
            path.rename(path.with_name(f"new-{path.name}"))
        elif n % 4 == 2:
            path.write_bytes(path.read_bytes() + b"/* edited */\n")


def repository(where, files):
    """A packed repository with the tags one and two; how many files they differ in"""
    shutil.rmtree(where, ignore_errors=True)
    for name, path in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, where / name)
    git(where, "init", "-q")
    for tag in ("one", "two"):
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", tag)
        git(where, "tag", tag)
        if tag == "one":
            next_release(where)
    git(where, "gc", "-q")
    return len(git(where, "diff", "--name-only", "--no-renames", "one", "two").splitlines())


def sources(count):
    """Of our user-space program's sources the first ones, with all that they include"""
    chosen = sorted((ROOT / "user" / "zjctl").glob("*.c"))[:count]
    said = subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", *INCLUDE, "-M", *chosen], cwd=ROOT,
                          capture_output=True, text=True, check=True).stdout
    names = {Path(word) for word in said.replace("\\\n", " ").split() if not word.endswith(":")}
    out = {}
    for path in names:
        path = Path(os.path.normpath(ROOT / path))
        out[str(path.relative_to(ROOT)) if ROOT in path.parents else f"host{path}"] = path
    return len(chosen), out


def compiler():
    """gcc and what it calls"""
    found = [subprocess.run(["gcc", f"-print-prog-name={name}"], capture_output=True, text=True,
                            check=True).stdout.strip() for name in ("cc1", "as")]
    return [vm.pack.which("gcc"), *(Path(name) if "/" in name else vm.pack.which(name) for name in found)]


def programs(loads):
    out = compiler() if "compile" in loads else []
    if "dbench" in loads:
        out.append(DBENCH / "bin" / "dbench")
        if not out[-1].exists():
            sys.exit(f"{out[-1].relative_to(ROOT)} is missing; run tools/deps bench-bulk, or leave dbench out")
    return out


def give(share, loads, parts, compiled):
    """Put what the loads need into the directory that the guest shares; settings of bulk.sh"""
    work = vm.BUILD / "bench"
    work.mkdir(parents=True, exist_ok=True)
    settings = {}
    if {"untar", "cp", "rm", "checkout"} & set(loads):
        files = kernel_tree(parts)
        pack(share / "tree.tar", files)
        settings["TREE_FILES"] = str(len(files))
    if "checkout" in loads:
        where = work / "repository"
        settings["CHANGED_FILES"] = str(repository(where, files))
        shutil.rmtree(where / ".git" / "hooks")
        bare = {str(path.relative_to(where)): path for path in sorted((where / ".git").rglob("*")) if path.is_file()}
        pack(share / "repository.tar", bare)
    if "compile" in loads:
        count, files = sources(compiled)
        settings["SOURCES"] = str(count)
        pack(share / "sources.tar", files)
    if "dbench" in loads:
        script = (DBENCH / "share" / "dbench" / "client.txt").read_text().splitlines(keepends=True)
        (share / "client.txt").write_text("".join(line for line in script if "Flush" not in line))
    return settings
