# SPDX-License-Identifier: GPL-2.0-only
"""docs/README.md leads to every document and answers ten questions; the index of decisions lists each."""

import re
import shutil
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


def test_titles_are_brought_into_the_index_by_a_tool(tmp_path):
    """Each table is marked as made, and the tool finds a title that has changed."""
    assert INDEX.count("<!-- made by tools/decisions -->\n| | |\n") == INDEX.count("\n## ") == INDEX.count("<!-- end -->\n")
    tool = tmp_path / "tools/decisions"
    shutil.copytree(ROOT / "docs/decisions", tmp_path / "docs/decisions")
    tool.parent.mkdir()
    shutil.copy(ROOT / "tools/decisions", tool)
    assert subprocess.run([tool]).returncode == 0
    changed = tmp_path / "docs/decisions" / DECISIONS[0]
    changed.write_text(changed.read_text().replace("\n", " of today\n", 1))
    assert subprocess.run([tool]).returncode == 1
    subprocess.run([tool, "--write"], check=True)
    assert " of today](" in (tmp_path / "docs/decisions/README.md").read_text()


def test_no_decision_is_listed_that_is_gone():
    assert INDEX.count("](0") == len(DECISIONS)
