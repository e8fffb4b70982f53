# SPDX-License-Identifier: GPL-2.0-only
"""Links between documents, and documents and manual pages that any file names, lead somewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"], check=True,
                         capture_output=True, text=True).stdout.split("\n")
NAMES = [name for name in TRACKED if name and (ROOT / name).is_file()]
DOCUMENTS = [name for name in NAMES if name.endswith(".md")]
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"(?<![\w/.-])(?:docs/[\w./-]*\w\.(?:md|svg|dot)|man/[\w-]+\.[1-8])\b")


def anchors(text):
    """What GitHub makes of the headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    heads = re.findall(r"(?m)^#+ (.*)$", text)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in heads]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in plain}


def dead(name, text):
    """The links of a document, and the paths that it names, that lead nowhere."""
    for target in LINK.findall(re.sub(r"(?ms)^```.*?^```", "", text)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        file = Path(os.path.normpath(ROOT / Path(name).parent / path)) if path else ROOT / name
        if not file.exists():
            yield target
        elif anchor and anchor not in anchors(file.read_text() if path else text):
            yield target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links(name):
    assert list(dead(name, (ROOT / name).read_text())) == []


def test_a_dead_link_is_seen():
    text = "# A b, c\n[x](#a-b-c) [x](#a-d) [x](README.md) [x](docs/gone.md) [x](docs/README.md#gone)"
    assert list(dead("README.md", text)) == ["#a-d", "docs/gone.md", "docs/README.md#gone"]


def test_named_documents_exist():
    missing = []
    for name in NAMES:
        # The tests of the checkers name files of trees that they make.
        if name.startswith("tests/docs/") or (ROOT / name).is_symlink():
            continue
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        missing += [f"{name}: {path}" for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert not missing, "\n".join(missing)
