#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""build/results/papers.json as tables and as a page with a plot for each figure (papers.md, papers.html).

    build/venv/bin/python bench/paperreport.py [DIRECTORY]
"""

import html
import json
import os
import re
import sys
from pathlib import Path

from benchreport import STYLE, svg, table
from common import pyplot, vm, write_report
from paperfigures import FIGURES, MISSING, PAPERS, STOCK

COLOURS = {STOCK: "#d1495b", "zext4": "#00798c", "zext4, one lane": "#66a182", "no journal": "#9a9a9a",
           "zext4, lines": "#00798c", "zext4, blocks": "#edae49"}
SPARE = ["#8d6cab", "#b07d4f", "#2e4057", "#5c8001", "#fb6107", "#444444"]
AXIS = {"concurrent": "clients", "bench": "CPUs, a worker on each", "sim": "virtual CPUs", "nvm": "sizes of the load"}
HEAD = ["load", "at", "arm", "measured", "to the base"]
PAPER_HEAD = ["the paper", "at", "value", "what its text says"]
UNKNOWN = "–"


def machine():
    return {"kernel of the guests": vm.Kernel.find().version, "CPUs here": str(os.cpu_count()),
            "memory here": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"}


def points_of(panel, run):
    """The points that a panel draws, with the value and the ratio to the base's at the same place."""
    chosen = [p for p in run["points"] if p["load"] in panel.get("loads", [p["load"]])]
    base = {(p["load"], p["x"]): p.get(panel["metric"]) for p in chosen if p["arm"] == panel["base"]}
    for p in chosen:
        value, by = p.get(panel["metric"]), base.get((p["load"], p["x"]))
        if value is None or p["arm"] not in panel.get("arms", [p["arm"]]):
            continue
        yield {"load": p["load"], "x": p["x"], "arm": p["arm"], "value": value,
               "ratio": value / by if by else None}


def number(value):
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def at(x):
    return UNKNOWN if x is None else str(x)


def rows(panel, run):
    return [[p["load"], at(p["x"]), p["arm"], number(p["value"]), f"{p['ratio']:.2f}" if p["ratio"] else ""]
            for p in points_of(panel, run)]


def paper_rows(panel):
    return [[curve, at(x), number(value), text] for curve, x, value, text in panel["paper"]]


def heading(panel):
    return panel["label"] + (f"; base: {panel['base']}" if panel["base"] else "; as measured")


def remarks(figure):
    """What is said below the title, in sentences."""
    if figure.get("simulated"):
        yield "SIMULATED: both journals' sources on virtual CPUs; nothing here was measured by a clock."
    yield from (figure[name] for name in ("how", "plot") if name in figure)


def measured(results):
    """[(name, figure, run)] of the figures that have something to draw"""
    there = [(name, figure, results["runs"].get(figure["run"], {"points": []})) for name, figure in FIGURES.items()]
    return [(name, figure, run) for name, figure, run in there
            if any(rows(panel, run) for panel in figure["panels"])]


def briefly(why):
    """The line of a failure that says most: the kernel's first complaint, else the last line."""
    lines = why.strip().splitlines() or ["no reason given"]
    return next((line for line in lines if re.search(r"BUG|Oops|WARNING|error", line)), lines[-1]).strip()[:300]


def failed(results):
    return [(name, briefly(run["failure"])) for name, run in results["runs"].items() if run["failure"]]


# ---- tables ----

def as_table(head, body):
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in body)]


def section(name, figure, run):
    paper = PAPERS[figure["paper"]]
    out = ["", f"## {name}: {figure['title']}", "",
           f"{paper['title']}, figure {figure['figures']}; there: {paper['machine']}.", *remarks(figure)]
    for panel in figure["panels"]:
        out += ["", heading(panel), "", *as_table(HEAD, rows(panel, run))]
        if panel["paper"]:
            out += ["", *as_table(PAPER_HEAD, paper_rows(panel))]
    return out


def markdown(results):
    out = ["# The papers' figures, measured here", ""]
    out += [f"- {name}: {value}" for name, value in results["machine"].items()]
    out += [f"- {name}={value}" for name, value in results["settings"].items()]
    for name, figure, run in measured(results):
        out += section(name, figure, run)
    out += ["", "## Not to be had here", ""] + [f"- {what}: {why}" for what, why in MISSING]
    out += [f"- {name} failed: {why}" for name, why in failed(results)]
    return "\n".join(out) + "\n"


# ---- plots ----

def colour(arm, arms):
    others = [a for a in arms if a not in COLOURS]
    return COLOURS.get(arm) or SPARE[others.index(arm) % len(SPARE)]


