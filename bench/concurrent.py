#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Eight clients that fsync, on stock ext4 and on zext4 in turn, in one boot ("make bench-concurrent").

    build/venv/bin/python bench/concurrent.py [NAME=value of concurrent.sh ...]
    build/venv/bin/python bench/concurrent.py ROUNDS=1 CASES='dbench database'
    build/venv/bin/python bench/concurrent.py TYPES='zext4:lanes=1 zext4:lanes=2' OFF_CASES=

CPUS=4 of the guest.  ICOUNT=1 (0 with KVM): its clock counts instructions, so that the figures
do not depend on the host's load.  TYPES: in place of COMPARED and SWITCHED_OFF; OFF_CASES:
where techniques are switched off.  Medians of the runs; build/results/concurrent.json has all.
"""

import sys

import database
from common import ROOT, accel, arguments, median, run_script, save, vm

STOCK = "ext4"
# The first one is to reach the targets.
COMPARED = [
    "zext4:lanes=1,log=jbd2",
    "zext4:lanes=1,log=zj",
    "zext4:lanes=4",
]
# Technique and what switches it off; given with the first one of COMPARED.
SWITCHED_OFF = {
    "pipeline": "tune=pipeline:off",
    "versions": "tune=versions:1",
    "coalescing": "tune=coalesce:off",
    "shared flush": "tune=flush_batch:1",
    "copies ahead": "tune=frozen_copy:never",
    "log FUA": "tune=log_fua:never",
    "data beside": "tune=fsync_data:before",
}
# Case and the speed to reach, relative to stock.
TARGETS = {"varmail-shared": 1.7, "varmail-split": 1.8, "dbench": 1.5, "database": 1.5}
OFF_CASES = "varmail-shared"

FIELDS = ["operations", "seconds", "transactions", "writes", "flushes"]


def off(option):
    return f"{COMPARED[0]},{option}"


def parse(text):
    """{type: [run]}"""
    runs, info = {}, []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["info"]:
            info.append(line.removeprefix("info "))
        elif words[:1] == ["run"] and len(words) == 4 + len(FIELDS):
            run = dict(zip(FIELDS, map(float, words[4:])), info=info)
            info = []
            run["per_second"] = run["operations"] / run["seconds"]
            for field in ("flushes", "writes", "operations"):
                run[f"{field}_per_transaction"] = run[field] / run["transactions"]
            runs.setdefault(words[2], []).append(run)
    return runs


def measure(guest, case, types, settings):
    """{type: figures} of one case, or the end of everything."""
    rounds = int(settings["ROUNDS"])
    result = run_script(guest, "concurrent.sh", settings | {"CASES": case, "TYPES": " ".join(types)})
    runs = parse(result.out)
    if not result or any(len(runs.get(t, ())) != rounds for t in types):
        lines = [line for line in result.out.splitlines() if not line.startswith(("info ", "run "))]
        sys.exit(f"concurrent.py: {case} failed, status {result.rc}:\n" + "\n".join(lines[-20:]))
    fields = [f for f in runs[STOCK][0] if f != "info"]
    out = {t: {f: median(runs[t], f) for f in fields} | {"runs": runs[t]} for t in types}
    for t in types:
        out[t]["ratio"] = out[t]["per_second"] / out[STOCK]["per_second"]
    return out


def line(name, figures, case, last=""):
    # dbench counts its fsyncs in a part of its time only.
    coalesced = "" if case == "dbench" else f"{figures['operations_per_transaction']:.2f}"
    print(f"{case:16}{name:36}{figures['per_second']:9.1f}{figures['ratio']:9.2f}{last:>8}"
          f"{figures['flushes_per_transaction']:11.2f}{figures['writes_per_transaction']:11.1f}{coalesced:>9}", flush=True)


def head(last):
    print(f"{'case':16}{'type':36}{'ops/s':>9}{'to stock':>9}{last:>8}{'flush/txn':>11}{'writes/txn':>11}{'ops/txn':>9}")


def table(case, figures):
    for t, f in figures.items():
        target = TARGETS[case] if t == COMPARED[0] else ""
        line(t, f, case, f"{target}")


def table_of_techniques(results):
    print("\nEach technique switched off in turn; of all: relative to all of them on")
    head("of all")
    for case, figures in results.items():
        every = figures[COMPARED[0]]
        line("all on", every, case, "1.00")
        for technique, option in SWITCHED_OFF.items():
            f = figures[off(option)]
            line(f"no {technique} ({option})", f, case, f"{f['per_second'] / every['per_second']:.2f}")


def main():
    settings = {"ROUNDS": "5", "CPUS": "4", "CASES": " ".join(TARGETS), "OFF_CASES": OFF_CASES}
    settings |= arguments()
    unknown = set(f"{settings['CASES']} {settings['OFF_CASES']}".split()) - set(TARGETS)
    if unknown:
        sys.exit(f"concurrent.py: no such case: {', '.join(sorted(unknown))}")
    given = settings.pop("TYPES", "").split()
    cpus = int(settings.pop("CPUS"))
    cases = settings.pop("CASES").split()
    off_cases = [] if given else [c for c in cases if c in settings["OFF_CASES"].split()]
    settings.pop("OFF_CASES")
    results = {}
    programs = [vm.BUILD / "guest" / "loadgen", *database.programs()]
    with vm.VM(cpus=cpus, memory="6G", programs=programs, accel=accel(settings)) as guest:
        database.give(guest.share)
        head("target")
        for case in cases:
            types = [STOCK, *(t for t in given or COMPARED if t != STOCK)]
            extra = [off(o) for o in SWITCHED_OFF.values()] if case in off_cases else []
            results[case] = measure(guest, case, types + extra, settings)
            table(case, {t: results[case][t] for t in types})
    if off_cases:
        table_of_techniques({c: results[c] for c in off_cases})
    save("concurrent", {"settings": settings, "cpus": cpus, "targets": TARGETS, "results": results})
    print(f"\nfigures of all runs: {vm.BUILD.relative_to(ROOT)}/results/concurrent.json")


if __name__ == "__main__":
    try:
        main()
    except (vm.VMError, vm.ConsoleError) as error:
        sys.exit(f"concurrent.py: {error}")
