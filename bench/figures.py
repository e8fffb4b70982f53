#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measures tables of bench/figures.json again, by the command that each has ("make figures").

    build/venv/bin/python bench/figures.py [TABLE...]    by default those that need no certain machine
    build/venv/bin/python bench/figures.py --take TABLE...    the results are in build/results already

Each table gets the commit and the day. What it measures must be committed. tools/figures --write
then brings the figures into the documents and draws the plots.
"""
import datetime
import json
import os
import re
import subprocess
import sys

import benchreport
import sim
from common import ROOT, vm

DATA = ROOT / "bench" / "figures.json"
RESULTS = vm.BUILD / "results"
# These run in a guest whose clock counts instructions, or are simulated: any machine will do.
HEADLINES = ["programs", "beside", "rounds", "fast", "simulated", "cores-simulated"]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


def results(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


# ---- from the results of a bench to rows ----

def of_bench(table):
    """Rows are LOAD or LOAD.WORKERS"""
    points = {}
    for point in results("bench")["points"]:
        for key in (point["load"], f"{point['load']}.{point['workers']}"):
            points[key] = point["arms"]
    for row in table["rows"]:
        yield row, [benchreport.figures(points[row][arm])["per_second"] for arm in table["columns"]]


def of_fast(table, name="fast"):
    """Rows are LOAD.WORKERS.DEVICE"""
    found = {f"{point['load']}.{point['workers']}.{point['us']}": point["arms"] for point in results(name)["points"]}
    for row in table["rows"]:
        yield row, [benchreport.figures(found[row][arm])["per_second"] for arm in table["columns"]]


def of_fsync(table):
    """Rows are CASE.KIND.FIELD"""
    found = {(each["case"], each["kind"]): each for each in results("fsync")["results"]}
    for row in table["rows"]:
        case, kind, field = row.split(".")
        unit = 1000 if field.endswith("_us") else 1
        yield row, [found[case, kind][arm][field] / unit for arm in table["columns"]]


def of_beside(table):
    """The same, and the buckets of all rounds: [milliseconds, fsyncs]"""
    bulk, = (each for each in results("fsync")["results"] if each["case"] == "bulk")
    table["buckets"] = {}
    for arm in table["columns"]:
        total = {}
        for run in bulk["runs"][arm]:
            for ns, count in run["hist"]:
                total[ns] = total.get(ns, 0) + count
        table["buckets"][arm] = [[round(ns / 1e6, 2), count] for ns, count in sorted(total.items())]
    return of_fsync(table)


def of_clock(table):
    return of_fast(table, "clock")


def of_bulk(table):
    """Relative to the first type; rows are LOAD.DISK"""
    found = {f"{each['load']}.{each['disk']}": each["types"] for each in results("bulk")["results"]}
    for row in table["rows"]:
        yield row, [found[row][arm]["ratio"] for arm in table["columns"]]


def of_nvm(table):
    """Columns are the bench's types, but "stock", which is its hdd"""
    found = results("nvm")["results"]
    for row in table["rows"]:
        yield row, [found[row][{"stock": "hdd"}.get(arm, arm)]["per_second"] for arm in table["columns"]]


def of_scale(table):
    """Relative to stock ext4"""
    found = results("nvm")["results"]
    for row in table["rows"]:
        yield row, [found[row][arm]["per_second"] / found[row]["ext4"]["per_second"] for arm in table["columns"]]


def of_sim(table):
    """Columns are numbers of CPUs"""
    found = results("bench-sim")["results"]
    for row in table["rows"]:
        yield row, [sim.ratio(found, row, cpus) for cpus in table["columns"]]


def of_ceiling(table):
    """Relative to ext4 without a journal; columns are numbers of CPUs"""
    found = results("bench-sim")["results"]
    for row in table["rows"]:
        yield row, [sim.ratio(found, row, cpus, to="nojournal") for cpus in table["columns"]]


def of_handles(table):
    """ns of a handle whose four blocks are in the running transaction; rows are numbers of CPUs"""
    for row in table["rows"]:
        cpus = int(row)
        found = {}
        for side, lanes in (("stock", 1), ("zext4", cpus)):
            done = sim.run(side, sim.four_blocks(16), "--cpus", cpus, "--lanes", lanes, "--device", "memory",
                           "--warm-up", 1000 * cpus, "--count", 3000 * cpus)
            found[side] = done["ns_per_operation_and_cpu"]
        yield row, [found[column] for column in table["columns"]]


READERS = {"programs": of_bench, "fast": of_fast, "fast-slower": of_fast, "fast-longer": of_fast, "clock": of_clock,
           "rounds": of_fsync, "steps": of_fsync, "beside": of_beside, "neighbours": of_fsync, "bulk": of_bulk, "bulk-journal": of_bulk, "nvm": of_nvm, "scale": of_scale,
           "simulated": of_sim, "ceilings": of_ceiling, "cores-simulated": of_handles}


# ---- the file ----

def text(data):
    """As JSON with a line for each row, so that a changed figure is a changed line"""
    out = json.dumps(data, indent=1, ensure_ascii=False)
    flat = re.compile(r"\[\s+((?:[^\[\]{}]|\[[^\[\]{}]*\])*?)\s+\]")
    return flat.sub(lambda m: "[" + re.sub(r"\s*\n\s*", " ", m[1]) + "]", out) + "\n"


def rounded(value):
    return value if value is None else float(f"{value:.4g}")


def take(name, table):
    for row, values in list(READERS[name](table)):
        table["rows"][row][1:] = map(rounded, values)
    table |= {"commit": git("rev-parse", "--short=7", "HEAD"), "date": str(datetime.date.today())}


def main():
    words = sys.argv[1:]
    taken = words[:1] == ["--take"]
    data = json.loads(DATA.read_text())
    for name in words[taken:] or HEADLINES:
        table = data[name]
        if name not in READERS:
            sys.exit(f"figures.py: {name} is taken from its bench by hand: {table['command']}")
        dirty = git("status", "--porcelain", "--", *table["of"])
        if dirty:
            sys.exit(f"figures.py: commit first what {name} measures:\n{dirty}")
        if not taken and READERS[name] is not of_handles:
            print(f"{name}: {table['command']}", flush=True)
            subprocess.run(table["command"], shell=True, cwd=ROOT, check=True, env=os.environ)
        take(name, table)
        DATA.write_text(text(data))


if __name__ == "__main__":
    main()
