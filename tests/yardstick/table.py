#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stock jbd2 and zjournal side by side in the simulator: SIMULATED figures."""
import argparse
import json
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ["private", "private-fsync", "shared", "shared-fsync", "big", "small-log"]
MODEL = (
    "SIMULATED: virtual time, no real machine. Time costs: the file system's work in "
    "a handle (in parallel on all CPUs), a cache line that another CPU wrote last where "
    "a journal writes to a lock, an atomic or a reference count, and the disk. "
    "Computing inside the journal, plain loads and stores, and waiting for a CPU cost "
    "nothing; readers of a rwlock exclude each other. Blocks are of 1 KiB, the commit "
    "interval is 50 ms, the disk is an SSD with a volatile cache and FUA: write 20 us + "
    "2 us a block, FUA 80 us more, flush 300 us, one at a time and shared by all who wait.")
COLUMNS = [("handles_per_virtual_s", "handles/s", "{:.0f}"),
           ("fsync_median_us", "fsync us", "{:.0f}"),
           ("fsync_p99_us", "p99 us", "{:.0f}"),
           ("log_blocks_per_handle", "log blk/handle", "{:.2f}"),
           ("flushes_per_fsync", "flush/fsync", "{:.2f}")]


def run(journal, workload, cpus, args):
    done = subprocess.run(
        [TOP / f"build/zjyard-{journal}", "--bench", workload, "--cpus", str(cpus),
         "--seed", str(args.seed), "--ms", str(args.ms), "--work", str(args.work),
         "--line", str(args.line)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"zjyard-{journal} fails in {workload}:\n{done.stderr}"
                         "Build it with make -C tests/yardstick")
    return json.loads(done.stdout)


def ratio(stock, zj, key):
    return round(zj[key] / stock[key], 3) if stock[key] else None


def cell(pair, key, form):
    stock, zj = pair["stock"], pair["zjournal"]
    if not stock[key] and not zj[key]:
        return "-"
    times = pair["ratio"][key]
    return "{} {} {}".format(form.format(stock[key]), form.format(zj[key]),
                             "" if times is None else f"x{times:.2f}").strip()


def show(pairs):
    rows = [["SIMULATED", "CPUs"] + [title for _, title, _ in COLUMNS]]
    for pair in pairs:
        rows.append([pair["stock"]["workload"], str(pair["stock"]["cpus"])] +
                    [cell(pair, key, form) for key, _, form in COLUMNS])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    print("each: stock, zjournal, zjournal / stock;", MODEL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="two runs, not saved")
    parser.add_argument("--cpus", default="1,4,16,32")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ms", type=int, default=100, help="of virtual time")
    parser.add_argument("--work", type=int, default=10000, help="ns of a handle")
    parser.add_argument("--line", type=int, default=50, help="ns of a cache line")
    args = parser.parse_args()
    workloads = WORKLOADS
    if args.short:
        workloads, args.cpus, args.ms = ["private", "shared-fsync"], "4", 20
    pairs = []
    for workload in workloads:
        for cpus in map(int, args.cpus.split(",")):
            stock, zj = (run(journal, workload, cpus, args) for journal in ("stock", "zj"))
            pairs.append({"stock": stock, "zjournal": zj,
                          "ratio": {key: ratio(stock, zj, key) for key, _, _ in COLUMNS}})
    show(pairs)
    if not args.short:
        out = TOP / "build/results"
        out.mkdir(parents=True, exist_ok=True)
        (out / "yardstick.json").write_text(
            json.dumps({"simulated": True, "model": MODEL, "runs": pairs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
