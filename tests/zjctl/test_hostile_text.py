# SPDX-License-Identifier: GPL-2.0-only
"""Texts that a file system, a file or its name brings along do not control the terminal."""

import re
import shutil
import subprocess

import pytest

from test_commands import INFO
from zjctl_images import ROOT, mkfs, move_out, sh

pytest_plugins = "zjctl_fixtures"

SHOWN = "\\033]0;owned\\007\\033[2J\\012"
EVIL = "\x1b]0;owned\x07\x1b[2J\n\x9b\x7f"


def harmless(out, colour=False):
    """Lines of printable characters alone, and our own colours."""
    text = re.sub(r"\x1b\[(0|1|31|32|33)m", "", out) if colour else out
    assert all(c == "\n" or c.isprintable() for c in text), repr(out)
    return out


@pytest.fixture
def evil(crashed, tmp_path):
    """A crashed file system with an evil label, and a name that also looks like a tag."""
    sh("debugfs", "-w", "-R", "ssv volume_name x", crashed.path)
    with open(crashed.path, "r+b") as f:
        data = f.read()
        at = data.index(b"x".ljust(16, b"\0"), 1024, 2048)
        f.seek(at)
        f.write(EVIL.encode("latin-1")[:16])
    path = tmp_path / f"LABEL={EVIL.replace(chr(0x9b), '')}.img"
    shutil.move(crashed.path, path)
    return path


@pytest.mark.parametrize("colour", ["never", "always"])
def test_label_and_name(zjctl, evil, colour):
    assert "label \\033]0;owned\\007\\033[2" in harmless(zjctl("info", evil).out)
    # The bytes themselves are in JSON, in its notation.
    assert zjctl("info", "--json", evil).json["filesystem"]["label"] == EVIL[:16]
    seen = []
    for words in (["info"], ["check"], ["dump"], ["recover", "-n"], ["convert", "--check"], ["resize-journal"],
                  ["recover", "--no-fsck"], ["recover"], ["check"], ["convert", "--to-ext4"],
                  ["convert", "--check"], ["resize-journal", "--size", "2"], ["stats"], ["frob"], ["info", "--x"]):
        got = zjctl(*words, f"--color={colour}", evil)
        if SHOWN in harmless(got.out, colour == "always"):
            seen.append(words[0])
    assert {"info", "check", "recover", "convert", "resize-journal", "stats"} <= set(seen)
    harmless(zjctl("recover", evil.with_name("no\x1b[2Jsuch")).out)


def test_other_languages(zjctl, evil):
    """Letters are letters where the terminal knows them."""
    path = shutil.move(evil, evil.with_name("grün\u202e.img"))
    assert "grün\\342\\200\\256.img" in zjctl("check", path, env={"LC_ALL": "C.UTF-8"}).out
    assert "gr\\303\\274n\\342\\200\\256.img" in zjctl("check", path, env={"LC_ALL": "C"}).out


def test_journal_device(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img")
    device = move_out(path, tmp_path / f"log{EVIL[:12]}.img")
    assert "\\033]0;owned" in harmless(zjctl("info", f"--journal={device}", path).out)
    assert "\\033]0;" in harmless(zjctl("check", f"--journal={tmp_path}/no{EVIL[:10]}", path).out)


def test_statistics(zjctl, tmp_path):
    """Names of counters, of a state, of tasks."""
    file = tmp_path / f"info{EVIL[:12]}"
    evil = INFO.replace("live", "li\x1b[2Jve").replace("handles  ", "han\x1bdles ").replace("2 at inode", "2 at ino\x1bde")
    file.write_text(evil)
    for words in (["stats"], ["stats", "--all"], ["stats", "--prometheus"]):
        harmless(zjctl(*words, "--from", file).out)
    waits = tmp_path / f"waits{EVIL[:12]}"
    waits.write_text("now lane=0 reason=sp\x1bace us=17 for=3 for_lane=1 phase=run\x1bning pid=5 comm=e\x1b[2Jvil\n")
    got = zjctl("stalls", "--from", waits)
    assert "e\\033[2Jvil" in harmless(got.out)


def test_fsck(zjctl, tmp_path, plain):
    """fsck.zext4, whose shell's echo would even make such bytes of their notation."""
    got = subprocess.run([ROOT / "user/fsck.zext4", "a\x1b[2J", "b\\033[2J"], capture_output=True, text=True)
    assert got.returncode == 16 and "a?[2J and b\\033[2J" in harmless(got.stderr)
