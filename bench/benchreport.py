#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""build/results/bench.json as Markdown tables and as a page with plots (bench.md, bench.html).

    build/venv/bin/python bench/benchreport.py [DIRECTORY]
"""

import html
import io
import json
import statistics
import sys
from pathlib import Path

import apps
from common import pyplot, vm, write_report

QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
COLOURS = {"nojournal": "#9a9a9a", "ext4": "#d1495b", "fastcommit": "#edae49", "zext4:lanes=1": "#66a182",
           "zext4": "#00798c", "zext4:log=jbd2": "#2e4057", "xfs": "#8d6cab", "btrfs": "#b07d4f"}
NAMES = {"nojournal": "ext4 without a journal", "ext4": "ext4", "fastcommit": "ext4, fast_commit",
         "zext4:lanes=1": "zext4, one lane", "zext4": "zext4, a lane for each CPU", "zext4:log=jbd2": "zext4, log=jbd2",
         "xfs": "XFS", "btrfs": "btrfs"}
LOADS = {
    "DWOL": "overwrite a block of an own file", "DWOM": "overwrite an own block of a shared file",
    "DWAL": "append to an own file", "DWSL": "overwrite a block of an own file, fsync",
    "MWCL": "create files in an own directory", "MWCM": "create and write files in a shared directory",
    "MWUL": "delete files of an own directory", "MWUM": "delete files of a shared directory",
    "MWRL": "rename a file in an own directory", "MWRM": "rename files into a shared directory",
    "varmail": "mail server, a directory for each worker", "varmail-shared": "mail server, one directory",
    "fileserver": "file server, a tree for each worker", "fileserver-shared": "file server, one tree",
    "randsync": "random overwrites of shared files, an fsync after each 100",
    "insert": "inserts of a database, a redo log for each worker", "insert-shared": "inserts of a database, one redo log",
} | apps.merged("LOADS")
# What no bench of this kind can hold still.
BEYOND = ["heat and the clock rate that it allows", "what else the machine does", "the device's state inside "
          "(wear, garbage collection, its own cache)", "where the file systems' own tools place things"]


def merged(runs, kind):
    """The buckets of all runs, [[lower end, count]]"""
    total = {}
    for run in runs:
        for low, count in run["hist"][kind]:
            total[low] = total.get(low, 0) + count
    return sorted(total.items())


def kind_of(runs):
    """The fsyncs if there are any, else the works: what the reader wants the latency of."""
    return "fsyncs" if any(run["fsyncs_count"] for run in runs) else "works"


def figures(runs):
    """Medians of the rounds; the longest of all; the spread: largest minus smallest, to the median"""
    rates = [run["per_second"] for run in runs]
    middle, kind = statistics.median(rates), kind_of(runs)
    count = sum(run[f"{kind}_count"] for run in runs)
    # An application may not tell all of them.
    known = {name: [run[f"{kind}_{name}"] for run in runs if run[f"{kind}_{name}"] is not None]
             for name in ("mean", *QUANTILES, "longest")}
    latency = {name: statistics.median(values) if values else None for name, values in known.items()}
    latency["longest"] = max(known["longest"], default=None)
    return {"per_second": middle, "spread": (max(rates) - min(rates)) / middle if middle else 0,
            "per_second_synced": statistics.median(run["per_second_synced"] for run in runs), "kind": kind,
            "samples": count, "latency": latency, "runs": len(runs),
            "flushes": statistics.median(run["flushes"] / max(run["works"], 1) for run in runs),
            "writes": statistics.median(run["writes"] / max(run["works"], 1) for run in runs)}


def shown(figure, name):
    """A percentile (or the longest) in ms, if it was told, and if there were enough samples in a run to know it."""
    needed = 1 / (1 - QUANTILES.get(name, 0))
    value = figure["latency"][name]
    return f"{value / 1000:.2f}" if value is not None and figure["samples"] / figure["runs"] >= needed else "–"


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


HEAD = ["file system", "data", "CPUs", "works/s", "spread", "to ext4", "with syncfs", "p50", "p99", "p99.9", "longest",
        "flushes", "writes"]


def rows(points):
    """A row for each arm of each point; flushes and writes for each work."""
    for point in points:
        stock = point["arms"].get("ext4")
        base = figures(stock)["per_second"] if stock else 0
        for arm, runs in point["arms"].items():
            f = figures(runs)
            yield [NAMES.get(arm, arm), "" if arm in ("nojournal", "xfs", "btrfs") else point["mode"],
                   str(point["workers"]), number(f["per_second"]), f"{f['spread']:.0%}",
                   f"{f['per_second'] / base:.2f}" if base else "", number(f["per_second_synced"]),
                   *(shown(f, name) for name in (*QUANTILES, "longest")),
                   f"{f['flushes']:.2f}", f"{f['writes']:.2f}"]


def by_load(results):
    loads = {}
    for point in results["points"]:
        if point["arms"]:
            loads.setdefault(point["load"], []).append(point)
    return loads


def latency_of(points):
    waits = {apps.merged("WAITS").get(point["load"]) for point in points}
    if None not in waits:
        return " or ".join(sorted(waits))
    kinds = {figures(runs)["kind"] for point in points for runs in point["arms"].values()}
    return "an fsync" if kinds == {"fsyncs"} else "a work"


def markdown(results):
    out = ["# Benchmark", ""]
    out += [f"- {name}: {value}" for name, value in results["machine"].items() if value]
    out += [f"- {name}={value}" for name, value in results["settings"].items()]
    for load, points in by_load(results).items():
        out += ["", f"## {load}: {LOADS.get(load, load)}", "",
                f"Latencies are those of {latency_of(points)}, in milliseconds.", "",
                f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        out += [f"| {' | '.join(row)} |" for row in rows(points)]
    return "\n".join(out) + "\n"


# ---- plots ----

def arms_in(points):
    return list(dict.fromkeys(arm for point in points for arm in point["arms"]))


def colour(arm, arms):
    spare = ["#444444", "#5c8001", "#7cb518", "#fb6107", "#0f4c5c"]
    others = [a for a in arms if a not in COLOURS]
    return COLOURS.get(arm) or spare[others.index(arm) % len(spare)]


def scaling(axes, points, arms):
    """Throughput over the number of CPUs, the spread as a band."""
    for arm in arms:
        there = [(p["workers"], [r["per_second"] for r in p["arms"][arm]]) for p in points if arm in p["arms"]]
        at = [n for n, _ in there]
        axes.plot(at, [statistics.median(rates) for _, rates in there], marker="o", markersize=4,
                  color=colour(arm, arms), label=NAMES.get(arm, arm))
        axes.fill_between(at, [min(rates) for _, rates in there], [max(rates) for _, rates in there],
                          color=colour(arm, arms), alpha=0.15, linewidth=0)
    axes.set_xticks(sorted({p["workers"] for p in points}))
    axes.set_xlabel("CPUs, a worker on each")
    axes.set_ylabel("works per second")
    axes.set_ylim(bottom=0)


def tail(axes, point, arms):
    """Which share of latencies is longer, both on a logarithmic scale: a tail is a line that goes far right."""
    for arm in arms:
        runs = point["arms"].get(arm)
        buckets = merged(runs, kind_of(runs)) if runs else []
        total, seen, x, y = sum(count for _, count in buckets), 0, [], []
        for low, count in buckets:
            x.append(max(low, 1) / 1e6)
            y.append((total - seen) / total)
            seen += count
        if x:
            axes.step([*x, x[-1]], [*y, 1 / total], where="post", color=colour(arm, arms), label=NAMES.get(arm, arm))
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="minor", labelsize=7, rotation=45)
    axes.set_xlabel(f"latency of {latency_of([point])}, ms")
    axes.set_ylabel("share that takes at least as long")


def svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    pyplot().close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def plots(points):
    """Of one load and one mode: scaling, and the latencies at the most CPUs"""
    plt = pyplot()
    arms, last = arms_in(points), max(points, key=lambda p: p["workers"])
    with plt.rc_context({"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
                         "font.size": 9, "svg.hashsalt": "zjournal", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
        scaling(left, points, arms)
        tail(right, last, arms)
        left.set_title("Throughput", loc="left")
        right.set_title(f"Latency at {last['workers']} CPUs", loc="left")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        return svg(figure)


# ---- page ----

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.8rem; margin-bottom: 0; } h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
.sub { color: #666; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { color: #666; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; font-size: 13px; }
dt { color: #666; } dd { margin: 0; } details { margin: .6rem 0; } .wide { overflow-x: auto; }
"""


