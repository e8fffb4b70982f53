#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Where the instructions of a load go on each file system: perf in a guest whose clock counts instructions.

    build/venv/bin/python bench/hotspots.py LOAD=mail WORKERS=1 LATENCY_MS=0 "ARMS=zext4 fastcommit"
    build/venv/bin/python bench/hotspots.py LOAD=fsync-create TREE=ext4_sync_file

Settings are those of bench.sh, with the defaults of bench/fast.py; all CPUs are sampled, FREQUENCY times a second of
the guest's time, between the load's start and its end. For each arm this prints the samples of an operation without
the idle ones, the MOST functions that have most of them by themselves, and the tree below the function TREE, as far
as a branch has LEAST percent. A sample is a state of the call stack; perf's own interrupt is in it, about a quarter
more. build/results/hotspots-ARM.txt has all. It needs the package linux-perf.
"""
import collections
import re
import sys

import bench
import benchreport
import fast
from common import ROOT, arguments, run_script, vm

OWN = {"LOAD": "mail", "WORKERS": "1", "LATENCY_MS": "0", "ARMS": "zext4", "TREE": "", "MOST": "40", "LEAST": "1",
       "FREQUENCY": "5000"}
IDLE = {"pv_native_safe_halt", "default_idle", "acpi_safe_halt"}


def stacks(text):
    """perf script's samples: functions, the innermost first"""
    for sample in text.split("\n\n"):
        found = [line.split(None, 1)[1] for line in sample.strip().splitlines() if len(line.split(None, 1)) > 1]
        if found:
            yield found


def branch(tree, path):
    for name in path:
        tree = tree.setdefault(name, [0, {}])
        tree[0] += 1
        tree = tree[1]


def lines_of(tree, total, least, depth=0):
    for name, (count, below) in sorted(tree.items(), key=lambda item: -item[1][0]):
        share = 100 * count / total
        if share >= least:
            yield f"{share:6.1f} %  {'  ' * depth}{name}"
            yield from lines_of(below, total, least, depth + 1)


def report(arm, samples, per_second, settings):
    """The lines that are printed"""
    busy = [stack for stack in samples if stack[0] not in IDLE]
    alone, tree = collections.Counter(stack[0] for stack in busy), {}
    for stack in busy:
        if settings["TREE"] in stack:
            branch(tree, stack[stack.index(settings["TREE"])::-1])
    yield f"{arm}: {per_second:.0f} operations a second, {len(busy)} samples, and {len(samples) - len(busy)} idle ones"
    for name, count in alone.most_common(int(settings["MOST"])):
        yield f"{100 * count / len(busy):6.1f} %  {name}"
    yield from lines_of(tree, len(busy), float(settings["LEAST"]))


def script_with_perf(settings):
    """bench.sh, whose measured load runs under perf, and which leaves each arm's samples in the share"""
    text = (ROOT / "bench/bench.sh").read_text()
    record = f"perf record -q -e cpu-clock -F {settings['FREQUENCY']} -g -a -o /tmp/samples --"
    text, found = re.subn(r"^\tloadgen -d \$fs -w", f'\tcase " $* " in *" -r "*) record="{record}" ;; *) record= ;; esac\n'
                          "\t$record loadgen -d $fs -w", text, flags=re.M)
    text, left = re.subn(r"^\tafter=", "\tperf script -i /tmp/samples -F ip,sym >/share/$arm.stacks 2>/dev/null\n\tafter=",
                         text, flags=re.M)
    if (found, left) != (1, 1):
        sys.exit("hotspots.py: bench.sh is not as it was")
    return text


def main():
    settings = fast.DEFAULTS | OWN | arguments()
    settings["LOADS"] = settings["LOAD"]
    own = {name: settings.pop(name) for name in ("TREE", "MOST", "LEAST", "FREQUENCY")}
    perf = vm.pack.which("perf")
    if not perf:
        sys.exit("hotspots.py: install linux-perf, which has perf")
    machine = bench.Guest(dict(settings))
    machine.vm.programs = [*machine.vm.programs, perf]
    with machine as guest:
        (guest.vm.share / "hotspots.sh").write_text(script_with_perf(own))
        guest.vm.sh("cp /share/hotspots.sh /lib/zj/")
        result = run_script(guest.vm, "hotspots.sh", settings)
        rates = bench.parse(result.out)[1] if result else sys.exit(f"hotspots.py: {result.out[-2000:]}")
        for arm in settings["ARMS"].split():
            samples = list(stacks((guest.vm.share / f"{arm}.stacks").read_text()))
            text = "\n".join(report(arm, samples, benchreport.figures(rates[arm])["per_second"], own))
            (vm.BUILD / "results").mkdir(exist_ok=True)
            (vm.BUILD / "results" / f"hotspots-{arm.replace('/', '-')}.txt").write_text(text + "\n")
            print(text, flush=True)


if __name__ == "__main__":
    main()
