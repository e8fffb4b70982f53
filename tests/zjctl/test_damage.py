# SPDX-License-Identifier: GPL-2.0-only
"""Damaged logs: named, never written to, never a crash of zjctl (ASan, UBSan)."""

import random
import struct

import pytest

from zjlog import Log

pytest_plugins = "zjctl_fixtures"


def u32(value):
    return struct.pack("<I", value)


# Each: what it does to a Crashed, and what zjctl must say.
DAMAGE = {
    "log super magic": (lambda c: c.log.patch(1, 0, b"XXXX"), "wrong magic number"),
    "log super checksum": (lambda c: c.log.patch(1, 0x20, b"XXXX"), "wrong checksum"),
    "version": (lambda c: c.log.write(1, c.log.log_super(version=9)), "unknown format version"),
    "block size": (lambda c: c.log.write(1, c.log.log_super(block_size=4096)), "block size is 4096"),
    "length": (lambda c: c.log.write(1, c.log.log_super(total=99999)), "but the journal only 1024"),
    "segments": (lambda c: c.log.write(1, c.log.log_super(nr_segs=0xffffffff)), "reach past the end"),
    "lanes": (lambda c: c.log.write(1, c.log.log_super(lanes=0)), "number of lanes"),
    "checkpoint slots": (lambda c: [(c.log.ckpt(n, 1), c.log.patch(2 + n % 2, 0x18, b"X")) for n in (4, 5)],
                         "both checkpoint slots"),
    "checkpoint slots contradict": (lambda c: (c.log.ckpt(4, 3), c.log.ckpt(5, 1)), "contradict"),
    "header in a wrong place": (lambda c: c.log.reseal(c.at(2, 0), 0x1c, u32(63)), "for another place"),
    "impossible count": (lambda c: c.log.reseal(c.at(2, 0), 0x44, u32(9999)), "impossible counts"),
    "dependency upwards": (lambda c: c.log.reseal(c.at(2, 0), 128, u32(7)), "depends on 7"),
    "lane": (lambda c: c.log.reseal(c.at(2, 0), 0x2c, u32(3)), "chunk of lane 3 in a segment of lane 0"),
    "stamp": (lambda c: c.log.reseal(c.at(4, 0), 0x20, u32(2)), "stamp 2 after 3"),
    "block out of range": (lambda c: c.log.put(6, 3, images=[(99999999, bytes(1024))]),
                           "image of block 99999999"),
    "revoke out of range": (lambda c: c.log.put(6, 3, revokes=[99999999]), "revoke of block 99999999"),
    "members": (lambda c: c.log.reseal(c.at(3, 1), 0x30, u32(2)), "disagree on the number of members"),
    "two images": (lambda c: c.log.put(6, 3, images=[(15000, bytes(1024)), (15000, bytes(1024))]),
                   "two images of block 15000"),
    "reserved": (lambda c: c.log.reseal(c.at(2, 0), 0x58, b"X"), "impossible counts"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named_and_left(zjctl, crashed, what):
    damage, text = DAMAGE[what]
    damage(crashed)
    before = crashed.path.read_bytes()
    got = zjctl("check", "--json", crashed.path)
    assert got.returncode == 4 and got.json["verdict"] == "damaged"
    assert text in got.out and "copy the device before" in got.out
    for args in (["recover"], ["recover", "-n"], ["info"], ["dump"], ["dump", "--block", 132]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4 and text in got.out, args
    assert zjctl("info", "--json", crashed.path).json["journal"]["state"] == "damaged"
    assert crashed.path.read_bytes() == before


BLOCK0 = {
    "magic": (0, b"XXXX", "is not a journal superblock"),
    "type": (4, struct.pack(">I", 5), "not of version 1 or 2"),
    "block size": (0xc, struct.pack(">I", 4096), "a block size that differs"),
    "length": (0x10, struct.pack(">I", 5000), "longer than its inode"),
    "first": (0x14, struct.pack(">I", 0), "bad first block"),
    "feature": (0x28, struct.pack(">I", 0x50000000), "unknown features (incompat 0x10000000"),
    "checksum": (0x28, struct.pack(">I36xB", 0x40000010, 4), "wrong checksum"),
    "kind of checksum": (0x28, struct.pack(">I", 0x40000010), "an unknown kind of checksums"),
    "two kinds": (0x28, struct.pack(">I36xB", 0x40000018, 4), "two kinds of checksums"),
}


@pytest.mark.parametrize("what", BLOCK0)
def test_block_0(zjctl, crashed, what):
    offset, value, text = BLOCK0[what]
    crashed.log.patch(0, offset, value)
    before = crashed.path.read_bytes()
    for command in ("check", "recover", "info", "dump", "convert --check", "resize-journal"):
        got = zjctl(*command.split(), crashed.path)
        assert got.returncode == 4 and text in got.out, command
        assert "run e2fsck" in got.out or "use the zjctl" in got.out
    assert crashed.path.read_bytes() == before


def survives(zjctl, c, n):
    """For any log: no crash, and either nothing is written or the recovery is complete."""
    before = c.path.read_bytes()
    for args in (["check", "--json"], ["dump", "--json"], ["dump", "--block", "1"],
                 ["dump", "--graph"], ["info", "--json"], ["recover", "-n"]):
        got = zjctl(*args, c.path)
        assert got.returncode in (0, 4), (n, got.out)
        assert c.path.read_bytes() == before
    good = zjctl("check", c.path).returncode == 0
    got = zjctl("recover", "--no-fsck", c.path)
    assert (got.returncode in (0, 1)) == good, (n, got.out)
    if not good:
        assert c.path.read_bytes() == before


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bits(zjctl, crashed, seed):
    rnd = random.Random(seed)
    c = crashed
    for _ in range(rnd.choice((1, 3, 40))):
        block = rnd.choice([0, 1, 2, 3] + [b for _, _, at in c.records for b in (at, at + 1)])
        offset = rnd.randrange(160 if block > 3 else 96)
        c.log.patch(block, offset, bytes([rnd.randrange(256)]))
    survives(zjctl, c, seed)


@pytest.mark.parametrize("seed", range(24))
def test_hostile_headers(zjctl, crashed, seed):
    """Random fields under a correct checksum."""
    rnd = random.Random(1000 + seed)
    c = crashed
    for _ in range(rnd.choice((1, 2, 5))):
        at = rnd.choice(c.records)[2]
        offset = rnd.choice((0x10, 0x18, 0x1c, 0x20, 0x28, 0x2c, 0x30, 0x34, 0x38, 0x3c, 0x40, 0x44,
                             0x48, 0x4c, 0x50, 128, 132, 136, 140, 144, 152))
        value = rnd.choice((0, 1, 2, 3, 5, 255, 65535, 0x7fffffff, 0xffffffff, rnd.getrandbits(32)))
        c.log.reseal(at, offset, u32(value))
    survives(zjctl, c, seed)


@pytest.mark.parametrize("seed", range(16))
def test_random_logs_are_judged_as_recovery_does(zjctl, image, seed):
    """Lost and torn records; the expectation is computed from the plan alone."""
    rnd = random.Random(seed)
    log = Log(image, lanes=4, seg_blocks=16)
    log.live()
    whole, members, ckpt = {}, {}, 0
    for stamp in range(1, rnd.randrange(3, 14)):
        lanes = rnd.sample(range(4), rnd.randrange(1, 4))
        members[stamp] = (len(lanes), set())
        whole[stamp] = True
        for lane in lanes:
            deps = [rnd.randrange(1, stamp) for _ in range(rnd.randrange(3)) if stamp > 1 and lane == lanes[0]]
            members[stamp][1].update(deps)
            images = [(15000 + 10 * lane + rnd.randrange(4), bytes([stamp]) * 1024)
                      for _ in range(rnd.randrange(2))]
            at = log.put(stamp, lane, images=images, deps=deps, members=len(lanes))
            if images and rnd.random() < 0.1:
                log.patch(at + 1, 700, b"torn")
                whole[stamp] = False
    if rnd.random() < 0.4:
        ckpt = rnd.randrange(len(whole))
        log.ckpt(3, ckpt)
    committed = {}
    for stamp in sorted(whole):
        committed[stamp] = stamp > ckpt and whole[stamp] and \
            all(d <= ckpt or committed[d] for d in members[stamp][1])
    records = zjctl("dump", "--json", image).json["records"]
    for r in records:
        want = "home" if r["stamp"] <= ckpt else "committed" if committed[r["stamp"]] else \
            "orphaned" if whole[r["stamp"]] else "incomplete"
        assert r["component"] == want, r
    got = zjctl("check", "--json", image).json
    assert got["verdict"] == "good"
    assert got["recovery"]["committed_components"] == sum(committed.values())
    assert got["recovery"]["transactions"] == sum(members[s][0] for s in committed if committed[s])
