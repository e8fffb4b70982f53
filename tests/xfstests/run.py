#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Runs xfstests on stock ext4 and on zext4 registered as ext4, and shows where they differ.

    tests/xfstests/run.py CHECKOUT [--tests "auto quota -dangerous"] [--types "ext4 zext4 lanes"]
                          [--engine uml|qemu] [--mkfs OPTIONS] [--mount OPTIONS] [--external]
                          [--limit SECONDS] [--repeat N] [--fresh | --again TESTS | --show]

CHECKOUT is a built checkout of xfstests. Each type runs in guests of its own with the same kernel.
A test that does not end within the limit, or whose guest dies, is recorded as such, and a new guest
goes on with the next test. Results are kept in build/results/xfstests: a run that is interrupted
goes on where it was.

types: ext4 is stock's; zext4 has stock's log (decision 51); lanes is zext4 with lanes=4.
uml: User Mode Linux, native speed, one CPU.  qemu: the distribution's kernel, --cpus CPUs.

The status is 0 if no test differs, 1 if one does, and 2 if not all tests have been run.
"""

import argparse
import hashlib
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import engines
import results as kept
from engines import patience
from results import DIED, HANG, Result

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
BOOT = 240          # seconds until the first test, and between two
GROUPS = "auto log shutdown recoveryloop quota -dangerous"


def say(*words):
    print("xfstests:", *words, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tests", default=GROUPS, help="names, patterns, groups; -GROUP leaves one out")
    parser.add_argument("--types", default="ext4 zext4", help="the first one is what the others are compared with")
    parser.add_argument("--engine", choices=sorted(engines.ENGINES), default="uml")
    parser.add_argument("--mkfs", default="", help="options of mke2fs, such as '-O bigalloc'")
    parser.add_argument("--mount", default="", help="mount options for all types")
    parser.add_argument("--external", action="store_true", help="the journal has a device of its own")
    parser.add_argument("--limit", type=int, default=300, help="seconds of the guest's own time for a test; 12 times as many under emulation")
    parser.add_argument("--repeat", type=int, default=1, help="how often a test that differs is run again")
    parser.add_argument("--turn", type=int, default=40, help="tests on one type before it is the next one's turn")
    parser.add_argument("--memory", default="6G", help="of the guest, which holds the disks, too")
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--fresh", action="store_true", help="forget what has been run")
    parser.add_argument("--again", default="", metavar="TESTS", help="run these once more")
    parser.add_argument("--show", action="store_true", help="run nothing, show the results")
    args = parser.parse_args()
    args.checkout = args.checkout.resolve()
    for name in ("check", "src/lstat64", "ltp/fsx", "tests/generic/group.list", "tests/ext4/group.list"):
        if not (args.checkout / name).exists():
            parser.error(f"{args.checkout} is no built checkout of xfstests: it has no {name}")
    return args


def place(args):
    """The folder of a configuration's results."""
    parts = [args.engine, args.mkfs, args.mount, "external" if args.external else ""]
    return TOP / "build/results/xfstests" / "+".join(re.sub(r"[^\w=.,-]+", "_", p).strip("_") for p in parts if p)


def tested(args, engine, type_):
    """What a side's results are valid for."""
    sha = hashlib.sha256()
    if type_ != "ext4":
        for module in engine.modules:
            sha.update(Path(module).read_bytes())
    version = subprocess.run(["git", "-C", args.checkout, "rev-parse", "--short", "HEAD"], capture_output=True,
                             text=True, check=False).stdout.strip()
    return {"kernel": engine.kernel, "modules": sha.hexdigest()[:16], "xfstests": version}


