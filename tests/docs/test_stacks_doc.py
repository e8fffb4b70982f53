# SPDX-License-Identifier: GPL-2.0-only
"""docs/compatibility.md has a row for each stack that the VM test cuts, and no other."""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/vm"))

from stack_sets import STACKS    # noqa: E402

HEAD = "| stack |"


def rows(text):
    table = text[text.index(HEAD):].partition("\n\n")[0]
    return re.findall(r"^\| ([^|]+) \|", table, re.M)[1:]


def test_rows():
    found = [row for row in rows((TOP / "docs/compatibility.md").read_text()) if not row.startswith("---")]
    assert found == list(STACKS)
