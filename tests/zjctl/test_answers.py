# SPDX-License-Identifier: GPL-2.0-only
"""zjctl's answers know the state: of damage, of a name that is no device, of options that have no effect."""

import re
import shutil
import subprocess

import pytest

from zjctl_images import ROOT, mkfs, move_out, sh

pytest_plugins = "zjctl_fixtures"


def test_a_damaged_log_is_copied_and_nothing_else(zjctl, crashed):
    """No command names another remedy, not even for the layout."""
    crashed.log.patch(1, 0, b"XXXX")
    for args in (["info"], ["check"], ["dump"], ["convert", "--check"], ["resize-journal", "-n"], ["recover", "-n"],
                 ["recover"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4, args
        assert re.search("copy the (whole )?device", got.out, re.I), args
        assert not re.search("to fix it|first: zjctl recover|e2fsck|tune2fs|mke2fs", got.out), (args, got.out)
    advice = zjctl("info", "--json", "--cpus", 64, crashed.path).json["advice"]
    assert [a["id"] for a in advice] == ["damaged"] and "command" not in advice[0]


def test_lines_of_info_are_wrapped(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img", "1G", "-b 4096 -O ^orphan_file")
    out = zjctl("info", "--cpus", 4, path).out
    assert "Advice" in out
    for line in out.splitlines():
        assert len(line) <= 80 or str(path) in line, line


def test_one_answer_to_how_many_lanes_fit(zjctl, tmp_path):
    """info and resize-journal, whatever this machine has for CPUs."""
    path = mkfs(tmp_path / "a.img", "256M", "-b 4096 -J size=32")
    room = zjctl("info", "--json", "--cpus", 2, path).json["journal"]
    assert room["room_for_lanes"] > 20 and room["lanes_that_fit"] == 2
    assert zjctl("info", "--json", "--cpus", 256, path).json["journal"]["lanes_that_fit"] == room["room_for_lanes"]
    assert f"room for {room['room_for_lanes']} lanes" in zjctl("info", path).out
    got = zjctl("resize-journal", "-n", "--size", 16, "--lanes", 2, path)
    assert f"room for {room['room_for_lanes']} lanes" in " ".join(got.out.split())
    assert "this makes the journal smaller" in got.out


def test_resize_warns(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img", "64M", "-b 1024 -J size=4")
    got = zjctl("resize-journal", "-n", "--size", 1, "--lanes", 64, path)
    assert got.returncode == 0 and "has room for only 1 of 64 lanes" in got.out and "smaller" in got.out
    assert "warning" not in zjctl("resize-journal", "-n", "--size", 8, "--lanes", 1, path).out


def test_a_directory_is_no_device(zjctl, tmp_path):
    got = zjctl("recover", tmp_path)
    assert got.returncode == 8 and "is a directory in the file system" in got.out and "umount" not in got.out


@pytest.mark.parametrize("command", [["info"], ["check"], ["dump"], ["recover", "-n"], ["convert", "--check"]])
def test_journal_option_without_an_external_journal(zjctl, image, command):
    got = zjctl(*command, "--journal=/none", image)
    assert got.returncode == 8 and "has no journal on another device; leave out --journal=/none" in got.out
    assert zjctl("stats", "--journal=/none").returncode == 16


def test_journal_option_with_an_external_journal(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img")
    device = move_out(path, tmp_path / "log.img")
    assert zjctl("check", f"--journal={device}", path).returncode == 0


def test_help_and_version(zjctl):
    assert zjctl("help", "top").stdout == zjctl("top", "--help").stdout
    assert zjctl("help").stdout == zjctl("--help").stdout
    got = zjctl("help", "bogus")
    assert got.returncode == 16 and 'unknown command "bogus"' in got.out
    assert zjctl("version").stdout == zjctl("--version").stdout


def test_what_counts_comes_first(zjctl, crashed):
    assert zjctl("check", crashed.path).stdout.startswith("the log is good; to recover:")
    assert re.match(r"\d+ records in the log; recovery uses \d+\n", zjctl("dump", crashed.path).stdout)


@pytest.mark.parametrize("steps", [1, 5])
def test_recover_adds_up_free_blocks_and_inodes(zjctl, crashed, steps):
    """e2fsck -n has nothing to say, where it called the counts of the superblock wrong."""
    sh("debugfs", "-w", "-R", "ssv free_blocks_count 7", crashed.path)
    sh("debugfs", "-w", "-R", "ssv free_inodes_count 7", crashed.path)
    assert zjctl("recover", "--no-fsck", crashed.path).returncode == 1
    out = sh("e2fsck", "-fn", crashed.path).stdout
    assert "count wrong" not in out


# ---- completion ----

def test_completion_is_made_of_the_table(plain):
    sh(ROOT / "tools/completion", plain)


BASH = ROOT / "user/completion/zjctl.bash"


def complete(*words):
    text = " ".join(f"'{word}'" for word in words)
    script = f'. {BASH}; COMP_WORDS=({text}); COMP_CWORD={len(words) - 1}; _{words[0].replace(".", "_")}; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return sh("bash", "-c", script).stdout.split()


def test_completion_in_bash():
    assert complete("zjctl", "help", "st") == ["status", "stats", "stalls"]
    # The shell takes "--color=a" apart.
    assert complete("zjctl", "info", "--color", "=", "a") == ["auto", "always"]
    assert complete("zjctl", "top", "--sort", "fs") == ["fsyncs"]
    assert "UUID=" in complete("zjctl", "info", "UU")
    assert complete("zjctl", "top", "-d", "") == []
    assert "-n" in complete("fsck.zext4", "-")
    assert complete("mkfs.zext4", "--c") == ["--cpus="]


def test_mount_options_in_bash():
    assert complete("mount.zext4", "/dev/sda1", "/mnt", "-o", "la") == ["lanes=", "lane_by="]
    assert complete("mount.zext4", "-o", "lanes", "=", "4,al") == ["4,alloc="]
    assert complete("mount.zext4", "-o", "lanes", "=", "4,alloc", "=") == ["auto", "core", "stock"]
    assert complete("mount.zext4", "-o", "ro,dat") == ["ro,data="]


@pytest.mark.parametrize("shell,options,name", [("zsh", ["-n"], "_zjctl"), ("fish", ["-n"], "zjctl.fish")])
def test_completion_is_of_its_shell(shell, options, name):
    """These shells are not installed for the tests; where one is, it reads the file."""
    path = ROOT / "user/completion" / name
    assert path.stat().st_size > 1000
    if shutil.which(shell):
        subprocess.run([shell, *options, path], check=True)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_knows_the_program_at_each_call():
    """The file is read once, for whichever program comes first."""
    script = f"""
        _arguments() {{ print -r -- "$service" "$@" }}
        service=fsck.zext4; . {ROOT}/user/completion/_zjctl
        for service in mkfs.zext4 mount.zext4 fsck.zext4; do _zjctl; done"""
    first, mkfs, mount, fsck = sh("zsh", "-fc", script).stdout.splitlines()
    assert first == fsck and "--cpus=" in mkfs and "_zext4_options" in mount
