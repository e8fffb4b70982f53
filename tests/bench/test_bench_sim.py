# SPDX-License-Identifier: GPL-2.0-only
"""The simulated machine of bench/sim: what it charges, in which order, and that it repeats."""
import json
import pathlib
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "bench"))

import sim  # noqa: E402

OPS = json.loads((TOP / "bench/sim/ops.json").read_text())
COSTS = {}


@pytest.fixture(scope="module", autouse=True)
def programs():
    subprocess.run(["make", "-s", "-j2", "-C", TOP / "bench/sim", "test"], check=True)
    out = subprocess.run([TOP / "build/zjscale-zj", "--costs"], capture_output=True, check=True)
    COSTS.update((row["name"], row["ns"]) for row in json.loads(out.stdout))


def machine(test):
    done = subprocess.run([TOP / "build/zjscale-test", test], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(side, load="create-low", cpus=4, **more):
    words = [word for name, value in {"cpus": cpus, "device": "memory", "data": "ordered",
                                      "warm_up": 40, "count": 400, **more}.items()
             for word in (f"--{name if name in COSTS else name.replace('_', '-')}", value)]
    return sim.run(side, sim.steps(OPS, OPS["loads"][load]["operation"], side, cpus), *words)


def steps_of(side, load):
    return sim.steps_of(OPS["operations"][OPS["loads"][load]["operation"]], side)


def without_time(result):
    return {name: value for name, value in result.items() if name != "real_s"}


# ---- the machine ----

def test_a_line_that_two_cpus_write_is_transferred_each_time():
    """A thousand locked instructions of each CPU: every one pays for its transfer and nothing
    else does, and lines of their own cost no transfer at all."""
    got = machine("lines")
    first = COSTS["cold"] + COSTS["l3"]
    assert got["own_ns"] == int(1000 * COSTS["atomic"] + first)
    assert got["same_ns"] > 900 * COSTS["line"]


def test_a_read_is_priced_by_who_has_the_line():
    got = machine("lines")
    assert abs(got["from_writer_ns"] - COSTS["line"]) <= COSTS["line"] / 4 + 1
    assert got["from_reader_ns"] == COSTS["shared"]


def test_a_store_does_not_wait_but_the_next_locked_instruction_does():
    got = machine("stores")
    assert got["store_ns"] == 0
    assert got["then_locked_ns"] >= COSTS["line"] * 3 / 4


def test_a_spinlock_is_handed_over_in_order_of_arrival():
    """CPUs come in the order 0, 2, 3, 1, while the lock is held for 5 us each time."""
    got = machine("locks")
    assert got["order"] == [0, 2, 3, 1]
    assert got["ns"] >= 4 * 5000 + 3 * COSTS["line"] * 3 / 4


def test_the_profile_names_the_lock_that_was_waited_for():
    got = machine("locks")
    assert [lock["name"] for lock in got["locks"]] == ["&lock"]
    waits = [row for row in got["profile"] if row["what"] == "lock"]
    assert {row["name"] for row in waits} == {"&lock"}
    assert sum(row["times"] for row in waits) == 3


def test_a_mutex_is_handed_over_in_order_to_tasks_that_sleep():
    got = machine("mutexes")
    assert got["order"] == [0, 2, 1]
    # Its first owner sleeps for 50 us; each of the others has to be woken.
    assert got["ns"] >= 50000 + 2 * COSTS["latency"]


def test_readers_share_a_lock_and_a_writer_does_not():
    got = machine("rwlocks")
    assert (got["most"], got["with_writer"], got["order"]) == (2, 0, [0, 1, 2, 3])


def test_a_woken_task_runs_after_the_latency():
    got = machine("wakes")
    assert COSTS["wake"] + COSTS["latency"] <= got["woken_ns"] < 2 * COSTS["latency"]


def test_two_tasks_of_a_cpu_take_turns():
    """Two need 10 ms each on one CPU, one has another CPU to itself."""
    got = machine("turns")
    assert got["order"][0] == 2
    assert got["ms"] == 20


# ---- the programs ----

@pytest.mark.parametrize("side", list(sim.SIDES))
def test_a_run_repeats_exactly(side):
    once = without_time(run(side, seed=7))
    assert once == without_time(run(side, seed=7))
    assert once != without_time(run(side, seed=8))


@pytest.mark.parametrize("side", list(sim.SIDES))
@pytest.mark.parametrize("load", list(OPS["loads"]))
def test_each_load_runs(side, load):
    got = run(side, load, device=OPS["loads"][load]["device"], data=OPS["loads"][load]["data"])
    assert got["simulated"] and got["operations"] == 400 and got["per_s"] > 0
    assert bool(got["fsyncs"]) == any(
        step[0] == "sync" for step in steps_of(side, load))


def test_lanes_of_their_own_share_no_line():
    """Handles with blocks of their own: stock's CPUs meet in its transaction, lanes nowhere."""
    text = sim.four_blocks(4)
    options = ("--device", "memory", "--cpus", 8, "--warm-up", 8000, "--count", 16000)
    assert sim.run("zext4", text, *options)["line_share"] < 0.01
    assert sim.run("stock", text, *options)["line_share"] > 0.5


def test_a_dearer_line_costs_who_shares_it():
    rate = {side: [run(side, "overwrite-low", 8, data="journal", line=line)["per_s"]
                   for line in (40, 120)] for side in sim.SIDES}
    assert rate["stock"][1] < 0.6 * rate["stock"][0]
    assert rate["zext4"][1] > 0.95 * rate["zext4"][0]


def test_an_fsync_waits_for_the_device():
    """A write of the data, then one of the record at least."""
    got = run("zext4", "fsync-low", 1, device="nvme")
    assert got["fsync_median_us"] > 2 * COSTS["device_write"] / 1e3


def test_a_copy_of_a_block_is_charged_for():
    """The compiler must not put it in place of the call, where nothing would see it."""
    free, charged = (run("zext4", "fsync-low-memory", 1, frozen_copy=1, copy=ns) for ns in (0, 0.5))
    copies = charged["counts"]["ahead"]
    assert copies > 0 and free["counts"]["ahead"] == copies
    assert charged["fsync_median_us"] - free["fsync_median_us"] > copies * 4096 * 0.5 / 1e3


def test_file_data_is_copied_before_it_is_logged():
    """One block of an append is in a folio of a file."""
    counts = run("zext4", "append-low", 1, data="journal", journal=1024, warm_up=1000,
                 count=3000)["counts"]
    assert 0.9 < counts["ahead"] < 1.1


def test_memory_that_is_persistent_can_have_the_log():
    assert run("zext4", "commits-memory", data="journal", nvm=64)["fsyncs"] == 400


def test_more_cpus_than_the_machine_has_are_refused():
    with pytest.raises(SystemExit, match="usage"):
        run("zext4", cpus=257)


# ---- the driver ----

def test_steps_give_each_side_its_sharing():
    lines = {side: sim.steps(OPS, "create", side, 64).splitlines() for side in sim.SIDES}
    assert lines["stock"] != lines["zext4"]
    shares = {side: {line.split()[3] for line in lines[side] if line.startswith(("block", "range"))}
              for side in sim.SIDES}
    assert "0" in shares["stock"]
    assert shares["zext4"] == {"1"}


def test_small_fsyncs_of_zext4_log_their_data():
    words = {side: [line.split()[0] for line in
                    sim.steps(OPS, "fsync-append", side, 4).splitlines()] for side in sim.SIDES}
    assert "data" in words["stock"] and "log" not in words["stock"]
    assert words["zext4"].count("log") == 1 and "data" not in words["zext4"]
    assert sim.logged_blocks(OPS["operations"]["varmail"]) == 8


def test_a_drive_begins_so_many_requests_a_second():
    """One CPU's fsyncs take as long as before, many CPUs' no more than the drive can."""
    few, many = (run("zext4", "fsync-low-plp", cpus, device="plp",
                     device_request=100000)["per_s"] for cpus in (1, 16))
    assert few < 1e9 / 100000 and many < 1.01e9 / 100000


def result(rate, p99=0):
    return {"per_s": rate, "fsync_p99_us": p99}


def test_verdicts_find_what_is_lower():
    results = {"fsync-low": {40: {"stock": result(100, 10), "zext4": result(300, 4)},
                             80: {"stock": result(100, 10), "zext4": result(90, 6)}}}
    got = {row[0]: row[2:] for row in sim.verdicts(OPS, results)}
    assert got["fsync-low, 80 CPUs"] == ("0.90x", False)
    assert got["fsync-low: below stock"] == ("80", False)
    assert got["fsync-low: below itself at half the CPUs"] == ("80", False)
    assert got["fsync-low: fsync p99, 80 CPUs"] == ("0.60x", False)


def test_addresses_become_source_lines():
    got = run("stock", cpus=8)
    sim.explain("stock", got)
    assert any("transaction.c:" in row["where"] for row in got["profile"])
