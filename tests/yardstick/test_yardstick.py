# SPDX-License-Identifier: GPL-2.0-only
"""Stock jbd2, a journal to be trusted, under our simulator: it has to pass with an
honest disk and to fail with one that lies, else the simulator is wrong."""
import fcntl
import json
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def programs():
    subprocess.run(["make", "-s", "-j2", "-C", TOP / "tests/yardstick"], check=True)


def run(journal, *args):
    done = subprocess.run([TOP / f"build/zjyard-{journal}", *map(str, args)],
                          capture_output=True, text=True)
    assert done.returncode in (0, 1) and done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout), done


@pytest.mark.parametrize("journal", ["stock", "zj"])
@pytest.mark.parametrize("fua", [0, 1])
def test_power_cuts(journal, fua):
    result, done = run(journal, "--seeds", 40, "--fua", fua)
    assert result["crash_states"] > 4000
    assert result["failures"] == 0 and done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("journal", ["stock", "zj"])
def test_log_goes_round(journal):
    result = run(journal, "--seed", 70, "--handles", 2500, "--journal", 1024)[0]
    assert result["log_blocks"] > 2 * 1024 and result["failures"] == 0


@pytest.mark.parametrize("journal", ["stock", "zj"])
def test_power_cuts_of_sealed_blocks(journal):
    """Blocks that end with their own crc32c, as ext4's extent blocks do."""
    assert run(journal, "--seeds", 40, "--seal")[0]["failures"] == 0


RECOVER_WITH = ("--jbd2", "--recover-with", TOP / "build/zjyard-stock")


@pytest.mark.parametrize("args", [("--fua", 0), ("--fua", 1), ("--seal",)])
def test_stock_recovers_our_log(args):
    """log=jbd2: stock's own recovery makes the same of every crashed disk as ours."""
    result, done = run("zj", *RECOVER_WITH, "--seeds", 30, *args)
    assert result["crash_states"] > 3000
    assert result["failures"] == 0 and done.returncode == 0, done.stderr[-2000:]


def test_stock_recovers_our_log_gone_round():
    result, done = run("zj", *RECOVER_WITH, "--seed", 70, "--handles", 2500)
    assert result["log_blocks"] > 2 * 1024 and result["failures"] == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def zjsim():
    # test_sim.py, in another process, makes it as well.
    (TOP / "build/tests").mkdir(parents=True, exist_ok=True)
    with open(TOP / "build/tests/sim.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "-C", TOP / "tests/sim"], check=True)
    return TOP / "build/zjsim"


@pytest.mark.parametrize("args", [(), ("--journaled", 1), ("--journal", 140, "--handles", 200, "--states", 1)])
def test_stock_recovers_what_zjsim_crashes(zjsim, args):
    """The same of the simulator's richer load: revokes, data in the log, long runs."""
    done = subprocess.run([str(a) for a in (zjsim, "--jbd2", "--recover-with", TOP / "build/zjyard-stock", "--seed",
                                            300, "--seeds", 2, *args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["peer_recoveries"] > 1000


def test_recovery_by_stock_notices_a_lying_disk():
    assert run("zj", *RECOVER_WITH, "--seeds", 4, "--lie", 1, "--fua", 0)[0]["failures"] > 0


@pytest.mark.parametrize("journal", ["stock", "zj"])
@pytest.mark.parametrize("lie,fua", [(1, 0), (1, 1), (2, 1), (3, 1)])
def test_lying_disk_is_noticed(journal, lie, fua):
    result, done = run(journal, "--seeds", 8, "--lie", lie, "--fua", fua)
    assert result["failures"] > 0 and done.returncode == 1


@pytest.mark.parametrize("cpus,work", [(4, 140000), (6, 120000), (8, 100000), (12, 60000)])
def test_waiting_for_lanes_is_no_loss(cpus, work):
    """Without any wait each lane gets a flush in the time of two, which is 605 us of virtual
    time. To wait for lanes must not cost more than it gains where that is about the same."""
    result = run("zj", "--bench", "private-fsync", "--cpus", cpus, "--ms", 100, "--work", work)[0]
    assert result["handles_per_virtual_s"] > 0.98 * cpus / 605e-6


@pytest.mark.parametrize("journal", ["stock", "zj"])
def test_benchmark(journal):
    """The same seed gives the same simulated figures, and work was done."""
    args = ("--bench", "shared-fsync", "--cpus", 4, "--ms", 20, "--line", 50)
    result = run(journal, *args)[0]
    assert result == run(journal, *args)[0]
    assert result["simulated"] and result["fsyncs"] == result["handles"] > 10
    assert result["log_blocks_per_handle"] > 0 and result["flushes"] > 0
