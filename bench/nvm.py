#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A journal in persistent memory, beside stock's on a disk and on the same memory ("make bench-nvm").

    build/venv/bin/python bench/nvm.py [NAME=value of nvm.sh ...]
    build/venv/bin/python bench/nvm.py ROUNDS=3 CASES=varmail TYPES='hdd pmem'
    build/venv/bin/python bench/nvm.py SWEEP='256 1024 8192 131072'

With SWEEP=all, or sizes, only type line runs, on a smaller scale, with txninfo_max of each size; a
plot of throughput and commits, as the paper's figures 13 and 14, goes to
build/results/nvm-txninfo.png.
CPUS=, MEMORY= and PMEM_MB= of the guest: SMALL or LARGE, below.  ICOUNT=1 (0 with KVM): its
clock counts instructions, so that the figures do not depend on the host's load.  Medians;
build/results/nvm.json (nvm-txninfo.json) has all runs.  A type that the modules cannot do ends
it, after a table of what was measured.
"""

import sys

from common import accel, arguments, median, pyplot, run_script, save, save_plot, vm

CASES = ["varmail", "fileserver", "writesync", "postmark"]    # and postmark-all
TYPES = ["hdd", "pmem", "block", "line"]
SIZES = [256 << n for n in range(10)]
# A hundredth of the paper's sizes. Without fsync, a commit covers 5 s of work; if that is to leave
# most inodes of a block alone, as in the paper, there must be many: an eighth of its sizes.
SMALL = {"CPUS": "4", "MEMORY": "4G", "PMEM_MB": "40"}
LARGE = SMALL | {"MEMORY": "8G", "PMEM_MB": "512", "DIRTY_MB": "100", "SERVER_FILES": "100000", "SERVER_LOOPS": "4500",
                 "MARK_FILES": "100000", "MARK_TRANSACTIONS": "100000"}
LARGE_CASES = {"fileserver", "postmark", "postmark-all"}
FIELDS = ["operations", "seconds", "bytes", "commits", "full"]
NAMES = {"hdd": "ext4, journal on disk", "pmem": "ext4, journal on pmem", "block": "zext4 tune=log_unit:block",
         "line": "zext4 tune=log_unit:line", "ext4": "ext4, journal inside",
         "zext4": "zext4, journal inside"}

# What the paper says of its own prototype and machine: speed of fine-grained journaling
# relative to JBD2 on a disk and on NVM, bytes in the journal less than JBD2's, each at best.
PAPER = {"varmail": {"to_hdd": 1.518, "to_block": 1.345, "reduction": 99.3},
         "fileserver": {"to_hdd": 1.736, "to_block": 1.416, "reduction": 90.4},
         "writesync": {"to_hdd": 15.8, "to_block": 2.8, "reduction": 93.7},
         "postmark": {"to_hdd": 2.14, "to_block": 1.796, "reduction": 90.0}}
# Of 128 KiB against 256 bytes, of PostMark at its best size, 4 KiB.
PAPER_SWEEP = {"varmail": {"speed": 1.20, "fewer_commits": 95.8},
               "fileserver": {"speed": 1.565, "fewer_commits": 99.8},
               "postmark": {"speed": 1.35}}


def number(word):
    return None if word == "-" else float(word)


def parse(text):
    """{case: {type: [run]}}"""
    runs = {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["run"] and len(words) == 4 + len(FIELDS):
            run = dict(zip(FIELDS, map(number, words[4:])))
            runs.setdefault(words[1], {}).setdefault(words[2], []).append(run)
    return runs


def middle(runs, field):
    return median(runs, field) if all(run[field] is not None for run in runs) else None


def per(figure, operations):
    return None if figure is None else figure / operations


def summary(runs):
    for run in runs:
        run["per_second"] = run["operations"] / run["seconds"]
        run["bytes_per_operation"] = per(run["bytes"], run["operations"])
    fields = ["per_second", "bytes_per_operation", "commits", "full"]
    return {field: middle(runs, field) for field in fields} | {"runs": runs}


def compare(types):
    """Speed and journal of each type relative to the others that are there."""
    # The paper's "JBD2 on NVM" writes blocks there by memcpy.
    base = {"to_hdd": types.get("hdd"), "to_pmem": types.get("pmem"), "to_block": types.get("block")}
    for figures in types.values():
        for name, other in base.items():
            if other and other is not figures:
                figures[name] = figures["per_second"] / other["per_second"]
    stock = types.get("hdd") or types.get("pmem")
    for figures in types.values():
        a, b = figures["bytes_per_operation"], stock and stock["bytes_per_operation"]
        if a is not None and b:
            figures["reduction"] = 100 * (1 - a / b)
        b = "block" in types and types["block"]["bytes_per_operation"]
        if a is not None and b:
            figures["less_than_block"] = 100 * (1 - a / b)


def cell(value, form, width):
    return f"{'-' if value is None else format(value, form):>{width}}"


def table(results):
    print(f"{'case':12}{'type':30}{'op/s':>9}{'/disk':>7}{'/pmem':>7}{'/block':>7}{'journal B/op':>14}{'less %':>8}{'/block %':>9}{'commits':>9}")
    for case, types in results.items():
        for fstype, f in types.items():
            name = NAMES.get(fstype, fstype)
            print(f"{case:12}{name:30}{cell(f['per_second'], '.0f', 9)}{cell(f.get('to_hdd'), '.2f', 7)}"
                  f"{cell(f.get('to_pmem'), '.2f', 7)}{cell(f.get('to_block'), '.2f', 7)}"
                  f"{cell(f['bytes_per_operation'], '.1f', 14)}{cell(f.get('reduction'), '.1f', 8)}"
                  f"{cell(f.get('less_than_block'), '.1f', 9)}{cell(f['commits'], '.0f', 9)}")
        if case in PAPER:
            p = PAPER[case]
            print(f"{case:12}{'the paper, at best':30}{'':9}{p['to_hdd']:7.2f}{'':7}{p['to_block']:7.2f}{'':14}{p['reduction']:8.1f}")
    if any(f["bytes_per_operation"] is None for types in results.values() for f in types.values()):
        print('journal bytes "-": /proc/fs/zjournal/*/info does not tell what was logged to memory')


def sweep_table(results, sizes):
    print(f"{'case':12}{'txninfo_max':>12}{'op/s':>9}{'/first':>8}{'journal B/op':>14}{'commits':>9}{'fewer %':>9}{'full %':>8}")
    for case, by_size in results.items():
        there = [size for size in sizes if size in by_size]
        for size in there:
            f, first = by_size[size], by_size[there[0]]
            f["speed"] = f["per_second"] / first["per_second"]
            if first["commits"]:
                f["fewer_commits"] = 100 * (1 - f["commits"] / first["commits"])
            full = None if f["full"] is None or not f["commits"] else 100 * f["full"] / f["commits"]
            print(f"{case:12}{size:12}{cell(f['per_second'], '.0f', 9)}{f['speed']:8.2f}"
                  f"{cell(f['bytes_per_operation'], '.1f', 14)}{cell(f['commits'], '.0f', 9)}"
                  f"{cell(f.get('fewer_commits'), '.1f', 9)}{cell(full, '.0f', 8)}")
        if case in PAPER_SWEEP:
            p = PAPER_SWEEP[case]
            print(f"{case:12}{'the paper':>12}{'':9}{p['speed']:8.2f}{'':14}{'':9}{cell(p.get('fewer_commits'), '.1f', 9)}")


def share(figures):
    """A bar's label: commits, and how many of them a full TxnInfo has caused."""
    commits, full = figures["commits"] or 0, figures["full"]
    return f"{commits:.0f}" if full is None or not commits else f"{commits:.0f}\n{100 * full / commits:.0f}%"


