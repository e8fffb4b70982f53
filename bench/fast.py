#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""fsyncs on drives that are fast, and what other file systems make of them ("make bench-fast").

    build/venv/bin/python bench/fast.py [NAME=value of bench.sh ...]
    build/venv/bin/python bench/fast.py "DEVICES=0 15" "LOADS=over-800 mail" "ARMS=ext4 zext4" CORES=1

DEVICES are times of a request in us, on drives without a cache, for a CPU that is ten times as fast as
the guest's: its clock counts instructions of 2 ns. So a request takes ten times as long there. All
runs are in one boot; build/results/fast.json has them. The disk copies each block (PLAIN_MB), which the CPU
under test does. The file systems have 64 GiB and an orphan file, as
e2fsprogs makes them since 1.47.1: on a small disk the CPUs meet in the only block of descriptors, and
without that file in the super block.

"make bench-clock" is by the host's clock, in User Mode Linux of 7.3: each arm several times in turn, on devices of
the times that are said; build/results/clock.json has the runs.
"""
import itertools
import sys

import bench
import benchreport
from common import arguments, save, uml, vm

SLOWER = 10
DEFAULTS = {"LOADS": "fsync-append fsync-create mail over-800 over-6000", "CORES": "1 4", "DEVICES": "0 15 100 1000",
            "ARMS": "ext4 fastcommit xfs zext4 nojournal", "ROUNDS": "1", "MS": "200", "CPUS": "4", "KIND": "none",
            "MODE": "ordered", "SIZE_MB": "65536", "MKFS": "-O orphan_file", "PLAIN_MB": "256"}
# What runs by the clock differs from run to run.
BY_CLOCK = {"CORES": "1 2", "CPUS": "2", "ROUNDS": "5", "MS": "500"}


class Guests:
    """Runs a load; if the guest breaks, as one whose clock counts instructions may (bench/README.md), in a new one."""

    def __init__(self, settings):
        self.settings, self.machine = settings, None

    def run(self, settings):
        for tries in range(3):
            try:
                if not self.machine:
                    self.machine = bench.Guest(dict(self.settings)).__enter__()
                return self.machine.run(settings)
            except (vm.VMError, vm.ConsoleError) as error:
                self.end()
                if tries == 2:
                    raise
                print(f"fast.py: this load again, after: {str(error)[:2000]}", file=sys.stderr)

    def end(self):
        if self.machine:
            self.machine.__exit__()
        self.machine = None


def rate(runs):
    return benchreport.figures(runs)["per_second"]


def main():
    by_clock = uml.wanted(vm.Kernel.find())
    slower, name = (1, "clock") if by_clock else (SLOWER, "fast")
    settings = DEFAULTS | (BY_CLOCK if by_clock else {}) | arguments()
    arms = settings["ARMS"].split()
    points, devices = [], settings.pop("DEVICES").split()
    print(f"{'load':14}{'tasks':>6}{'us':>6}" + "".join(f"{arm:>16}" for arm in arms))
    guests = Guests(settings)
    try:
        for load, workers, us in itertools.product(settings["LOADS"].split(), settings["CORES"].split(), devices):
            result = guests.run(settings | {"LOAD": load, "WORKERS": workers, "LATENCY_MS": float(us) * slower / 1000})
            found = bench.parse(result.out)[1]
            if not result or set(arms) - set(found):
                sys.exit(f"fast.py: {load} was not measured: {result.out[-2000:]}")
            points.append({"load": load, "workers": int(workers), "us": us, "arms": found})
            first = rate(found[arms[0]])
            print(f"{load:14}{workers:>6}{us:>6}" +
                  "".join(f"{rate(found[arm]):9.0f} {rate(found[arm]) / first:6.2f}" for arm in arms), flush=True)
            save(name, {"settings": settings, "points": points})
    finally:
        guests.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
