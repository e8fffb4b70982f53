# SPDX-License-Identifier: GPL-2.0-only
"""A place of ext4 that was not reviewed stops the build (zext4/review)."""
import fnmatch
import importlib.machinery
import importlib.util
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "zext4"))
import csource  # noqa: E402

# Statements of as many functions are changed; a longer run is for once.
CHANGES = int(os.environ.get("ZJ_REVIEW_CHANGES", 50))
SOURCES = sorted(TOP.glob("build/kmod-6.12*/ext4-source"))



def load_review():
    loader = importlib.machinery.SourceFileLoader("review", str(TOP / "zext4/review"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("review", loader))
    loader.exec_module(module)
    return module


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


def test_each_function_that_is_patched_or_called(tree):
    """A statement more in any of them is seen."""
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


def built_symbols(names, kinds):
    """Symbols of these kinds in the objects of zext4."""
    found = set()
    for name in names:
        listed = subprocess.run(["nm", name], capture_output=True, text=True, check=True).stdout
        found |= {line.split()[-1].split(".")[0] for line in listed.splitlines() if line.split()[-2] in kinds}
    return found


def depended_on():
    """{(file, function): text} of what differs in the zext4 that was built, and of what our objects call.

    This is taken from the results, and not from the lists that zext4/review makes of the patches.
    """
    built = SOURCES[-1].parent / "zext4"
    own = [path for path in built.glob("*.o") if (TOP / "zext4" / f"{path.stem}.c").exists()]
    called = built_symbols(own, "U")
    found = {}
    for path in sorted((SOURCES[-1] / "fs/ext4").glob("*.[ch]")):
        after = csource.function_texts((built / path.name).read_text()) if (built / path.name).exists() else {}
        for name, text in csource.function_texts(path.read_text()).items():
            if name in called or name in after and csource.statements(text) != csource.statements(after[name]):
                found[path.name, name] = text
    return found


def test_parser_finds_each_function_of_the_objects():
    texts = {name for path in (SOURCES[-1] / "fs/ext4").glob("*.[ch]") for name in csource.function_texts(path.read_text())}
    built = SOURCES[-1].parent / "zext4"
    theirs = [path for path in built.glob("*.o") if (SOURCES[-1] / "fs/ext4" / f"{path.stem}.c").exists()
              and not (TOP / "zext4" / f"{path.stem}.c").exists()]
    made = [name for path in (SOURCES[-1] / "fs/ext4").glob("*.h") for macro in csource.type_texts(path.read_text()).values()
            for name in load_review().joins(macro)]
    missing = {name for name in built_symbols(theirs, "tT") - texts
               if re.match(r"_*(ext4|mb|mext|mpage|zext4)_", name) and not any(re.fullmatch(one, name) for one in made)}
    assert {name for name in missing if not re.match(r"_*(zext4|bpf_trace|probestub|traceiter)_", name)} == set()
    assert {"finish_range", "ext4_trim_extent", "ext4_fc_commit_dentry_updates"} <= texts


def changed(text, choose):
    """The function with one statement that does something else; nothing if it has none."""
    lines = text.splitlines()
    body = range(lines.index("{") + 1, len(lines))
    ways = []
    for at in body:
        line = lines[at]
        if re.match(r"\t+if \((.*)\)( \{)?$", line):
            ways.append((at, re.sub(r"if \((.*)\)", r"if (!(\1))", line)))
        elif re.match(r"\t+return\b.*;$", line):
            ways.append((at, re.sub(r"return.*;", "return 1;" if "return 0" in line else "return 0;", line)))
        elif re.match(r"\t+\w[^\"]*[);]$", line) and line.endswith(";"):
            ways.append((at, line[:len(line) - len(line.lstrip())] + ";"))
        elif re.search(r"\b0\b", line) and not line.lstrip().startswith(("*", "/")):
            ways.append((at, re.sub(r"\b0\b", "1", line, count=1)))
    if not ways:
        return None
    at, line = choose.choice(ways)
    assert lines[at] != line
    return "\n".join([*lines[:at], line, *lines[at + 1:]]) + "\n"


def test_one_statement_of_any_function(tmp_path):
    """One statement changed in each of some functions that the patches change or our code calls."""
    review, choose = load_review(), random.Random(34)
    functions = depended_on()
    assert len(functions) > 180
    known = review.read_reviewed()
    (tmp_path / "fs/ext4").mkdir(parents=True)
    unseen = []
    done = 0
    while done < CHANGES:
        (file, name), text = choose.choice(sorted(functions.items()))
        new = changed(text, choose)
        whole = (SOURCES[-1] / "fs/ext4" / file).read_text()
        if not new or text not in whole:
            continue
        path = tmp_path / "fs/ext4" / file
        path.write_text(whole.replace(text, new, 1))
        if (file, name) not in review.differences(review.places(tmp_path), known):
            unseen.append(f"{file}: {name}()")
        path.unlink()
        done += 1
    assert unseen == []


def test_what_is_relied_on_is_said_once():
    """Each place that a patch changes or our code uses has one line in "relies", and each line has a place."""
    review = load_review()
    relies = review.read_relies()
    # Those of other kernels, too.
    kinds = {place: ",".join(versions.values()) for place, versions in review.read_reviewed().items()}
    kinds |= {place: now for place, (now, _, _) in review.places(SOURCES[-1]).items()}
    wanted = [place for place, has in kinds.items() if {"patched", "called", "type", "relied", "outside"} & set(has.split(","))]
    assert [place for place in wanted if len(review.relied_on(place, relies)) != 1] == []
    assert [(file, name) for file, names, _ in relies for name in names
            if not any(place[0] == file and fnmatch.fnmatchcase(place[1], name) for place in wanted)] == []


@pytest.mark.parametrize("path, old, new, function", [
    ("fs/buffer.c", "\tset_buffer_uptodate(bh);", "\t;", "end_buffer_write_sync"),
    ("mm/rmap.c", "int folio_mkclean(struct folio *folio)\n{", "int folio_mkclean(struct folio *folio)\n{\n\tcond_resched();",
     "folio_mkclean"),
])
def test_function_outside_ext4(tree, path, old, new, function):
    text = (tree / "source" / path).read_text()
    at = text.index(function + "(")
    (tree / "source" / path).write_text(text[:at] + text[at:].replace(old, new, 1) if old in text[at:] else
                                        text.replace(old, new, 1))
    assert_stops(review(tree), f"zext4: {path}: {function}() has changed", "our code leans on it", "relied on: ")


def test_kept_source_without_the_files_outside(tree):
    """A package before this check has kept ext4 alone."""
    for name in ("fs/buffer.c", "mm", "block"):
        path = tree / "source" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    run = review(tree)
    assert run.returncode == 0, run.stderr


def test_what_is_relied_on_is_shown(tree):
    edit(tree, "page-io.c", "\tio->io_bio = NULL;\n\tio->io_end", "\tio->io_end")
    assert_stops(review(tree), "ext4_io_submit_init() has changed", "relied on: 33, 45: each bio of file data is sent here")


def test_place_that_is_gone(tree):
    edit(tree, "ioctl.c", "static int ext4_ioctl_getlabel(", "static int ext4_ioctl_tell_label(")
    assert_stops(review(tree), "ext4_ioctl_getlabel() is gone", "ext4_ioctl_tell_label() is new")


def test_place_that_only_one_of_two_kernels_has(tree):
    old = tree / "old"
    shutil.copytree(tree / "source", old)
    edit(tree, "ioctl.c", "static int ext4_ioctl_getlabel(", "static int ext4_ioctl_tell_label(")
    assert review(tree, "--add", "--renew", "ext4_ioctl_getlabel", "ext4_ioctl_tell_label").returncode == 0
    assert review(tree).returncode == 0
    in_old = [tree / "zext4/review", old]
    run = subprocess.run(in_old, capture_output=True, text=True, check=False)
    assert_stops(run, "ext4_ioctl_tell_label() is gone")
    assert "getlabel" not in run.stderr
    subprocess.run([*in_old, "--add", "--renew", "ext4_ioctl_tell_label"], check=True)
    subprocess.run(in_old, check=True)
    edit(tree, "ioctl.c", "ext4_ioctl_tell_label(", "ext4_ioctl_say_label(")
    assert_stops(review(tree), "ext4_ioctl_say_label() is new")


def test_renewed_line_passes_and_the_old_source_with_add(tree):
    shutil.copytree(tree / "source", tree / "old")
    edit(tree, "ioctl.c", "case EXT4_IOC_GETVERSION:", "case EXT4_IOC_GETVERSION + 1:")
    assert "GETVERSION + 1" in review(tree, "--diff", tree / "old").stdout
    assert review(tree, "--renew", "__ext4_ioctl", "--add").returncode == 0
    assert review(tree).returncode == 0
    old = subprocess.run([tree / "zext4/review", tree / "old"], capture_output=True, text=True, check=False)
    assert old.returncode == 0, old.stderr
    assert review(tree, "--renew", "ext4_ioctl_getuuid").returncode != 0