def table(head, body):
    def cells(tag, words):
        return "<tr>" + "".join(f"<{tag}>{html.escape(word)}</{tag}>" for word in words) + "</tr>"

    lines = [cells("th", head), *(cells("td", row) for row in body)]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def described(values):
    return "<dl>" + "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value) or 'not told'}</dd>"
                            for name, value in values.items()) + "</dl>"


def section(load, points):
    out = [f"<h2>{html.escape(load)}: {html.escape(LOADS.get(load, ''))}</h2>"]
    for mode in dict.fromkeys(point["mode"] for point in points):
        of_mode = [point for point in points if point["mode"] == mode]
        out += [f"<p class=sub>data={html.escape(mode)}</p>", plots(of_mode)]
    out += ["<details><summary>Figures</summary>",
            f"<p class=sub>Latencies are those of {latency_of(points)}, in milliseconds; a dash: too few for this "
            "percentile. Flushes and writes of the device are for each work.</p>", table(HEAD, rows(points)), "</details>"]
    return "\n".join(out)


def page(results):
    emulated = "where it runs may be seen below"
    if "emulation" in results["machine"].get("where", ""):
        emulated = ("the processor is emulated, all CPUs in turn: compare what waits for the disk, not what computes; "
                    "the disk is simulated as well")
    runs = max((len(r) for p in results["points"] for r in p["arms"].values()), default=0)
    out = ["<!doctype html><html lang=en><meta charset=utf-8><title>zjournal: benchmark</title>",
           f"<style>{STYLE}</style><h1>zext4 beside other file systems</h1>",
           f"<p class=sub>Medians of {runs} runs in turn on new file systems; bands show the smallest and the largest. "
           f"Note: {emulated}.</p>", *(section(load, points) for load, points in by_load(results).items()),
           "<h2>Machine</h2>", described(results["machine"]),
           f"<p>Not under control: {'; '.join(BEYOND)}.</p>", "<h2>Settings</h2>", described(results["settings"]), "</html>"]
    return "\n".join(out) + "\n"


def write(results, directory):
    write_report("bench", directory, markdown(results), page(results))


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else vm.BUILD / "results"
    write(json.loads((where / "bench.json").read_text()), where)
