#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Generated mutants: every statement of src/ changed by rule, and the tests that notice.

    tests/mutants/auto/auto.py [--sample N] [--seed S] [--file src/FOLDER/X.c ...]
        [--function F] [--rule R] [--seconds T] [--sim T] [--no-asan] [--again]
        [--quick T]
    tests/mutants/auto/auto.py --only ID | --show ID | --list | --report | --unreached

With --quick only the cheapest tests of each program, for T seconds, and neither the
simulator nor sanitizers: five times as many an hour. What survives is tried in full
by the next run without it.

A mutant is compiled alone, linked with what was built once, and given to the tests
that reach its statement, cheapest first: tests/unit/core, tests/schedules,
tests/unit, the simulator for --sim seconds of CPU, some of tests/unit under ASan,
tests/threads under TSan. The first that fails has caught it.

Its id is file:function:hash of the function's text:rule:number, so it lives as long
as the function stays as it is. Results are kept in build/results/mutants-auto.json;
a run goes on where the last one ended. What survived is tried again when the tests
have changed, or with --again. The order is by a hash of seed and id: edits elsewhere
do not change which mutants a sample has. A sample is one of all of src/: with --file,
--function or --rule those of it are tried that lie there, file by file as they are
named, and runs over parts of it add up.

equivalent.txt lists mutants that were read and change nothing, each with why. They
count as neither. So do those that do not compile, and those that compile to the
same object.
"""
import argparse
import collections
import difflib
import hashlib
import json
import os
import pathlib
import sys
import time

import layers
from rules import Mutator

RESULTS = layers.TOP / "build/results/mutants-auto.json"
EQUIVALENT = layers.HERE / "equivalent.txt"
APART = ("stat", "text", "assert", "order")


def all_mutants(sources):
    return [m for s in sources.values() for m in Mutator(s).run()]


def reviewed():
    """{id: why it changes nothing}."""
    out = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, why = line.partition(" ")
            out[name] = why.strip()
    return out


def shuffled(mutants, seed):
    return sorted(mutants,
                  key=lambda m: hashlib.sha1(f"{seed} {m.id}".encode()).digest())


def load():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(results):
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    new = RESULTS.with_suffix(".new")
    new.write_text(json.dumps(results, indent=0, sort_keys=True) + "\n")
    os.replace(new, RESULTS)


def show(mutant, path, text):
    new = mutant.apply(text)
    name = f"src/{path}"
    print(f"# {mutant.id} ({mutant.kind})")
    print("".join(difflib.unified_diff(text.splitlines(True), new.splitlines(True),
                                       f"a/{name}", f"b/{name}")), end="")


# ---- report ----

def state(mutant, results, listed):
    if mutant.id in listed:
        return "listed"
    return results.get(mutant.id, {}).get("status")


def report(mutants, results, listed):
    """The table by file, and the survivors."""
    rows = collections.defaultdict(collections.Counter)
    apart, left = collections.defaultdict(collections.Counter), []
    for m in mutants:
        what = state(m, results, listed)
        if not what:
            continue
        if m.kind in APART:
            apart[m.kind][what] += 1
            continue
        rows[m.file][what] += 1
        rows["all"][what] += 1
        if what == "survived":
            left.append(m)
    print("\n| file | judged | caught | survived | % | same object | listed | invalid |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sorted(rows, key=lambda n: (n == "all", n)):
        c = rows[name]
        judged = c["caught"] + c["survived"]
        share = f"{100 * c['caught'] / judged:.1f}" if judged else "-"
        print(f"| {name} | {judged} | {c['caught']} | {c['survived']} | {share} | "
              f"{c['same']} | {c['listed']} | {c['invalid']} |")
    for name, c in sorted(apart.items()):
        print(f"| apart: {name} | {c['caught'] + c['survived']} | {c['caught']} | "
              f"{c['survived']} | | {c['same']} | {c['listed']} | {c['invalid']} |")
    if left:
        print("\nSurvivors:")
    for m in sorted(left, key=lambda m: (m.file, m.line)):
        how = results[m.id].get("how") or ""
        print(f"{m.id}  line {m.line}: {m.old[:60]} => {m.new[:60]}  {how}")
    return left


def unreached(judge):
    """Statements that no test reaches, or the simulator alone."""
    by_site = collections.defaultdict(set)
    for layer in judge.layers:
        for sites in layer.reached.values():
            for site in sites:
                by_site[site].add(layer.name)
    for source in judge.sources.values():
        for function in source.functions:
            for stmt in source.statements(function.body):
                who = by_site.get(stmt.site, set())
                if stmt.kind not in ("decl", "label", "empty", "block") and who <= {"sim"}:
                    text = source.normal(stmt.first, stmt.last)[:60]
                    print(f"src/{source.name}:{source.line(stmt.first)} {function.name}: "
                          f"{'simulator only' if who else 'nobody'}: {text}")


# ---- run ----

def wanted(mutants, args):
    files = [pathlib.Path(f).name for f in args.file]
    return [m for m in mutants
            if (not files or m.file in files) and
            (not args.function or m.function == args.function) and
            (not args.rule or m.rule == args.rule) and
            (not args.only or m.id in args.only)]


def in_order(mutants, args):
    """The order: by hash, or with named files one file after the other."""
    files = [pathlib.Path(f).name for f in args.file]
    return sorted(shuffled(mutants, args.seed), key=lambda m: files.index(m.file) if files else 0)


def sample_of(mutants, args, results, listed):
    """
    Those that count for the sample, and what lies between them. What is not tried yet
    counts: the sample grows when that turns out not to compile, or to change nothing.
    """
    out, counted = [], 0
    for m in shuffled(mutants, args.seed):
        if counted == args.sample:
            break
        out.append(m)
        counted += state(m, results, listed) in (None, "caught", "survived") and \
            m.kind not in APART
    return out


def judged_before(m, results, tests, args):
    """The mutants that need not be tried again."""
    old = results.get(m.id)
    if not old or args.again or args.only:
        return None
    if old["status"] == "survived" and old["tests"] != tests:
        return None
    return old["status"]


def run(everything, args, judge, results, listed):
    """Try the requested mutants until none is left."""
    tests = f"{judge.tests_hash()} sim {args.sim}" + (f" quick {args.quick}" if args.quick else "")
    begin, tried, done = time.time(), 0, set()
    start_cpu = layers.children_cpu()
    while True:
        todo = [m for m in in_order(chosen_of(everything, args, results, listed), args)
                if m.id not in done and (m.id not in listed or args.only)]
        if not todo:
            break
        for m in todo:
            if args.seconds and time.time() - begin > args.seconds:
                break
            done.add(m.id)
            if not judged_before(m, results, tests, args):
                tried += 1
                try_one(m, args, judge, results, tests)
                if tried % 10 == 0:
                    save(results)
        else:
            continue
        break
    save(results)
    cpu = layers.children_cpu() - start_cpu
    print(f"\n{tried} tried now, {cpu:.0f} s of CPU, {cpu / max(tried, 1):.2f} s each")


def try_one(m, args, judge, results, tests):
    cpu = layers.children_cpu()
    status, by, how = judge.try_mutant(m, not args.no_asan)
    cpu = round(layers.children_cpu() - cpu, 2)
    results[m.id] = {"status": status, "class": m.kind, "by": by, "how": how,
                     "cpu": cpu, "tests": tests}
    if status == "survived" or args.only or args.verbose:
        print(f"{status:9}{cpu:6.1f} s  {m.id}  line {m.line}: {m.old[:70]} => "
              f"{m.new[:70]}  {by or ''}: {how or ''}", flush=True)


def chosen_of(everything, args, results, listed):
    if args.sample and not args.only:
        everything = sample_of(everything, args, results, listed)
    return wanted(everything, args)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="so many; default: all")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--function")
    parser.add_argument("--rule")
    parser.add_argument("--seconds", type=int, default=0, help="wall time")
    parser.add_argument("--sim", type=float, default=3.0, help="CPU seconds in each mode")
    parser.add_argument("--no-asan", action="store_true")
    parser.add_argument("--quick", type=float, default=0, metavar="T")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--only", metavar="ID", action="append", default=[])
    parser.add_argument("--show", metavar="ID", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--unreached", action="store_true", help="list statements")
    args = parser.parse_args()
    if args.quick:
        args.sim, args.no_asan = 0, True
    return args


def main():
    args = parse_args()
    os.nice(max(0, 10 - os.nice(0)))
    where = layers.TOP / "src"
    if not (args.show or args.list or args.report):
        alone = layers.only_one()
        layers.snapshot()
        where = layers.SRC
    everything = all_mutants(layers.sources(where))
    listed, results = reviewed(), load()
    known = {m.id: m for m in everything}
    for name in args.show + args.only:
        if name not in known:
            sys.exit(f"no such mutant: {name}")
    for name in args.show:
        path = next(where.glob(f"*/{known[name].file}"))
        show(known[name], path.relative_to(where), path.read_text())
    if args.list:
        for m in chosen_of(everything, args, results, listed):
            print(f"{m.id}  {m.kind}  line {m.line}: {m.old[:70]} => {m.new[:70]}")
    if args.show or args.list:
        return 0
    stale = [name for name in listed if name not in known]
    if stale:
        print("equivalent.txt names what is no more:", *stale, sep="\n  ")
    if not args.report:
        judge = layers.Judge(args.sim, quick=args.quick)
        judge.prepare()
        if args.unreached:
            unreached(judge)
            return 0
        run(everything, args, judge, results, listed)
    report(chosen_of(everything, args, results, listed), results, listed)
    if not args.report:
        alone.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
