# SPDX-License-Identifier: GPL-2.0-only
"""The programs of bench/core do what they measure; how fast is no matter here."""
import json
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def programs():
    subprocess.run(["make", "-s", "-j2", "-C", TOP / "bench/core"], check=True)


def run(journal, test, *args):
    done = subprocess.run([TOP / f"build/zjcore-{journal}", test, *map(str, args)],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("journal", ["stock", "zj"])
@pytest.mark.parametrize("args", [(), ("--shared",), ("--first",), ("--first", "--near"), ("--phases",)])
def test_handles(journal, args):
    result = run(journal, "handles", "--threads", 2, "--lanes", 2, "--ms", 50, *args)
    assert result["bursts"] and result["cpu_ns"] > 0


@pytest.mark.parametrize("journal", ["stock", "zj"])
def test_commits(journal):
    assert run(journal, "commits", "--threads", 2, "--lanes", 2, "--ms", 200)["syncs"] > 10


@pytest.mark.parametrize("journal", ["stock", "zj"])
def test_memory_is_freed_when_blocks_are_home(journal):
    """What stays is a little of the buffer cache at most."""
    result = run(journal, "memory")
    assert result["logged"] > 5 * result["home"]


@pytest.mark.parametrize("args", [("stock",), ("zj",), ("zj", "--jbd2")])
def test_recovery(args):
    """The program compares each block with what was written."""
    assert run(args[0], "recovery", *args[1:])["mib"] == 32


@pytest.mark.parametrize("length", [1, 5])
def test_a_chain_is_committed_in_as_many_steps(length):
    """One step a transaction: the chain was whole, and it costs no more."""
    assert run("zj", "chain", "--length", length, "--ms", 50)["steps"] == length


def test_a_chain_longer_than_the_lanes_is_refused():
    done = subprocess.run([TOP / "build/zjcore-zj", "chain", "--length", "200"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode and "lanes" in done.stderr
