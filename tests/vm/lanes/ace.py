#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The causality oracle over all workloads (zjace.c); adds up in build/results/ace.json.

tests/vm/lanes/ace.py [--engine uml|qemu] [--fstype zext4|ext4] [--profile NAME] [--seq3 N]
                      [--seconds T] [--shard I/N] [--jobs N] [--one "WORKLOAD"]

Runs every set of one and of two operations, and of three until N workloads of them have been
run in all, the file's included.  What is done is never done again: the file counts for one
state of the sources, another one begins it again.  Exits 1 if any workload failed; the report
names it, and --one repeats it.

uml: User Mode Linux, native speed, lanes are cgroups (tests/uml); --modules: other modules than
those in build/uml.  qemu: lanes are CPUs.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[2]
sys.path.insert(0, str(TOP / "tests/kit"))

import patience    # noqa: E402  pylint: disable=wrong-import-position

BUILD = TOP / "build"
RESULTS = BUILD / "results/ace.json"
MKFS = ("-b {} -g 256 -G {} -N 2048 -J size={} "
        "-O encrypt,verity,ea_inode,metadata_csum_seed,project,^resize_inode{} "
        "-E lazy_itable_init=0,lazy_journal_init=0,nodiscard,"
        "hash_seed=12345678-1234-1234-1234-123456789abc{} /dev/zjd0 {}")
# noauto_da_alloc: a rename over a file must not write data for the test.
OPTIONS = "noauto_da_alloc,commit=300"


class Profile(NamedTuple):
    """What mke2fs and what mount is given.

    There are four blocks of descriptors, of groups of 256 blocks, so that objects can be kept apart;
    the last one has space for the descriptor of a group that a resize adds.
    """
    features: str = ",orphan_file"
    options: str = ""
    extended: str = ""
    block: int = 1024
    blocks: int = 63 * 256 + 1
    flex: int = 16              # groups
    journal: int = 2            # MiB; with less there is one lane
    disk: int = 20              # MiB

    def base(self):
        """The command that makes the tree that workloads begin with."""
        mkfs = MKFS.format(self.block, self.flex, self.journal, self.features, self.extended, self.blocks)
        return f'zjace base "{mkfs}"'


PROFILES = {
    "default": Profile(),
    "orphan-list": Profile(",^orphan_file"),
    "quota": Profile(",orphan_file,quota"),
    "project-quota": Profile(",orphan_file,quota", extended=",quotatype=prjquota"),
    "no-xattr": Profile(",orphan_file,^ext_attr"),
    "no-csum": Profile(",orphan_file,^metadata_csum,^metadata_csum_seed"),
    "journal": Profile(options=",data=journal"),
    "journal-all": Profile(",orphan_file,^encrypt", ",data=journal"),
    "4k": Profile(block=4096, blocks=255 * 256, flex=4, journal=8, disk=256),
}
UNIT = {1: 60, 2: 100, 3: 400}      # sets in one boot
FIXES = HERE / "removed-fixes"


class Tie(NamedTuple):
    """What the comment lines of a patch in removed-fixes say; ties.py says what they mean."""
    name: str
    rule: str
    profile: str
    workloads: list


def read_tie(path):
    text = path.read_text()

    def lines(key):
        return re.findall(rf"^# {key}: (.*)$", text, re.M)

    return Tie(path.stem, lines("rule")[0], (lines("profile") or ["default"])[0], lines("workload"))


def all_ties():
    return [read_tie(path) for path in sorted(FIXES.glob("*.patch"))]


def named(profile):
    """The workloads of this profile that have found a tie that was taken out."""
    return [workload for tie in all_ties() if tie.profile == profile for workload in tie.workloads]


def report_ties():
    """For each rule, what has found its ties taken out."""
    try:
        seen = json.loads((BUILD / "results/ties.json").read_text())
    except (OSError, ValueError):
        seen = {}
    for tie in sorted(all_ties(), key=lambda tie: (int(tie.rule[1:]), tie.name)):
        found = seen.get(tie.name, {}).get("found", {})
        for workload in tie.workloads:
            how = "found by" if found.get(workload) else "NOT FOUND by" if workload in found else "not tried:"
            print(f"ace: {tie.rule} without {tie.name}: {how} {workload}")


