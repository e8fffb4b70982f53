# SPDX-License-Identifier: GPL-2.0-only
"""fsck.zext4, as fsck(8), a boot and people call it."""

import os
import re
import shutil
import subprocess

import pytest

from zjctl_images import ROOT, field, fsck, mkfs, sh

pytest_plugins = "zjctl_fixtures"


@pytest.fixture
def program(sanitized):
    def run(*args, **env):
        return subprocess.run([str(a) for a in (ROOT / "user" / "fsck.zext4", *args)], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{sanitized.parent}:{os.environ['PATH']}", **env})
    return run


def test_version(program):
    got = program("-V")
    assert got.returncode == 0 and "zjctl of zjournal" in got.stdout and "e2fsck 1." in got.stderr


def test_help_and_usage(program):
    got = program("--help")
    assert got.returncode == 0 and "Replays the log" in got.stdout and not got.stderr
    for args, text in (((), "no device was named"), (("-p",), "no device was named"),
                       (("-f", "a", "b"), "more than one device: a and b")):
        got = program(*args)
        assert got.returncode == 16 and text in got.stderr, args


def test_what_is_not_there_is_named(program):
    for device in "/dev/nothing", "UUID=00000000-0000-0000-0000-000000000001":
        got = program("-p", device)
        assert got.returncode == 8 and device in got.stderr and "lsblk -f" in got.stderr


def test_device_before_the_options(program, crashed):
    got = program(crashed.path, "-n")
    assert got.returncode == 4 and "without -n" in got.stderr
    got = program(crashed.path, "-fp")
    assert got.returncode in (0, 1) and "replayed 15 transactions" in got.stdout
    fsck(crashed.path)


@pytest.mark.parametrize("option", ["-p", "-fp", "-n"])
def test_without_a_journal_it_is_e2fsck(program, tmp_path, option):
    path = mkfs(tmp_path / "a.img", options="-b 1024 -O ^has_journal")
    got = program(option, path)
    assert got.returncode == 0 and "zjctl" not in got.stdout + got.stderr
    assert re.search(r"clean, 11/|11/\d+ files", got.stdout)


def test_before_systemd_fsck(sanitized, crashed, tmp_path):
    """A line of fstab that says ext4 runs e2fsck, which refuses a log of lanes; any other file system is left alone."""
    def replay(path):
        return subprocess.run([ROOT / "packaging/root/replay-lanes", path], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{sanitized.parent}:{os.environ['PATH']}"})
    assert subprocess.run(["e2fsck", "-p", crashed.path], capture_output=True, check=False).returncode >= 4
    got = replay(crashed.path)
    assert got.returncode == 1 and "replayed 15 transactions" in got.stdout, got.stdout + got.stderr
    fsck(crashed.path)
    other = tmp_path / "other.img"
    other.write_bytes(bytes(1 << 20))
    for path in crashed.path, mkfs(tmp_path / "a.img"), other:
        got = replay(path)
        assert got.returncode == 0 and not got.stdout + got.stderr, path


# ---- a backup of the superblock ----

def test_backup_is_not_used_before_the_log_is_replayed(program, crashed):
    before = crashed.path.read_bytes()
    got = program("-b", 8193, "-fy", crashed.path)
    assert got.returncode == 4 and "run fsck.zext4 without -b 8193" in got.stderr
    assert crashed.path.read_bytes() == before


def test_backup_of_a_file_system_whose_superblock_is_lost(program, tmp_path):
    path = mkfs(tmp_path / "a.img")
    sh("debugfs", "-w", "-R", "mkdir kept", path)
    with open(path, "r+b") as f:
        f.seek(1024)
        f.write(bytes(1024))
    assert program("-fy", path).returncode == 8
    got = program("-fy", "-b", 8193, path)
    assert got.returncode == 1, got.stdout + got.stderr
    assert "directory" in sh("debugfs", "-R", "stat kept", path).stdout
    fsck(path)


def test_lost_superblock_with_a_log_of_lanes(program, crashed):
    """e2fsck refuses the log, zjctl the superblock; fsck.zext4(8) says how to go on."""
    lost = crashed.path.read_bytes()
    with open(crashed.path, "r+b") as f:
        f.seek(1024)
        f.write(bytes(1024))
    assert program("-fy", crashed.path).returncode == 8
    assert program("-fy", "-b", 8193, crashed.path).returncode & ~3
    with open(crashed.path, "r+b") as f:            # once more as it was, e2fsck has set flags
        f.write(lost[:1024] + bytes(1024) + lost[2048:])
    sh("dd", f"if={crashed.path}", f"of={crashed.path}", "bs=1024", "skip=8193", "seek=1", "count=1", "conv=notrunc")
    got = program("-fy", crashed.path)
    assert got.returncode in (0, 1) and "replayed 15 transactions" in got.stdout, got.stdout + got.stderr
    assert "directory" in sh("debugfs", "-R", "stat step5", crashed.path).stdout
    fsck(crashed.path)


# ---- the orphan file ----

def orphan_file(path, inode=0):
    """As a crash leaves it: the feature set, and an entry if a file was being deleted."""
    sh("debugfs", "-w", "-R", "feature +orphan_present", path)
    if inode:
        number = field(path, "Orphan file inode")
        at = int(sh("debugfs", "-R", f"bmap <{number}> 0", path).stdout)
        with open(path, "r+b") as f:
            f.seek(at * 1024)
            f.write(inode.to_bytes(4, "little"))


def test_empty_orphan_file_needs_no_check(program, zjctl, crashed):
    """Every mount sets orphan_present, so that e2fsck would check everything after each crash."""
    orphan_file(crashed.path)
    assert zjctl("info", "--json", crashed.path).json["filesystem"]["orphans"] is False
    got = program("-p", crashed.path)
    assert "replayed 15 transactions" in got.stdout and "e2fsck -fp finishes" not in got.stdout
    assert ": clean, " in got.stdout and got.returncode == 0, got.stdout + got.stderr
    assert "orphan_present" not in sh("dumpe2fs", "-h", crashed.path).stdout
    fsck(crashed.path)


def test_orphan_file_that_holds_one(program, zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img", options="-b 1024 -O ^metadata_csum,orphan_file -J size=1")
    (tmp_path / "f").write_text("hello\n")
    sh("debugfs", "-w", "-R", f"write {tmp_path}/f f", path)
    number = int(sh("debugfs", "-R", "stat f", path).stdout.split()[1])
    orphan_file(path, number)
    assert zjctl("info", "--json", path).json["filesystem"]["orphans"] is True
    got = program("-p", path)
    assert "e2fsck -fp finishes" in got.stdout and got.returncode == 0, got.stdout + got.stderr
    fsck(path)


def test_orphan_file_that_cannot_be_read_is_left_to_e2fsck(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img", options="-b 1024 -O ^metadata_csum,orphan_file -J size=1")
    orphan_file(path)
    sh("debugfs", "-w", "-R", f"sif <{field(path, 'Orphan file inode')}> block[0] 0", path)
    assert zjctl("info", "--json", path).json["filesystem"]["orphans"] is True


# ---- locks ----

@pytest.mark.parametrize("times,status", [(3, 1), (1000, 8)])
def test_lock_that_is_held_for_a_moment(plain, crashed, tmp_path, times, status):
    """udev locks a device while it looks at it; e2fsck, which ignores that, never failed there."""
    source = tmp_path / "lock.c"
    source.write_text("""
        #include <errno.h>
        #include <time.h>
        int flock(int fd, int what)
        {
            static int calls;
            errno = EWOULDBLOCK;
            return ++calls <= TIMES ? -1 : 0;
        }
        int nanosleep(const struct timespec *how_long, struct timespec *left)
        {
            return 0;
        }
    """)
    sh("gcc", "-shared", "-fPIC", f"-DTIMES={times}", "-o", tmp_path / "lock.so", source)
    copy = tmp_path / "copy.img"
    shutil.copy(crashed.path, copy)
    got = subprocess.run([plain, "recover", copy], capture_output=True, text=True,
                         env={**os.environ, "LD_PRELOAD": str(tmp_path / "lock.so")})
    assert got.returncode == status, got.stdout + got.stderr
    assert ("is locked by another program" in got.stderr) == (status == 8)
    if status == 8:
        assert copy.read_bytes() == crashed.path.read_bytes()
    else:
        crashed.expect(5, copy)
