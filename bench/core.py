#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The journal's own code by the clock, in user space, beside stock jbd2 under the same layer.

    build/venv/bin/python bench/core.py [NAME=value ...]

ROUNDS=5        runs of each row; sides take turns, each round in the other order
TESTS=...       of handles phases commits memory recovery chain; all of them by default
THREADS="1 2"   numbers of threads; by default 1, 2, 4 and so on, and one for each CPU
MS=1000         milliseconds of a run

build/results/core.json has all runs, core.png the plot. bench/core/README.md says how to read them.
"""

import os
import statistics
import sys

from common import arguments, json_of, pyplot, save, save_plot, vm

# What of a test's runs is compared: field, unit, and whether more is better.
FIGURES = {
    "handles": [("ns", "ns a handle", False)],
    "commits": [("per_s", "fsyncs/s", True), ("cpu_us", "us of CPU an fsync", False)],
    "memory": [("running", "bytes a block, before its commit", False),
               ("logged", "bytes a block, until it is home", False)],
    "recovery": [("mib_per_s", "MiB/s", True), ("mib_per_cpu_s", "MiB/s of CPU", True)],
    "chain": [("least_us", "us, the fastest of each run", False)],
    "phases": [("start", "ns", False)],
}
PHASES = ["start", "access", "dirty", "stop"]
LENGTHS = [1, 2, 4, 8, 16, 32, 64]


def counts(cpus):
    """1, 2, 4 ... and as many as there are CPUs."""
    return sorted({2 ** i for i in range(cpus.bit_length()) if 2 ** i <= cpus} | {cpus})


def sides(threads):
    """(name, program, options) of what is compared with so many threads."""
    rows = [("stock", "stock", []), ("1 lane", "zj", ["--lanes", "1"])]
    if threads > 1:
        rows.append((f"{threads} lanes", "zj", ["--lanes", str(threads)]))
    return rows


def cases(tests, threads, settings):
    """[(test, case, threads, [side])]"""
    time = ["--ms", settings["MS"]]
    rows = []
    for n in threads:
        for case, flags in (("again, private", []), ("again, shared", ["--shared"]),
                            ("first, private", ["--first"]),
                            ("first, near", ["--first", "--near"])):
            if ("shared" if n == 1 else "near") not in case:
                rows.append(("handles", case, n, [(*side, flags + time) for side in sides(n)]))
        rows.append(("commits", "private", n, [(*side, time) for side in sides(n)]))
    for case, flags in (("again", []), ("first", ["--first"])):
        rows.append(("phases", case, 1, [(*side, ["--phases"] + flags + time)
                                         for side in sides(1)]))
    rows.append(("memory", "", 1, [(*side, []) for side in sides(1)]))
    rows.append(("recovery", "", 1, [(*side, []) for side in sides(1) + [
        ("stock's log", "zj", ["--jbd2"])]]))
    rows += [("chain", f"{length}", 1, [("zjournal", "zj", [], ["--length", str(length)] + time)])
             for length in LENGTHS]
    return [row for row in rows if row[0] in tests]


def run(test, threads, side):
    _, program, options, more = side
    name = "handles" if test == "phases" else test
    command = [vm.BUILD / f"zjcore-{program}", name, "--threads", str(threads), *options, *more]
    return json_of(command, 300)


def measure(rows, rounds):
    """All runs, by (test, case, threads, side)."""
    runs = {}
    for number in range(rounds):
        for test, case, threads, compared in rows:
            for side in compared[::-1] if number % 2 else compared:
                runs.setdefault((test, case, threads, side[0]), []).append(
                    run(test, threads, side))
    return runs


def summary(runs, field):
    """(median, spread) of the runs that have the figure: 0 says that a run has none."""
    got = [run[field] for run in runs if run[field]]
    if not got:
        return None, None
    middle = statistics.median(got)
    return middle, (max(got) - min(got)) / middle


def results(runs):
    rows = []
    for (test, case, threads, side), got in runs.items():
        for field, unit, more in FIGURES[test]:
            middle, spread = summary(got, field)
            rows.append({"test": test, "case": case, "threads": threads, "side": side,
                         "field": field, "unit": unit, "more_is_better": more, "median": middle,
                         "spread": spread, "runs": got})
    return rows


def find(rows, like, **other):
    """The row that is as another one but for this."""
    wanted = {key: like[key] for key in ("test", "case", "threads", "side", "field")} | other
    return next((row for row in rows if all(row[k] == v for k, v in wanted.items())), None)


def ratio(row, to):
    """This row's figure by another one's."""
    if not to or not to["median"] or not row["median"]:
        return None
    return row["median"] / to["median"]


def scaling(row, rows):
    """Handles a second by those of one thread, with blocks of its own."""
    one = find(rows, row, threads=1, case=row["case"].replace("shared", "private"),
               side=row["side"] if row["side"] == "stock" else "1 lane")
    times = ratio(row, one)
    if row["test"] != "handles" or row["threads"] == 1 or not times:
        return None
    return row["threads"] / times


def cell(value, form):
    return "" if value is None else form.format(value)


def show(rows):
    print(f"{'test':10}{'case':16}{'threads':8}{'side':13}{'median':>12}{'spread':>8}"
          f"{'/ stock':>9}{'/ 1 thread':>12}  unit")
    for row in rows:
        if row["test"] == "phases":
            continue
        by_stock = ratio(row, find(rows, row, side="stock"))
        print(f"{row['test']:10}{row['case']:16}{row['threads']:<8}{row['side']:13}"
              f"{cell(row['median'], '{:.1f}') or '-':>12}{cell(row['spread'], '{:.0%}'):>8}"
              f"{cell(by_stock, '{:.2f}'):>9}{cell(scaling(row, rows), '{:.2f}'):>12}"
              f"  {row['unit']}")


def show_phases(rows):
    for row in rows:
        if row["test"] == "phases":
            parts = "  ".join(f"{phase} {summary(row['runs'], phase)[0] or 0:.1f}"
                              for phase in PHASES)
            print(f"phases, {row['case']:6}{row['side']:8}ns with the counter's own: {parts}")


def lane_each(row):
    """Whether there were as many lanes as threads."""
    return row["side"] == ("1 lane" if row["threads"] == 1 else f"{row['threads']} lanes")


def draw(axis, points, **more):
    if points:
        axis.plot(*zip(*points), marker="o", **more)


def plot(rows):
    figure, axes = pyplot().subplots(1, 3, figsize=(15, 4.5))
    for axis, case in zip(axes, ("again, private", "first, private")):
        drawn = [row for row in rows if row["test"] == "handles" and row["case"] == case and
                 row["median"]]
        for label in ("stock", "1 lane", "a lane each"):
            draw(axis, [(row["threads"], row["threads"] * 1e3 / row["median"]) for row in drawn
                        if row["side"] == label or label == "a lane each" and lane_each(row)],
                 label=label)
        axis.set(title=f"blocks: {case}", xlabel="threads", ylabel="million handles a second",
                 ylim=(0, None))
        if drawn:
            axis.legend()
    draw(axes[2], [(int(row["case"]), row["median"]) for row in rows if row["test"] == "chain"])
    axes[2].set(title="chain of dependent transactions", xlabel="length",
                ylabel="us until all are committed", ylim=(0, None))
    figure.tight_layout()
    save_plot(figure, "core")


def main():
    settings = {"ROUNDS": "5", "MS": "1000", "TESTS": " ".join(FIGURES),
                "THREADS": " ".join(map(str, counts(os.cpu_count()))), **arguments()}
    unknown = set(settings["TESTS"].split()) - set(FIGURES)
    if unknown:
        sys.exit(f"core.py: there is no test {' '.join(unknown)}; there are {' '.join(FIGURES)}")
    todo = cases(settings["TESTS"].split(), list(map(int, settings["THREADS"].split())), settings)
    rows = results(measure(todo, int(settings["ROUNDS"])))
    save("core", {"settings": settings, "cpus": os.cpu_count(), "load": os.getloadavg(),
                  "results": rows})
    show(rows)
    show_phases(rows)
    plot(rows)


if __name__ == "__main__":
    main()
