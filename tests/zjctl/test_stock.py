# SPDX-License-Identifier: GPL-2.0-only
"""zjctl on a journal in stock's format: what debugfs wrote, against e2fsck's recovery of it."""

import os
import random
import shutil
import signal
import struct
import subprocess
import sys

import pytest

from test_recover import cut, run_cut       # a fixture, found by its name  # noqa: F401
from zjctl_images import ROOT, fsck, mkfs, sh
from zjlog import crc32c

sys.path.append(str(ROOT / "tests" / "jbd2"))
import jbd2_images  # noqa: E402

pytest_plugins = "zjctl_fixtures"

FIRST = 12000                   # blocks that no file uses
OPENS = {"none": "jo", "csum2": "jo -c -v 2", "csum3": "jo -c -v 3"}


class Dirty:
    """A file system with a stock log of transactions, and what e2fsck makes of it."""

    def __init__(self, where, opened="jo -c -v 3", options="-b 1024 -O metadata_csum,64bit -J size=1",
                 transactions=5, seed=1):
        rand = random.Random(seed)
        self.path = mkfs(where / "dirty.img", options=options)
        commands = []
        for n in range(transactions):
            blocks = rand.sample(range(FIRST, FIRST + 40), rand.randrange(1, 20))
            revokes = rand.sample(range(FIRST, FIRST + 40), rand.randrange(1, 8))
            data = where / f"data{n}"
            data.write_bytes(b"".join(rand.choice((b"\xc0\x3b\x39\x98", b"data")) + rand.randbytes(1020)
                                      for _ in blocks))
            # debugfs writes over the commit block after revokes, unless it opens the journal again.
            commands += [f"jw -b {','.join(map(str, blocks))} -r {','.join(map(str, revokes))} {data}",
                         "jc", opened]
        jbd2_images.debugfs(self.path, opened, *commands[:-1], write=True)
        self.skip = jbd2_images.journal_blocks(self.path)
        self.recovered = jbd2_images.by_e2fsck(self.path, "by-e2fsck.img")
        assert jbd2_images.difference(self.path, self.recovered, self.skip)

    def expect(self, path=None):
        """As e2fsck has recovered it, and clean."""
        path = path or self.path
        wrong = jbd2_images.difference(self.recovered, path, self.skip)
        assert not wrong, f"blocks {wrong[:10]}"
        fsck(path)
        assert "needs_recovery" not in sh("dumpe2fs", "-h", path).stdout


@pytest.fixture
def dirty(tmp_path):
    return Dirty(tmp_path)


@pytest.mark.parametrize("opened", OPENS)
def test_recover(zjctl, tmp_path, opened):
    csum = "" if opened != "none" else "^"
    d = Dirty(tmp_path, OPENS[opened], f"-b 1024 -O {csum}metadata_csum,64bit -J size=1")
    before = d.path.read_bytes()
    check = zjctl("check", "--json", d.path).json
    assert check["verdict"] == "good" and check["recovery"]["transactions"] == 5 and not check["not_committed"]
    got = zjctl("recover", "-n", "--json", d.path)
    assert got.returncode == 0 and got.json["dry_run"] and got.json["transactions"] == 5
    assert d.path.read_bytes() == before
    got = zjctl("recover", "--json", d.path)
    assert got.returncode == 1 and got.json["state"] == "stock-dirty" and got.json["revoked_images"]
    d.expect()
    after = d.path.read_bytes()
    got = zjctl("recover", "--json", d.path)
    assert got.returncode == 0 and got.json["state"] == "clean"
    assert d.path.read_bytes() == after
    assert zjctl("convert", "--check", d.path).returncode == 0


def test_recover_says_what_it_did(zjctl, dirty):
    got = zjctl("recover", dirty.path)
    assert "replayed 5 transactions, " in got.out and "components" not in got.out


def test_empty_log_with_needs_recovery(zjctl, image):
    """As a power cut leaves it between the end of a recovery and its last write."""
    sh("debugfs", "-w", "-R", "feature +needs_recovery", image)
    before = image.read_bytes()
    got = zjctl("recover", "-n", "--json", image)
    assert got.returncode == 0 and got.json["needs_recovery_cleared"] is False
    assert image.read_bytes() == before
    got = zjctl("recover", "--no-fsck", "--json", image)
    assert got.returncode == 1 and got.json["state"] == "clean" and got.json["needs_recovery_cleared"]
    assert "needs_recovery" not in sh("dumpe2fs", "-h", image).stdout
    fsck(image)
    assert zjctl("recover", image).returncode == 0


def test_log_that_is_not_due(zjctl, dirty):
    """Without needs_recovery a mount discards it; we leave it."""
    sh("debugfs", "-w", "-R", "feature -needs_recovery", dirty.path)
    before = dirty.path.read_bytes()
    got = zjctl("recover", dirty.path)
    assert got.returncode == 0 and "needs_recovery is not set" in got.out
    assert dirty.path.read_bytes() == before