class Runner:
    """Runs one side."""

    def __init__(self, args, engine, type_, side, folder):
        self.args, self.engine, self.type, self.side = args, engine, type_, side
        self.folder = folder / type_
        self.boots = 0

    def boot(self, tests):
        self.folder.mkdir(parents=True, exist_ok=True)
        options = ",".join(o for o in (self.args.mount, self.engine.lanes if self.type == "lanes" else "") if o)
        module = "ext4" if self.type == "ext4" else self.engine.load(self.engine.modules)
        (self.folder / "env").write_text(
            f"MODULE={shlex.quote(module)}\nMKFS={shlex.quote(self.args.mkfs)}\nOPTIONS={shlex.quote(options)}\n"
            f"EXTERNAL={int(self.args.external)}\nTEST_MB=2048\nSCRATCH_MB=3072\n")
        (self.folder / "tests").write_text("\n".join(tests) + "\n")
        self.boots += 1
        out = self.folder / f"out-{time.strftime('%m%d-%H%M%S')}"
        return self.engine.start(self.args.checkout, self.folder, out), out

    def note(self, name, result, again):
        if again:
            self.side.again.setdefault(name, []).append(result)
        else:
            self.side.results[name] = result
        self.side.save()
        why = "" if result.verdict == kept.PASS else ": " + " ".join(result.why.split())[:100]
        say(f"{self.type:6} {name:12} {result.verdict} {result.seconds} s{why if result.why else ''}")

    def run(self, tests, again=False):
        """Runs the tests, with as many guests as it takes."""
        left, barren = list(tests), 0
        while left:
            before = len(left)
            left = self.one_guest(left, again)
            barren = barren + 1 if len(left) == before else 0
            if barren == 2:
                sys.exit("xfstests: the guest runs no test; see the newest out-* in " + str(self.folder))

    @staticmethod
    def patience(guest, limit):
        """With one test, or until the next one begins; a busy host does not count."""
        return patience.Patience(limit, lambda: patience.tree(guest.proc.pid))

    def one_guest(self, tests, again):
        """Runs tests in one guest until they are done, one hangs, or the guest dies; what is left."""
        guest, out = self.boot(tests)
        left, running, since = list(tests), None, time.monotonic()
        limit = self.args.limit * self.engine.slow
        wait = self.patience(guest, max(limit, BOOT))
        try:
            while True:
                lives = guest.lives
                ended, now = kept.parse(out.read_text(errors="replace"))
                for name in [n for n in left if n in ended]:
                    if not ended[name].seconds:
                        ended[name].seconds = round(time.monotonic() - since)
                    self.note(name, ended[name], again)
                    left.remove(name)
                    since = time.monotonic()
                if now != running:
                    running, since = now, time.monotonic()
                    wait = self.patience(guest, limit if running else max(limit, BOOT))
                if not left or not lives:
                    break
                if wait.over():
                    if running in left:
                        self.note(running, Result(HANG, limit, f"no end within {limit} s of the guest's own time"), again)
                        left.remove(running)
                    return left
                time.sleep(0.5)
        finally:
            guest.kill()
        if running in left:
            tail = "\n".join(out.read_text(errors="replace").splitlines()[-30:])
            self.note(running, Result(DIED, round(time.monotonic() - since), tail[-2000:]), again)
            left.remove(running)
        return left


def report(sides, tests, excluded):
    """Prints the differences of all sides from the first one; the number of those without a reason."""
    names = list(sides)
    for line in kept.table(sides, tests):
        print(line)
    number = 0
    for name in names[1:]:
        for test in kept.compare(sides[names[0]], sides[name]):
            if test not in tests:
                continue
            known = excluded.get((test, name)) or excluded.get((test, ""))
            number += not known
            print(f"\n{'known difference' if known else 'DIFFERENCE'}: {test}" + (f" ({known[1]})" if known else ""))
            for side in (names[0], name):
                for result in sides[side].verdicts(test):
                    why = "\n      ".join(result.why.splitlines()[:12])
                    print(f"  {side}: {result.verdict}" + (f"\n      {why}" if why else ""))
    both = [t for t in tests if all(t in s.results and s.results[t].failed for s in sides.values())]
    if both:
        print("\nfailing on all sides:", " ".join(both))
    print(f"\n{number} differences")
    return number


def main():
    args = arguments()
    # Else the guest would outlive a run that is ended by kill or timeout.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    engine = engines.ENGINES[args.engine](args)
    groups = {}
    for part in ("generic", "ext4"):
        groups.update(kept.read_groups((args.checkout / f"tests/{part}/group.list").read_text(), part))
    excluded = kept.read_excluded((HERE / "excluded").read_text())
    try:
        tests = kept.select(groups, args.tests.split())
        again = kept.select(groups, args.again.split())
    except ValueError as error:
        sys.exit(f"xfstests: {error}")
    skipped = {t: why for (t, _), (what, why) in excluded.items() if what == "skip"}
    for name in sorted(set(tests) & set(skipped)):
        say(f"not run: {name}: {skipped[name]}")
    tests = [t for t in tests if t not in skipped]
    folder = place(args)
    sides = {}
    for type_ in args.types.split():
        if type_ not in ("ext4", "zext4", "lanes"):
            sys.exit(f"xfstests: {type_} is no type; there are ext4, zext4 and lanes")
        side = kept.Side(folder / f"{type_}.json", tested(args, engine, type_))
        if side.stale:
            say(f"{type_}: the results that are there are of another kernel, build or checkout: run anew")
        if args.fresh:
            side.results, side.again = {}, {}
        sides[type_] = side
    if not args.show:
        # In turns, so that there is something to compare early.
        for at in range(0, len(tests), args.turn):
            for type_, side in sides.items():
                Runner(args, engine, type_, side, folder).run([t for t in tests[at:at + args.turn]
                                                               if t not in side.results])
        if again:
            for type_, side in sides.items():
                Runner(args, engine, type_, side, folder).run(again, again=True)
        repeat(args, engine, sides, folder, tests, excluded)
    number = report(sides, tests, excluded)
    todo = any(t not in s.results for s in sides.values() for t in tests)
    sys.exit(1 if number else 2 if todo else 0)


def repeat(args, engine, sides, folder, tests, excluded):
    """A test that differs is run again on both sides: it may fail now and then on either."""
    first, *others = sides
    for _ in range(args.repeat):
        for other in others:
            differ = [t for t in kept.compare(sides[first], sides[other])
                      if t in tests and (t, other) not in excluded and (t, "") not in excluded]
            for type_ in (first, other) if differ else ():
                Runner(args, engine, type_, sides[type_], folder).run(differ, again=True)


if __name__ == "__main__":
    main()
