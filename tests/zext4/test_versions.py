# SPDX-License-Identifier: GPL-2.0-only
"""Two versions of Coccinelle make the same of ext4 but for layout: this Debian's, and that of each tools/debian-kernel.

What packaging/record-results has recorded stands for this Debian's. It takes a minute or two of CPU
time and is part of what is run before a release.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TREES = [tree for tree in sorted(TOP.glob("build/kernels/*")) if (tree / "usr/bin/spatch").exists()]
SOURCES = sorted(TOP.glob("build/ext4/linux-*"), key=lambda path: [int(n) for n in path.name[6:].split(".")]) or \
    sorted(TOP.glob("build/kmod-6.12*/ext4-source"))
TOKEN = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|[^\s\w]'
SINGLE = re.compile(r"(?:(?<=\) )|(?<=else ))\{ ((?!(?:if|for|while|do|switch) )[^{};]*;) \}")


def single_blocks(words):
    """The words without the braces of a block that holds nothing but a block."""
    starts, ends = [], {}
    for at, word in enumerate(words):
        if word == "{":
            starts.append(at)
        elif word == "}" and starts:
            ends[starts.pop()] = at
    outer = {at for at, end in ends.items() if ends.get(at + 1) == end - 1}
    gone = outer | {ends[at] for at in outer}
    return [word for at, word in enumerate(words) if at not in gone]


def plain(text):
    """The text without comments and layout, and without braces around one plain statement or one block."""
    words = [word for word in re.findall(TOKEN, text, re.S) if word[:2] not in ("/*", "//")]
    return SINGLE.sub(r"\1", " ".join(single_blocks(words))).replace(" ; ", " ;\n")


def test_braces_of_one_statement():
    assert plain("if (a) {\n\tb(); /* c */\n}") == plain("if (a)\n\tb();")
    assert plain("if (a) { b(); c(); }") != plain("if (a) b(); c();")
    assert plain("if (a) { { int b; c(b); } }") == plain("if (a) { int b; c(b); }")
    assert plain("if (a) { { int b; c(b); } d(); }") != plain("if (a) { int b; c(b); d(); }")
    assert plain("if (a) { if (b) c(); } else d();") != plain("if (a) if (b) c(); else d();")


@pytest.mark.skipif("ZJ_VERSIONS" not in os.environ, reason="set ZJ_VERSIONS=1; tools/debian-kernel makes a tree")
@pytest.mark.parametrize("tree", TREES or [None], ids=str)
@pytest.mark.parametrize("source", SOURCES[-1:], ids=lambda path: path.name)
def test_same_results(tree, source):
    assert tree, "tools/debian-kernel trixie"
    out = TOP / "build/results/versions"
    shutil.rmtree(out, ignore_errors=True)
    for name, prefix in ("here", []), ("there", [TOP / "tools/in-tree", tree]):
        recorded = [] if prefix else ["--results", TOP / "build/recorded"]
        done = subprocess.run([*prefix, TOP / "zext4/apply", *recorded, TOP / "zext4/patches", source, out / name],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for path in (out / "here").rglob("*.[ch]"):
        assert plain((out / "there" / path.relative_to(out / "here")).read_text()) == plain(path.read_text()), path.name
