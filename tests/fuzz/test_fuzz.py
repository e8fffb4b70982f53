# SPDX-License-Identifier: GPL-2.0-only
"""Recovery of each format under libFuzzer: first what was found before, then new logs."""

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
FINDINGS = TOP / "build/tests/fuzz/findings"
REGRESS = sorted((HERE / "regress").glob("*/*"))
SECONDS = {"zj": 12, "jbd2": 8, "nvm": 8}


@pytest.fixture(scope="module", autouse=True)
def zjfuzz():
    subprocess.run(["make", "-s", "-C", HERE], check=True)
    return {f: TOP / f"build/zjfuzz-{f}" for f in SECONDS}


@pytest.mark.parametrize("path", REGRESS, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_found_before(zjfuzz, path):
    done = subprocess.run([zjfuzz[path.parent.name], path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("name", SECONDS)
def test_fuzz(name):
    """A finding is left in build/tests/fuzz/findings; build/zjfuzz-NAME FILE repeats it."""
    seconds = os.environ.get("FUZZ_SECONDS", SECONDS[name])
    done = subprocess.run(["make", "-s", "-C", HERE, f"run-{name}", f"SECONDS={seconds}"],
                          capture_output=True, text=True)
    assert done.returncode == 0, f"see {FINDINGS}:\n{done.stderr[-4000:]}"
    # The inputs must not have gone dull, however slow the machine is.
    counts = re.search(r"zjfuzz: (\d+) refused, (\d+) replayed, (\d+) with something discarded, "
                       r"(\d+) interrupted", done.stderr)
    kinds = [int(n) for n in counts.groups()]
    total = int(re.search(r"Done (\d+) runs", done.stderr).group(1))
    assert all(n > total / 50 for n in kinds), done.stderr[-1000:]