def plot(results):
    """The paper's figures 13 and 14: a column for each load, throughput above, commits below."""
    figure, axes = pyplot().subplots(2, len(results), figsize=(4 * len(results), 6), squeeze=False, layout="constrained")
    for n, (case, by_size) in enumerate(results.items()):
        sizes = sorted(by_size)
        names = [f"{size >> 10}K" if size >= 1024 else str(size) for size in sizes]
        axes[0][n].set_title(case)
        for row, field, label in ((0, "per_second", "operations per second"), (1, "commits", "commits")):
            ax = axes[row][n]
            values = [by_size[size][field] or 0 for size in sizes]
            bars = ax.bar(names, values, color="0.45" if row else "0.7")
            ax.set_ylabel(label)
            ax.set_ylim(0, 1.15 * max(*values, 1))
            ax.tick_params(axis="x", rotation=60)
            if row:
                ax.bar_label(bars, [share(by_size[size]) for size in sizes], fontsize=7)
        axes[1][n].set_xlabel("txninfo_max, bytes")
    figure.suptitle("Size of a TxnInfo: throughput, and commits (and those with a full TxnInfo, if known)")
    save_plot(figure, "nvm-txninfo")


def scales(cases, sizes):
    """Settings, and the cases that run with them. A sweep is small: it takes long enough."""
    large = [] if sizes else [case for case in cases if case in LARGE_CASES]
    small = [case for case in cases if case not in large]
    return [(scale, some) for scale, some in ((SMALL, small), (LARGE, large)) if some]


