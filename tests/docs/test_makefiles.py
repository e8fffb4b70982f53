# SPDX-License-Identifier: GPL-2.0-only
"""No Makefile runs in a folder with a space in its path, where it would remove other folders."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILES = subprocess.run(["git", "-C", ROOT, "ls-files", "*Makefile"], check=True, capture_output=True,
                           text=True).stdout.split()


@pytest.mark.parametrize("makefile", MAKEFILES)
def test_space_in_the_path(tmp_path, makefile):
    folder = tmp_path / "My Projects" / "zjournal"
    at = folder / makefile
    at.parent.mkdir(parents=True)
    shutil.copy(ROOT / makefile, at)
    beside = tmp_path / "My" / "file"
    beside.parent.mkdir()
    beside.write_text("somebody else's\n")
    for where in ["-C", at.parent], ["-C", folder, "-f", makefile]:
        got = subprocess.run(["make", *where, "clean"], capture_output=True, text=True, check=False)
        assert got.returncode == 2 and "a space in its path" in got.stderr, got.stdout + got.stderr
    assert beside.exists()
    assert [path for path in folder.rglob("*") if path.is_file()] == [at]
