#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""zext4 beside other file systems, under the loads that its papers use ("make bench").

    build/venv/bin/python bench/bench.py [QUICK=1] [NAME=value of bench.sh ...]
    build/venv/bin/python bench/bench.py LOADS='DWSL varmail' CORES='1 2 4 8' ARMS='ext4 zext4:tune=pipeline:off'
    build/venv/bin/python bench/bench.py LOADS='mariadb rocksdb fio-randsync'    # bench/apps; LOADS=apps: all
    build/venv/bin/python bench/bench.py DEV=/dev/nvme1n1     # real hardware, no VM; asks first

All arms run in turn in one boot. Without DEV a guest is booted; ICOUNT=1 (0 with KVM): its clock
counts instructions and skips idle time. build/results/bench.json has all runs, bench.md and
bench.html the report, which bench/benchreport.py makes from it.
"""

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import apps
import benchreport
import device
from common import ROOT, accel, arguments, run_script, save, uml, vm

ARMS = "nojournal ext4 fastcommit zext4:lanes=1 zext4 zext4:log=jbd2"
# What only some loads and modes are measured with.
FSYNC_ARMS = "xfs btrfs"
FSYNC_LOADS = {"DWSL", "varmail", "varmail-shared", "randsync", "insert", "insert-shared", "fsync-append",
               "fsync-create", "mail", "writesync"} | apps.syncing()
NO_MODE = {"nojournal", "xfs", "btrfs"}    # file systems without data=
FULL = {"LOADS": "DWOL DWOM DWAL DWSL MWCL MWCM MWUL MWUM MWRL MWRM varmail varmail-shared fileserver "
                 "fileserver-shared randsync insert insert-shared",
        "MODES": "ordered journal", "ROUNDS": "5", "MS": "2000"}
QUICK = {"LOADS": "DWSL varmail-shared", "MODES": "ordered", "ROUNDS": "3", "MS": "1000", "CORES": "1 4", "CPUS": "4",
         "ARMS": "nojournal ext4 zext4:lanes=1 zext4", "FSYNC_ARMS": ""}
ORDER = ["LOADS", "MODES", "CORES"]


def parse(text, load=""):
    """
    (machine, {arm: [run]}); a run that was cut short is left out.

    A run of an application that did not do what it says raises ValueError.
    """
    machine, arms, run = {}, {}, None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["machine"]:
            name, _, value = line.removeprefix("machine ").partition(": ")
            machine[name] = value.strip()
        elif words[:1] == ["run"] and len(words) == 5:
            run = {"writes": int(words[3]), "flushes": int(words[4]), "hist": {"works": [], "fsyncs": []}, "said": []}
            arms.setdefault(words[1], []).append(run)
        elif run is not None and line.startswith("works="):
            run |= {name: float(value) for name, value in (word.split("=") for word in words)}
        elif run is not None and words[:1] == ["hist"] and len(words) == 4:
            run["hist"][words[1]].append([int(words[2]), int(words[3])])
        elif run is not None and words[:1] == ["app"]:
            run["said"].append(line.removeprefix("app").removeprefix(" "))
    return machine, {arm: runs for arm, all_runs in arms.items() if (runs := complete(arm, all_runs, load))}


def complete(arm, runs, load):
    """The runs that have come to their end, with their rates"""
    for run in runs:
        said = "\n".join(run.pop("said"))
        if said:
            try:
                run |= apps.parsed(load, said)
            except ValueError as error:
                raise ValueError(f"{load} on {arm}: {error}; it has printed:\n{said[-3000:]}") from None
        if "works" in run:
            run |= {"per_second": run["works"] / run["seconds"], "per_second_synced": run["works"] / run["synced"]}
    return [run for run in runs if "works" in run]


def loads_of(settings, known):
    """The names in LOADS, with those of all applications for "apps"; ends everything if one is unknown."""
    loads = [load for name in settings["LOADS"].split() for load in (apps.all_loads() if name == "apps" else [name])]
    unknown = [load for load in loads if load.removesuffix("-shared") not in known and load not in apps.all_loads()]
    if unknown:
        sys.exit(f"bench.py: no such load: {', '.join(unknown)}; there are {', '.join(known)}, and of applications "
                 f"{', '.join(apps.all_loads())}")
    return loads


def loadgen_loads():
    loadgen = vm.BUILD / "guest" / "loadgen"
    if not loadgen.exists():
        sys.exit("bench.py: build/guest/loadgen is missing; run make guest-programs")
    there = subprocess.run([loadgen, "-l"], capture_output=True, text=True, check=True).stdout.split()
    return [load for load in there if load != "shell"]    # which takes a command


def arms_of(settings, load, mode):
    """The arms that a point is measured on: each file system where it has such a mode."""
    arms = settings["ARMS"].split()
    if load in FSYNC_LOADS:
        arms += settings["FSYNC_ARMS"].split()
    first = settings["MODES"].split()[0]
    return [arm for arm in arms if mode == first or arm.split(":")[0] not in NO_MODE]


def cores(settings, cpus):
    """Powers of two, and all."""
    if "CORES" in settings:
        return settings["CORES"].split()
    return [str(n) for n in (2**i for i in range(10)) if n < cpus] + [str(cpus)]


class Guest:
    """Runs bench.sh in a virtual machine."""

    def __init__(self, settings):
        self.cpus = int(settings.pop("CPUS", 8))
        self.memory = settings.pop("MEMORY", "6G")
        self.settings = settings
        self.apps = apps.of(settings["LOADS"].split())
        programs = [vm.BUILD / "guest" / "loadgen", *apps.programs(self.apps)]
        programs += [p for p in map(vm.pack.which, ("mkfs.xfs", "xfs_repair", "mkfs.btrfs", "btrfs")) if p]
        # The guest has these anyway.
        programs = [p for p in programs if p.name not in vm.pack.TOOLS]
        self.vm = uml.machine(cpus=self.cpus, memory=self.memory, programs=programs, accel=accel(settings),
                              stock=["xfs", "btrfs"])

    def __enter__(self):
        self.vm.start()
        apps.give(self.apps, self.vm.share / "apps")
        return self

    def __exit__(self, *_):
        self.vm.kill()
        self.vm.cleanup()

    def about(self):
        if isinstance(self.vm, uml.UmlVM):
            return {"where": f"User Mode Linux of {self.cpus} CPUs on {os.cpu_count()} CPUs, by the host's clock"}
        how = "software emulation" if "tcg" in str(self.vm.accel or vm.accel()) else "KVM"
        clock = "its clock counts instructions" if self.settings["ICOUNT"] == "1" else "its clock is the host's"
        return {"where": f"virtual machine of {self.cpus} CPUs by {how} on {os.cpu_count()} CPUs; {clock}"}

    def run(self, settings):
        return run_script(self.vm, "bench.sh", {"AT": f"/share/apps/{settings.get('APP')}", **settings})


class Hardware:
    """Runs bench.sh on this machine, on a device that its owner has given up."""

    def __init__(self, settings):
        self.device = device.give_up(settings["DEV"])
        self.cpus = len(os.sched_getaffinity(0))
        self.ours = any(arm.startswith("zext4") for arm in settings["ARMS"].split())
        self.apps = apps.of(settings["LOADS"].split())
        self.stage = tempfile.TemporaryDirectory(prefix="zjbench-")
        self.path = [vm.BUILD / "guest", *apps.stage(self.apps, Path(self.stage.name))]

    def __enter__(self):
        for module in ("ext4", "xfs", "btrfs"):
            subprocess.run(["modprobe", "-q", module], check=False)
        if self.ours:
            self.load_modules()
        return self

    def load_modules(self):
        release = os.uname().release
        ours = [p for p in vm.Kernel(release, Path(), Path()).own_modules() if p.stem in ("zjournal", "zext4")]
        if len(ours) != 2:
            sys.exit(f"bench.py: no modules for this kernel; run make modules KVER={release}")
        for path in ours:
            if not Path("/sys/module", path.stem).exists():
                subprocess.run(["insmod", path], check=True)

    def __exit__(self, *_):
        self.stage.cleanup()

    def about(self):
        return {"where": "real hardware"}

    def run(self, settings):
        settings = {"AT": f"{self.stage.name}/{settings.get('APP')}", **settings}
        args = [f"{name}={value}" for name, value in settings.items()]
        path = ":".join([*map(str, self.path), os.environ["PATH"]])
        result = subprocess.run(["sh", ROOT / "bench" / "bench.sh", *args], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PATH": path}, check=False)
        return vm.Result(result.returncode, result.stdout)


def defaults(given):
    settings = {"ARMS": ARMS, "FSYNC_ARMS": FSYNC_ARMS} | FULL
    if given.get("QUICK", "0") != "0":
        settings |= QUICK
    if "DEV" in given:
        # A real CPU deletes more files in the time of a run than an emulated one.
        settings["FILES"] = "100000"
    return settings | given


def lines(point):
    """What is known of a point so far, for who waits."""
    stock = point["arms"].get("ext4") or next(iter(point["arms"].values()), None)
    for arm, runs in point["arms"].items():
        f = benchreport.figures(runs)
        ratio = f["per_second"] / benchreport.figures(stock)["per_second"]
        p50, p99 = (benchreport.shown(f, name) for name in ("p50", "p99"))
        print(f"{point['load']:18}{point['mode']:9}{point['workers']:>4} {arm:28}{f['per_second']:12.1f}"
              f"{f['spread']:7.1%}{ratio:8.2f}{p50:>11}{p99:>11}{f['flushes']:9.2f}", flush=True)


def main():
    settings = defaults(arguments())
    settings["LOADS"] = " ".join(loads_of(settings, loadgen_loads()))
    used, app_of = dict(settings), apps.all_loads()
    results = {"settings": used, "machine": {}, "points": []}
    failure = ""
    with Hardware(settings) if settings.get("DEV") else Guest(settings) as machine:
        print(f"{'load':18}{'data':9}{'CPUs':>4} {'arm':28}{'works/s':>12}{'spread':>7}{'ratio':>8}{'p50 ms':>11}{'p99 ms':>11}"
              f"{'flushes':>9}", flush=True)
        used["CORES"] = " ".join(cores(settings, machine.cpus))
        for load, mode, workers in itertools.product(*(used[name].split() for name in ORDER)):
            arms = arms_of(settings, load, mode)
            result = machine.run({"LOAD": load, "MODE": mode, "WORKERS": workers, **settings, "ARMS": " ".join(arms),
                                  "APP": app_of.get(load, "")})
            try:
                about, got = parse(result.out, load)
            except ValueError as error:
                failure = str(error)
                break
            results["machine"] = machine.about() | about
            results["points"].append({"load": load, "mode": mode, "workers": int(workers), "arms": got})
            lines(results["points"][-1])
            save("bench", results)
            if not result:
                failure = result.out
                break
    benchreport.write(results, vm.BUILD / "results")
    if failure:
        said = [line for line in failure.splitlines() if not line.startswith(("hist", "works=", "machine ", "app "))]
        print("bench.py: not all was measured:", *said[-10:], sep="\n", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
