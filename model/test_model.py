# SPDX-License-Identifier: GPL-2.0-only
"""The model at small bounds: the full set of rules holds, each one is needed."""
import pathlib
import re
import subprocess

import pytest

MODEL = pathlib.Path(__file__).resolve().parent
ZJMODEL = MODEL.parent / "build/zjmodel"


@pytest.fixture(scope="module")
def listing():
    subprocess.run(["make", "-s", "-C", MODEL], check=True)
    return subprocess.run([ZJMODEL, "--list"], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def check(listing):
    return subprocess.run([ZJMODEL, "--check", "--quiet"], capture_output=True, text=True)


def test_check(check):
    assert check.returncode == 0, check.stdout + check.stderr


def test_nothing_is_left_out(listing, check):
    rules, configs = listing.split("configurations", 1)
    rules = re.findall(r"^  (\S+)", rules, re.M)
    configs = re.findall(r"^  (\S+) +\d", configs, re.M)
    assert len(rules) > 40 and len(configs) > 10
    for rule in rules:
        assert re.search(rf"^without {re.escape(rule)} .* in [1-9]\d* steps", check.stdout, re.M), rule
    for config in configs:
        assert re.search(rf"^{config} +no violation: \d{{4}}", check.stdout, re.M), config


def test_schedule_is_printed(listing):
    done = subprocess.run([ZJMODEL, "--without", "R2"], check=True, capture_output=True, text=True)
    assert re.search(r"^ +1\. h0 starts in T0\.0$", done.stdout, re.M)
    assert "an unfinished handle is there" in done.stdout


@pytest.mark.parametrize("args", [["--without", "R99"], ["--config", "none"], ["--nonsense"]])
def test_mistakes_are_refused(listing, args):
    assert subprocess.run([ZJMODEL, *args], capture_output=True).returncode == 2
