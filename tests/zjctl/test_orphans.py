# SPDX-License-Identifier: GPL-2.0-only
"""Orphans after a recovery: e2fsck finishes them, unless it would take attributes away."""

import shutil

from zjctl_images import sh

pytest_plugins = "zjctl_fixtures"


def attribute(path):
    return "text" in sh("debugfs", "-R", "ea_get f user.v", path).stdout


def image(tmp_path, attributes):
    path = tmp_path / "img"
    (tmp_path / "f").write_text("hello\n")
    sh("truncate", "-s", "16M", path)
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-I", "128", path)
    commands = [f"write {tmp_path}/f f", "ssv last_orphan 12"]
    if attributes:
        commands.insert(1, "ea_set f user.v text")
    for command in commands:
        sh("debugfs", "-w", "-R", command, path)
    return path


def test_attributes_of_a_truncated_file_stay(zjctl, tmp_path):
    path = image(tmp_path, attributes=True)
    before = path.read_bytes()
    got = zjctl("recover", path)
    assert got.returncode == 0 and "left to the next mount" in got.stderr
    assert path.read_bytes() == before and attribute(path)
    # Why: if this no longer fails, e2fsck is mended and orphans.c can go.
    shutil.copy(path, tmp_path / "copy")
    sh("e2fsck", "-fp", tmp_path / "copy", check=False)
    assert not attribute(tmp_path / "copy")


def test_orphan_without_attributes_is_finished(zjctl, tmp_path):
    path = image(tmp_path, attributes=False)
    got = zjctl("recover", path)
    assert got.returncode == 1 and "e2fsck -p" in got.stdout
    sh("e2fsck", "-fn", path)
