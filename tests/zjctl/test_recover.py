# SPDX-License-Identifier: GPL-2.0-only
"""zjctl recover: what it writes, interruptions at every write, refusals."""

import fcntl
import lzma
import os
import shutil
import signal
import struct
import subprocess

import pytest

from zjctl_images import ROOT, Crashed, blocks, fsck, mkfs, sh

pytest_plugins = "zjctl_fixtures"


@pytest.mark.parametrize("options", ["-b 1024 -O metadata_csum,64bit,orphan_file -J size=1",
                                     "-b 2048 -J size=2", "-b 4096 -J size=4"])
def test_recover(zjctl, tmp_path, options):
    c = Crashed(tmp_path, size="24M", options=options)
    before = c.path.read_bytes()
    assert sh("e2fsck", "-fy", c.path, check=False).returncode & 8
    assert c.path.read_bytes() == before
    got = zjctl("recover", "-n", "--json", c.path)
    assert got.returncode == 0 and got.json["dry_run"] and got.json["blocks_written"] == 0
    assert c.path.read_bytes() == before
    got = zjctl("recover", "--json", c.path)
    assert got.returncode == 1 and got.json["transactions"] == len(c.records)
    fsck(c.path)
    c.expect(5)
    assert "directory" in sh("debugfs", "-R", "stat step5", c.path).stdout
    assert "needs_recovery" not in sh("dumpe2fs", "-h", c.path).stdout
    after = c.path.read_bytes()
    got = zjctl("recover", "--json", c.path)
    assert got.returncode == 0 and got.json["state"] == "clean"
    assert c.path.read_bytes() == after
    assert zjctl("convert", "--check", c.path).returncode == 0


def test_recover_leaves_out_what_is_not_committed(zjctl, crashed):
    crashed.log.patch(crashed.at(3, 1) + 1, 100, b"torn")
    assert zjctl("recover", crashed.path).returncode == 1
    fsck(crashed.path)
    crashed.expect(2)


def test_block_history_agrees_with_recover(zjctl, crashed):
    log = crashed.log
    log.put(6, 3, images=[(15000, b"x" * 1024), (15001, b"\xc0\x3b\x39\x98" + b"y" * 1020)])
    log.put(7, 3, images=[(15000, b"z" * 1024)], revokes=[15001], deps=[6])
    log.put(8, 3, images=[(15002, b"never" * 200 + bytes(24))], deps=[6], members=2)
    records = zjctl("dump", "--json", crashed.path).json["records"]
    touched = {i["block"] for r in records for i in r["images"]}
    want = {}
    home = blocks(crashed.path, 1024)
    for block in touched:
        history = zjctl("dump", "--json", "--block", block, crashed.path).json
        taken = [h for h in history["history"] if h.get("fate") == "taken"]
        assert len(taken) == history["written_by_recovery"]
        want[block] = log.read(taken[0]["journal_block"]) if taken else home[block]
    assert want[15001] == home[15001] and want[15002] == home[15002] and want[15000][:1] == b"z"
    got = zjctl("recover", "--json", crashed.path)
    assert got.json["blocks_written"] == sum(want[b] != home[b] for b in want)
    home = blocks(crashed.path, 1024)
    for block in touched - {1}:                # 1: the superblock, changed afterwards
        assert home[block] == want[block], block


def delete_open_file(path, where, in_file):
    """As a kernel leaves a file that is unlinked and still open."""
    big = where / "data"
    big.write_bytes(os.urandom(30000))
    sh("debugfs", "-w", "-R", f"write {big} f", path)
    ino = int(sh("debugfs", "-R", "stat f", path).stdout.split("Inode: ")[1].split()[0])
    for command in ("unlink f", f"sif <{ino}> links_count 0", f"sif <{ino}> dtime 0"):
        sh("debugfs", "-w", "-R", command, path)
    if not in_file:
        sh("debugfs", "-w", "-R", f"ssv last_orphan {ino}", path)
        return
    orphan_file = sh("dumpe2fs", "-h", path).stdout.split("Orphan file inode:")[1].split()[0]
    block = int(sh("debugfs", "-R", f"bmap <{orphan_file}> 0", path).stdout)
    with open(path, "r+b") as f:
        f.seek(block * 1024)
        f.write(struct.pack("<I", ino))
    sh("debugfs", "-w", "-R", "feature orphan_present", path)


