# SPDX-License-Identifier: GPL-2.0-only
"""Writes zjournal logs into ext4 images, from docs/internals/format.md alone."""

import struct
import subprocess

JBD2_MAGIC = 0xc03b3998
CHUNK_MAGIC = 0x48434a5a
LANES_BIT = 0x40000000
GENERATION = 0x1122334455667788

_table = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82f63b78 if _n & 1 else 0)
    _table.append(_n)


def crc32c(data, crc=0xffffffff):
    for byte in data:
        crc = crc >> 8 ^ _table[(crc ^ byte) & 0xff]
    return crc


_M = 2 ** 64 - 1
_P = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
      2870177450012600261)


def _rol(x, n):
    return (x << n | x >> 64 - n) & _M


def _round(acc, word):
    return _rol((acc + word * _P[1]) & _M, 31) * _P[0] & _M


def xxh64(data, seed):
    """XXH64 of whole 32-byte stripes, as blocks are."""
    assert data and len(data) % 32 == 0
    acc = [seed + _P[0] + _P[1] & _M, seed + _P[1] & _M, seed, seed - _P[0] & _M]
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    for n in range(0, len(words), 4):
        acc = [_round(a, w) for a, w in zip(acc, words[n:n + 4])]
    h = sum(_rol(a, n) for a, n in zip(acc, (1, 7, 12, 18))) & _M
    for a in acc:
        h = ((h ^ _round(0, a)) * _P[0] + _P[3]) & _M
    h = h + len(data) & _M
    h = (h ^ h >> 33) * _P[1] & _M
    h = (h ^ h >> 29) * _P[2] & _M
    return h ^ h >> 32


def sealed(data, seed=0xffffffff):
    """The structure with its checksum, which all of ours have at byte 4."""
    data = bytearray(data)
    data[4:8] = bytes(4)
    data[4:8] = struct.pack("<I", crc32c(data, seed))
    return bytes(data)


class Log:
    """The journal of an image, live, with an empty log at first."""

    def __init__(self, image, lanes=4, seg_blocks=64):
        self.path = str(image)
        with open(self.path, "rb") as f:
            f.seek(1024)
            sb = f.read(1024)
        self.block_size = 1024 << struct.unpack_from("<I", sb, 24)[0]
        self.uuid = sb[104:120]
        out = subprocess.run(["debugfs", "-R", "blocks <8>", self.path], check=True,
                             capture_output=True, text=True).stdout
        self.map = [int(word) for word in out.split()]
        self.lanes, self.seg_blocks = lanes, seg_blocks
        self.total = len(self.map)
        self.nr_segs = (self.total - 4) // seg_blocks
        self.seed = crc32c(struct.pack("<Q", GENERATION), crc32c(self.uuid))
        self.next = [0] * self.nr_segs          # free block of each segment
        self.of_lane = {}                       # lane: its segment
        self.write(1, self.log_super())

    def read(self, block):
        with open(self.path, "rb") as f:
            f.seek(self.map[block] * self.block_size)
            return f.read(self.block_size)

    def write(self, block, data):
        with open(self.path, "r+b") as f:
            f.seek(self.map[block] * self.block_size)
            f.write(data)

    def patch(self, block, offset, data):
        old = bytearray(self.read(block))
        old[offset:offset + len(data)] = data
        self.write(block, bytes(old))

    def reseal(self, block, offset, data):
        """Change a header and make its checksum right again."""
        self.patch(block, offset, data)
        self.write(block, sealed(self.read(block), self.seed))

    def log_super(self, **change):
        v = dict(magic=0x42534a5a, version=1, block_size=self.block_size, uuid=self.uuid,
                 generation=GENERATION, total=self.total, first=4, seg_blocks=self.seg_blocks,
                 nr_segs=self.nr_segs, lanes=self.lanes)
        v.update(change)
        sector = struct.pack("<4I16sQ5I", v["magic"], 0, v["version"], v["block_size"], v["uuid"],
                             v["generation"], v["total"], v["first"], v["seg_blocks"],
                             v["nr_segs"], v["lanes"])
        return sealed(sector.ljust(512, b"\0")).ljust(self.block_size, b"\0")

    def ckpt(self, seq, stamp):
        slot = struct.pack("<2I3Q", 0x52544a5a, 0, GENERATION, seq, stamp)
        self.write(2 + seq % 2, sealed(slot.ljust(512, b"\0"), self.seed).ljust(self.block_size, b"\0"))

    def live(self):
        """Block 0 as a running zext4 leaves it."""
        block = bytearray(self.read(0))
        incompat = struct.unpack_from(">I", block, 0x28)[0]
        struct.pack_into(">I", block, 0x28, incompat | LANES_BIT)
        struct.pack_into(">I", block, 0x1c, 1)
        self.write(0, bytes(block))
        subprocess.run(["debugfs", "-w", "-R", "feature +needs_recovery", self.path], check=True,
                       capture_output=True)

    def segment(self, lane, blocks):
        seg = self.of_lane.get(lane)
        if seg is None or self.next[seg] + blocks > self.seg_blocks:
            seg = self.next.index(0)
            self.of_lane[lane] = seg
        return seg

    def put(self, stamp, lane=0, tid=None, images=(), deps=(), revokes=(), members=1, chunk=0,
            chunks=1, seg=None, **change):
        """Append a record; images: pairs of block and contents. Returns its journal block."""
        seg = self.segment(lane, 1 + len(images)) if seg is None else seg
        at = self.next[seg]
        tags, bodies = b"", []
        for block, body in images:
            body, flags = bytearray(body), 0
            if body[:4] == struct.pack(">I", JBD2_MAGIC):
                flags = 1
            elif body[:4] == struct.pack("<I", CHUNK_MAGIC):
                flags = 2
            if flags:
                body[:4] = bytes(4)
            bodies.append(bytes(body))
            tags += struct.pack("<QQIHH", block, 2 ** 64 - 1, xxh64(body, self.seed) & 0xffffffff, flags,
                                0)
        v = dict(seg_seq=100 + seg, seg_index=seg, seg_block=at, flags=0, reserved=bytes(44))
        v.update(change)
        header = struct.pack("<2I2Q2IQ8IQI44s", CHUNK_MAGIC, 0, GENERATION, v["seg_seq"],
                             v["seg_index"], v["seg_block"], stamp,
                             stamp * 16 + lane if tid is None else tid, lane, members, chunk, chunks,
                             len(deps), len(revokes), len(images), 1700000000 + stamp, v["flags"],
                             v["reserved"])
        assert len(header) == 128
        header += struct.pack(f"<{len(deps) + len(revokes)}Q", *deps, *revokes) + tags
        first = 4 + seg * self.seg_blocks + at
        self.write(first, sealed(header.ljust(self.block_size, b"\0"), self.seed))
        for n, body in enumerate(bodies):
            self.write(first + 1 + n, body)
        self.next[seg] += 1 + len(images)
        assert self.next[seg] <= self.seg_blocks
        return first
