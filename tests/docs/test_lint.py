# SPDX-License-Identifier: GPL-2.0-only
"""What tools/lint itself knows finds what is wrong, and exceptions that are not needed."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

LINT = pathlib.Path(__file__).resolve().parents[2] / "tools/lint"
LONG = "int long_one(void)\n{\n" + "\tfoo();\n" * 69 + "}\n"


@pytest.fixture(name="lint")
def lint_fixture(tmp_path, monkeypatch):
    """The program over a small tree of its own."""
    loader = importlib.machinery.SourceFileLoader("lint", str(LINT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)
    (tmp_path / "tools").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def check(name, files, excepted=""):
        (tmp_path / "tools/lint-exceptions").write_text(excepted)
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
        return list(module.CHECKS[name]())
    return check


@pytest.mark.parametrize("name,files,place", [
    ("columns", {"a.md": "x" * 101}, "a.md:1"),
    ("columns", {"a.md": "\t" * 12 + "x" * 5}, "a.md:1"),
    ("functions", {"a.c": LONG}, "a.c:long_one()"),
    ("functions", {"a.py": "def f():\n" + "    g()\n" * 70}, "a.py:f()"),
    ("functions", {"tool": "#!/usr/bin/env python3\ndef f():\n" + "    g()\n" * 70}, "tool:f()"),
    ("files", {"a.h": "\n" * 801}, "a.h"),
    ("prose", {"a.md": "A b.\nWord " + "word " * 46 + "\n"}, "a.md:2"),
    ("prose", {"a.md": "- A lane of its\n  own.\n"}, "a.md:1"),
    ("prose", {"a.md": "Lanes help. Who syncs, waits.\n"}, "a.md:1"),
    ("prose", {"man/a.7": ".Pp\nThe\n.Cm lane\nof\n.Em its\nown.\n"}, "man/a.7:2"),
    ("words", {"a.md": "word " * 72001}, "documents"),
])
def test_what_is_too_large_is_reported(lint, name, files, place):
    assert lint(name, files)[0].startswith(f"{place}: ")


@pytest.mark.parametrize("name,files", [
    ("columns", {"a.md": "x" * 100 + "\n|" + "x" * 200}),
    ("functions", {"a.c": LONG.replace("\tfoo();\n", "", 1)}),
    ("files", {"a.h": "\n" * 800, "a.txt": "\n" * 900}),
    ("prose", {"a.md": "word " * 40 + "end. Next " + "word " * 40}),
    ("prose", {"a.md": "Who waits? `Who syncs, waits.`\n```\nof its own\n```\n| of its own |\n"}),
    ("prose", {"man/a.7": ".Bd -literal\nof its own\n.Ed\n" + "word\n" * 40 + "end.\n" + "word\n" * 40}),
    ("words", {"a.md": "<!-- made by x -->\n" + "word " * 72001 + "\n<!-- end -->\n"}),
])
def test_what_is_not_too_large_passes(lint, name, files):
    assert lint(name, files) == []


def test_an_exception_holds_while_it_is_needed(lint):
    line = "files a.c the reason\n"
    assert lint("files", {"a.c": "\n" * 801}, line) == []
    assert "not needed" in lint("files", {"a.c": "\n" * 800}, line)[0]


def test_an_exception_without_a_reason_is_refused(lint):
    with pytest.raises(SystemExit, match="not CHECK PLACE REASON"):
        lint("files", {}, "files a.c\n")
