#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Deliberate bugs that the simulator, schedules and unit tests must catch.

    tests/mutants/run.py [NAME...] [--seconds 60] [--schedules]

Each NAME.patch drops one rule from a copy of src/. Its second line says which; a
line "# schedule: A B" names the fixed schedules (tests/schedules) that must fail
with it, besides the one of its own name, "# unit: A B" the unit tests of the core
(tests/unit/core) and "# recovery: A B" those of recovery (tests/unit): with these it
is caught. For any other the simulator (build/zjsim's
sources) runs seeds until it fails or the time is over; for what it does not find, all
schedules are tried, to say more. --schedules leaves the simulator out.

The journal is built without its assertions (assert_off.h). One that fails ends a test at
once, and would hide whether the test sees by itself what the mutant does to the disk, or
to a task. That assertions fail is shown by asserts.py.

Writes build/results/mutants.json; with names it replaces their entries there. Exit
status 0: each patch fits, its unit tests or the simulator (with --schedules: a schedule)
catch each mutant in time, and each fails its own schedules and unit tests.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
HERE = TOP / "tests/mutants"
WORK = TOP / "build/tests/mutants"
INCLUDE = ["tests/runtime/include", "tests/runtime/sim", "user/include", "include"]
BUILD = {"sim": "zjsim", "schedules": "schedules", "unit/core": "o-unit/core/core",
         "unit": "o-unit/unit"}


def all_names():
    return sorted(p.stem for p in HERE.glob("*.patch"))


def schedule_names():
    text = "".join(p.read_text() for p in (TOP / "tests/schedules").glob("*.c"))
    return set(re.findall(r'^\t\{ "([\w-]+)", \w+', text, re.M))


def unit_names(where):
    # Tests of assertions fail without any mutant, as there are none.
    text = "".join(p.read_text() for p in (TOP / "tests" / where).glob("test_*.c")
                   if p.name != "test_assert.c")
    return set(re.findall(r"(?:CORE_TEST|cmocka_unit_test)\((\w+)\)", text))


def named_in(name, what, known):
    """The names in a patch's lines "# WHAT: A B"; all of them must exist."""
    text = (HERE / f"{name}.patch").read_text()
    named = re.findall(rf"^# {what}: (.*)$", text, re.M)
    wanted = set(" ".join(named).split())
    if wanted - known:
        sys.exit(f"{name}.patch names what does not exist: {wanted - known}")
    return wanted


def own_schedules(name):
    """Schedules that must fail with this mutant."""
    known = schedule_names()
    return sorted(named_in(name, "schedule", known) | ({name} & known))


def own_units(name):
    """Unit tests that must fail with this mutant, by the program that they are in."""
    return {where: sorted(named)
            for what, where in (("unit", "unit/core"), ("recovery", "unit"))
            if (named := named_in(name, what, unit_names(where)))}


def refresh(src):
    """Make src a copy of src/ without assertions; only files that differ get a new time stamp."""
    for old in src.rglob("*.*"):
        if not (TOP / "src" / old.relative_to(src)).exists():
            old.unlink()
    for path in (TOP / "src").rglob("*.*"):
        copy = src / path.relative_to(TOP / "src")
        if path.name == "assert.h":
            path = HERE / "assert_off.h"
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def apply(name, src):
    """Patch a fresh copy of src/; returns None, or why it does not apply."""
    refresh(src)
    done = subprocess.run(
        ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-r", "-",
         "-s", "-d", src, "-i", HERE / f"{name}.patch"],
        capture_output=True, text=True)
    if done.returncode:
        refresh(src)
        return f"does not fit src/, update {name}.patch: {done.stdout.strip()[-300:]}"
    return None


def patched_files(name):
    return re.findall(r"^\+\+\+ b/(\S+)", (HERE / f"{name}.patch").read_text(), re.M)


def compile_only(src, file):
    """Does one file of src compile?  As the simulator is built, without code."""
    subprocess.run(
        ["cc", "-fsyntax-only", "-Wall", "-Werror", "-std=gnu11", "-D_GNU_SOURCE",
         *(f"-I{TOP}/{d}" for d in INCLUDE), f"-I{src}",
         "-Wno-unused", src / file], check=True)


def share_objects(what):
    """The simulator and the schedules compile src with the same flags (tests/kit/kit.mk), so once is enough."""
    own = WORK / f"o-{what}" / "src"
    if what in ("sim", "schedules") and not own.exists():
        (WORK / "o-src").mkdir(parents=True, exist_ok=True)
        own.parent.mkdir(exist_ok=True)
        own.symlink_to("../o-src")


def build(what, src):
    """Build a program over src; returns None, or the compiler's words."""
    share_objects(what)
    done = subprocess.run(
        ["make", "-s", "-C", TOP / "tests" / what, WORK / BUILD[what],
         f"SRC={src}", f"O={WORK}/o-{what}", f"BIN={WORK / BUILD[what]}",
         "SAN=", "CFLAGS=-O1"], capture_output=True, text=True)
    return done.stderr[-400:] if done.returncode else None


