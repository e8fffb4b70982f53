# SPDX-License-Identifier: GPL-2.0-only
"""The journal's own sources in the simulator, crashed at every write and flush."""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
ZJSIM = TOP / "build/zjsim"
# A deliberate bug, to see that failures are found and made small.
BUG = ("recovery/graph.c", "comp->committed = whole && zj_deps_committed(r, comp);",
       "comp->committed = whole;")


@pytest.fixture(scope="module", autouse=True)
def zjsim():
    # test_yardstick.py, in another process, makes it as well.
    (TOP / "build/tests").mkdir(parents=True, exist_ok=True)
    with open(TOP / "build/tests/sim.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "-C", TOP / "tests/sim"], check=True)


def run(*args):
    done = subprocess.run([ZJSIM, "--shrink", *map(str, args)], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr[-20000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("cpus", [1, 2, 4, 16])
def test_fixed_seeds(cpus):
    assert run("--seed", 1, "--seeds", 10, "--cpus", cpus)["live_states"] > 1000


@pytest.mark.parametrize("cache,fua", [(0, 0), (1, 0), (1, 1)])
def test_kinds_of_cache(cache, fua):
    run("--seed", 2000, "--seeds", 10, "--cache", cache, "--fua", fua)


def test_held_writes():
    """A hibernation may begin and end at any moment."""
    run("--seed", 2300, "--seeds", 10, "--hold", 1)


def test_remounts():
    """Barriers go off and on."""
    run("--seed", 2200, "--seeds", 10, "--cache", 1, "--remount", 1)


@pytest.mark.parametrize("args", [(), ("--jbd2",), ("--pipeline", 1, "--focus", 5)])
def test_abort(args):
    """By somebody else, at any moment, while the debug files are read."""
    for within in (3, 100, 1500):
        run("--seed", 2300, "--seeds", 10, "--abort", within, "--look", 1, *args)


@pytest.mark.parametrize("focus", [1, 2, 3, 4, 5, 6])
def test_focus(focus):
    """enum focus in world.h."""
    run("--seed", 2500, "--seeds", 8, "--focus", focus, "--off", 0)


@pytest.mark.parametrize("args", [(), ("--cache", 1, "--fua", 0), ("--journal", 140, "--handles", 200),
                                  ("--cpus", 16), ("--journaled", 1)])
def test_log_jbd2(args):
    """One lane, a log in stock's format."""
    assert run("--jbd2", "--seed", 100, "--seeds", 6, *args)["live_states"] > 1000


@pytest.mark.parametrize("args", [("--jbd2",), ("--jbd2", "--fua", 0, "--versions", 1),
                                  ("--lanes", 1), ("--cpus", 8, "--versions", 1)])
def test_pipeline(args):
    """Commits of a lane overlap."""
    assert run("--pipeline", 1, "--seed", 700, "--seeds", 10, *args)["live_states"] > 1000


def test_pipeline_progress():
    for seed in range(0, 4):
        run("--progress", "--pipeline", 1, "--versions", 1 + seed, "--seed", 60 + seed, "--seeds", 2)


def test_log_jbd2_io_errors():
    for nth in range(5, 65, 10):
        run("--jbd2", "--seed", 3000 + nth, "--seeds", 4, "--fail-write", nth)
        run("--jbd2", "--seed", 4000 + nth, "--seeds", 2, "--fail-flush", nth // 4 + 1)


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("args", [(), ("--cpus", 4, "--journal", 230, "--handles", 200),
                                  ("--txninfo", 256, "--blocks", 8), ("--focus", 2, "--off", 0)])
def test_log_in_memory(unit, args):
    """Lines, and whole blocks."""
    assert run("--nvm", unit, "--seed", 100, "--seeds", 4, *args)["live_states"] > 1000


def test_log_in_memory_io_errors():
    for nth in range(5, 65, 10):
        run("--nvm", 1, "--seed", 3000 + nth, "--seeds", 3, "--fail-write", nth)
        run("--nvm", 1, "--seed", 4000 + nth, "--seeds", 2, "--fail-flush", nth // 4 + 1)


@pytest.mark.parametrize("journal", [1, 2, 3])
@pytest.mark.parametrize("args", [(), ("--cache", 1, "--fua", 0), ("--cache", 0), ("--jbd2", "--cache", 1),
                                  ("--cache", 1, "--remount", 1), ("--pipeline", 1, "--cache", 1)])
def test_two_devices(journal, args):
    """A journal on a device of its own: with cache and FUA, without cache, without FUA."""
    assert run("--external", journal, "--seed", 100, "--seeds", 4, *args)["live_states"] > 1000


def test_two_devices_io_errors():
    for nth in range(5, 65, 10):
        run("--external", 3, "--seed", 3000 + nth, "--seeds", 3, "--fail-write", nth)
        run("--external", 3, "--cache", 1, "--seed", 4000 + nth, "--seeds", 2, "--fail-flush", nth // 4 + 1)


def test_claims_of_three_lanes():
    """A claim that others see before it is tied to its predecessor."""
    run("--seed", 55, "--seeds", 5, "--focus", 4, "--cpus", 8, "--tasks", 16,
        "--handles", 100, "--journal", 2600, "--epochs", 1, "--grain", 10)


def test_io_errors():
    for nth in range(5, 125, 10):
        run("--seed", 3000 + nth, "--seeds", 4, "--fail-write", nth)
        run("--seed", 4000 + nth, "--seeds", 2, "--fail-flush", nth // 4 + 1)


def test_refused_memory_and_reads():
    """A mount that gets no memory, or cannot read, fails cleanly; the next goes on."""
    for nth in range(1, 40, 2):
        run("--seed", 5000 + nth, "--seeds", 2, "--fail-alloc", nth, "--fail-read", 0)
        run("--seed", 6000 + nth, "--seeds", 2, "--fail-read", nth, "--fail-alloc", 0)


def test_durable_stamp():
    """A changed block below the committed stamp is damage: never a crash's, never overlooked."""
    result = run("--seed", 7000, "--seeds", 4, "--cpus", 4)
    # Recovery without one of the checkpoint slots does as well.
    assert result["rotten"] > 1000 and result["unread"] > 300


@pytest.mark.parametrize("lanes", [2, 4, 16, 64])
def test_progress(lanes):
    """One hot block, staggered timers: zjsim fails if a commit is late."""
    result = run("--progress", "--lanes", lanes, "--seed", 1, "--seeds", 3)
    assert 0 < result["slowest_commit_us"] <= result["bound_us"]


def test_same_seed_same_run():
    def counts():
        result = run("--seed", 5, "--cpus", 4)
        return [result[key] for key in ("crash_states", "live_states", "recoveries",
                                        "recovery_crashes", "recoveries_refused")]

    assert counts() == counts()


def test_shrinks_a_failure(tmp_path):
    """A bug is found, and a small run that shows it repeats from its command line."""
    src = tmp_path / "src"
    shutil.copytree(TOP / "src", src)
    text = (src / BUG[0]).read_text()
    assert text.count(BUG[1]) == 1
    (src / BUG[0]).write_text(text.replace(BUG[1], BUG[2]))
    # With the objects that are there only one is built; copies keep their times.
    shutil.copytree(TOP / "build/tests/sim", tmp_path / "o")
    buggy = tmp_path / "zjsim"
    subprocess.run(["make", "-s", "-C", TOP / "tests/sim", f"SRC={src}",
                    f"O={tmp_path}/o", f"BIN={buggy}"], check=True)
    done = subprocess.run([buggy, "--seeds", "500", "--shrink"],
                          capture_output=True, text=True)
    assert done.returncode == 1
    line = [text for text in done.stderr.splitlines() if "repeat it" in text][0]
    args = line[line.index("--seed"):].split()
    # It would have up to 300 handles, on up to 12 tasks.  Where the search ends depends on
    # every step of src/, so a tenth of that is asked for, not what it once found.
    assert int(args[args.index("--handles") + 1]) <= 30
    again = subprocess.run([buggy, *args], capture_output=True, text=True)
    assert again.returncode == 1
    assert "FAIL" in again.stderr


def test_random_seeds():
    """Mixed options for SIM_SECONDS; a failure is made small."""
    done = subprocess.run([sys.executable, TOP / "tests/sim/campaign.py", "--seconds",
                           os.environ.get("SIM_SECONDS", "12")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-20000:]
