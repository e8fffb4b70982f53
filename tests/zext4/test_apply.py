# SPDX-License-Identifier: GPL-2.0-only
"""What zext4/apply does with patches: their order, and what fits which kernel."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
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


KERNELS = ("// expect: a.c: old=1 | renamed=1 more=1\n// expect: b.c: | also=1\n"
           "@@ identifier f = {old, renamed, more, also}; @@\n f(...)\n {\n <...\n- was();\n+ is();\n ...>\n }\n")


def sources(folder, **texts):
    """A kernel whose ext4 has these functions in a.c and b.c."""
    ext4 = folder / "source/fs/ext4"
    ext4.mkdir(parents=True)
    (folder / "source/include/trace/events").mkdir(parents=True)
    (folder / "source/include/trace/events/ext4.h").write_text("\n")
    (ext4 / "Makefile").write_text("\n")
    for name, functions in texts.items():
        (ext4 / f"{name}.c").write_text("".join(f"void {f}(void)\n{{\n\twas();\n}}\n\n" for f in functions))
    return folder / "source"


@pytest.mark.parametrize("a,b,says", [
    (["old"], ["other"], None),
    (["renamed", "more"], ["also"], None),
    # A function that has lost its place, and one that is there too many.
    (["renamed"], ["also"], "more: expected 1 changed statement"),
    (["old", "more"], ["other"], "more: expected 0 changed statement"),
    (["other"], ["other"], "old: expected 1 changed statement"),
    # Each file fits by itself, but one is like the first kernel, one like the second.
    (["old"], ["also"], "neither like one kernel nor like another"),
    (["renamed", "more"], ["other"], "neither like one kernel nor like another")])
def test_one_kernel_fits_as_a_whole(tmp_path, a, b, says):
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/10-one.cocci").write_text(KERNELS)
    done = subprocess.run([ZEXT4 / "apply", tmp_path / "patches", sources(tmp_path, a=a, b=b), tmp_path / "out"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert (says or "1 patches applied") in done.stdout
    assert (tmp_path / "out").exists() == (says is None)


def test_a_count_may_differ_between_kernels(apply, tmp_path):
    (tmp_path / "10-one.sub").write_text("@ a.c 1|3\n-was\n+is\n")
    patch, source = apply.Substitution(tmp_path / "10-one.sub"), tmp_path / "a.c"
    for number, chosen in ((1, {0}), (3, {1})):
        found = {}
        source.write_text("was;" * number)
        patch.apply("a.c", str(source), False, found)
        assert set(found) == chosen
    source.write_text("was;" * 2)
    with pytest.raises(apply.Mismatch, match="expected 1 or 3"):
        patch.apply("a.c", str(source), False)


def test_expect_writes_into_the_alternative_that_fits(apply, tmp_path):
    path, source = tmp_path / "10-one.cocci", tmp_path / "a.c"
    path.write_text(KERNELS.replace("more=1", "more=2"))
    source.write_text("".join(f"void {f}(void)\n{{\n\twas();\n}}\n\n" for f in ("renamed", "more")))
    apply.Cocci(path).apply("a.c", str(source), "expect")
    assert path.read_text() == KERNELS
