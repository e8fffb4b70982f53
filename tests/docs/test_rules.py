# SPDX-License-Identifier: GPL-2.0-only
"""What the tree cites of docs/internals/rules.md and docs/internals/ext4.md is there (tools/check-rules)."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "tools/check-rules"


@pytest.fixture(name="check")
def check_fixture(tmp_path, monkeypatch):
    """The checker over a small tree of its own."""
    loader = importlib.machinery.SourceFileLoader("check_rules", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_rules", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)
    for folder in ("docs/internals", "src", "tests/mutants"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs/internals/ext4.md").write_text("### E1 One\nRule R1.\n")
    (tmp_path / "docs/internals/rules.md").write_text(
        "### R1 One\nKept by `keep()`. Watched by `no-R1`.\n")
    (tmp_path / "src/keep.c").write_text("/* R1: this keeps it. */\nvoid keep(void)\n{\n\tu32 R9;\n}\n")
    (tmp_path / "tests/mutants/no-R1.patch").write_text("# R1: dropped\n--- a/keep.c\n+R8\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    def run():
        subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
        defined, errors = module.rules()
        return errors + [*module.citations(defined), *module.named(defined),
                         *module.correctness_patches(defined)]
    run.tree = tmp_path
    return run


def test_this_tree():
    subprocess.run([CHECK], check=True)


def test_nothing_is_found_where_all_is_right(check):
    assert check() == []


def test_unit_test_may_watch(check):
    (check.tree / "tests/unit").mkdir()
    (check.tree / "tests/unit/test_keep.c").write_text("\tCORE_TEST(keeps_it),\n")
    (check.tree / "docs/internals/rules.md").write_text("### R1 One\nKept by `keep()`. Watched by `keeps_it`.\n")
    assert check() == []


@pytest.mark.parametrize("path,text,what", [
    ("src/a.c", "/* As R7 wants it. */", "cites R7"),
    ("src/a.h", "/* (design §3) */", "in no document"),
    ("docs/a.md", "See hazard 9.", "in no document"),
    ("zext4/a.cocci", "// E30: this.", "cites E30"),
    ("tests/mutants/a.patch", "# N4: dropped", "cites N4"),
    ("docs/internals/ext4.md", "### E1 One\n### E1 Two\n", "defined twice"),
    ("docs/internals/rules.md", "### R1 One\nKept by `lose()`. Watched by `no-R1`.\n", "no function lose()"),
    ("docs/internals/rules.md", "### R1 One\nKept by `keep()`. Watched by `no-R2`.\n", "no-R2 watches"),
    ("docs/internals/rules.md", "### R1 One\nKept by `keep()`. Watched\nby `no-R2`.\n", "no-R2 watches"),
    ("docs/internals/rules.md", "### R1 One\nKept by `keep()`.\n", "nothing watches"),
    ("docs/internals/rules.md", "### R1 One\nKept by `keep()`. Watched by `no-R1`, `keeps_not`.\n", "keeps_not watches"),
    ("docs/internals/ext4.md", "### E1 One\nTests: `test_gone`, `tests/gone.py`.\n", "no test_gone"),
    ("docs/internals/ext4.md", "### E1 One\n[decision](decisions/0001.md)\n", "no docs/internals/decisions/0001.md"),
    ("zext4/patches/correctness/a.cocci", "// SPDX\n// Why.\n", "second line is not"),
    ("zext4/patches/correctness/a.cocci", "// SPDX\n// Rules: R1, X1.\n", "second line is not"),
    ("docs/internals/ext4.md", "### E1 One\nMutants no-R1 and no-R2.\n", "no-R2 watches"),
])
def test_what_is_wrong_is_reported(check, path, text, what):
    place = check.tree / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    assert any(what in error for error in check()), check()
