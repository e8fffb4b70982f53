# SPDX-License-Identifier: GPL-2.0-only
"""zjctl on a log in persistent memory: a file holds the memory."""

import fcntl
import os
import random
import re
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from nvmlog import FIRST, HEAD, LINE, CrashedNvm, NvmLog
from test_recover import cut, run_cut       # a fixture, found by its name  # noqa: F401
from zjctl_images import blocks, fsck, mkfs, sh

pytest_plugins = "zjctl_fixtures"

NAME = "40414243-4445-4647-4849-4a4b4c4d4e4f"
BLOCK = 15000                   # from here on no file has anything


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The crashed image that the fixture crashed copies."""
    return CrashedNvm(tmp_path_factory.mktemp("nvm"))


def nvm(c):
    return f"--nvm={c.log.memory}"


class Same:
    """Neither the device nor the memory was written to."""

    def __init__(self, c):
        self.paths = [Path(c.path), Path(c.log.memory)]
        self.before = [p.read_bytes() for p in self.paths if p.is_file()]

    def check(self, what=""):
        assert [p.read_bytes() for p in self.paths if p.is_file()] == self.before, what


# ---- recover ----

@pytest.mark.parametrize("options", ["-b 1024 -O metadata_csum,64bit,orphan_file -J size=1",
                                     "-b 2048 -J size=2", "-b 4096 -J size=4", "-b 8192 -J size=8"])
def test_recover(zjctl, tmp_path, options):
    c = CrashedNvm(tmp_path, size="24M", options=options)
    same = Same(c)
    assert sh("e2fsck", "-fy", c.path, check=False).returncode & 8
    got = zjctl("check", "--json", nvm(c), c.path)
    assert got.returncode == 0 and got.json["verdict"] == "good" and got.json["format"] == "nvm"
    assert got.json["recovery"]["transactions"] == len(c.records)
    got = zjctl("recover", "-n", "--json", nvm(c), c.path)
    assert got.returncode == 0 and got.json["dry_run"] and got.json["blocks_written"] == 0
    same.check()
    memory = Path(c.log.memory).read_bytes()
    got = zjctl("recover", "--json", nvm(c), c.path)
    assert got.returncode == 1 and got.json["transactions"] == len(c.records)
    assert got.json["state"] == "crashed" and got.json["blocks_written"] > 5
    fsck(c.path)
    c.expect(5)
    assert Path(c.log.memory).read_bytes() == memory
    assert "needs_recovery" not in sh("dumpe2fs", "-h", c.path).stdout
    assert not any(c.log.read(0)[0xd0:0xe8])    # the mark is gone
    after = c.path.read_bytes()
    got = zjctl("recover", nvm(c), c.path)
    assert got.returncode == 0 and "nothing to do" in got.out and "--nvm is ignored" in got.out
    assert zjctl("recover", c.path).returncode == 0
    assert c.path.read_bytes() == after
    assert zjctl("convert", "--check", c.path).returncode == 0


def test_recover_says_what_it_did(zjctl, crashed):
    got = zjctl("recover", nvm(crashed), crashed.path)
    assert "replayed 15 transactions in 5 components" in got.out and "log in memory" not in got.out


def test_recover_leaves_out_what_is_not_committed(zjctl, crashed):
    """A member of stamp 3 has no tail, so it and all later ones are discarded."""
    ends = {(s, lane): end for s, lane, end in crashed.records}
    crashed.log.tail(1, 2, ends[2, 1])
    check = zjctl("check", "--json", nvm(crashed), crashed.path)
    assert check.json["verdict"] == "good" and check.json["recovery"]["transactions"] == 6
    assert [n["component"] for n in check.json["not_committed"]] == ["incomplete", "incomplete", "incomplete"]
    assert "2 of 3 members are in the log" in zjctl("check", nvm(crashed), crashed.path).out
    assert zjctl("recover", nvm(crashed), crashed.path).returncode == 1
    fsck(crashed.path)
    crashed.expect(2)


def test_power_cut_at_every_write_of_recover(cut, plain, crashed, tmp_path, seed=1):  # noqa: F811
    copy = tmp_path / "copy.img"
    for at in range(200):
        shutil.copy(crashed.path, copy)
        rc = run_cut(cut, plain, at, seed, "recover", nvm(crashed), copy)
        if rc == 1:
            break
        assert rc == -signal.SIGKILL
        if at % 3 == 0:                        # and again, inside the second one
            assert run_cut(cut, plain, at // 2, seed + 7, "recover", nvm(crashed), copy) in (-signal.SIGKILL, 0, 1)
        assert run_cut(cut, plain, -1, 0, "recover", nvm(crashed), copy) in (0, 1)
        fsck(copy)
        crashed.expect(5, copy)
        assert "needs_recovery" not in sh("dumpe2fs", "-h", copy).stdout
    assert 15 < at < 199


def test_parts_are_put_over_what_is_home(zjctl, crashed):
    """Without its whole image in the log a part goes over the block on the device."""
    log = crashed.log
    home = bytes(random.Random(1).randbytes(1024))
    with open(crashed.path, "r+b") as f:
        f.seek(BLOCK * 1024)
        f.write(home)
    log.was[BLOCK] = home
    one = home[:64] + b"a" * 64 + home[128:]
    two = one[:960] + b"b" * 64
    log.put(6, 3, images=[(BLOCK, one)])
    log.put(7, 3, images=[(BLOCK, two)], deps=[6])
    got = zjctl("dump", "--json", "--block", BLOCK, nvm(crashed), crashed.path).json
    assert [(h["block_lines"], h["fate"]) for h in got["history"]] == [("0x2", "taken"), ("0x8000", "taken")]
    assert zjctl("recover", nvm(crashed), crashed.path).returncode == 1
    assert blocks(crashed.path, 1024)[BLOCK] == two


@pytest.mark.parametrize("rested", [1, 2 ** 31 - 1, 2 ** 31 + 10, 2 ** 32])
def test_a_lane_that_has_rested(zjctl, image, rested):
    """The tail has half of a stamp, which the checkpoint stamp has passed; the chunk has all of it."""
    log = NvmLog(image, lanes=2)
    size = log.block_size
    log.put(5, 1, images=[(BLOCK, b"a" * size)])
    log.ckpt(5 + rested)
    log.put(5 + rested + 1, 0, tid=77, images=[(BLOCK + 1, b"b" * size)], deps=[5])
    log.live()
    got = zjctl("info", "--json", f"--nvm={log.memory}", image)
    assert [lane["tail_end"] for lane in got.json["log"]["per_lane"]] == ["reclaimed", "none"]
    got = zjctl("check", "--json", f"--nvm={log.memory}", image)
    assert got.returncode == 0 and got.json["recovery"]["transactions"] == 1, got.out
    assert zjctl("recover", "--no-fsck", f"--nvm={log.memory}", image).returncode == 1
    assert blocks(image, size)[BLOCK:BLOCK + 2] == [bytes(size), b"b" * size]


# ---- what is refused ----

def garble(c, at, data=b"\x5a\xa5"):
    c.log.store(at, data)


def records_of(c, stamp, lane):
    """Byte of the first line of a chunk."""
    end = next(e for s, n, e in c.records if (s, n) == (stamp, lane))
    return c.log.info(end)[0]["start"] * LINE


# Each: what it does to a CrashedNvm, exit status, what zjctl must say.
REFUSED = {
    "not formatted": (lambda c: garble(c, 0, bytes(512)), 8, "holds no log; is it the right memory?"),
    "torn super": (lambda c: garble(c, 0x30), 4, "damaged superblock (wrong checksum)"),
    "other version": (lambda c: garble(c, 0, c.log.nvm_super(version=2)), 4, "formatted by another version"),
    "smaller": (lambda c: os.truncate(c.log.memory, 1 << 19), 4, "is smaller than when it was formatted"),
    "tiny": (lambda c: os.truncate(c.log.memory, 1 << 16), 8, "is too small for a log"),
    "empty": (lambda c: os.truncate(c.log.memory, 0), 8, "is too small for a log"),
    "other memory": (lambda c: garble(c, 0, c.log.nvm_super(uuid=bytes(16))), 8,
                     "is the memory 00000000-0000-0000-0000-000000000000, but the log of"),
    "missing": (lambda c: os.unlink(c.log.memory), 8, "No such file"),
    "directory": (lambda c: (os.unlink(c.log.memory), os.mkdir(c.log.memory + ".d"),
                             setattr(c.log, "memory", c.log.memory + ".d")), 8, "neither a block device nor a file"),
    "generation": (lambda c: garble(c, HEAD, c.log.head(generation=5)), 4,
                   "the memory holds generation 5 of it, but block 0 names generation 1234605616436508552"),
    "head": (lambda c: garble(c, HEAD + 8), 4, "its header in memory: wrong checksum"),
    "geometry": (lambda c: garble(c, HEAD, c.log.head(total=1 << 30)), 4, "longer than the device"),
    "block size": (lambda c: garble(c, HEAD, c.log.head(block_size=4096)), 4, "its block size is 4096"),
    "no block size": (lambda c: garble(c, HEAD, c.log.head(block_size=0, seg_lines=0, nr_segs=2 ** 32 - 1)), 4,
                      "its block size is 0"),
    "lines": (lambda c: garble(c, records_of(c, 2, 1) + 5), 4, "the records do not match their TxnInfo"),
    "TxnInfo": (lambda c: garble(c, c.log.tails[1][1] * LINE - 128), 4, "no TxnInfo of this log"),
    "TxnInfo's stamp": (lambda c: garble(c, c.log.tails[1][1] * LINE - 120), 4, "a TxnInfo with a wrong checksum"),
    "tail": (lambda c: c.log.tail(0, 5, 9), 4, "no place in the log"),
    "tail's stamp": (lambda c: c.log.tail(0, 4, c.log.tails[0][1]), 4, "not that of the lane's tail"),
    "tail of another lane": (lambda c: c.log.tail(3, 5, c.log.tails[0][1]), 4, "it is of lane 0"),
    "block out of range": (lambda c: c.log.put(6, 3, images=[(99999999, bytes(1024))]), 4,
                           "record of block 99999999"),
    "revoke out of range": (lambda c: c.log.put(6, 3, revokes=[99999999]), 4, "revoke of block 99999999"),
    "dependency upwards": (lambda c: c.log.put(6, 3, deps=[7]), 4, "depends on 7"),
    "own block": (lambda c: c.log.put(6, 3, images=[(c.log.map[5], bytes(1024))]), 4, "journal's own block 5"),
    "two images": (lambda c: c.log.put(6, 3, images=[(BLOCK, bytes(1024)), (BLOCK, b"x" * 1024)]), 4,
                   f"two images of block {BLOCK}"),
    "part after a revoke": (lambda c: (c.log.put(6, 3, revokes=[BLOCK]), c.log.was.update({BLOCK: bytes(1024)}),
                                       c.log.put(7, 3, images=[(BLOCK, b"x" * 64 + bytes(960))])), 4,
                            f"lines of block {BLOCK}, which was revoked before"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_and_left(zjctl, crashed, what):
    damage, code, text = REFUSED[what]
    damage(crashed)
    same = Same(crashed)
    for args in (["check"], ["recover"], ["recover", "-n"], ["info"], ["dump"], ["dump", "--block", 132],
                 ["dump", "--graph"]):
        got = zjctl(*args, nvm(crashed), crashed.path)
        assert got.returncode == code and text in got.out, (args, got.out)
        same.check(args)
    state = zjctl("info", "--json", nvm(crashed), crashed.path).json["journal"]
    assert state["state"] == ("damaged" if code == 4 else "crashed")
    assert state["memory_uuid"] == NAME
    if code == 4:
        got = zjctl("check", "--json", nvm(crashed), crashed.path)
        assert got.json["verdict"] == "damaged" and "nothing was written" in got.out
    else:
        assert "verdict" not in zjctl("check", "--json", nvm(crashed), crashed.path).json
    same.check()


def test_without_the_memory(zjctl, crashed):
    """The error names the memory and the remedy."""
    same = Same(crashed)
    for args in (["check"], ["recover"], ["recover", "-n"], ["info"], ["dump"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 8 and f"in the persistent memory {NAME}" in got.out, args
        assert "name it with --nvm=, or mount with journal_nvm=" in got.out
    info = zjctl("info", "--json", crashed.path).json
    assert info["journal"]["state"] == "crashed" and info["journal"]["memory_uuid"] == NAME
    assert info["journal"]["memory_generation"] == 0x1122334455667788
    assert "memory" not in info and "log" not in info
    assert f"log               in the persistent memory {NAME}" in zjctl("info", crashed.path).out
    same.check()


def test_block_0_names_memory_but_no_lanes(zjctl, crashed):
    """No writer leaves that: it is not taken for stock's log."""
    incompat = struct.unpack(">I", crashed.log.read(0)[0x28:0x2c])[0]
    crashed.log.patch(0, 0x28, struct.pack(">I", incompat & ~0x40000000))
    same = Same(crashed)
    for args in (["check"], ["recover"], ["info"], ["dump"]):
        got = zjctl(*args, nvm(crashed), crashed.path)
        assert got.returncode == 4 and "unknown features (incompat 0x20000000" in got.out, args
    same.check()


