# SPDX-License-Identifier: GPL-2.0-only
"""The order in which zext4/apply takes the patches of all folders."""
import importlib.machinery
import importlib.util
import pathlib
import sys

import pytest

ZEXT4 = pathlib.Path(__file__).resolve().parents[2] / "zext4"


@pytest.fixture(name="apply")
def apply_fixture(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ZEXT4), *sys.path])
    loader = importlib.machinery.SourceFileLoader("apply", str(ZEXT4 / "apply"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("apply", loader))
    loader.exec_module(module)
    return module


def patches(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# nothing\n")
    return folder


def test_numbers_decide_not_folders(apply, tmp_path):
    patches(tmp_path, "a/20-late.sub", "b/05-early.sub", "c/10-middle.sub", "c/README")
    assert [p.path.name for p in apply.load(tmp_path)] == ["05-early.sub", "10-middle.sub", "20-late.sub"]


def test_a_number_is_given_once(apply, tmp_path):
    patches(tmp_path, "a/10-one.sub", "b/10-two.sub")
    with pytest.raises(apply.Mismatch, match="same number"):
        apply.load(tmp_path)


def test_without_a_home_directory(apply, tmp_path, monkeypatch):
    """An unattended upgrade, which lets DKMS build, has no HOME."""
    monkeypatch.delenv("HOME")
    (tmp_path / "10-one.cocci").write_text("// expect: a.c: f=1\n@@ @@\n- old();\n+ new();\n")
    source = tmp_path / "a.c"
    source.write_text("void f(void)\n{\n\told();\n}\n")
    apply.Cocci(tmp_path / "10-one.cocci").apply("a.c", str(source), False)
    assert "new();" in source.read_text()


def test_each_patch_is_in_a_folder_that_the_build_watches(apply):
    assert {p.path.parent.name for p in apply.load(ZEXT4 / "patches")} == {"names", "correctness", "features"}