def options(fstype, engine, profile="default"):
    """Mount options of the file system under test."""
    opts = OPTIONS + PROFILES[profile].options
    if fstype == "ext4":
        return opts
    return f"{opts},lanes=2,alloc=core" + (",lane_by=cgroup" if engine == "uml" else "")


def sources():
    """A hash of all that what is counted depends on."""
    sha = hashlib.sha256()
    for part in ("src", "include", "kernel", "zext4", "tests/vm/lanes", "tests/vm/zjdisk"):
        for path in sorted((TOP / part).rglob("*")):
            if path.is_file():
                sha.update(str(path.relative_to(TOP)).encode() + path.read_bytes())
    return sha.hexdigest()[:16]


class Uml:
    """Boots User Mode Linux once for each script."""

    def __init__(self, disk, modules, built="uml", args=()):
        self.disk = disk
        self.built = BUILD / built
        self.linux = self.built / "linux-um"
        self.args = args
        self.modules = modules or self.built / "modules"
        if not self.linux.exists() or not self.modules.exists():
            sys.exit(f"ace: no User Mode Linux in build/{built}; tools/build-uml makes it")

    def sh(self, script, timeout):
        with tempfile.NamedTemporaryFile("w", dir=self.built, suffix=".sh") as f:
            f.write(script)
            f.flush()
            cmd = [self.linux, "mem=384M", *self.args, "rootfstype=hostfs", "rootflags=/", "ro", f"init={HERE}/uml-init",
                   "con=null", "ssl=null", "con0=fd:0,fd:1", "quiet", "loglevel=1",
                   f"ZJ_MODULES={self.modules}", f"ZJ_GUEST={BUILD}/guest",
                   f"ZJ_DISK_MB={self.disk}", f"ZJ_SCRIPT={f.name}"]
            proc = subprocess.Popen([str(c) for c in cmd], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
            said = patience.communicate(proc, timeout)
            if said:
                return said[0]
            os.killpg(proc.pid, signal.SIGKILL)
            return proc.communicate()[0] + "\nFAIL the guest did not end in time\n"


class Qemu:
    """One virtual machine for all scripts."""

    def __init__(self, disk):
        sys.path.insert(0, str(HERE.parent))
        import conftest                                     # pylint: disable=import-outside-toplevel
        self.vm = conftest.new_vm(cpus=2, memory="1G")
        self.vm.start()
        self.vm.sh(f"dmesg -n 4\nmodprobe ext4; modprobe zext4; modprobe zjdisk ndev=3 size_mb={disk}\n"
                   "echo 1 >/sys/kernel/rcu_expedited")
        self.lock = threading.Lock()

    def sh(self, script, timeout):
        with self.lock:
            out = self.vm.sh(script, timeout=timeout).out
            self.vm.check_console()
        return out


class Results:
    """What is done, in a file."""

    def __init__(self, key):
        self.lock = threading.Lock()
        self.key = key
        try:
            self.all = json.loads(RESULTS.read_text())
        except (OSError, ValueError):
            self.all = {}
        if self.all.get("sources") != sources():
            self.all = {"sources": sources()}
        self.mine = self.all.setdefault(key, {})

    def seq(self, seq):
        return self.mine.setdefault(str(seq), {"done": [], "sets": 0, "impossible": 0, "workloads": 0, "refused": 0,
                                               "cuts": 0, "lines": 0, "fscks": 0, "failed": [], "seconds": 0})

    def add(self, seq, unit, out, seconds):
        """One boot's output; what it did not finish is a failure by itself."""
        with self.lock:
            mine = self.seq(seq)
            fails = re.findall(r"^FAIL (.*(?:\n(?!FAIL|DONE|RC|COMPLAINT).*)*)", out, re.M)
            fails += re.findall(r"^COMPLAINT .*", out, re.M)
            done = re.search(r"^DONE (.*)", out, re.M)
            if done:
                for name, number in re.findall(r"(\w+)=(\d+)", done[1]):
                    if name in mine and name != "failed":
                        mine[name] += int(number)
            elif not any("did not end" in f for f in fails):
                fails.append("the guest broke off: " + out[-1500:])
            mine["failed"] += [f"unit {unit}: {f.strip()}" for f in fails]
            mine["done"].append(unit)
            mine["seconds"] = round(mine["seconds"] + seconds)
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(self.all, indent=1) + "\n")
            for f in fails:
                print(f"ace: FAIL {f.strip()}", flush=True)


