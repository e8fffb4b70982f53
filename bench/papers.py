#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The figures of the papers that zjournal takes its ideas from, measured again ("make bench-papers").

    build/venv/bin/python bench/papers.py [NAME=value ...]
    build/venv/bin/python bench/papers.py FIGURES='cjfs-13 cjfs-15' ROUNDS=3

QUICK=0         1: a few minutes, one figure of each kind
FIGURES=...     of bench/paperfigures.py; all of them by default
ROUNDS=1        runs of each arm in a guest, of which medians are taken
SCALE=          what the NVM paper's numbers of files are divided by, in place of the smaller ones
                that are declared: 1 takes 36 GiB of memory and hours, 10 takes 9 GiB
CPUS="..."      in place of the numbers of CPUs of the simulated figures
ICOUNT=1        (0 with KVM) the guests' clocks count instructions and skip idle time

The loads are those of bench.py, concurrent.py, nvm.py and, SIMULATED, sim.py.
build/results/papers.json has all that was measured, papers.md the tables, papers.html a page
with a plot for each figure, beside what the paper's text says of it.
"""

import copy
import importlib
import json
import os
import re
import statistics
import sys
import time

import paperreport
from common import arguments, save, vm
from paperfigures import FIGURES, RUNS

SETTINGS = {"QUICK": "0", "FIGURES": "", "ROUNDS": "1", "SCALE": "", "CPUS": "", "ICOUNT": ""}
GUEST_CPUS = "4"        # of the guests of concurrent and nvm
# GiB of a guest of nvm, and what it takes more with SCALE=1: the disk, which is in memory, and NVM
GUEST_GIB, DISK_GIB, NVM_GIB = 4, 26, 4
WRITES = 100            # of SysBench until an fsync
SHARED_BLOCKS = 640     # times WRITES: of the files that it overwrites, simulated
# Works of 100 writes each. Without fsyncs there are no commits until the log has been filled.
OVERWRITES = {
    "random-overwrite": lambda cpus, quick: [
        "--journal", 32768, "--warm-up", 1000, "--count", 1000 if quick else 2000],
    "random-overwrite-fsync": lambda cpus, quick: [
        "--warm-up", 4 * cpus, "--count", 12 * cpus if quick else 20 * cpus],
}


class Refused(Exception):
    """A setting that cannot be had."""


def settings_of(given):
    """All settings, or Refused with the reason."""
    unknown = set(given) - set(SETTINGS)
    if unknown:
        raise Refused(f"no setting {' '.join(sorted(unknown))}; there are {' '.join(SETTINGS)}")
    settings = SETTINGS | given
    for name, words in (("QUICK", "01"), ("ICOUNT", ["", "0", "1"])):
        if settings[name] not in words:
            raise Refused(f"{name} is {' or '.join(w for w in words if w)}, not {settings[name]}")
    for name in ("ROUNDS", "SCALE"):
        if not re.fullmatch("[1-9][0-9]*", settings[name]) and settings[name] != SETTINGS[name]:
            raise Refused(f"{name} is a number from 1 on, not {settings[name]}")
    wrong = [n for n in settings["CPUS"].split() if not n.isdigit() or not 1 <= int(n) <= 256]
    if wrong:
        raise Refused(f"CPUS are numbers from 1 to 256, not {' '.join(wrong)}")
    wrong = [name for name in settings["FIGURES"].split() if name not in FIGURES]
    if wrong:
        raise Refused(f"no figure {' '.join(wrong)}; there are {' '.join(FIGURES)}")
    if settings["SCALE"]:
        needed = guest_gib(settings) + NVM_GIB / int(settings["SCALE"]) + 2
        if memory_gib() < needed:
            raise Refused(f"SCALE={settings['SCALE']} needs {needed:.0f} GiB of memory; this machine has {memory_gib():.0f}")
    return settings


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def guest_gib(settings):
    """Memory of a guest of nvm."""
    return GUEST_GIB + (-(-DISK_GIB // int(settings["SCALE"])) if settings["SCALE"] else 0)


def scaled(full, scale):
    """The paper's sizes, divided: {the number of files: settings}"""
    sizes = {name: max(1, size // scale) for name, size in full.items()}
    # Of another size the guest would make no device.
    sizes["PMEM_MB"] = max(16, sizes["PMEM_MB"] // 4 * 4)
    return {f"{next(iter(sizes.values()))} files": {name: str(size) for name, size in sizes.items()}}


def merged(run, more):
    """A run with other values; settings are added to its own."""
    out = copy.deepcopy(run) | more
    out["settings"] = run.get("settings", {}) | more.get("settings", {})
    return out


def plan(settings):
    """{run: declaration} of all runs that the figures need, as the settings have them."""
    runs = {}
    for name in settings["FIGURES"].split() or FIGURES:
        run = RUNS[FIGURES[name]["run"]]
        quick = settings["QUICK"] == "1"
        if quick and run["quick"] is None and not settings["FIGURES"]:
            continue
        run = merged(run, run["quick"] if quick and run["quick"] else {})
        if settings["SCALE"] and "full" in run:
            run["variants"] = scaled(run["full"], int(settings["SCALE"]))
        if settings["CPUS"] and "cpus" in run:
            run["cpus"] = [int(n) for n in settings["CPUS"].split()]
        runs[FIGURES[name]["run"]] = run
    return runs


def icount(settings):
    return {"ICOUNT": settings["ICOUNT"]} if settings["ICOUNT"] else {}


def median(runs, field):
    values = [run[field] for run in runs if run.get(field) is not None]
    return statistics.median(values) if values else None


# ---- concurrent: CJFS ----

def said(info, pattern):
    """A number out of a journal's statistics; None: it is not there."""
    found = re.search(pattern, "\n".join(info))
    return float(found[1]) if found else None


def of_lanes(info, counter):
    """A counter of each lane."""
    found = [re.search(rf"(\d+) {counter}( |$)", line) for line in info if line.startswith("lane ")]
    return [int(one[1]) for one in found if one]


def in_flight(run):
    """Commits on their way at the same time in the mean, by Little's law."""
    us = said(run["info"], r"(\d+)us (?:from seal to commit|average transaction commit time)")
    return run["transactions"] * us / 1e6 / run["seconds"] if us is not None else None


def conflicts(run):
    """Handles that waited for a block on its way to the log, for each transaction."""
    waits = said(run["info"], r"(\d+) waits for blocks on their way")
    lanes = of_lanes(run["info"], "conflicts")
    total = sum(lanes) if lanes else waits
    return total / run["transactions"] if total is not None else None


def most_in_flight(run, fstype):
    """What a lane has counted; jbd2 has one committing transaction. Several lanes: not known."""
    if fstype == "ext4":
        return 1
    lanes = of_lanes(run["info"], "max_depth")
    return lanes[0] if len(lanes) == 1 else None


def of_concurrent(run, fstype):
    fsync = r"([\d.]+) us {},?"
    return {"per_second": run["per_second"], "per_transaction": run["operations_per_transaction"],
            "in_flight": in_flight(run), "conflicts": conflicts(run),
            "most_in_flight": most_in_flight(run, fstype),
            "fsync_mean_us": said(run["info"], fsync.format("mean")),
            "fsync_p99_us": said(run["info"], fsync.format("p99"))}


def by_concurrent(run, settings):
    concurrent, common = importlib.import_module("concurrent"), importlib.import_module("common")
    given = icount(settings) | {"ROUNDS": settings["ROUNDS"], "CONFLICTS": "1"} | run["settings"]
    programs = [vm.BUILD / "guest" / "loadgen", *concurrent.database.programs()]
    names = {fstype: arm for arm, fstype in run["arms"].items()}
    points = []
    with vm.VM(cpus=int(GUEST_CPUS), memory="6G", programs=programs, accel=common.accel(given)) as guest:
        concurrent.database.give(guest.share)
        for clients in run["clients"]:
            got = concurrent.measure(guest, run["case"], list(names), given | {"CLIENTS": str(clients)})
            for fstype, figures in got.items():
                metrics = [of_concurrent(one, fstype.split(":")[0]) for one in figures["runs"]]
                points.append({"load": run["case"], "x": clients, "arm": names[fstype]} |
                              {field: median(metrics, field) for field in metrics[0]})
    return points


# ---- bench: Z-Journal in a guest ----

def by_bench(run, settings):
    import bench
    import benchreport
    arms = " ".join(run["arms"].values())
    given = bench.defaults(icount(settings) | {"ARMS": arms, "FSYNC_ARMS": "", "MODES": run["mode"],
                                               "ROUNDS": settings["ROUNDS"]} | run["settings"])
    names = {fstype: arm for arm, fstype in run["arms"].items()}
    points = []
    with bench.Guest(given) as machine:
        for load in run["loads"]:
            for workers in run["workers"]:
                result = machine.run(given | {"LOAD": load, "MODE": run["mode"], "WORKERS": str(workers)})
                if not result:
                    raise vm.VMError("\n".join(result.out.splitlines()[-10:]))
                for arm, runs in bench.parse(result.out)[1].items():
                    f = benchreport.figures(runs)
                    points.append({"load": load, "x": workers, "arm": names[arm], "per_second": f["per_second"],
                                   "fsync_mean_us": f["latency"]["mean"], "fsync_p99_us": f["latency"]["p99"],
                                   "fsyncs": f["samples"]})
    return points


# ---- sim: many CPUs ----

def random_overwrites(sync):
    """SysBench: writes to blocks of files of all, a few updates of their inodes' times."""
    places = {f"file-block-{n}": {"stock": "all", "zext4": "all", "span": SHARED_BLOCKS, "per": 0}
              for n in range(WRITES)}
    places["any-file-inode"] = {"stock": "all", "zext4": "all", "span": 5, "per": 0}
    steps = []
    for n in range(WRITES):
        steps += [["work", 1000], ["handle", 9, [[f"file-block-{n}", 1]]]]
        if n % 20 == 0:
            steps.append(["handle", 2, [["any-file-inode", 1]]])
    return places, {"steps": steps + ([["sync"]] if sync else [])}


def operations():
    """bench/sim/ops.json, and what Z-Journal's figures 7 and 8 need beyond it."""
    import sim
    ops = json.loads((sim.HERE / "ops.json").read_text())
    for name, sync in (("random-overwrite", False), ("random-overwrite-fsync", True)):
        places, ops["operations"][name] = random_overwrites(sync)
        ops["places"] |= places
        ops["loads"][name] = {"operation": name, "device": "nvme", "data": "journal"}
    return ops


def simulate(ops, name, arm, cpus, quick):
    """A run of one arm: (program, allocation[, frozen copies])"""
    import sim
    program, places, *copies = arm
    load = ops["loads"][name]
    words = sim.options(load, ops["operations"][load["operation"]], cpus, quick, {})
    words += OVERWRITES.get(name, lambda cpus, quick: [])(cpus, quick)
    if copies:
        words += ["--frozen-copy", copies[0]]
    if places is None:
        ops = sim.without_journal(ops, load["operation"])
        if not ops:
            return None
    text = sim.steps(ops, load["operation"], program, cpus, places=places or "stock")
    return sim.run(program, text, *words)


def by_sim(run, settings):
    ops, points = operations(), []
    for name in run["loads"]:
        for cpus in run["cpus"]:
            for arm, how in run["arms"].items():
                got = simulate(ops, name, how, cpus, settings["QUICK"] == "1")
                if got:
                    points.append({"load": name, "x": cpus, "arm": arm, "per_second": got["per_s"],
                                   "fsync_p99_us": got["fsync_p99_us"] if got["fsyncs"] else None})
    return points


# ---- nvm ----

def by_nvm(run, settings):
    import nvm
    guest = {"CPUS": GUEST_CPUS, "MEMORY": f"{guest_gib(settings)}G"}
    types = " ".join(run["arms"].values())
    names = {fstype: arm for arm, fstype in run["arms"].items()}
    points = []
    for label, more in run["variants"].items():
        given = guest | {"TYPES": types, "CASES": run["case"], "ROUNDS": settings["ROUNDS"]}
        given |= icount(settings) | run["settings"] | more
        runs, failure = nvm.measure(given, [run["case"]])
        if failure:
            raise vm.VMError(failure)
        for fstype, figures in nvm.columns(runs)[run["case"]].items():
            points.append({"load": run["case"], "x": label, "arm": names[fstype], "commits": figures["commits"],
                           "per_second": figures["per_second"], "bytes": figures["bytes_per_operation"]})
    return points


DRIVERS = {"sim": by_sim, "concurrent": by_concurrent, "bench": by_bench, "nvm": by_nvm}


def tried(run, settings):
    """(points, why there are none); once more if QEMU has crashed the guest (bench/README.md)."""
    why = ""
    for _ in range(2):
        try:
            return DRIVERS[run["driver"]](run, settings), ""
        except (vm.VMError, vm.ConsoleError, SystemExit) as error:
            why = str(error)
            if why == "terminated":
                raise
            print(f"papers.py: {paperreport.briefly(why)}", file=sys.stderr, flush=True)
    return [], why


def main():
    try:
        settings = settings_of(arguments())
    except Refused as error:
        sys.exit(f"papers.py: {error}")
    results = {"settings": settings, "machine": paperreport.machine(), "runs": {}}
    for name, run in plan(settings).items():
        begin = time.monotonic()
        points, failure = tried(run, settings)
        results["runs"][name] = {"declared": run, "points": points, "failure": failure,
                                 "seconds": round(time.monotonic() - begin)}
        save("papers", results)
        print(f"{name}: {len(points)} points in {results['runs'][name]['seconds']} s", flush=True)
    paperreport.write(results, vm.BUILD / "results")
    return 1 if any(run["failure"] for run in results["runs"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
