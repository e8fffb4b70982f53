# SPDX-License-Identifier: GPL-2.0-only
"""man/zext4.5 lists the mount options as their table has them (tools/option-doc)."""
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = TOP / "tools/option-doc"


def copy(tmp_path):
    """A tree with all files that the tool reads."""
    for name in ("tools/option-doc", "zext4/options.c", "zext4/options.h", "man/zext4.5", "user/mount.zext4",
                 "packaging/debian/zjournal-root.postinst",
                 *(str(path.relative_to(TOP)) for path in TOP.glob("include/zjournal/*.h"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((TOP / name).read_bytes())
    (tmp_path / "tools/option-doc").chmod(0o755)
    return tmp_path


def change(path, pattern, text):
    before = path.read_text()
    assert re.search(pattern, before)
    path.write_text(re.sub(pattern, text, before, count=1))


def test_this_tree():
    subprocess.run([TOOL], check=True)


def test_a_changed_table_is_noticed_and_written_down(tmp_path):
    tree = copy(tmp_path)
    change(tree / "zext4/options.c", r'WORDS\("own", "all"\)', 'WORDS("all", "own")')
    run = subprocess.run([tree / "tools/option-doc"], stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1 and "zext4.5 is not" in run.stdout
    subprocess.run([tree / "tools/option-doc", "--write"], check=True)
    subprocess.run([tree / "tools/option-doc"], check=True)
    assert ".It Cm fsync= Ns Cm all | Cm own" in (tree / "man/zext4.5").read_text()


def test_an_edited_list_is_noticed(tmp_path):
    tree = copy(tmp_path)
    change(tree / "man/zext4.5", "The default is cpu", "The default is dir")
    assert subprocess.run([tree / "tools/option-doc"], stdout=subprocess.DEVNULL, check=False).returncode == 1


def test_a_new_name_reaches_the_scripts(tmp_path):
    """What mount.zext4 does not know, it would hand over to stock ext4, which refuses it: a boot would stop."""
    tree = copy(tmp_path)
    change(tree / "zext4/options.c", r'\.name = "fsync",', '.name = "sync_of",')
    run = subprocess.run([tree / "tools/option-doc"], stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1 and "mount.zext4 is not" in run.stdout and "postinst is not" in run.stdout
    subprocess.run([tree / "tools/option-doc", "--write"], check=True)
    assert " sync_of " in (tree / "user/mount.zext4").read_text()
    assert "|sync_of|" in (tree / "packaging/debian/zjournal-root.postinst").read_text()


def test_what_an_option_has_no_effect_without_comes_from_the_table(tmp_path):
    tree = copy(tmp_path)
    change(tree / "zext4/options.c", r'pipelined lanes \(tune=pipeline:on\)', "a second thread (tune=threads:2)")
    subprocess.run([tree / "tools/option-doc", "--write"], check=True)
    page = (tree / "man/zext4.5").read_text()
    assert page.count("It has no effect without a second thread (tune=threads:2).") == 3
    change(tree / "zext4/options.c", r"\.with = ZEXT4_WITH_PIPELINE", ".with = ZEXT4_WITH_NOTHING")
    assert subprocess.run([tree / "tools/option-doc"], stderr=subprocess.DEVNULL, check=False).returncode


def test_an_unknown_field_is_refused(tmp_path):
    tree = copy(tmp_path)
    change(tree / "zext4/options.c", r'\.name = "fsync",', '.name = "fsync", .hidden = true,')
    run = subprocess.run([tree / "tools/option-doc"], stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode and "hidden of fsync" in run.stderr
