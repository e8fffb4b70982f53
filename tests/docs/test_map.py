# SPDX-License-Identifier: GPL-2.0-only
"""docs/README.md leads to every document and answers ten questions; the index of decisions lists each."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs/README.md").read_text()
INDEX = (ROOT / "docs/decisions/README.md").read_text()
DECISIONS = sorted(path.name for path in (ROOT / "docs/decisions").glob("0*.md"))
# What one finds in the folder that it is about.
ASIDE = ("tests/", "bench/", "docs/decisions/0", "docs/README.md", "README.md", ".github/")


def test_every_document_is_on_the_map():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], check=True, capture_output=True,
                           text=True).stdout.split()
    links = {(ROOT / "docs" / link.partition("#")[0]).resolve() for link in re.findall(r"\]\(([^)]+)\)", MAP)}
    missing = [name for name in names if (ROOT / name).exists() and not name.startswith(ASIDE)
               and ROOT / name not in links]
    assert not missing
    pages = [page.name for page in (ROOT / "man").iterdir() if page not in links]
    assert not pages


def test_ten_questions_have_answers():
    # test_links.py finds that each place is there.
    rows = re.findall(r"(?m)^\| ([^|]*\?) \| (.*) \|$", MAP)
    assert len(rows) == 10 and all("](" in answer for _, answer in rows)
    # One click from README: its own links lead to the page that answers, the first one of each row.
    readme = (ROOT / "README.md").read_text()
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in re.findall(r"\]\(([^)]+)\)", readme)}
    far = [question for question, answer in rows
           if (ROOT / "docs" / re.search(r"\]\(([^)#]+)", answer)[1]).resolve() not in linked]
    assert not far and ROOT / "docs/README.md" in linked


@pytest.mark.parametrize("name", DECISIONS)
def test_decision_is_listed_under_its_title(name):
    number, _, title = (ROOT / "docs/decisions" / name).read_text().partition("\n")[0].removeprefix("# ").partition(". ")
    assert INDEX.count(f"| {number} | [{title}]({name}) |\n") == 1


def test_no_decision_is_listed_that_is_gone():
    assert INDEX.count("](0") == len(DECISIONS)
