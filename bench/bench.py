#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""zext4 beside other file systems, under the loads that its papers use ("make bench").

    build/venv/bin/python bench/bench.py [QUICK=1] [NAME=value of bench.sh ...]
    build/venv/bin/python bench/bench.py LOADS='DWSL varmail' CORES='1 2 4 8' ARMS='ext4 zext4:tune=pipeline:off'
    build/venv/bin/python bench/bench.py DEV=/dev/nvme1n1     # real hardware, no VM; asks first

All arms run in turn in one boot. Without DEV a guest is booted; ICOUNT=1 (0 with KVM): its clock
counts instructions and skips idle time. build/results/bench.json has all runs, bench.md and
bench.html the report, which bench/benchreport.py makes from it.
"""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import benchreport
import device
from common import ROOT, accel, arguments, run_script, save, vm

ARMS = "nojournal ext4 fastcommit zext4:lanes=1 zext4 zext4:log=jbd2"
# What only some loads and modes are measured with.
FSYNC_ARMS = "xfs btrfs"
FSYNC_LOADS = {"DWSL", "varmail", "varmail-shared", "randsync", "insert", "insert-shared", "fsync-append",
               "fsync-create", "mail", "writesync"}
NO_MODE = {"nojournal", "xfs", "btrfs"}    # file systems without data=
FULL = {"LOADS": "DWOL DWOM DWAL DWSL MWCL MWCM MWUL MWUM MWRL MWRM varmail varmail-shared fileserver "
                 "fileserver-shared randsync insert insert-shared",
        "MODES": "ordered journal", "ROUNDS": "5", "MS": "2000"}
QUICK = {"LOADS": "DWSL varmail-shared", "MODES": "ordered", "ROUNDS": "3", "MS": "1000", "CORES": "1 4", "CPUS": "4",
         "ARMS": "nojournal ext4 zext4:lanes=1 zext4", "FSYNC_ARMS": ""}
ORDER = ["LOADS", "MODES", "CORES"]


def parse(text):
    """(machine, {arm: [run]}); a run that was cut short is left out"""
    machine, arms, run = {}, {}, None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["machine"]:
            name, _, value = line.removeprefix("machine ").partition(": ")
            machine[name] = value.strip()
        elif words[:1] == ["run"] and len(words) == 5:
            run = {"writes": int(words[3]), "flushes": int(words[4])}
            arm = words[1]
        elif run is not None and line.startswith("works="):
            run |= {name: float(value) for name, value in (word.split("=") for word in words)}
            run |= {"per_second": run["works"] / run["seconds"], "per_second_synced": run["works"] / run["synced"],
                    "hist": {"works": [], "fsyncs": []}}
            arms.setdefault(arm, []).append(run)
        elif run is not None and words[:1] == ["hist"] and "hist" in run and len(words) == 4:
            run["hist"][words[1]].append([int(words[2]), int(words[3])])
    return machine, arms


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
        programs = [vm.BUILD / "guest" / "loadgen"] + [p for p in map(vm.pack.which, ("mkfs.xfs", "mkfs.btrfs")) if p]
        self.vm = vm.VM(cpus=self.cpus, memory=self.memory, programs=programs, accel=accel(settings),
                        stock=["xfs", "btrfs"])

    def __enter__(self):
        self.vm.start()
        return self

    def __exit__(self, *_):
        self.vm.kill()
        self.vm.cleanup()

    def about(self):
        how = "software emulation" if "tcg" in str(self.vm.accel or vm.accel()) else "KVM"
        clock = "its clock counts instructions" if self.settings["ICOUNT"] == "1" else "its clock is the host's"
        return {"where": f"virtual machine of {self.cpus} CPUs by {how} on {os.cpu_count()} CPUs; {clock}"}

    def run(self, settings):
        return run_script(self.vm, "bench.sh", settings)


class Hardware:
    """Runs bench.sh on this machine, on a device that its owner has given up."""

    def __init__(self, settings):
        self.device = device.give_up(settings["DEV"])
        self.cpus = len(os.sched_getaffinity(0))
        self.ours = any(arm.startswith("zext4") for arm in settings["ARMS"].split())

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
        pass

    def about(self):
        return {"where": "real hardware"}

    def run(self, settings):
        args = [f"{name}={value}" for name, value in settings.items()]
        path = f"{vm.BUILD / 'guest'}:{os.environ['PATH']}"
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
        print(f"{point['load']:18}{point['mode']:9}{point['workers']:>4} {arm:28}{f['per_second']:12.1f}"
              f"{f['spread']:7.1%}{ratio:8.2f}{f['latency']['p50'] / 1000:11.2f}{f['latency']['p99'] / 1000:11.2f}"
              f"{f['flushes']:9.2f}", flush=True)


def main():
    settings = defaults(arguments())
    used = dict(settings)
    results = {"settings": used, "machine": {}, "points": []}
    failure = ""
    with Hardware(settings) if settings.get("DEV") else Guest(settings) as machine:
        print(f"{'load':18}{'data':9}{'CPUs':>4} {'arm':28}{'works/s':>12}{'spread':>7}{'ratio':>8}{'p50 ms':>11}{'p99 ms':>11}"
              f"{'flushes':>9}", flush=True)
        used["CORES"] = " ".join(cores(settings, machine.cpus))
        for load, mode, workers in itertools.product(*(used[name].split() for name in ORDER)):
            arms = arms_of(settings, load, mode)
            result = machine.run({"LOAD": load, "MODE": mode, "WORKERS": workers, **settings, "ARMS": " ".join(arms)})
            about, got = parse(result.out)
            results["machine"] = machine.about() | about
            results["points"].append({"load": load, "mode": mode, "workers": int(workers), "arms": got})
            lines(results["points"][-1])
            save("bench", results)
            if not result:
                failure = result.out
                break
    benchreport.write(results, vm.BUILD / "results")
    if failure:
        said = [line for line in failure.splitlines() if not line.startswith(("hist", "works="))]
        print("bench.py: not all was measured:", *said[-10:], sep="\n", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
