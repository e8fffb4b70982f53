# SPDX-License-Identifier: GPL-2.0-only
"""Closes the test run with "N passed, N failed" alone on a line."""

import sys
from pathlib import Path

import pytest

for folder in "kit", "vm":
    sys.path.insert(0, str(Path(__file__).resolve().parent / folder))


def pytest_configure(config):
    config.addinivalue_line("markers", "zext4: runs only when zext4 is under test")
    config.addinivalue_line("markers", "allow(*patterns): kernel messages that this test provokes")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Of tools/run-tests, which hands out whole files."""
    if config.getvalue("dist") != "loadfile":
        return None
    from longfirst import LongFirst    # pylint: disable=import-outside-toplevel  # not everybody has xdist
    return LongFirst(config, log)