def test_power_cut_at_every_write_of_recover(cut, plain, dirty, tmp_path, seed=1):  # noqa: F811
    copy = tmp_path / "copy.img"
    for at in range(200):
        shutil.copy(dirty.path, copy)
        rc = run_cut(cut, plain, at, seed, "recover", copy)
        if rc == 1:
            break
        assert rc == -signal.SIGKILL
        if at % 3 == 0:                        # and again, inside the second one
            assert run_cut(cut, plain, at // 2, seed + 7, "recover", copy) in (-signal.SIGKILL, 0, 1)
        assert run_cut(cut, plain, -1, 0, "recover", copy) in (0, 1)
        dirty.expect(copy)
    assert 6 < at < 199


def damage(image, journal_block, byte):
    at = int(sh("debugfs", "-R", f"bmap <8> {journal_block}", image).stdout) * 1024 + byte
    with open(image, "r+b") as f:
        f.seek(at)
        old = f.read(1)[0]
        f.seek(at)
        f.write(bytes([old ^ 4]))


@pytest.mark.parametrize("block,byte", [(1, 12), (2, 500)])
def test_damage_is_named_and_left(zjctl, dirty, block, byte):
    """A tag, a byte of an image that no revoke voids."""
    damage(dirty.path, block, byte)
    before = dirty.path.read_bytes()
    for args in (["recover", "-n"], ["recover"], ["check"], ["info"], ["dump"], ["dump", "--block", 1]):
        got = zjctl(*args, dirty.path)
        assert got.returncode == 4 and "damaged log" in got.out and "nothing was written" in got.out, args
    assert zjctl("info", "--json", dirty.path).json["journal"]["state"] == "damaged"
    assert zjctl("check", "--json", dirty.path).json["verdict"] == "damaged"
    assert dirty.path.read_bytes() == before


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits(zjctl, tmp_path, seed):
    """The listing and the recovery agree on every log; a refused one is not changed."""
    rand = random.Random(seed)
    d = Dirty(tmp_path, seed=seed + 10)
    for _ in range(rand.choice((1, 2, 10))):
        damage(d.path, rand.randrange(1, 80), rand.randrange(rand.choice((16, 1024))))
    before = d.path.read_bytes()
    for args in (["check", "--json"], ["dump", "--json"], ["dump", "--block", FIRST + 1], ["info", "--json"],
                 ["recover", "-n"]):
        got = zjctl(*args, d.path)
        assert got.returncode in (0, 4), got.out
        assert d.path.read_bytes() == before
    good = zjctl("check", d.path).returncode == 0
    got = zjctl("recover", d.path)
    assert got.returncode == (1 if good else 4), got.out
    assert good or d.path.read_bytes() == before


# ---- dump, info, check ----

def test_dump(zjctl, dirty):
    got = zjctl("dump", "--json", dirty.path).json
    records = got["records"]
    assert got["format"] == "jbd2" and [r["tid"] for r in records] == [1, 2, 3, 4, 5]
    assert all(r["component"] == "committed" and r["record"] == "good" and not r["why"] for r in records)
    assert all(r["revokes"] for r in records) and any(i["escaped"] for r in records for i in r["images"])
    assert got["ring"]["start"] == 1 and got["ring"]["end"] in ("unused", "stale")
    text = zjctl("dump", dirty.path).out
    assert "transaction 3  journal block " in text and "NOT COMMITTED" not in text and "segment" not in text
    only = zjctl("dump", "--json", "--tid", 3, dirty.path).json["records"]
    assert only == [records[2]]
    assert 's3 [fillcolor=palegreen' in zjctl("dump", "--graph", dirty.path).out


def test_block_history_agrees_with_recover(zjctl, dirty):
    records = zjctl("dump", "--json", dirty.path).json["records"]
    home = jbd2_images.contents(dirty.path, set())
    written = 0
    for block in sorted({i["block"] for r in records for i in r["images"]}):
        got = zjctl("dump", "--json", "--block", block, dirty.path).json
        assert [h["tid"] for h in got["history"]] == sorted(h["tid"] for h in got["history"])
        taken = [h for h in got["history"] if h.get("fate") == "taken"]
        assert len(taken) == got["written_by_recovery"]
        written += len(taken)
        recovered = jbd2_images.contents(dirty.recovered, set())[block]
        if taken:
            image = int(sh("debugfs", "-R", f"bmap <8> {taken[0]['journal_block']}", dirty.path).stdout)
            # Its first bytes may be escaped in the log.
            assert home[image][4:] == recovered[4:]
        else:
            assert home[block] == recovered
    assert zjctl("recover", "--json", dirty.path).json["blocks_written"] == written > 10


def test_transaction_without_commit_block(zjctl, tmp_path):
    """Its commit block is lost, so it and all later ones are discarded, as by e2fsck."""
    d = Dirty(tmp_path)
    last = zjctl("dump", "--json", d.path).json["ring"]["end_block"] - 1
    at = int(sh("debugfs", "-R", f"bmap <8> {last}", d.path).stdout)
    with open(d.path, "r+b") as f:
        f.seek(at * 1024)
        f.write(bytes(1024))
    d.recovered = jbd2_images.by_e2fsck(d.path, "by-e2fsck.img")
    got = zjctl("dump", "--json", d.path).json
    assert [r["record"] for r in got["records"]] == ["good"] * 4 + ["uncommitted"]
    assert got["records"][4]["component"] == "incomplete" and got["records"][4]["why"] == "it has no commit block"
    check = zjctl("check", "--json", d.path).json
    assert check["verdict"] == "good" and check["recovery"]["transactions"] == 4
    assert [n["stamp"] for n in check["not_committed"]] == [5]
    assert "transaction 5 is incomplete: it has no commit block" in zjctl("check", d.path).out
    assert zjctl("recover", d.path).returncode == 1
    d.expect()


def test_info(zjctl, dirty):
    got = zjctl("info", "--json", dirty.path).json
    assert got["journal"]["state"] == "stock-dirty" and got["log"]["format"] == "jbd2"
    assert got["log"]["per_lane"][0]["transactions"] == 5
    ring = got["log"]["ring"]
    assert ring["start"] == 1 and ring["end_block"] == 1 + ring["used_blocks"]
    assert got["journal"]["fast_commits"] is False
    text = " ".join(zjctl("info", dirty.path).out.split())
    assert "recovery is due (zjctl recover" in text and "5 transactions to replay" in text
    sh("debugfs", "-w", "-R", "feature -needs_recovery", dirty.path)
    assert "a mount discards it" in zjctl("info", dirty.path).out
    assert zjctl("check", "--json", dirty.path).json["verdict"] == "stock"
    got = zjctl("dump", "--json", dirty.path)
    assert got.returncode == 0 and len(got.json["records"]) == 5


def test_fast_commits_are_left_to_a_mount(zjctl, sanitized, tmp_path):
    path = mkfs(tmp_path / "a.img", "24M", "-b 1024 -O metadata_csum,64bit,fast_commit -J size=2")
    (tmp_path / "data").write_bytes(bytes(range(256)) * 4)
    jbd2_images.debugfs(path, "jo -c -v 3", f"jw -b {FIRST} {tmp_path}/data", "jc", write=True)
    at = jbd2_images.block0(path)
    with open(path, "r+b") as f:
        f.seek(at)
        block = bytearray(f.read(1024))
        maxlen, sequence = (struct.unpack_from(">I", block, n)[0] for n in (0x10, 0x18))
        fast = struct.unpack_from(">I", block, 0x54)[0] or 256
        struct.pack_into(">I", block, 0x28, struct.unpack_from(">I", block, 0x28)[0] | 0x20)
        block[0xfc:0x100] = bytes(4)
        block[0xfc:0x100] = struct.pack(">I", crc32c(bytes(block)))
        f.seek(at)
        f.write(block)
        f.seek(int(sh("debugfs", "-R", f"bmap <8> {maxlen - fast + 1}", path).stdout) * 1024)
        f.write(struct.pack("<HHII", 9, 8, 0, sequence + 1))
    before = path.read_bytes()
    for command in "recover", "check", "info", "dump":
        got = zjctl(command, path)
        assert got.returncode == 4 and "fast commits" in got.out and "mount it once, as zext4 or ext4" in got.out
    assert zjctl("check", "--json", path).json["verdict"] == "stock"
    journal = zjctl("info", "--json", path).json["journal"]
    assert journal["state"] == "stock-dirty" and journal["fast_commits"] is True
    assert "with fast commits" in zjctl("info", path).out
    # A boot goes on to the mount; with -n it is told what is there.
    got = fsck_zext4(sanitized, "-p", path)
    assert got.returncode == 0 and "next mount must replay fast commits" in got.stdout, got.stdout + got.stderr
    assert fsck_zext4(sanitized, "-n", path).returncode == 4
    assert path.read_bytes() == before


def fsck_zext4(sanitized, *args):
    return subprocess.run([ROOT / "user" / "fsck.zext4", *args], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{sanitized.parent}:{os.environ['PATH']}"})


def test_fsck_program(sanitized, dirty, tmp_path):
    """fsck.zext4 replays it itself; afterwards e2fsck has nothing to do."""
    got = fsck_zext4(sanitized, "-fp", dirty.path)
    assert got.returncode == 0 and "replayed 5 transactions" in got.stdout, got.stdout + got.stderr
    dirty.expect()


def test_fsck_program_that_only_looks(sanitized, dirty):
    """e2fsck -n would leave the log out, and call clean what it has not seen."""
    before = dirty.path.read_bytes()
    got = fsck_zext4(sanitized, "-n", dirty.path)
    assert got.returncode == 4 and "the log must be replayed first" in got.stderr, got.stdout + got.stderr
    assert dirty.path.read_bytes() == before


def test_fsck_program_argument_with_n(sanitized, dirty):
    """The n in -Ejournal_only is not the option -n: e2fsck repairs."""
    got = fsck_zext4(sanitized, "-p", "-Ejournal_only", dirty.path)
    assert "replayed 5 transactions" in got.stdout, got.stdout + got.stderr
    dirty.expect()