def measure(settings, cases):
    """What was measured, and what the script said if it failed."""
    mode = accel(settings)
    guest_settings = {name: value for name, value in settings.items() if name not in SMALL}
    programs = [vm.BUILD / "guest" / p for p in ("loadgen", "zjctl")]
    if {"postmark", "postmark-all"} & set(cases):
        programs.append(postmark())
    pmem = [vm.Pmem(f"{settings['PMEM_MB']}M")]
    with vm.VM(cpus=int(settings["CPUS"]), memory=settings["MEMORY"], programs=programs, pmem=pmem,
               accel=mode) as guest:
        result = run_script(guest, "nvm.sh", guest_settings)
    failure = "" if result else "\n".join(line for line in result.out.splitlines() if not line.startswith("run ")).strip()
    return parse(result.out), failure


def postmark():
    path = vm.pack.which("postmark")
    if not path:
        sys.exit("nvm.py: no postmark; run tools/deps bench-nvm, or leave the case out: CASES='varmail writesync'")
    return path


def columns(runs):
    results = {case: {t: summary(r) for t, r in types.items()} for case, types in runs.items()}
    for types in results.values():
        compare(types)
    return results


def runs_by_size(runs):
    return {case: {int(t.rpartition(":")[2]): summary(r) for t, r in types.items()} for case, types in runs.items()}


def sizes_of(sweep):
    return SIZES if sweep == "all" else [int(size) for size in sweep.split()]


def main():
    given = arguments()
    sizes = sizes_of(given.pop("SWEEP", ""))
    cases = given.pop("CASES", " ".join(PAPER_SWEEP if sizes else CASES)).split()
    if sizes:
        given["TYPES"] = " ".join(f"line:tune=txninfo_max:{size}" for size in sizes)
    runs, failure, used = {}, "", []
    for scale, some in scales(cases, sizes):
        used.append(scale | given | {"CASES": " ".join(some)})
        got, failure = measure(used[-1], some)
        runs |= got
        if failure:
            break
    results = runs_by_size(runs) if sizes else columns(runs)
    if sizes:
        sweep_table(results, sizes)
    else:
        table(results)
    save("nvm-txninfo" if sizes else "nvm", {"settings": used, "results": results,
                                            "paper": PAPER_SWEEP if sizes else PAPER, "failure": failure})
    if sizes and results:
        plot(results)
    if failure:
        print(f"nvm.py: not all was measured:\n{failure[-2000:]}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
