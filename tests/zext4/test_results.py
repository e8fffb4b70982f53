# SPDX-License-Identifier: GPL-2.0-only
"""Results of the patches that are recorded take the place of Coccinelle, for just the text and the patches that made them."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SUPER = """#include "ext4.h"

static int first(void)
{
	old(1);
	return 0;
}

static int second(int flag)
{
	if (flag)
		old(2);
	old(3);
	return 1;
}
"""
COCCI = "// expect: super.c: first=2 second=4\n@@ expression n; @@\n- old(n);\n+ new(n);\n+ more();\n"


class Tree:
    """A small ext4 and patches for it."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in {"source/fs/ext4/super.c": SUPER, "source/fs/ext4/Makefile": "obj-m += ext4.o\n",
                           "source/fs/ext4/dir.c": "int dir;\n", "source/include/trace/events/ext4.h": "#define T\n",
                           "patches/10-one.cocci": COCCI,
                           "patches/00-names.sub": "@ Kbuild 1\n-ext4.o\n+zext4.o\n"}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "bin").mkdir()
        (folder / "bin/python3").symlink_to(os.path.realpath(sys.executable))

    def apply(self, *options, out="out", spatch=True):
        env = dict(os.environ) if spatch else {**os.environ, "PATH": str(self.folder / "bin")}
        return subprocess.run([TOP / "zext4/apply", *options, self.folder / "patches", self.folder / "source",
                               self.folder / out], env=env, capture_output=True, text=True, check=False)

    def record(self):
        done = self.apply("--record", self.folder / "recorded")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def recorded(self, *options, **more):
        return self.apply("--results", self.folder / "recorded", *options, **more)

    def edit(self, name, old, new):
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


@pytest.fixture(name="tree", scope="module")
def tree_fixture(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("first"))
    tree.record()
    return tree


@pytest.fixture(name="copy")
def copy_fixture(tree, tmp_path):
    shutil.copytree(tree.folder, tmp_path / "copy", symlinks=True)
    copy = object.__new__(Tree)
    copy.folder = tmp_path / "copy"
    return copy


def test_the_same_without_coccinelle(tree):
    done = tree.recorded(out="out2", spatch=False)
    assert done.returncode == 0, done.stderr
    assert "from recorded results" in done.stdout
    text = (tree.folder / "out/super.c").read_text()
    assert text.count("new(") == 3 and "old(" not in text
    for path in (tree.folder / "out").rglob("*.*"):
        assert path.is_dir() or path.read_bytes() == (tree.folder / "out2" / path.relative_to(tree.folder / "out")).read_bytes()
    assert (tree.folder / "out2/Kbuild").read_text() == "obj-m += zext4.o\n"


def test_no_line_of_the_source_is_kept_that_no_edit_needs(tree):
    texts = "".join(path.read_text() for path in (tree.folder / "recorded").iterdir())
    assert "new(3);" in texts
    for line in SUPER.splitlines():
        assert not line.strip(" \t{}") or line.strip() == "if (flag)" or line.strip() not in texts


@pytest.mark.parametrize("name, old, new", [
    ("source/fs/ext4/super.c", "return 1;", "return 2;"),
    ("patches/10-one.cocci", "more();", "others();"),
])
def test_another_text_or_patch(copy, name, old, new):
    copy.edit(name, old, new)
    done = copy.recorded(out="out3", spatch=False)
    assert done.returncode != 0 and not (copy.folder / "out3").exists()
    assert "super.c have no recorded result" in done.stderr and "apt-get install coccinelle" in done.stderr
    done = copy.recorded("--ready", spatch=False)
    assert done.returncode != 0 and "super.c" in done.stderr
    done = copy.recorded(out="out3")
    assert done.returncode == 0 and "by Coccinelle" in done.stdout
    assert new in (copy.folder / "out3/super.c").read_text()


def test_what_no_patch_changes_may_differ(copy):
    copy.edit("source/fs/ext4/dir.c", "int dir", "int other")
    assert copy.recorded(out="out3", spatch=False).returncode == 0
    assert (copy.folder / "out3/dir.c").read_text() == "int other;\n"


def test_damaged_result(copy):
    path = next(p for p in (copy.folder / "recorded").iterdir() if "new(3)" in p.read_text())
    path.write_text(path.read_text().replace("new(3)", "new(4)"))
    done = copy.recorded(out="out3")
    assert done.returncode != 0 and "is damaged" in done.stderr and not (copy.folder / "out3").exists()


def test_another_number_of_statements(copy):
    copy.edit("source/fs/ext4/super.c", "\told(3);\n", "\told(3);\n\told(4);\n")
    done = copy.recorded(out="out3")
    assert done.returncode != 0
    assert "second: expected 4 changed statement(s), made 6" in done.stderr


def test_expect_lines_are_written(copy):
    copy.edit("patches/10-one.cocci", "first=2 second=4", "second=1 gone=7")
    assert copy.apply("--expect").returncode == 0
    assert "// expect: super.c: second=4 first=2\n" in (copy.folder / "patches/10-one.cocci").read_text()


def test_layout_and_braces_do_not_count(monkeypatch):
    monkeypatch.syspath_prepend(str(TOP / "zext4"))
    import csource
    one = "void f(void)\n{\n\tif (a)\n\t\tb(\"{ /* ; */\");\n\telse\n\t\tc(';');\n\tfor (i = 0; i < 3; i++)\n\t\td();\n}\n"
    other = one.replace("(a)\n\t\t", "(a) {\n\n\t\t").replace("\telse\n", "\t} else /* c */\n")
    assert csource.changed_statements(one, other) == {}
    assert csource.changed_statements(one, " " + one) == {}
    assert csource.changed_statements(one, other.replace("d();", "e();")) == {"f": 1}
    assert csource.changed_statements(one, one.replace("{ /*", "{ //")) == {"f": 1}
    assert csource.changed_statements(one, "#define X 1\n" + one) == {"-": 1}
