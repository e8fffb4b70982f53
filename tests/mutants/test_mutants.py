# SPDX-License-Identifier: GPL-2.0-only
"""Every mutant still fits and compiles; one is run, as each program takes a build.  run.py runs all."""
import subprocess
import sys

import pytest

import run

SAMPLE = "no-R3"


@pytest.fixture(scope="module")
def src(tmp_path_factory):
    return tmp_path_factory.mktemp("src")


@pytest.mark.parametrize("name", run.all_names())
def test_fits_and_compiles(name, src):
    assert run.apply(name, src) is None
    run.own_schedules(name)
    run.own_units(name)
    for path in run.patched_files(name):
        if path.endswith(".c"):
            run.compile_only(src, path)
        else:
            run.compile_only(src, "txn/component.c")


def test_all_are_said_why():
    for name in run.all_names():
        why = (run.HERE / f"{name}.patch").read_text().splitlines()[1]
        assert why.startswith("# ") and len(why) > 20, name


def test_each_schedule_has_its_mutant():
    """Without a mutant it is not known whether the schedule can fail."""
    proved = {s for name in run.all_names() for s in run.own_schedules(name)}
    own = {s for s in run.schedule_names() if not s.endswith("-broken")}
    # The rule of this one is the file system's: its -broken twin is the proof.
    assert own - proved == {"stop-before-write-out"}


def test_sample():
    subprocess.run([sys.executable, run.HERE / "run.py", SAMPLE], check=True)