def test_convert_and_resize_refuse(zjctl, crashed):
    same = Same(crashed)
    for args in (["convert", "--check"], ["convert", "--to-ext4"], ["resize-journal"], ["resize-journal", "-n"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4 and f"first: zjctl recover --nvm=NVM {crashed.path}" in got.out, args
        assert NAME in got.out
    same.check()


def test_the_memory_is_locked(zjctl, crashed):
    with open(crashed.log.memory) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        same = Same(crashed)
        got = zjctl("recover", nvm(crashed), crashed.path)
        assert got.returncode == 8 and "is locked by another program" in got.out
        same.check()
        assert zjctl("check", nvm(crashed), crashed.path).returncode == 0


def test_nvm_format_keeps_the_log(zjctl, crashed):
    for damage in (lambda: None, lambda: garble(crashed, 0, bytes(512))):
        damage()
        same = Same(crashed)
        got = zjctl("nvm-format", "--force", crashed.log.memory, crashed.path)
        assert got.returncode == 8 and "not recovered yet" in got.out and "zjctl recover --nvm=" in got.out
        same.check()


LOSE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
/* What is behind the end of a file cannot be read, as bad memory. */
void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
	void *(*fn)(void *, size_t, int, int, int, off64_t) = dlsym(RTLD_NEXT, "mmap64");
	void *p = fn(at, n, prot, flags, fd, from);

	if (fd >= 0 && prot == PROT_READ && flags == MAP_SHARED)
		if (truncate(getenv("LOSE"), atol(getenv("LOSE_AT"))))
			abort();
	return p;
}
void *mmap(void *at, size_t n, int prot, int flags, int fd, off64_t from)
{
	return mmap64(at, n, prot, flags, fd, from);
}
"""


def test_memory_that_cannot_be_read(plain, crashed, tmp_path):
    (tmp_path / "lose.c").write_text(LOSE)
    sh("gcc", "-shared", "-fPIC", "-o", tmp_path / "lose.so", tmp_path / "lose.c", "-ldl")
    before = crashed.path.read_bytes()
    memory = Path(crashed.log.memory).read_bytes()
    for at in (0, FIRST + 4096):
        for args in (["check"], ["recover"], ["dump"], ["info"], ["check", "--json"]):
            Path(crashed.log.memory).write_bytes(memory)
            got = subprocess.run([plain, *args, nvm(crashed), crashed.path], capture_output=True, text=True,
                                 env={**os.environ, "LD_PRELOAD": str(tmp_path / "lose.so"),
                                      "LOSE": crashed.log.memory, "LOSE_AT": str(at)})
            assert got.returncode == 8, (got.returncode, got.stderr)
            assert "cannot be read at byte" in got.stdout + got.stderr
            assert crashed.path.read_bytes() == before
    assert '"exit":8' in got.stdout


# ---- fuzz ----

def survives(zjctl, c, what):
    """For any memory: no crash; listing and recovery agree; a refused log is unchanged."""
    same = Same(c)
    codes = set()
    for args in (["check", "--json"], ["dump", "--json"], ["dump", "--block", BLOCK], ["dump", "--inode", 2],
                 ["dump", "--graph"], ["info", "--json"], ["recover", "-n"]):
        got = zjctl(*args, nvm(c), c.path)
        assert got.returncode in (0, 4, 8), (what, got.out)
        assert "please report" not in got.out, (what, got.out)
        codes.add(got.returncode)
        same.check(what)
    assert len(codes) == 1, (what, codes)
    memory = Path(c.log.memory).read_bytes()
    got = zjctl("recover", "--no-fsck", nvm(c), c.path)
    assert got.returncode == (1 if codes == {0} else codes.pop()), (what, got.out)
    assert Path(c.log.memory).read_bytes() == memory
    if got.returncode != 1:
        same.check(what)
    return got.returncode


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes(zjctl, crashed, tmp_path, seed):
    rnd = random.Random(seed)
    places = [(0, 64), (HEAD, 64), (8192, 8)] + [(16384 + n * LINE, 8) for n in range(4)]
    for _, _, end in crashed.records:
        info = crashed.log.info(end)[0]
        places += [(info["start"] * LINE, (end - info["start"]) * LINE), ((end - info["info_lines"]) * LINE, 300)]
    for n in range(4):
        (tmp_path / f"{n}").mkdir()
        c = crashed.copy(tmp_path / f"{n}")
        for _ in range(rnd.choice((1, 1, 3, 20))):
            at, length = rnd.choice(places)
            c.log.store(at + rnd.randrange(length), bytes([rnd.randrange(256)]))
        survives(zjctl, c, (seed, n))


@pytest.mark.parametrize("seed", range(24))
def test_hostile_chunks(zjctl, crashed, seed):
    """Random fields under a correct checksum."""
    rnd = random.Random(2000 + seed)
    c = crashed
    names = ("generation stamp prev_stamp prev start tid lane members chunk flags deps revokes data_lines "
             "data_hash info_lines end count").split()
    for _ in range(rnd.choice((1, 1, 2, 4))):
        end = rnd.choice(c.records)[2]
        v, entries = c.log.info(end)
        if rnd.random() < 0.3:
            raw = bytearray(entries)
            struct.pack_into("<Q", raw, rnd.randrange(len(raw) // 8) * 8,
                             rnd.choice((0, 1, 5, 2 ** 64 - 1, 0xffff, 0x10000, rnd.getrandbits(64))))
            c.log.reseal(end, entries=bytes(raw))
            continue
        name = rnd.choice(names)
        value = rnd.choice((0, 1, 2, 3, 5, 255, 65535, 0x7fffffff, 0xffffffff, rnd.getrandbits(32),
                            v[name] + 1, abs(v[name] - 1), rnd.choice(c.records)[2]))
        c.log.reseal(end, **{name: value & 0xffffffff})
    survives(zjctl, c, seed)


@pytest.mark.parametrize("lines", [1 << 16, 1 << 63, 0])
def test_lines_that_no_block_has(zjctl, crashed, lines):
    crashed.log.was[BLOCK] = bytes(1024)
    end = crashed.log.put(6, 3, images=[(BLOCK, b"x" * 64 + bytes(960))])
    crashed.log.reseal(end, entries=struct.pack("<2Q", BLOCK, lines).ljust(64, b"\0"))
    assert survives(zjctl, crashed, lines) == 4
    got = zjctl("check", nvm(crashed), crashed.path)
    assert f"record of block {BLOCK} with impossible lines {lines:#x}" in got.out or not lines


def test_walks_in_circles_end(zjctl, crashed):
    """A lane whose oldest chunk claims that its newest one is before it; chunks that overlap."""
    newest, oldest = crashed.log.tails[0], next(e for s, n, e in crashed.records if (s, n) == (1, 0))
    crashed.log.reseal(oldest, prev=newest[1], prev_stamp=1)
    assert survives(zjctl, crashed, "circle") == 4


@pytest.mark.parametrize("seed", range(12))
def test_random_logs_are_judged_as_recovery_does(zjctl, image, seed):
    """Members without a tail, several chunks, parts and revokes; computed from the plan alone."""
    rnd = random.Random(seed)
    log = NvmLog(image, lanes=4, seg_lines=128)
    log.live()
    members, logged, cut_off, ckpt = {}, {}, set(), 0
    state, history = {}, {0: {}}
    nr = rnd.randrange(4, 14)
    if rnd.random() < 0.5:
        ckpt = rnd.randrange(nr // 2)
    for stamp in range(1, nr):
        lanes = rnd.sample(range(4), rnd.randrange(1, 4))
        deps = [rnd.randrange(1, stamp) for _ in range(rnd.randrange(3)) if stamp > 1]
        members[stamp] = (lanes, set(deps) | {stamp - 1} - {0})
        taken = set()
        for lane in lanes:
            if rnd.random() < 0.06:
                cut_off.add(lane)              # from here on no tail is stored
            images, revokes = [], []
            for block in rnd.sample(range(BLOCK, BLOCK + 6), rnd.randrange(3)):
                if block in taken:
                    continue
                taken.add(block)
                if rnd.random() < 0.2:
                    revokes.append(block)
                    state.pop(block, None)
                    continue
                body = bytearray(state.get(block, rnd.randbytes(1024)))
                for _ in range(rnd.randrange(1, 4)):
                    body[rnd.randrange(1024)] = rnd.randrange(256)
                images.append((block, bytes(body)))
                state[block] = bytes(body)
            pieces = [images[:1], images[1:]] if len(images) > 1 and rnd.random() < 0.5 else [images]
            for n, piece in enumerate(pieces):
                log.put(stamp, lane, images=piece, deps=members[stamp][1] if lane == lanes[0] and not n else (),
                        revokes=() if n else revokes, members=len(lanes), chunk=n, last=n == len(pieces) - 1,
                        show=lane not in cut_off and n == len(pieces) - 1)
            logged[stamp, lane] = lane not in cut_off
        history[stamp] = dict(state)
        if stamp == ckpt:
            # Older components are home, and their lines may hold anything.
            with open(image, "r+b") as f:
                for block, body in state.items():
                    f.seek(block * 1024)
                    f.write(body)
    log.ckpt(ckpt)
    committed = {s: s <= ckpt or all(logged[s, lane] for lane in members[s][0]) for s in members}
    for s in sorted(committed):
        committed[s] = committed[s] and (s <= ckpt or all(d <= ckpt or committed[d] for d in members[s][1]))
    got = zjctl("check", "--json", f"--nvm={log.memory}", image)
    assert got.returncode == 0 and got.json["verdict"] == "good", got.out
    live = [s for s in committed if s > ckpt and committed[s]]
    assert got.json["recovery"]["committed_components"] == len(live)
    for r in zjctl("dump", "--json", f"--nvm={log.memory}", image).json["records"]:
        s = r["stamp"]
        assert s > ckpt and logged[s, r["lane"]]
        whole = all(logged[s, lane] for lane in members[s][0])
        assert r["component"] == ("committed" if committed[s] else "orphaned" if whole else "incomplete"), r
    before = blocks(image, 1024)
    assert zjctl("recover", "--no-fsck", f"--nvm={log.memory}", image).returncode == 1
    # Each component depends on the one before: what is committed is a prefix.
    newest = max([s for s in committed if committed[s]] + [0])
    after = blocks(image, 1024)
    for block in range(BLOCK, BLOCK + 6):
        want = history[newest].get(block)
        if want is not None:
            assert after[block] == want, block
        else:
            assert after[block] == before[block], block


# ---- dump, info ----

def test_dump(zjctl, crashed):
    got = zjctl("dump", "--json", nvm(crashed), crashed.path).json
    assert got["format"] == "nvm" and got["live"]
    found = [(r["stamp"], r["lane"], r["first_line"] + r["lines"]) for r in got["records"]]
    assert found == crashed.records
    assert all(r["component"] == "committed" and r["record"] == "good" and not r["why"] for r in got["records"])
    lines = [i["block_lines"] for r in got["records"] for i in r["images"]]
    assert "0xffff" in lines and any(x != "0xffff" for x in lines)
    assert [(t["lane"], t["line"], t["stamp"], t["end"]) for t in got["tails"]] == \
        [(lane, crashed.log.tails[lane][1], 5, "reclaimed") for lane in range(3)] + [(3, 0, 0, "none")]
    text = zjctl("dump", nvm(crashed), crashed.path).out
    assert "stamp 5  lane 2  tid 82  record 1 of 1  members 3  lines " in text
    assert "(lines 0x" in text and "NOT COMMITTED" not in text and "back to" in text
    got = zjctl("dump", "--json", "--lane", 1, nvm(crashed), crashed.path).json
    assert {r["lane"] for r in got["records"]} == {1} and [t["lane"] for t in got["tails"]] == [1]
    assert 's3 [fillcolor=palegreen' in zjctl("dump", "--graph", nvm(crashed), crashed.path).out


def test_dump_of_a_damaged_lane(zjctl, crashed):
    """Everything readable is shown, with the place where the walk ends."""
    end = next(e for s, n, e in crashed.records if (s, n) == (3, 1))
    garble(crashed, records_of(crashed, 4, 2))
    garble(crashed, end * LINE - 128)
    got = zjctl("dump", "--json", nvm(crashed), crashed.path)
    assert got.returncode == 4
    assert [r["stamp"] for r in got.json["records"] if r["lane"] == 1] == [4, 5]
    assert [(r["stamp"], r["lane"]) for r in got.json["records"] if r["record"] == "torn"] == [(4, 2)]
    tail = got.json["tails"][1]
    assert tail["end"] == "damaged" and tail["wrong_at"] == end and "no TxnInfo" in tail["wrong"]
    assert f"damaged: no TxnInfo of this log before line {end}" in zjctl("dump", nvm(crashed), crashed.path).out


def test_reclaimed_log(zjctl, crashed):
    """Records up to the checkpoint stamp are home, and not even read; this may be all of a lane."""
    crashed.log.put(6, 0, images=[(BLOCK, b"x" * 1024)])
    for s, _, end in crashed.records:
        if s < 5:
            garble(crashed, end * LINE - 64)
    crashed.log.ckpt(4)
    got = zjctl("check", "--json", nvm(crashed), crashed.path).json
    assert got["recovery"]["checkpoint_stamp"] == 4 and got["recovery"]["transactions"] == 4
    crashed.log.ckpt(5)
    for _, _, end in crashed.records:
        garble(crashed, end * LINE - 64)
    got = zjctl("dump", "--json", nvm(crashed), crashed.path).json
    assert [r["stamp"] for r in got["records"]] == [6]
    assert [t["end"] for t in got["tails"]] == ["reclaimed", "none", "none", "none"]


def test_block_history_agrees_with_recover(zjctl, crashed):
    log = crashed.log
    log.put(6, 3, images=[(BLOCK, b"x" * 1024), (BLOCK + 1, b"\xc0\x3b\x39\x98" + b"y" * 1020)])
    log.put(7, 3, images=[(BLOCK, b"z" * 64 + b"x" * 960)], revokes=[BLOCK + 1], deps=[6])
    log.put(8, 3, images=[(BLOCK + 2, b"never" * 200 + bytes(24))], deps=[6], members=2)
    records = zjctl("dump", "--json", nvm(crashed), crashed.path).json["records"]
    touched = {i["block"] for r in records for i in r["images"]}
    written = set()
    for block in touched:
        got = zjctl("dump", "--json", "--block", block, nvm(crashed), crashed.path).json
        assert any(h.get("fate") == "taken" for h in got["history"]) == got["written_by_recovery"]
        written |= {block} if got["written_by_recovery"] else set()
    text = zjctl("dump", "--block", BLOCK, nvm(crashed), crashed.path).out
    assert re.search(r"image from line \d+ on: taken", text) and re.search(r"lines 0x1 of it from line \d+ on: taken", text)
    home = blocks(crashed.path, 1024)
    assert zjctl("recover", "--json", nvm(crashed), crashed.path).json["blocks_written"] == len(written)
    after = blocks(crashed.path, 1024)
    assert after[BLOCK] == b"z" * 64 + b"x" * 960
    for block in {BLOCK + 1, BLOCK + 2}:
        assert block not in written and after[block] == home[block]


def test_dump_inode(zjctl, crashed):
    """The inode as it is with each part in its place."""
    got = zjctl("dump", "--json", "--inode", 2, nvm(crashed), crashed.path).json
    assert [h["inode"]["links"] for h in got["history"]] == [4, 5, 6, 7, 8]
    assert {h["fate"] for h in got["history"]} == {"taken"}
    assert got["history"][0]["block_lines"] == "0xffff" != got["history"][1]["block_lines"]
    assert "inode 2: mode 040755, links 8" in zjctl("dump", "--inode", 2, nvm(crashed), crashed.path).out
    # In a part without the inode, it is as earlier parts have left it, not as it is home.
    block = got["block"]
    crashed.log.put(6, 3, images=[(block, crashed.log.was[block][:960] + b"x" * 64)], deps=[5])
    last = zjctl("dump", "--json", "--inode", 2, nvm(crashed), crashed.path).json["history"][-1]
    assert last["block_lines"] == "0x8000" and last["inode"]["links"] == 8 and not last["same_as_home"]


def test_info(zjctl, crashed):
    got = zjctl("info", "--json", nvm(crashed), crashed.path).json
    assert got["journal"]["state"] == "crashed" and got["journal"]["memory_uuid"] == NAME
    assert got["memory"] == {"path": crashed.log.memory, "uuid": NAME, "bytes": 1 << 20, "holds_log": True,
                             "filesystem_uuid": got["filesystem"]["uuid"], "of_this_filesystem": True}
    log = got["log"]
    assert (log["format"], log["lanes"], log["segments"], log["segment_lines"]) == ("nvm", 4, 60, 256)
    assert (log["unit_bytes"], log["newest_stamp"], log["newest_committed_stamp"]) == (64, 5, 5)
    assert [lane["transactions"] for lane in log["per_lane"]] == [5, 5, 5, 0]
    assert [lane["tail_line"] for lane in log["per_lane"]] == [crashed.log.tails[n][1] for n in range(3)] + [0]
    text = zjctl("info", nvm(crashed), crashed.path).out
    assert f"Memory {crashed.log.memory}" in text and "this file system's" in text
    assert "segments          60 of 16 KiB, 5" in text and "tail line" in text


def test_info_of_memory_beside_a_clean_file_system(zjctl, image, tmp_path):
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(1 << 20))
    assert zjctl("nvm-format", memory, image).returncode == 0
    got = zjctl("info", "--json", f"--nvm={memory}", image)
    assert got.returncode == 0 and got.json["journal"]["state"] == "clean"
    assert got.json["memory"]["of_this_filesystem"] and not got.json["memory"]["holds_log"]
    other = mkfs(tmp_path / "other.img")
    text = zjctl("info", f"--nvm={memory}", other).out
    assert "which is not this one" in text and "not this file system's" in text
    assert zjctl("info", f"--nvm={image}", image).returncode == 8
    assert zjctl("check", f"--nvm={memory}", image).returncode == 0
