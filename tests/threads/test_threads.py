# SPDX-License-Identifier: GPL-2.0-only
"""The journal's own sources under real threads: plain, with the address and undefined
behaviour sanitizers, with the thread sanitizer."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
WORK = BUILD / "tests/threads"
PROGRAMS = {"plain": "zjstress", "asan": "zjstress-asan", "tsan": "zjstress-tsan"}

# Enough to distinguish a hang from work: no run here takes a minute.
HANGS = 900


def make(*args):
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", TOP / "tests/threads", *args],
                   check=True)


@pytest.fixture(scope="module", autouse=True)
def programs():
    make()


def stress(program, *args):
    # The thread sanitizer wants its addresses where they are without randomization.
    return subprocess.run(["setarch", "-R", program, "--file", WORK / "disk",
                           *map(str, args)],
                          capture_output=True, text=True, timeout=HANGS)


def run(variant, *args):
    done = stress(BUILD / PROGRAMS[variant], *args)
    assert done.returncode == 0, done.stderr[-4000:]
    assert not done.stderr
    result = json.loads(done.stdout)
    assert result["units"] > 100 and result["freed"] and result["reused"]
    return result


@pytest.mark.parametrize("variant", PROGRAMS)
@pytest.mark.parametrize("args", [
    ("--threads", 12),
    ("--threads", 24, "--pause", 20, "--handles", 60, "--rounds", 1),
    ("--block", 1024, "--journal", 2500, "--fua", 0, "--pause", 0),
    ("--lanes", 2, "--cpus", 5, "--handles", 120),
    ("--lanes", 2, "--pipeline", 1, "--handles", 120),
    ("--jbd2", "--pipeline", 1, "--handles", 120),
    ("--journal", 200, "--lanes", 3, "--handles", 60, "--rounds", 1),
], ids=["usual", "crowded", "small-blocks", "two-lanes", "pipelined", "stock-format", "full-log"])
def test_last_versions_are_home(variant, args):
    """Every block holds its last version after a clean unmount."""
    result = run(variant, "--seed", 100, "--rounds", 2, *args)
    assert result["barriers"] and result["reclaimed"]


@pytest.mark.parametrize("variant", PROGRAMS)
def test_killed(variant):
    """Everything that was promised survives a kill completely, round after round."""
    run(variant, "--mode", "kill", "--seed", 200, "--rounds", 10, "--handles", 80)


@pytest.mark.parametrize("variant", PROGRAMS)
def test_failed_writes(variant):
    """A failed write aborts the journal; no task hangs, and nothing promised is lost."""
    run(variant, "--mode", "abort", "--seed", 300, "--rounds", 10, "--handles", 50)


# Bugs that must be found: what it takes, in which file, old and new text, and how it shows.
MUTANTS = {
    "units torn": (
        "plain", "txn/component.c", "	if (a != b) {\n", "	if (0) {\n",
        ("--mode", "kill", "--rounds", 40), "FAIL"),
    "newest part published plainly": (
        "tsan", "txn/part.c", "	smp_store_release(&jh->newest, part);\n}",
        "	jh->newest = part;\n}", (), "data race"),
    "buffer not held by its head": (
        "asan", "txn/jhead.c", "		get_bh(bh);\n", "", (), "FAIL"),
    "allocation under a spinlock": (
        "plain", "txn/access.c", "	part = zj_part_take(jh, spare);\n",
        "	zj_spare_fill(txn_zj(txn), spare, false);\n	part = zj_part_take(jh, spare);\n",
        (), "may sleep under &jh->lock"),
    "lane's lock before comp_lock": (
        "plain", "txn/component.c",
        "	spin_lock(&zj->comp_lock);\n	note_drained(txn);\n",
        "	spin_lock(&txn->lane->lock);\n	spin_lock(&zj->comp_lock);\n"
        "	spin_unlock(&txn->lane->lock);\n	note_drained(txn);\n",
        (), "lock order"),
}


def mutate(file, old, new):
    """A copy of sources and objects, in which one source is newer than its object."""
    copy = WORK / "mutant"
    shutil.rmtree(copy, ignore_errors=True)
    for variant in PROGRAMS:
        shutil.copytree(WORK / variant, copy / variant)
    shutil.copytree(TOP / "src", copy / "src")
    text = (copy / "src" / file).read_text()
    assert old in text, f"{file} has changed: adapt the mutant"
    (copy / "src" / file).write_text(text.replace(old, new))
    return copy


@pytest.mark.parametrize("name", MUTANTS)
def test_finds(name):
    variant, file, old, new, args, shows = MUTANTS[name]
    copy = mutate(file, old, new)
    program = copy / PROGRAMS[variant]
    make(f"SRC={copy}/src", f"O={copy}", f"BIN={copy}", program)
    done = stress(program, "--seed", 400, *args)
    assert done.returncode != 0, "not found"
    assert shows in done.stderr, done.stderr[-4000:]
