# SPDX-License-Identifier: GPL-2.0-only
"""Orphans after a recovery: e2fsck finishes them, unless it would take attributes away."""

import os
import shutil
import subprocess

import pytest

from zjctl_images import ROOT, sh

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
    # Why: if this no longer fails, e2fsck is fixed, and orphans.c can be removed.
    shutil.copy(path, tmp_path / "copy")
    sh("e2fsck", "-fp", tmp_path / "copy", check=False)
    assert not attribute(tmp_path / "copy")


def test_orphan_without_attributes_is_finished(zjctl, tmp_path):
    path = image(tmp_path, attributes=False)
    got = zjctl("recover", path)
    assert got.returncode == 1 and "e2fsck -p" in got.stdout
    sh("e2fsck", "-fn", path)


@pytest.mark.parametrize("where", ["nowhere", "file system", "journal"])
def test_boot_stops_at_errors_that_no_e2fsck_has_looked_at(sanitized, tmp_path, where):
    """Truncated files keep e2fsck away; a file system with errors must not be mounted then."""
    path = image(tmp_path, attributes=True)
    if where == "file system":
        sh("debugfs", "-w", "-R", "ssv state 2", path)
    elif where == "journal":
        at = int(sh("debugfs", "-R", "bmap <8> 0", path).stdout) * 1024
        with open(path, "r+b") as f:
            f.seek(at + 0x20)                   # s_errno; this journal has no checksum
            f.write((-5).to_bytes(4, "big", signed=True))
    got = subprocess.run([ROOT / "user" / "fsck.zext4", "-p", path], capture_output=True, text=True,
                         env={**os.environ, "PATH": f"{sanitized.parent}:{os.environ['PATH']}"})
    assert got.returncode == (0 if where == "nowhere" else 4), got.stdout + got.stderr
    assert ("mount it once" in got.stderr) == (where != "nowhere")
    assert attribute(path)