@pytest.mark.parametrize("options", ["^orphan_file,metadata_csum", "orphan_file,^metadata_csum"])
def test_recover_finishes_orphans(zjctl, tmp_path, options):
    """A file that was open and unlinked: e2fsck finishes it, and e2fsck -fn finds nothing."""
    c = Crashed(tmp_path, steps=2, options=f"-b 1024 -O {options} -J size=1")
    old = blocks(c.steps[-1], 1024)
    delete_open_file(c.steps[-1], tmp_path, options[0] == "o")
    now = blocks(c.steps[-1], 1024)
    changed = [(b, now[b]) for b in range(len(now)) if now[b] != old[b]]
    for n in range(0, len(changed), 12):
        c.log.put(3, 0, images=changed[n:n + 12], deps=[2], chunk=n // 12,
                  chunks=(len(changed) + 11) // 12)
    got = zjctl("recover", "--no-fsck", "--json", c.path)
    assert got.returncode == 1 and "orphans" not in got.json
    assert zjctl("info", "--json", c.path).json["filesystem"]["orphans"] is True
    assert sh("e2fsck", "-fn", c.path, check=False).returncode     # there is something to do
    got = zjctl("recover", "--json", c.path)                        # what is left of it
    assert got.returncode == 1 and got.json["orphans"] and got.json["state"] == "clean"
    fsck(c.path)
    assert zjctl("info", "--json", c.path).json["filesystem"]["orphans"] is False
    assert zjctl("recover", c.path).returncode == 0


def test_recorded_error_is_reported(zjctl, crashed):
    crashed.log.patch(0, 0x20, struct.pack(">i", -5))
    got = zjctl("recover", crashed.path)
    assert got.returncode == 1 and "aborted with error -5" in got.out


# ---- a part of the log is lost ----

@pytest.fixture
def damaged(tmp_path):
    path = tmp_path / "damaged.img"
    kept = ROOT / "tests" / "images" / "bad-checksum-in-the-middle.img.xz"
    path.write_bytes(lzma.decompress(kept.read_bytes()))
    return path


def is_marked(path):
    return "with errors" in sh("dumpe2fs", "-h", path).stdout


def test_drop_damaged(zjctl, damaged):
    before = damaged.read_bytes()
    for options in ((), ("-n",), ("--drop-damaged", "-n")):
        got = zjctl("recover", *options, damaged)
        assert got.returncode == (4 if len(options) < 2 else 0), got.out
        assert damaged.read_bytes() == before
    got = zjctl("recover", "--drop-damaged", "--json", damaged)
    assert got.returncode == 4 and got.json["lost_stamp"] == 2, got.out
    assert got.json["transactions"] == 1 and got.json["discarded_transactions"] >= 1
    assert f"e2fsck -f {damaged}" in got.json["messages"][-1]["text"]
    assert is_marked(damaged)
    assert sh("e2fsck", "-p", damaged, check=False).returncode == 0
    assert not is_marked(damaged)
    fsck(damaged)
    assert zjctl("recover", damaged).returncode == 0


# ---- interruptions ----

@pytest.fixture(scope="session")
def cut(tmp_path_factory):
    library = tmp_path_factory.mktemp("cut") / "cut.so"
    sh("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library,
       os.path.join(os.path.dirname(__file__), "cut.c"), "-ldl")
    return library


def run_cut(cut, program, at, seed, *args):
    """Exit status; -SIGKILL if the power was cut."""
    env = {**os.environ, "LD_PRELOAD": str(cut), "CUT_AT": str(at), "CUT_SEED": str(seed)}
    return subprocess.run([str(a) for a in (program, *args)], env=env, capture_output=True).returncode


@pytest.mark.parametrize("seed", [1, 2])
def test_power_cut_at_every_write_of_recover(cut, plain, crashed, tmp_path, seed):
    copy = tmp_path / "copy.img"
    for at in range(200):
        shutil.copy(crashed.path, copy)
        rc = run_cut(cut, plain, at, seed, "recover", copy)
        if rc == 1:
            break
        assert rc == -signal.SIGKILL
        if at % 3 == 0:                        # and again, inside the second one
            assert run_cut(cut, plain, at // 2, seed + 7, "recover", copy) in (-signal.SIGKILL, 0, 1)
        assert run_cut(cut, plain, -1, 0, "recover", copy) in (0, 1)
        fsck(copy)
        crashed.expect(5, copy)
        assert "needs_recovery" not in sh("dumpe2fs", "-h", copy).stdout
    assert 15 < at < 199


def test_power_cut_in_drop_damaged(cut, plain, damaged, tmp_path):
    """The error mark is in the superblock before the log is emptied."""
    copy = tmp_path / "copy.img"
    for at in range(200):
        shutil.copy(damaged, copy)
        if run_cut(cut, plain, at, 1, "recover", "--drop-damaged", copy) == 4:
            break
        again = subprocess.run([plain, "recover", "--drop-damaged", copy], capture_output=True,
                               text=True)
        assert again.returncode in (0, 1, 4), (at, again)
        assert is_marked(copy), at
    assert at > 5 and is_marked(copy)


def test_power_cut_in_resize_journal(cut, plain, tmp_path):
    path = mkfs(tmp_path / "a.img", "24M", "-b 1024 -J size=1")
    sh("debugfs", "-w", "-R", "mkdir kept", path)
    copy = tmp_path / "copy.img"
    at, cuts = 0, 0
    while True:
        shutil.copy(path, copy)
        rc = run_cut(cut, plain, at, at, "resize-journal", "--size", 2, copy)
        if rc == 1:
            break
        assert rc == -signal.SIGKILL
        assert sh("e2fsck", "-fy", copy, check=False).returncode & ~3 == 0
        fsck(copy)
        assert "directory" in sh("debugfs", "-R", "stat kept", copy).stdout
        cuts, at = cuts + 1, at + 1 if at < 12 else at + 3
    assert cuts > 10


def test_kill_at_any_time(plain, crashed, tmp_path):
    """SIGINT between two writes: exit 32, the log is kept."""
    copy = tmp_path / "copy.img"
    source = tmp_path / "int.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <signal.h>
        #include <sys/types.h>
        ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
        {
            ssize_t (*fn)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
            static int writes;
            if (++writes == 3)
                raise(SIGINT);
            return fn(fd, buf, n, at);
        }
    """)
    sh("gcc", "-shared", "-fPIC", "-o", tmp_path / "int.so", source, "-ldl")
    shutil.copy(crashed.path, copy)
    got = subprocess.run([plain, "recover", copy], capture_output=True, text=True,
                         env={**os.environ, "LD_PRELOAD": str(tmp_path / "int.so")})
    assert got.returncode == 32 and "run it again" in got.stderr and "check the device" not in got.stderr
    assert sh(plain, "recover", copy, check=False).returncode == 1
    fsck(copy)
    crashed.expect(5, copy)


# ---- refusals ----

def test_locked_by_another(zjctl, crashed):
    with open(crashed.path) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        before = crashed.path.read_bytes()
        got = zjctl("recover", crashed.path)
        assert got.returncode == 8 and "second zjctl" in got.out
        assert crashed.path.read_bytes() == before


def mounted(path, where):
    where.mkdir()
    if os.geteuid() or sh("mount", "-o", "loop", path, where, check=False).returncode:
        pytest.skip("no loop mounts here")


def test_mounted_is_refused(zjctl, tmp_path):
    path = mkfs(tmp_path / "a.img")
    where = tmp_path / "mnt"
    mounted(path, where)
    try:
        before = path.read_bytes()
        loop = sh("findmnt", "-no", "SOURCE", where).stdout.strip()
        for device in (path, loop):
            for args in (["recover"], ["recover", "-n"], ["convert", "--to-ext4"],
                         ["convert", "--check"], ["resize-journal"], ["resize-journal", "-n"]):
                got = zjctl(*args, device)
                assert got.returncode == 8, args
                assert f"first: umount {where}" in got.out
            # A look, with a warning.
            got = zjctl("check", device)
            assert got.returncode == 0 and "the log changes while it is read" in got.out
        got = zjctl("info", "--json", where).json
        assert got["device"] == loop and got["filesystem"]["mounted_at"] == str(where)
        assert got["filesystem"]["mount_type"] == "ext4"
        assert got["journal"]["state"] == "stock-live"
        assert zjctl("dump", where).returncode == 0
        assert path.read_bytes() == before
    finally:
        sh("umount", where)
