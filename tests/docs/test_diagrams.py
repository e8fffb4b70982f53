# SPDX-License-Identifier: GPL-2.0-only
"""Each diagram is made from its source as it is, and a document shows it (tools/diagrams)."""

import subprocess
import xml.dom.minidom
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "docs/img").glob("*.dot"))


def test_this_tree():
    subprocess.run([ROOT / "tools/diagrams"], check=True)


@pytest.mark.parametrize("source", SOURCES, ids=[source.stem for source in SOURCES])
def test_diagram(source):
    picture = source.with_suffix(".svg")
    xml.dom.minidom.parseString(picture.read_text())
    assert "prefers-color-scheme: dark" in picture.read_text()
    assert any(f"img/{picture.name}" in document.read_text() for document in ROOT.glob("docs/**/*.md"))


def test_a_changed_source_is_noticed(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "docs/img").mkdir(parents=True)
    tool = tmp_path / "tools/diagrams"
    tool.write_bytes((ROOT / "tools/diagrams").read_bytes())
    tool.chmod(0o755)
    for name in "recovery.dot", "recovery.svg":
        (tmp_path / "docs/img" / name).write_bytes((ROOT / "docs/img" / name).read_bytes())
    subprocess.run([tool], check=True)
    source = tmp_path / "docs/img/recovery.dot"
    source.write_text(source.read_text().replace("boot it", "boot that"))
    run = subprocess.run([tool], stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1 and "recovery.svg is not made from its source" in run.stdout