def first_failure(text, status):
    lines = re.findall(r"FAIL (.*)", text)
    return lines[0].split(" (task ")[0][:160] if lines else f"exit status {status}"


def run_schedules(names):
    """
    The schedules that fail, with their output. A leak at the end of a run does not
    count: the schedule has not shown what the mutant does to the disk.
    """
    failed = {}
    for name in names:
        done = subprocess.run([WORK / "schedules", name], capture_output=True,
                              text=True)
        how = first_failure(done.stdout + done.stderr, done.returncode)
        if done.returncode and "objects left in cache" not in how:
            failed[name] = how
    return failed


def run_units(where, names):
    """The unit tests that fail, with their output."""
    failed = {}
    for name in names:
        done = subprocess.run([WORK / BUILD[where], name], capture_output=True,
                              text=True)
        if done.returncode:
            said = re.findall(r"FAIL .*|: error: .*|ended by .*", done.stdout + done.stderr)
            failed[name] = (said or [f"exit status {done.returncode}"])[0][:160]
    return failed


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulator_options(name):
    """A narrow race has a line "# sim: OPTIONS" that makes it likely."""
    text = (HERE / f"{name}.patch").read_text()
    return " ".join(re.findall(r"^# sim: (.*)$", text, re.M)).split()


def run_simulator(options, seconds):
    """
    What the simulator finds, or None; and the seconds it took. Seconds of one
    core: on a machine with other work a run goes on with further seeds.
    """
    begin, seed, found = children_cpu(), 1, None
    while not found and children_cpu() - begin < seconds:
        left = seconds - (children_cpu() - begin)
        try:
            done = subprocess.run(
                [WORK / "zjsim", "--seed", str(seed), "--seconds", str(int(left) + 1),
                 *options],
                capture_output=True, text=True, timeout=10 * seconds)
        except subprocess.TimeoutExpired:
            found = "it does not end"
            break
        if done.returncode:
            found = first_failure(done.stderr, done.returncode)
        else:
            seed += json.loads(done.stdout)["seeds"]
    return found, round(children_cpu() - begin, 1)


def try_mutant(name, seconds, simulate=True):
    src = WORK / "src"
    result = {"name": name, "caught": False, "by": None, "seconds": 0,
              "how": None, "schedules": {}, "units": {}}
    own, units = own_schedules(name), own_units(name)
    result["how"] = apply(name, src) or \
        ((own or not units) and build("schedules", src)) or \
        next(filter(None, (build(where, src) for where in units)), None) or \
        (simulate and not units and build("sim", src)) or None
    if result["how"]:
        return result
    failed = run_schedules(own)
    result["schedules"] = {s: failed.get(s) for s in own}
    if units:
        failed_units = {}
        for where, names in units.items():
            failed_units |= run_units(where, names)
        result["units"] = {u: failed_units.get(u) for names in units.values()
                           for u in names}
        for unit, how in failed_units.items():
            return result | {"caught": True, "by": f"unit {unit}", "how": how}
    if simulate and not units:
        found, result["seconds"] = run_simulator(simulator_options(name), seconds)
        if found:
            return result | {"caught": True, "by": "simulator", "how": found}
    if not failed and not units:
        failed = run_schedules(sorted(schedule_names()))
    if failed:
        name, how = next(iter(failed.items()))
        result |= {"caught": True, "by": f"schedule {name}", "how": how}
    return result


def show(r, simulate):
    """Print one line; True if the result is as expected."""
    blind = [s for s, how in (r["schedules"] | r["units"]).items() if not how]
    print(f"{r['name']:27}{'caught' if r['caught'] else 'NOT CAUGHT':11}"
          f"{r['seconds']:6.1f} s  {r['by'] or '-'}: {r['how']}", flush=True)
    if blind:
        print(f"{'':27}DOES NOT FAIL: {', '.join(blind)}", flush=True)
    by_right_one = r["caught"] and (not simulate or r["units"] or
                                    r["by"] == "simulator")
    return by_right_one and not blind


def save(results):
    """New results replace earlier ones of the same names."""
    path = TOP / "build/results/mutants.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    by_name = {}
    if path.exists():
        by_name = {r["name"]: r for r in json.loads(path.read_text())}
    by_name |= {r["name"]: r for r in results}
    kept = [by_name[n] for n in all_names() if n in by_name]
    path.write_text(json.dumps(kept, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seconds", type=int, default=60, help="of simulation each")
    parser.add_argument("--schedules", action="store_true", help="no simulator")
    args = parser.parse_args()
    unknown = set(args.names) - set(all_names())
    if unknown:
        sys.exit(f"no such mutant: {', '.join(unknown)}")
    os.nice(10)
    results, good = [], True
    for name in args.names or all_names():
        results.append(try_mutant(name, args.seconds, not args.schedules))
        good &= show(results[-1], not args.schedules)
    if not args.schedules:
        save(results)
    print(f"{sum(r['caught'] for r in results)} of {len(results)} caught")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
