# SPDX-License-Identifier: GPL-2.0-only
"""Many runs of zjsim with mixed options; adds up in build/results/sim.json.

python3 tests/sim/campaign.py [--seconds T] [--states N]
            [--jbd2 [--no-peer] | --nvm | --external]

Runs for T seconds (60), or until N crash states have been checked in all, the file's
included.  The file counts for one state of src/: another one begins it again.  Exits
1 on a failure, after shrinking it; the file then names the seed.

--jbd2: the log in stock's format, in build/results/sim-jbd2.json.  Every crash state
with a log to recover is also given to stock's own jbd2 (build/zjyard-stock, which needs
the linux-source package) and only these count for --states: it must come to the same
blocks.  With --no-peer our recovery alone judges, thirty times as many states in the
same time; in build/results/sim-jbd2-alone.json.

--nvm: the log in memory, whose lines a crash leaves as the memory model allows; in
build/results/sim-nvm.json.
--external: the journal on a device of its own; in build/results/sim-external.json.
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULTS = TOP / "build/results/sim.json"
RESULTS_JBD2 = TOP / "build/results/sim-jbd2.json"
RESULTS_JBD2_ALONE = TOP / "build/results/sim-jbd2-alone.json"
RESULTS_NVM = TOP / "build/results/sim-nvm.json"
RESULTS_EXTERNAL = TOP / "build/results/sim-external.json"
# A copy, because a build in the meantime would change what is counted.
ZJSIM = TOP / "build/tests/sim/zjsim-campaign"
STOCK = TOP / "build/tests/sim/zjyard-stock-campaign"
SMALL = ["--cpus", "4", "--blocks", "8", "--handles", "30"]
# Taken in turn; the seed determines the parameters that are not given.
KINDS = [
    [],
    SMALL,
    ["--off", "0", "--grain", "1"],
    ["--cpus", "2", "--blocks", "1", "--states", "8", "--epochs", "3"],
    ["--cache", "1", "--fua", "0", "--journal", "140"],
    ["--cpus", "8", "--journal", "2560", "--tasks", "16"],
    ["--focus", "1", "--off", "0"],             # the file of journaled data
    ["--focus", "2", "--off", "0", "--handles", "60"],
    ["--focus", "4", "--cpus", "8", "--tasks", "16", "--journal", "2600", "--grain", "10"],
    ["--logged", "1", "--off", "0", "--focus", "3"],    # data in the log
    ["--logged", "1", "--off", "0", "--focus", "2", "--cpus", "4", "--handles", "60"],
    ["--focus", "5", "--off", "0"],             # seals while handles start
    ["--focus", "6", "--cpus", "4", "--journal", "230", "--blocks", "8"],
    ["--slow", "2", "--off", "0"],
    ["--remount", "1", "--cache", "1"],
    ["--hold", "1", "--cache", "1"],
    ["--cache", "1", "--fua", "1", "--epochs", "4"],
    ["--cpus", "1", "--lanes", "1"],
    ["--pipeline", "1", "--jbd2"],
    ["--pipeline", "1", "--versions", "1", "--cpus", "8", "--journal", "2560"],
    ["--nvm", "1"],
    ["--nvm", "1", "--cpus", "4", "--blocks", "8", "--journal", "230"],
    ["--nvm", "2", "--off", "0"],
    ["--abort", "400", "--look", "1"],
    ["--abort", "20", "--cpus", "16", "--tasks", "32", "--journal", "2600"],
    ["--progress"],
]
# There is one lane, so CPUs vary little; these vary what is in the log instead.
KINDS_JBD2 = [
    [],
    SMALL,
    ["--off", "0", "--grain", "1"],
    ["--cpus", "2", "--blocks", "1", "--states", "8", "--epochs", "3"],
    ["--cache", "1", "--fua", "0", "--journal", "140", "--handles", "200", "--states", "1"],
    ["--journaled", "1"],
    ["--logged", "1", "--off", "0", "--focus", "3"],
    ["--focus", "1", "--off", "0"],
    ["--focus", "2", "--off", "0", "--handles", "60"],
    ["--focus", "5", "--off", "0"],
    ["--slow", "2", "--off", "0"],
    ["--cache", "1", "--fua", "1", "--epochs", "4"],
    ["--cache", "0"],
    ["--abort", "400", "--look", "1"],
]
# The log holds lines; in the last kind it holds whole blocks.
KINDS_NVM = [
    [],
    SMALL,
    ["--off", "0", "--grain", "1"],
    ["--cpus", "2", "--blocks", "1", "--states", "8", "--epochs", "3"],
    ["--cpus", "4", "--blocks", "8", "--journal", "230"],
    ["--cpus", "8", "--journal", "2560", "--tasks", "16"],
    ["--txninfo", "256"],
    ["--logged", "1", "--off", "0", "--focus", "3"],
    ["--focus", "1", "--off", "0"],
    ["--focus", "2", "--off", "0", "--handles", "60"],
    ["--focus", "5", "--off", "0"],
    ["--slow", "2", "--off", "0"],
    ["--cpus", "1", "--lanes", "1"],
    ["--pipeline", "1", "--versions", "1"],
    ["--nvm", "2", "--off", "0"],
    ["--abort", "100", "--look", "1"],
]
# Caches and FUA of both devices; lanes and stock's format; remounts, errors.
KINDS_EXTERNAL = [
    ["--external", "1"],
    ["--external", "1", "--cache", "1", *SMALL],
    ["--external", "3", "--cache", "1", "--off", "0", "--grain", "1"],
    ["--external", "1", "--cache", "1", "--jbd2"],
    ["--external", "3", "--cache", "1", "--jbd2", "--journal", "140", "--handles", "200", "--states", "1"],
    ["--external", "2", "--cache", "1"],
    ["--external", "3", "--cache", "0"],
    ["--external", "1", "--cache", "1", "--remount", "1"],
    ["--external", "3", "--cache", "1", "--jbd2", "--remount", "1"],
    ["--external", "3", "--pipeline", "1", "--versions", "1"],
    ["--external", "1", "--cache", "1", "--cpus", "8", "--journal", "2560", "--tasks", "16"],
    ["--external", "1", "--cache", "1", "--journaled", "1"],
    ["--external", "1", "--cache", "1", "--focus", "2", "--off", "0", "--handles", "60"],
    ["--external", "3", "--cache", "1", "--epochs", "4"],
    ["--external", "1", "--cache", "1", "--abort", "400", "--look", "1"],
]
CHUNK = 20      # seconds of one kind


def sources():
    digest = hashlib.sha256()
    for path in sorted([*(TOP / "src").glob("*/*.[ch]"),
                        *(TOP / "include/zjournal").glob("*.h")]):
        digest.update(str(path.relative_to(TOP)).encode() + path.read_bytes())
    return digest.hexdigest()


def load(results, wanted):
    try:
        total = json.loads(results.read_text())
    except (OSError, ValueError):
        total = {}
    if total.get("sources") == sources():
        return total
    return {"sources": sources(), "crash_states": 0, "recovery_crashes": 0,
            "failures": 0, "per_second": 0, "runs": 0, "cpu_seconds": 0, "seeds": [],
            wanted: 0}


def save(total, results):
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps(total, indent=1) + "\n")


def zjsim(*args):
    return subprocess.run([ZJSIM, *map(str, args)], text=True,
                          capture_output=True)


def add(total, options, seed, seconds, wanted):
    """One chunk; False if it fails."""
    done = zjsim("--seed", seed, "--seconds", seconds, "--shrink", *options)
    if done.returncode:
        total["failures"] += 1
        total["seeds"].append({"first": seed, "options": options,
                               "failure": done.stderr[:400]})
        print(done.stderr[-20000:], file=sys.stderr)
        return False
    result = json.loads(done.stdout)
    for key in {"crash_states", "recovery_crashes", "cpu_seconds", wanted}:
        total[key] = round(total[key] + result[key], 1)
    total["runs"] += result["seeds"]
    total["seeds"].append({"first": seed, "count": result["seeds"],
                           "options": options})
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--states", type=int)
    log = parser.add_mutually_exclusive_group()
    log.add_argument("--jbd2", action="store_true")
    log.add_argument("--nvm", action="store_true")
    log.add_argument("--external", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    args = parser.parse_args()
    results, kinds, more, wanted = RESULTS, KINDS, [], "crash_states"
    end = time.monotonic() + (args.seconds or 60 if not args.states else 1e9)
    subprocess.run(["make", "-s", "-C", TOP / "tests/sim"], check=True)
    shutil.copy(TOP / "build/zjsim", ZJSIM)
    if args.jbd2 and args.no_peer:
        results, more = RESULTS_JBD2_ALONE, ["--jbd2"]
        kinds = [kind + more for kind in KINDS_JBD2]
    elif args.jbd2:
        subprocess.run(["make", "-s", "-C", TOP / "tests/yardstick", TOP / "build/zjyard-stock"], check=True)
        shutil.copy(TOP / "build/zjyard-stock", STOCK)
        results, wanted = RESULTS_JBD2, "peer_recoveries"
        more = ["--jbd2", "--recover-with", str(STOCK)]
        kinds = [kind + more for kind in KINDS_JBD2]
    if args.nvm:
        results, more = RESULTS_NVM, ["--nvm", "1"]
        kinds = [kind if "--nvm" in kind else more + kind for kind in KINDS_NVM]
    if args.external:
        results, kinds, more = RESULTS_EXTERNAL, KINDS_EXTERNAL, ["--external", "1"]
    total = load(results, wanted)
    # The rate that the issue asks for: small runs, of one core.
    first = json.loads(zjsim("--seed", 1, "--seconds", 5, *SMALL, *more).stdout)
    total["per_second"] = round(first[wanted] / first["seconds"]) if wanted != "crash_states" else first["per_second"]
    good = True
    while good and time.monotonic() < end and \
            total[wanted] < (args.states or 1e18):
        chunk = len(total["seeds"])
        left = min(CHUNK, max(1, int(end - time.monotonic())))
        if args.seconds or not args.states:
            left = min(left, max(1, (args.seconds or 60) // len(kinds)))
        good = add(total, kinds[chunk % len(kinds)], int(time.time()) * 1000, left, wanted)
        save(total, results)
    print(json.dumps({key: value for key, value in total.items() if key != "seeds"}))
    return not good


if __name__ == "__main__":
    sys.exit(main())
