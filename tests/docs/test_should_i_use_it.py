# SPDX-License-Identifier: GPL-2.0-only
"""Figures and commands of docs/limits.md are those of the pages of the benches."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [(ROOT / name).read_text() for name in ("README.md", "bench/README.md", "docs/benchmarks.md")]
# A command may go on in a second line.
SOURCE = re.sub(r"\s*\\\n\s*", " ", "\n".join(SOURCES))


def rows():
    """(workload, figures, command) of each row that has figures."""
    found, command = [], None
    for line in (ROOT / "docs/limits.md").read_text().splitlines():
        if not line.startswith("| ") or line.startswith("| workload"):
            continue
        workload, ratio, _, how = (cell.strip() for cell in line.strip("|").split("|"))
        command = re.search("`(.*?)`", how)[1] if "`" in how else command
        if re.search(r"\d", ratio):
            found.append((workload, re.findall(r"\d+(?:\.\d+)?", ratio), command))
    return found


def test_there_are_rows():
    assert len(rows()) >= 12


@pytest.mark.parametrize("workload,figures,command", rows(), ids=[row[0] for row in rows()])
def test_row(workload, figures, command):
    missing = [figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.]*\d)", SOURCE)]
    assert not missing, f"{workload}: {missing} are in none of the pages"
    assert command in SOURCE, f"{workload}: {command}"
