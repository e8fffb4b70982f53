# SPDX-License-Identifier: GPL-2.0-only
"""A place of ext4 that was not reviewed stops the build (zext4/review)."""
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted(TOP.glob("build/kmod-6.12*/ext4-source"))

NEW_FUNCTION = """
static int ext4_brand_new(struct inode *inode)
{
	handle_t *handle = ext4_journal_start(inode, EXT4_HT_INODE, 1);

	return IS_ERR(handle) ? PTR_ERR(handle) : ext4_journal_stop(handle);
}
"""


@pytest.fixture
def tree(tmp_path):
    """A copy of zext4's scripts and of the source that the modules were built from."""
    assert SOURCES, "build the modules first: make modules"
    shutil.copytree(TOP / "zext4", tmp_path / "zext4", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(SOURCES[-1], tmp_path / "source")
    return tmp_path


def review(tree, *arguments):
    return subprocess.run([tree / "zext4/review", tree / "source", *arguments],
                          capture_output=True, text=True, check=False)


def edit(tree, name, old, new):
    path = tree / "source/fs/ext4" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def assert_stops(run, *words):
    assert run.returncode == 1
    assert all(word in run.stderr for word in words), run.stderr


def test_source_as_reviewed_passes(tree):
    run = review(tree)
    assert run.returncode == 0, run.stderr


def test_comments_and_layout_do_not_matter(tree):
    edit(tree, "fsync.c", "int ext4_sync_file(", "/* A word more. */\nint\next4_sync_file(")
    edit(tree, "namei.c", "\thandle = ext4_journal_start(", "\t/* why */\n\thandle =\n\t\text4_journal_start(")
    assert review(tree).returncode == 0


def test_new_function_that_starts_a_handle(tree):
    path = tree / "source/fs/ext4/symlink.c"
    path.write_text(path.read_text() + NEW_FUNCTION)
    assert_stops(review(tree), "symlink.c: ext4_brand_new() is new", "starts, extends or restarts a handle")


def test_known_function_that_comes_to_start_one(tree):
    edit(tree, "dir.c", "static int is_dx_dir(struct inode *inode)\n{\n",
         "static int is_dx_dir(struct inode *inode)\n{\n\text4_journal_start(inode, EXT4_HT_DIR, 1);\n")
    assert_stops(review(tree), "dir.c: is_dx_dir() is new")


@pytest.mark.parametrize("name, old, new, function", [
    ("namei.c", "EXT4_HT_DIR", "EXT4_HT_MISC", "()"),
    ("ioctl.c", "case EXT4_IOC_GETVERSION:", "case EXT4_IOC_GETVERSION + 1:", "__ext4_ioctl()"),
    ("file.c", "\t.fsync\t\t= ext4_sync_file,", "\t.fsync\t\t= ext4_other_sync_file,", "ext4_file_operations()"),
])
def test_changed_place(tree, name, old, new, function):
    edit(tree, name, old, new)
    assert_stops(review(tree), f"{name}: ", f"{function} has changed")


def test_function_that_only_a_patch_touches(tree):
    edit(tree, "fsync.c", "trace_ext4_sync_file_enter(file, datasync);",
         "trace_ext4_sync_file_enter(file, datasync);\n\tif (datasync)\n\t\treturn 0;")
    assert_stops(review(tree), "fsync.c: ext4_sync_file() has changed", "a patch changes it")


@pytest.mark.parametrize("name, old, new, place", [
    ("mballoc.h", "\text4_group_t\t\t\tefd_group;", "\tu64 efd_group;", "ext4_free_data"),
    ("ext4.h", "#define EXT4_GET_BLOCKS_IO_SUBMIT\t\t0x0400", "#define EXT4_GET_BLOCKS_IO_SUBMIT\t\t0x4000",
     "EXT4_GET_BLOCKS_IO_SUBMIT"),
])
def test_type_that_our_code_uses(tree, name, old, new, place):
    edit(tree, name, old, new)
    assert_stops(review(tree), f"{name}: {place}() has changed", "zext4's own code or an inserted line uses it")


def test_each_function_that_is_patched_or_called(tree, monkeypatch):
    """A statement more in any of them is seen."""
    monkeypatch.syspath_prepend(str(TOP / "zext4"))
    import csource
    lines = [line.split() for line in (TOP / "zext4/reviewed").read_text().splitlines() if line[0] != "#"]
    wanted = {(file, name) for file, name, kinds, _ in lines if {"patched", "called"} & set(kinds.split(","))}
    done = set()
    for path in (tree / "source/fs/ext4").glob("*.[ch]"):
        text = path.read_text().splitlines()
        for name, start, end in csource.spans(path.read_text()):
            if (path.name, name) in wanted:
                at = text.index("{", start, end)
                text[at] = "{ return;"
                done.add((path.name, name))
        path.write_text("\n".join(text).replace("\n{ return;", "\n{\n\treturn;") + "\n")
    assert len(done) > 150
    run = review(tree)
    assert_stops(run, *(f"fs/ext4/{file}: {name}() has changed" for file, name in done))


def test_place_that_is_gone(tree):
    edit(tree, "ioctl.c", "static int ext4_ioctl_getlabel(", "static int ext4_ioctl_tell_label(")
    assert_stops(review(tree), "ext4_ioctl_getlabel() is gone", "ext4_ioctl_tell_label() is new")


def test_renewed_line_passes_and_the_old_source_with_add(tree):
    shutil.copytree(tree / "source", tree / "old")
    edit(tree, "ioctl.c", "case EXT4_IOC_GETVERSION:", "case EXT4_IOC_GETVERSION + 1:")
    assert "GETVERSION + 1" in review(tree, "--diff", tree / "old").stdout
    assert review(tree, "--renew", "__ext4_ioctl", "--add").returncode == 0
    assert review(tree).returncode == 0
    old = subprocess.run([tree / "zext4/review", tree / "old"], capture_output=True, text=True, check=False)
    assert old.returncode == 0, old.stderr
    assert review(tree, "--renew", "ext4_ioctl_getuuid").returncode != 0
