#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a load pays that never syncs, on zext4 and on stock ext4 in turn, in one boot ("make bench-bulk").

    build/venv/bin/python bench/bulk.py [NAME=value of bulk.sh ...]
    build/venv/bin/python bench/bulk.py ROUNDS=3 LOADS='fileserver untar' TASKS='1 8 4m' DISKS=nvme JOURNALS='32 1024'
    build/venv/bin/python bench/bulk.py TYPES='ext4 ext4'                # the noise

CPUS= and MEMORY= of the guest.  ICOUNT=1 (0 with KVM): its clock counts instructions, so that the
figures do not depend on the host's load.  All its CPUs together then execute one in 2 ns, about
a tenth of what one core of today does: SLOWER=10 makes the disks as much slower, so that it is not
the emulated CPU that is measured.  Medians of the rounds; build/results/bulk.json has all runs,
bulk.png a plot.
"""

import itertools
import sys

import trees
from common import accel, arguments, median, pyplot, run_script, save, save_plot, vm

KEYS = ["load", "tasks", "mode", "disk", "journal"]
ORDER = ["DISKS", "JOURNALS", "MODES", "LOADS", "TASKS"]
DEFAULTS = {"CPUS": "8", "MEMORY": "5G", "TREE": "include/linux", "SOURCES": "8", "DISKS": "hdd ssd", "JOURNALS": "128",
            "MODES": "ordered journal", "LOADS": "fileserver postmark varmail append overwrite randwrite", "TASKS": "4"}
CLASSES = ["log", "home", "data"]


def parse(text):
    """{row's keys: {type: [run]}}; of TYPES with twice the same the second one is called TYPE#2"""
    rows, run, seen = {}, None, {}
    for line in text.splitlines():
        what, *words = line.split() or [""]
        if what == "row" and len(words) == len(KEYS) + 2:
            key, fstype, nth = tuple(words[:-2]), words[-2], words[-1]
            count = seen[key, fstype, nth] = seen.get((key, fstype, nth), 0) + 1
            if count > 1:
                fstype = f"{fstype}#{count}"
            run = {"synced": {}, "unmounted": {}}
        elif what in ("synced", "unmounted") and run:
            meter(run[what], words)
        elif what == "run" and run and len(words) == 3:
            run |= dict(zip(["operations", "seconds", "unmount_seconds"], map(float, words)))
            rows.setdefault(key, {}).setdefault(fstype, []).append(figures(run))
            run = None
    return rows


def meter(into, words):
    """A line of /proc/zjmeter"""
    if words[0] == "starts":
        into |= {"starts": int(words[1]), "missed": int(words[3]), "longest_ns": int(words[5])}
    elif words[0] == "wait":
        into.setdefault("waits", []).append([int(words[1]), int(words[2])])
    else:
        into[words[0]] = {"requests": int(words[1]), "sectors": int(words[2])}


def percentile(waits, share):
    """The end of the bucket in which this share of all is reached; of [[end, count]]"""
    wanted, seen = share * sum(count for _, count in waits), 0
    for end, count in waits:
        seen += count
        if seen >= wanted:
            return end
    return 0


def figures(run):
    n, synced, unmounted = run["operations"], run["synced"], run["unmounted"]
    run["per_second"] = n / run["seconds"]
    run["per_second_unmounted"] = n / (run["seconds"] + run["unmount_seconds"])
    for name in CLASSES:
        run[f"{name}_bytes"] = synced[name]["sectors"] * 512 / n
        run[f"{name}_bytes_unmounted"] = unmounted[name]["sectors"] * 512 / n
    run["requests"] = sum(synced[name]["requests"] for name in CLASSES) / n
    run["flushes"] = synced["flush"]["requests"] / n
    run["starts"] = synced["starts"] / n
    run["p99_us"] = percentile(synced.get("waits", []), 0.99) / 1000
    run["longest_us"] = synced["longest_ns"] / 1000
    return run


def summary(runs):
    fields = [field for field, value in runs[0].items() if isinstance(value, float | int)]
    out = {field: median(runs, field) for field in fields}
    # The longest wait is a worst case over all rounds.
    return out | {"longest_us": max(run["longest_us"] for run in runs), "runs": runs}


def compare(types):
    """Each type's figures, with their ratios to the first type's"""
    out = {fstype: summary(runs) for fstype, runs in types.items()}
    stock = next(iter(out.values()))
    for f in out.values():
        f["ratio"] = f["per_second"] / stock["per_second"]
        f["ratio_unmounted"] = f["per_second_unmounted"] / stock["per_second_unmounted"]
    return out


def head():
    print(f"{'load':12}{'tasks':>5} {'data':8}{'disk':5}{'MiB':>5}  {'type':24}{'op/s':>9}{'ratio':>7}{'unmtd':>7}"
          f"{'log B/op':>10}{'home B/op':>10}{'..unmtd':>9}{'data B/op':>10}{'p99 us':>10}{'longest ms':>11}", flush=True)


def lines(key, types):
    load, tasks, mode, disk, journal = key
    for fstype, f in types.items():
        print(f"{load:12}{tasks:>5} {mode:8}{disk:5}{journal:>5}  {fstype:24}{f['per_second']:9.0f}{f['ratio']:7.2f}"
              f"{f['ratio_unmounted']:7.2f}{f['log_bytes']:10.0f}{f['home_bytes']:10.0f}{f['home_bytes_unmounted']:9.0f}"
              f"{f['data_bytes']:10.0f}{f['p99_us']:10.1f}{f['longest_us'] / 1000:11.1f}", flush=True)


def plot(rows):
    """A line for each row and type: its ratio to the first type at the end of the syncfs, and of the unmount."""
    bars = [(" ".join((*key, fstype)), f) for key, types in rows.items() for fstype, f in [*types.items()][1:]][::-1]
    figure, ax = pyplot().subplots(figsize=(9, 1.5 + 0.2 * len(bars)), layout="constrained")
    at = range(len(bars))
    drawn = ax.barh(at, [f["ratio"] for _, f in bars], color="0.7", label="to the end of syncfs")
    ax.bar_label(drawn, fmt="%.2f", fontsize=7, padding=8)
    ax.plot([f["ratio_unmounted"] for _, f in bars], at, "k|", label="to the end of the unmount")
    ax.axvline(1, color="k", linewidth=0.5)
    ax.set_yticks(at, [name for name, _ in bars], fontsize=7)
    ax.set_xlabel("operations per second, relative to the first type")
    ax.legend(loc="lower right", fontsize=7)
    save_plot(figure, "bulk")


class Guests:
    """A guest that is booted again once QEMU's emulation has let it die (see README.md: cmpxchg16b)."""

    def __init__(self, settings):
        self.mode = accel(settings)
        settings.setdefault("SLOWER", "10" if self.mode else "1")
        self.cpus, self.memory = int(settings.pop("CPUS")), settings.pop("MEMORY")
        self.loads = settings["LOADS"].split()
        self.parts, self.sources = settings.pop("TREE").split(), int(settings.pop("SOURCES"))
        self.programs = [vm.BUILD / "guest" / "loadgen"] + trees.programs(self.loads)
        self.guest, self.trees = None, {}

    def boot(self):
        self.guest = vm.VM(cpus=self.cpus, memory=self.memory, programs=self.programs, accel=self.mode)
        self.guest.start()
        self.trees = trees.give(self.guest.share, self.loads, self.parts, self.sources)

    def end(self):
        if self.guest:
            self.guest.kill()
            self.guest.cleanup()
        self.guest = None

    def run(self, settings):
        for tries in range(3):
            try:
                if not self.guest:
                    self.boot()
                return run_script(self.guest, "bulk.sh", settings | self.trees)
            except (vm.VMError, vm.ConsoleError) as error:
                self.end()
                if tries == 2:
                    raise
                print(f"bulk.py: this row again, after: {str(error)[:2000]}", file=sys.stderr)


def main():
    settings = DEFAULTS | arguments()
    used = dict(settings)
    guests, rows, failure = Guests(settings), {}, ""
    used |= {name: settings[name] for name in ("ICOUNT", "SLOWER")}
    head()
    try:
        for choice in itertools.product(*(settings[name].split() for name in ORDER)):
            result = guests.run(settings | dict(zip(ORDER, choice)))
            for key, types in parse(result.out).items():
                rows[key] = compare(types)
                lines(key, rows[key])
            save("bulk", {"settings": used, "results": [dict(zip(KEYS, key), types=t) for key, t in rows.items()]})
            if not result:
                failure = result.out
                break
    finally:
        guests.end()
    if any(len(types) > 1 for types in rows.values()):
        plot(rows)
    if failure:
        print(f"bulk.py: not all was measured:\n{failure[-2000:]}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