def units(results, seq, count, shard):
    """Numbers of the units that are to be done."""
    of = results.seq(seq)
    for unit in range((count + UNIT[seq] - 1) // UNIT[seq]):
        if unit % shard[1] == shard[0] and unit not in of["done"]:
            yield unit


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("uml", "qemu"), default="uml")
    parser.add_argument("--fstype", choices=("zext4", "ext4"), default="zext4")
    parser.add_argument("--profile", choices=tuple(PROFILES), default="default")
    parser.add_argument("--seq3", type=int, default=0, metavar="N")
    parser.add_argument("--seconds", type=float, default=1e9, metavar="T")
    parser.add_argument("--shard", default="0/1", metavar="I/N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--one", metavar="WORKLOAD")
    parser.add_argument("--modules", type=pathlib.Path, metavar="DIR")
    return parser.parse_args()


def run_named(engine, fstype, opts, profile, prepare):
    """Each workload that has found a tie taken out, with all of them there; returns how many fail."""
    failed = 0
    for workload in named(profile):
        out = engine.sh(prepare + f'zjace one {fstype} {opts} "{workload}"', 300)
        if " cuts, 0 failed" not in out or re.search("^(FAIL|COMPLAINT)", out, re.M):
            print(f"ace: FAIL {workload}\n{out}", flush=True)
            failed += 1
    print(f"ace: {fstype}, {profile}: {len(named(profile))} named workloads, {failed} failed", flush=True)
    return failed


def main():
    args = parse()
    disk = PROFILES[args.profile].disk
    engine = Uml(disk, args.modules) if args.engine == "uml" else Qemu(disk)
    opts = options(args.fstype, args.engine, args.profile)
    prepare = PROFILES[args.profile].base() + " || exit 2\n"
    if args.one:
        out = engine.sh(prepare + f'zjace one {args.fstype} {opts} "{args.one}"', 300)
        print(out)
        sys.exit(1 if re.search("^(FAIL|COMPLAINT)", out, re.M) else 0 if " cuts, 0 failed" in out else 2)
    results = Results(f"{args.fstype} {args.engine} {args.profile}")
    end = time.monotonic() + args.seconds
    shard = [int(n) for n in args.shard.split("/")]
    counts = {seq: int(subprocess.check_output([BUILD / "guest/zjace", "count", str(seq)])) for seq in (1, 2, 3)}

    def run(seq, unit):
        if time.monotonic() > end or seq == 3 and results.seq(3)["workloads"] >= args.seq3:
            return
        start = time.monotonic()
        first = unit * UNIT[seq]
        out = engine.sh(prepare + f"zjace run {args.fstype} {opts} {seq} {first} {first + UNIT[seq]} 1e9\n", 1800)
        results.add(seq, unit, out, time.monotonic() - start)

    failed = run_named(engine, args.fstype, opts, args.profile, prepare)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for seq in (1, 2) + ((3,) if args.seq3 else ()):
            list(pool.map(lambda unit, seq=seq: run(seq, unit), list(units(results, seq, counts[seq], shard))))
    for seq in (1, 2, 3):
        of = results.seq(seq)
        failed += len(of["failed"])
        print(f"ace: {args.fstype} on {args.engine}, {args.profile}: seq-{seq}: {of['sets']} of {counts[seq]} sets "
              f"({of['impossible']} cannot happen), {of['workloads']} workloads, {of['cuts']} cuts, "
              f"{of['lines']} with lines in the log, {of['fscks']} by e2fsck, {len(of['failed'])} failed, "
              f"{of['seconds']} s")
        # Half of the workloads are to have some.
        if args.fstype == "zext4" and of["cuts"] > 100 and not of["lines"]:
            print("ace: FAIL no log had lines")
            failed += 1
    report_ties()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
