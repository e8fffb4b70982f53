# SPDX-License-Identifier: GPL-2.0-only
"""user/ compiles with the headers of a newer e2fsprogs, whose macros meet those of user/include."""
import pathlib
import re
import shlex
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
# What the header of Debian 13 (1.47.2) defines more than that of Debian 12.
NEWER = """#include_next <ext2fs/ext2fs.h>
#undef clamp
#define clamp(value, lowest, highest) ((value) < (lowest) ? (lowest) : (value) > (highest) ? (highest) : (value))
"""
USERS = sorted(path for path in (TOP / "user").rglob("*.c") if "<ext2fs/ext2fs.h>" in path.read_text())


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_names_of_a_newer_header(tmp_path, path):
    (tmp_path / "ext2fs").mkdir()
    (tmp_path / "ext2fs/ext2fs.h").write_text(NEWER)
    # As user/Makefile compiles it, but with warnings as errors.
    said = subprocess.run(["make", "-n", "-B", "-C", TOP / "user", f"O={tmp_path}", f"{tmp_path}/zjctl.o/{path.stem}.o"],
                          check=True, capture_output=True, text=True).stdout
    flags = shlex.split(re.search(r"(?m)^\S+ (-.*) -c ", said)[1])
    done = subprocess.run(["gcc", "-isystem", tmp_path, *flags, "-Werror", "-fsyntax-only", path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
