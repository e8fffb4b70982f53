#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""SIMULATED: stock jbd2 and zjournal, from their sources, on 1 to 256 virtual CPUs.

    build/venv/bin/python bench/sim.py [NAME=value ...]

QUICK=0         1: few CPUs and operations, about a minute
LOADS=...       of bench/sim/ops.json; all of them by default
CPUS="1 2 4"    numbers of virtual CPUs
SWEEP=1         0: leave out the runs with other costs of a cache line
CALIBRATE=1     0: leave out the comparison with bench/core by the clock
SEED=1          of what varies: a transfer of a line by a quarter, work by a tenth
WORK=1          factor of the time that the file system needs beside the journal
COSTS="line=80" other costs, in nanoseconds (build/zjscale-zj --costs lists them)

build/results/bench-sim.json has everything, bench-sim.md the tables, bench-sim.png the plot.
bench/sim/README.md says what is simulated, and what is not.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import arguments, json_of, pyplot, save, save_plot, vm

HERE = Path(__file__).resolve().parent / "sim"
SIDES = {"stock": "zjscale-stock", "zext4": "zjscale-zj"}
PROGRAMS = {**SIDES, "nojournal": "zjscale-stock"}
CPUS = [1, 2, 4, 8, 16, 32, 64, 80, 128, 256]
QUICK_CPUS = [1, 4, 16, 80]
SWEEP_LINES = [40, 60, 80, 120]
SWEEP_WORK = [0.25, 0.5, 1, 2]
SWEEP_LOADS = ["overwrite-low", "append-low", "create-low", "fsync-low", "fsync-low-memory"]
AT = 80             # CPUs at which the ratios are wanted
COMMITS_AT = 64     # CPUs at which commits a second are
APPENDED = 98304    # blocks that appends use until they begin anew: more than the log has
# Operations of each CPU that are counted, and of all at least; a quick run has a quarter.
EACH, LEAST = {"sync": 60, "": 300}, {"sync": 1200, "": 8000, "append": 245760}
# A rate may be so much lower than at half the CPUs, or than stock's, before it counts as lower.
NOISE = 0.02


