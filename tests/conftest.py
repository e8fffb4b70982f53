# SPDX-License-Identifier: GPL-2.0-only
"""Closes the test run with "N passed, N failed" alone on a line."""

import sys
from pathlib import Path

for folder in "kit", "vm":
    sys.path.insert(0, str(Path(__file__).resolve().parent / folder))


def pytest_configure(config):
    config.addinivalue_line("markers", "zext4: runs only when zext4 is under test")
    config.addinivalue_line("markers", "allow(*patterns): kernel messages that this test provokes")
