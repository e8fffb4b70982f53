# SPDX-License-Identifier: GPL-2.0-only
"""Every command of zjctl on mutated file systems (fuzz.py says what must hold)."""

import os
import random

import fuzz

pytest_plugins = "zjctl_fixtures"


def test_fuzz(sanitized, tmp_path):
    """A finding is kept in build/tests/zjctl/findings; fuzz.py --seed SEED --runs 1 repeats it."""
    seconds = float(os.environ.get("FUZZ_SECONDS", 4))
    done, statuses = fuzz.fuzz(sanitized, tmp_path, random.randrange(10 ** 9) * 1000, seconds)
    assert done and sum(statuses.values()) >= done


def test_mutations_reach_every_verdict(sanitized, tmp_path):
    """The same runs each time: the images are not all refused at the door."""
    _, statuses = fuzz.fuzz(sanitized, tmp_path, 1, None, most=30)
    assert {0, 1, 4, 8} <= set(statuses)