def handle_steps(places, side, cpus, credits, blocks, regions):
    """The lines of one handle."""
    lines = [("start", credits, 0, 0, 0, 0)]
    for name, times, *other in blocks:
        place = places[name]
        share = place[side]
        if share == "all":
            share = 0
        elif str(share).startswith("/"):
            share = -(-cpus // int(share[1:]))
        groups = -(-cpus // share) if share else 1
        span = place["span"] or max(1, place.get("together", APPENDED) // groups)
        region = regions.setdefault(name, len(regions))
        lines += [(place.get("word", "block"), *(other or [0]), region, share, span,
                   place["per"])] * times
    return lines + [("stop", 0, 0, 0, 0, 0)]


def steps_of(operation, side):
    """The steps of a side, where they differ."""
    found = []
    for step in operation["steps"]:
        found += step[side] if isinstance(step, dict) else [step]
    return found


def without_journal(ops, name):
    """An operation without its handles; None: its fsync would be missing."""
    found = steps_of(ops["operations"][name], "stock")
    if any(step[0] == "sync" for step in found):
        return None
    kept = [step for step in found if step[0] != "handle"]
    return {**ops, "operations": {name: {"steps": kept}}}


def steps(ops, name, side, cpus, work=1, places=None):
    """What the program reads: a line for each step; places: whose sharing, if not the side's."""
    lines, regions, mutexes = [], {}, {}
    operation = ops["operations"][name]
    words = steps_of(operation, side)
    places = "stock" if operation.get("mixed") else places or side
    for word, *rest in words:
        if word == "handle":
            lines += handle_steps(ops["places"], places, cpus, *rest, regions)
        elif word in ("lock", "unlock"):
            share = 0 if rest[1] == "all" else rest[1]
            lines.append((word, 0, mutexes.setdefault(rest[0], len(mutexes)), share, 0, 0))
        else:
            count = rest[0] if rest else 0
            lines.append((word, int(count * work) if word == "work" else count, 0, 0, 0, 0))
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def run(side, text, *options):
    """One run of a program; returns what it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".steps") as file:
        file.write(text)
        file.flush()
        command = [vm.BUILD / PROGRAMS[side], "--load", file.name, *options]
        begin = time.monotonic()
        found = json_of(command, 600)
    return {**found, "real_s": round(time.monotonic() - begin, 2)}


def logged_blocks(operation):
    """Blocks of file data that zext4 logs in an operation."""
    return sum(times for word, *rest in steps_of(operation, "zext4") if word == "handle"
               for place, times, *_ in rest[1] if place == "fsync-data")


def options(load, operation, cpus, quick, costs):
    syncs = any(step[0] == "sync" for step in steps_of(operation, "stock"))
    kind = "sync" if syncs else "append" if load["operation"] == "append" else ""
    each, least = EACH["sync" if syncs else ""], LEAST[kind]
    count = max(each * cpus, least) // (4 if quick else 1)
    # What mke2fs makes on a disk of 128 GiB, or for fsyncs of 64 GiB.
    journal = {"append": 81920, "sync": 65536, "": 262144}[kind]
    # File data has to have filled the log once, as it goes home from there.
    logged = 1 if kind == "append" else logged_blocks(operation)
    warm_up = max(count // 2, 12 * cpus, journal // logged if logged else 0)
    return ["--cpus", cpus, "--device", load["device"], "--data", load["data"],
            "--journal", journal, "--warm-up", warm_up, "--count", count,
            *[word for name, ns in costs.items() for word in (f"--{name}", ns)]]


def measure(ops, name, cpus, quick, costs, work=1):
    """Both sides' runs of a load, and what no journal could exceed."""
    load = ops["loads"][name]
    operation = load["operation"]
    words = options(load, ops["operations"][operation], cpus, quick, costs)
    found = {side: run(side, steps(ops, operation, side, cpus, work), *words) for side in SIDES}
    if load.get("ceiling"):
        bare = without_journal(ops, operation)
        found["nojournal"] = run("nojournal", steps(bare, operation, "stock", cpus, work), *words)
    return found


def sweeps(ops, names, costs, work):
    """Ratios at one number of CPUs, by the cost of a line and by the work beside the journal."""
    def at(name, **more):
        given = {"costs": costs, "work": work, **more}
        return ratio({name: {AT: measure(ops, name, AT, False, **given)}}, name, AT)

    names = [name for name in SWEEP_LOADS if name in names]
    return {"line": {name: {ns: at(name, costs={**costs, "line": ns}) for ns in SWEEP_LINES}
                     for name in names},
            "work": {name: {factor: at(name, work=work * factor) for factor in SWEEP_WORK}
                     for name in names}}


# ---- where the time goes ----

def source_lines(side, addresses):
    """The functions and source lines of addresses of code, innermost first."""
    if not addresses:
        return {}
    # A return address belongs to the call before it.
    words = [hex(int(address, 16) - 1) for address in addresses]
    out = subprocess.run(["addr2line", "-a", "-f", "-i", "-s", "-e", vm.BUILD / PROGRAMS[side],
                          *words], capture_output=True, text=True, check=True).stdout.splitlines()
    found, current = {}, None
    for line in out:
        if line.startswith("0x"):
            current = found.setdefault(addresses[len(found)], [])
        else:
            current.append(line.split(" ")[0])
    return {address: [f"{place} {function}" for function, place in zip(lines[::2], lines[1::2])]
            for address, lines in found.items()}


def explain(side, result):
    """Puts source lines in place of addresses."""
    known = source_lines(side, list(dict.fromkeys(row["pc"] for row in result["profile"])))
    for row in result["profile"]:
        frames = known[row.pop("pc")]
        # A function of a header says little without its caller.
        frames = [frame for frame in frames if ".h:" not in frame.split(" ")[0]] or frames
        row["where"] = " < ".join(frames[:3])


def top(result, number=4):
    """The locks and lines that cost most, as text."""
    rows = [row for row in result["profile"] if row["what"] != "sleep" and row["share"] >= 0.005]
    merged = {}
    for row in rows:
        key = (row["what"], row["name"] or row["where"].split(" < ")[0])
        merged[key] = merged.get(key, 0) + row["share"]
    best = sorted(merged.items(), key=lambda item: -item[1])[:number]
    return [f"{what} {name.lstrip('&')} {share:.0%}" for (what, name), share in best]


# ---- what is wanted ----

def ratio(results, name, cpus, field="per_s", to="stock"):
    sides = results.get(name, {}).get(cpus)
    if not sides or not sides[to][field]:
        return None
    return sides["zext4"][field] / sides[to][field]


def below_stock(results, name):
    return [cpus for cpus in results[name] if ratio(results, name, cpus) < 1 - NOISE]


def below_half(results, name, side="zext4"):
    """Numbers of CPUs at which the rate is lower than at half of them."""
    rates = {cpus: sides[side]["per_s"] for cpus, sides in results[name].items()}
    return [cpus for cpus in rates
            if cpus // 2 in rates and rates[cpus] < rates[cpus // 2] * (1 - NOISE)]


def verdicts(ops, results):
    """[(what, wanted, got, reached)]"""
    rows = []
    for name, load in ops["loads"].items():
        got = ratio(results, name, AT)
        if name in results and load.get("wanted") and got:
            rows.append((f"{name}, {AT} CPUs", f">= {load['wanted']}x", f"{got:.2f}x",
                         got >= load["wanted"]))
        if name in results and load.get("ceiling") and got:
            of = ratio(results, name, AT, to="nojournal")
            rows.append((f"{name}: of ext4 without a journal, {AT} CPUs", f">= {load['ceiling']}",
                         f"{of:.2f}", of >= load["ceiling"]))
        if name in results:
            rows.append((f"{name}: below stock", "nowhere",
                         " ".join(map(str, below_stock(results, name))) or "nowhere",
                         not below_stock(results, name)))
            rows.append((f"{name}: below itself at half the CPUs", "nowhere",
                         " ".join(map(str, below_half(results, name))) or "nowhere",
                         not below_half(results, name)))
        late = ratio(results, name, AT, "fsync_p99_us")
        if late and name != "commits-memory":
            rows.append((f"{name}: fsync p99, {AT} CPUs", "<= 0.5x", f"{late:.2f}x", late <= 0.5))
    commits = results.get("commits-memory", {}).get(COMMITS_AT)
    if commits:
        rate = commits["zext4"]["per_s"] / 1e6
        rows.append((f"commits in memory, {COMMITS_AT} CPUs", ">= 4 M/s", f"{rate:.2f} M/s",
                     rate >= 4))
    return rows


# ---- calibration ----

def core(program, *words):
    """A figure of bench/core by the clock, the median of three runs; None: none undisturbed."""
    got = []
    for _ in range(3):
        result = json_of([vm.BUILD / f"zjcore-{program}", *words], 300)
        if result.get("ns"):
            got.append(result["ns"])
    return statistics.median(got) if got else None


def four_blocks(span, share=1):
    return "start 4 0 0 0 0\n" + "".join(f"block 0 {i} {share} {span} 1\n" for i in range(4)) + \
        "stop 0 0 0 0 0\n"


# Case, bench/core's options, the steps, and side and lanes of the comparison.
CALIBRATION = [
    ("again, private", [], four_blocks(16)),
    ("first, private", ["--first"], four_blocks(4000)),
]


def calibrate(costs):
    """Simulated beside measured handles of four blocks, at one and two CPUs."""
    rows = []
    words = [word for name, ns in costs.items() for word in (f"--{name}", ns)]
    for case, flags, text in CALIBRATION:
        # The real bursts stay in the CPU's second cache.
        near = ["--l3", 4, "--cold", 4] if flags else []
        for cpus in (1, 2):
            if cpus > (os.cpu_count() or 1):
                continue
            for side, program, lanes in (("stock", "stock", 1), ("zext4", "zj", cpus),
                                         ("zext4", "zj", 1))[:2 + (cpus > 1)]:
                real = core(program, "handles", "--threads", cpus, "--lanes", lanes,
                            "--ms", 300, *flags)
                fake = run(side, text, "--cpus", cpus, "--lanes", lanes, "--device", "memory",
                           "--warm-up", 1000 * cpus, "--count", 3000 * cpus, *near, *words)
                ns = fake["ns_per_operation_and_cpu"]
                rows.append({"case": case, "cpus": cpus, "journal": side, "lanes": lanes,
                             "measured_ns": real, "simulated_ns": ns,
                             "error": ns / real - 1 if real else None})
    return rows


# ---- the report ----

def number(value):
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} k"


def table(head, rows):
    return ["| " + " | ".join(map(str, head)) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def rates(results):
    """A row for each load and side: operations a second, simulated."""
    cpus = sorted({n for load in results.values() for n in load})
    rows = []
    for name, runs in results.items():
        for side in SIDES:
            rows.append([name, side, *(number(runs[n][side]["per_s"]) if n in runs else ""
                                       for n in cpus)])
        rows.append([name, "ratio", *(f"{ratio(results, name, n):.2f}" if n in runs else ""
                                      for n in cpus)])
    return table(["load", "", *cpus], rows)


def latencies(results):
    cpus = sorted({n for load in results.values() for n in load})
    rows = []
    for name, runs in results.items():
        if not all(sides["stock"]["fsyncs"] for sides in runs.values()):
            continue
        for side in SIDES:
            rows.append([name, side, *(f"{runs[n][side]['fsync_p99_us']:.0f}" if n in runs else ""
                                       for n in cpus)])
    return table(["fsync p99, us", "", *cpus], rows)


def contended(results):
    rows = []
    for name, runs in results.items():
        at = AT if AT in runs else max(runs)
        for side in SIDES:
            result = runs[at][side]
            rows.append([name, side, f"{result['lock_share']:.0%}", f"{result['line_share']:.0%}",
                         "; ".join(top(result))])
    return table(["load", "", "locks", "lines", f"most, of all CPUs' time (at {AT})"], rows)


def sweep_table(sweep, unit):
    values = list(next(iter(sweep.values())))
    return table(["load", *(f"{value}{unit}" for value in values)],
                 [[name, *(f"{by[value]:.2f}x" for value in values)]
                  for name, by in sweep.items()])


def calibration_table(rows):
    return table(["handles of 4 blocks", "CPUs", "journal", "lanes", "measured, ns",
                  "simulated, ns", "error"],
                 [[row["case"], row["cpus"], row["journal"], row["lanes"],
                   f"{row['measured_ns']:.0f}" if row["measured_ns"] else "-",
                   f"{row['simulated_ns']:.0f}",
                   f"{row['error']:+.0%}" if row["error"] is not None else "-"] for row in rows])


def report(ops, results, sweep, calibration):
    lines = ["# Simulated: stock jbd2 and zjournal on virtual CPUs", "",
             "Operations a second. Everything here is simulated: bench/sim/README.md.", ""]
    lines += rates(results) + latencies(results)
    lines += ["## Wanted", ""] + table(
        ["what", "wanted", "got, simulated", ""],
        [[*row[:3], "" if row[3] else "not reached"] for row in verdicts(ops, results)])
    lines += ["## Where the time goes", ""] + contended(results)
    if sweep:
        lines += [f"## Ratio at {AT} CPUs by the cost of a cache line", ""]
        lines += sweep_table(sweep["line"], " ns")
        lines += [f"## Ratio at {AT} CPUs by the file system's work beside the journal", ""]
        lines += sweep_table(sweep["work"], " times")
    if calibration:
        lines += ["## Calibration: bench/core by the clock", ""] + calibration_table(calibration)
    return "\n".join(lines)


def plot(results):
    names = list(results)
    figure, axes = pyplot().subplots(-(-len(names) // 4), 4, squeeze=False,
                                     figsize=(18, 3.6 * -(-len(names) // 4)))
    for axis, name in zip(axes.flat, names):
        for side in SIDES:
            points = [(n, sides[side]["per_s"]) for n, sides in sorted(results[name].items())]
            axis.plot(*zip(*points), marker="o", label=side)
        axis.set(title=f"{name} (simulated)", xscale="log", yscale="log", xlabel="virtual CPUs",
                 ylabel="operations/s")
        axis.legend()
    for axis in axes.flat[len(names):]:
        axis.axis("off")
    figure.tight_layout()
    save_plot(figure, "bench-sim")


def main():
    settings = {"QUICK": "0", "LOADS": "", "CPUS": "", "SWEEP": "1", "CALIBRATE": "1",
                "COSTS": "", "SEED": "1", "WORK": "1", **arguments()}
    quick = settings["QUICK"] == "1"
    ops = json.loads((HERE / "ops.json").read_text())
    names = settings["LOADS"].split() or list(ops["loads"])
    unknown = set(names) - set(ops["loads"])
    if unknown:
        sys.exit(f"sim.py: there is no load {' '.join(unknown)}; there are "
                 f"{' '.join(ops['loads'])}")
    cpus = [int(word) for word in settings["CPUS"].split()] or (QUICK_CPUS if quick else CPUS)
    costs = dict(word.split("=") for word in settings["COSTS"].split())
    costs["seed"] = settings["SEED"]
    work = float(settings["WORK"])
    begin = time.monotonic()
    calibration = calibrate(costs) if settings["CALIBRATE"] == "1" and not quick else []
    results = {}
    for name in names:
        results[name] = {n: measure(ops, name, n, quick, costs, work) for n in cpus}
        for sides in results[name].values():
            for side, result in sides.items():
                explain(side, result)
        print(f"{name}: {' '.join(f'{n}:{ratio(results, name, n):.2f}x' for n in cpus)} "
              f"after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    sweep = {}
    if settings["SWEEP"] == "1" and not quick and set(names) & set(SWEEP_LOADS):
        sweep = sweeps(ops, names, costs, work)
    table_of_costs = json.loads(subprocess.run([vm.BUILD / SIDES["zext4"], "--costs"], check=True,
                                               capture_output=True, text=True).stdout)
    save("bench-sim", {"simulated": True, "settings": settings, "costs": table_of_costs,
                 "loads": ops["loads"], "calibration": calibration, "results": results,
                 "sweep": sweep, "seconds": round(time.monotonic() - begin),
                 "wanted": [dict(zip(("what", "wanted", "got", "reached"), row))
                            for row in verdicts(ops, results)]})
    text = report(ops, results, sweep, calibration)
    (vm.BUILD / "results" / "bench-sim.md").write_text(text + "\n")
    print(text)
    plot(results)


if __name__ == "__main__":
    main()