def places(points, panel):
    """The x axis: numbers as they are, words in the order in which they come."""
    xs = [p["x"] for p in points] + [x for _, x, _, _ in panel["paper"] if x is not None]
    if all(isinstance(x, int) for x in xs):
        return {x: x for x in xs}, False
    return {x: n for n, x in enumerate(dict.fromkeys(xs))}, True


def draw_paper(axes, panel, place):
    """The paper's values: hollow where the text says at which x, else a dotted line across."""
    for n, curve in enumerate(dict.fromkeys(curve for curve, *_ in panel["paper"])):
        tone = ["#000000", "#7a7a7a", "#a05a00", "#5a5aa0"][n % 4]
        values = [(x, value) for c, x, value, _ in panel["paper"] if c == curve]
        there = [(place[x], value) for x, value in values if x is not None]
        label = f"paper: {curve}"
        if there:
            axes.plot(*zip(*there), marker="D", markerfacecolor="none", linestyle="--", color=tone, label=label)
            label = None
        for x, value in values:
            if x is None:
                axes.axhline(value, linestyle=":", color=tone, label=label)
                label = None


def draw(axes, panel, run):
    points = list(points_of(panel, run))
    field = "ratio" if panel["base"] else "value"
    place, words = places(points, panel)
    arms = list(dict.fromkeys(p["arm"] for p in points))
    for arm in arms:
        line = sorted((place[p["x"]], p[field]) for p in points if p["arm"] == arm and p[field] is not None)
        if line:
            axes.plot(*zip(*line), marker="o", markersize=4, color=colour(arm, list(run["declared"]["arms"])), label=arm)
    draw_paper(axes, panel, place)
    axes.set_xticks(list(place.values()), [str(x) for x in place], rotation=15 if words else 0)
    axes.set_xlabel(AXIS[run["declared"]["driver"]])
    axes.set_title(heading(panel), loc="left", fontsize=9)
    axes.set_ylabel(f"ratio to {panel['base']}" if panel["base"] else panel["label"])
    drawn = [v for p in points if (v := p[field]) is not None] + [value for _, _, value, _ in panel["paper"]]
    if panel["base"] and min(drawn) > 0 and max(drawn) / min(drawn) > 10:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=7)


def plot(figure, run):
    """An SVG with a panel beside the other, two in a line"""
    plt, panels = pyplot(), figure["panels"]
    lines = -(-len(panels) // 2)
    with plt.rc_context({"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
                         "font.size": 9, "svg.hashsalt": "zjournal", "svg.fonttype": "none", "font.family": "sans-serif"}):
        drawing, axes = plt.subplots(lines, min(2, len(panels)), figsize=(5.6 * min(2, len(panels)), 3.6 * lines),
                                     squeeze=False, layout="constrained")
        for ax, panel in zip(axes.flat, panels):
            draw(ax, panel, run)
        for ax in axes.flat[len(panels):]:
            ax.axis("off")
        return svg(drawing)


# ---- page ----

def html_section(name, figure, run):
    paper = PAPERS[figure["paper"]]
    out = [f"<h2 id={name}>{html.escape(name)}: {html.escape(figure['title'])}</h2>",
           f"<p class=sub>{html.escape(paper['title'])}, figure {html.escape(figure['figures'])}; "
           f"there: {html.escape(paper['machine'])}.</p>",
           *(f"<p>{html.escape(text)}</p>" for text in remarks(figure)), plot(figure, run),
           "<details><summary>Figures</summary>"]
    for panel in figure["panels"]:
        out += [f"<p class=sub>{html.escape(heading(panel))}</p>", table(HEAD, rows(panel, run))]
        if panel["paper"]:
            out.append(table(PAPER_HEAD, paper_rows(panel)))
    return "\n".join([*out, "</details>"])


def page(results):
    about = ("Curves are ratios to stock ext4 of the same run, or to what the title names; the papers' values are ratios "
             "to their own stock on their own machines. A diamond: the text says where it is. A dotted line: it does not.")
    out = ["<!doctype html><html lang=en><meta charset=utf-8><title>zjournal: the papers' figures</title>",
           f"<style>{STYLE}</style><h1>The papers' figures, measured here</h1><p class=sub>{about}</p>"]
    out += [html_section(name, figure, run) for name, figure, run in measured(results)]
    out += ["<h2>Not to be had here</h2><ul>",
            *(f"<li>{html.escape(what)}: {html.escape(why)}</li>" for what, why in MISSING),
            *(f"<li>{html.escape(name)} failed: {html.escape(why)}</li>" for name, why in failed(results)), "</ul>"]
    return "\n".join([*out, "</html>"]) + "\n"


def write(results, directory):
    write_report("papers", directory, markdown(results), page(results))


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else vm.BUILD / "results"
    write(json.loads((where / "papers.json").read_text()), where)
