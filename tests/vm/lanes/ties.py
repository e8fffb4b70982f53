#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tests/vm/lanes/ties.py [--sample N] [NAME...]: the oracle must find each tie that is taken out.

Each removed-fixes/NAME.patch takes one out; its comment lines say what:

    # Takes out: what held until then
    # rule: R11
    # profile: quota            of ace.py, if it is not the default one
    # workload: OP@LANE ... SYNC@LANE

zext4 is built for User Mode Linux without it, and each of the workloads has to fail then, or to make
the kernel warn.  With --sample so many random workloads of that profile are run first; whether they
find it is only told.  Results go to build/results/ties.json, from which make ace says for each rule
what found it.  Run tools/build-uml and make guest-programs before.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys

import ace

WORK = ace.BUILD / "removed-fixes"
RESULTS = ace.BUILD / "results/ties.json"
PARTS = ("src", "include", "kernel", "zext4", "tools")


def refresh(tree):
    """Makes tree a copy of the sources; only files that differ get a new time."""
    for part in PARTS:
        for path in (ace.TOP / part).rglob("*"):
            copy = tree / path.relative_to(ace.TOP)
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            if not copy.exists() or copy.read_bytes() != path.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)


def build(tie, kver):
    """Modules without the tie."""
    tree, modules = WORK / "tree", WORK / "modules"
    refresh(tree)
    subprocess.run(["patch", "-s", "-p1", "--no-backup-if-mismatch", "-d", tree, "-i", ace.FIXES / f"{tie.name}.patch"],
                   check=True)
    done = subprocess.run(["make", "--no-print-directory", "-f", tree / "kernel/Makefile", "modules",
                           f"KDIR={ace.BUILD}/uml/linux", f"KVER={kver}", "KBUILD_FLAGS=ARCH=um KCFLAGS=-Wno-error",
                           f"BUILD={WORK}"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ties: {tie.name} does not build: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    if not modules.exists():
        shutil.copytree(ace.BUILD / "uml/modules", modules, symlinks=True)
    for name in ("zjournal.ko", "zext4.ko"):
        shutil.copy(WORK / f"kmod-{kver}" / name, modules / f"lib/modules/{kver}/extra" / name)
    return modules


def first_failure(out):
    return (re.findall(r"^(?:FAIL|COMPLAINT).*", out, re.M) or [None])[0]


def look(tie, modules, sample):
    """What each workload finds, and what a sample of random ones does."""
    profile = ace.PROFILES[tie.profile]
    engine = ace.Uml(profile.disk, modules)
    opts = ace.options("zext4", "uml", tie.profile)
    found = {}
    for workload in tie.workloads:
        out = engine.sh(f'{profile.base()} || exit 2\nzjace one zext4 {opts} "{workload}"\n', 300)
        found[workload] = first_failure(out)
    by_sample = None
    if sample:
        out = engine.sh(f"{profile.base()} || exit 2\nzjace sample zext4 {opts} 1 {sample}\n", 1800)
        by_sample = first_failure(out)
    return found, by_sample


def load():
    try:
        return json.loads(RESULTS.read_text())
    except (OSError, ValueError):
        return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    ties = [tie for tie in ace.all_ties() if not args.names or tie.name in args.names]
    kver = (ace.BUILD / "uml/release").read_text().strip()
    missed = 0
    for tie in ties:
        found, by_sample = look(tie, build(tie, kver), args.sample)
        for workload, how in found.items():
            print(f"{tie.rule} {tie.name}: {workload}: {how or 'NOT FOUND'}"[:200], flush=True)
            missed += not how
        if args.sample:
            print(f"{tie.rule} {tie.name}: sample of {args.sample}: {by_sample or 'not found'}"[:200], flush=True)
        results = load() | {tie.name: {"rule": tie.rule, "found": found, "sample": by_sample}}
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(f"ties: {len(ties)} taken out, {missed} workloads did not notice")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
