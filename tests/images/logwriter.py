# SPDX-License-Identifier: GPL-2.0-only
"""Writes logs as docs/internals/format.md describes them; shares no code with src/."""

import struct

import xxhash

LOG_FIRST = 4
JBD2_MAGIC = 0xc03b3998
INCOMPAT_LANES = 0x40000000
SEALED = 0x18                # stock's csum_v2 or csum_v3
ESCAPES = {b"\xc0\x3b\x39\x98": 1, b"ZJCH": 2}

_table = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82f63b78 if _n & 1 else 0)
    _table.append(_n)


def crc32c(data, crc=0xffffffff):
    for byte in data:
        crc = crc >> 8 ^ _table[(crc ^ byte) & 0xff]
    return crc


def seal(block, seed, length):
    """Put the checksum into bytes 4 to 7 of a structure of ours."""
    struct.pack_into("<I", block, 4, 0)
    struct.pack_into("<I", block, 4, crc32c(block[:length], seed))


def seal_block0(block):
    """Block 0 has a checksum if a feature says so."""
    if struct.unpack_from(">I", block, 0x28)[0] & SEALED:
        struct.pack_into(">I", block, 0xfc, 0)
        struct.pack_into(">I", block, 0xfc, crc32c(block[:1024]))


class Log:
    """The journal's blocks, as a writer with these lanes fills them."""

    def __init__(self, uuid, block_size, journal_blocks, lanes, generation=0x5eed0001):
        self.uuid, self.block_size, self.lanes = uuid, block_size, lanes
        self.total, self.seg_blocks = journal_blocks, 64
        self.nr_segs = (journal_blocks - LOG_FIRST) // self.seg_blocks
        self.blocks = {}                     # journal block: bytearray
        self.seg_of = {}                     # lane: segment in hand
        self.next = {}                       # segment: its next free block
        self.tenure = {}                     # segment: seg_seq
        self.last_tenure = 100
        self.version = 1                     # of most kept images; 2 has durable stamps, 3 lines
        self.parts = 0                       # blocks of which only lines were written
        self.imaged = set()
        self.set_generation(generation)

    def set_generation(self, generation):
        """A new generation empties the log in one step."""
        self.generation = generation
        self.seed = crc32c(self.uuid + struct.pack("<Q", generation))
        self.seg_of.clear()
        self.next.clear()
        self.write_super()

    def block(self, at):
        return self.blocks.setdefault(at, bytearray(self.block_size))

    def write_super(self, **changes):
        fields = dict(version=self.version, block_size=self.block_size, total=self.total, first=LOG_FIRST,
                      seg_blocks=self.seg_blocks, nr_segs=self.nr_segs, lanes=self.lanes)
        fields.update(changes)
        block = self.block(1)
        block[:] = bytes(self.block_size)
        struct.pack_into("<4sIII16sQIIIII", block, 0, b"ZJSB", 0, fields["version"],
                         fields["block_size"], self.uuid, self.generation, fields["total"],
                         fields["first"], fields["seg_blocks"], fields["nr_segs"],
                         fields["lanes"])
        seal(block, 0xffffffff, 512)

    def ckpt(self, seq, stamp):
        block = self.block(2 + (seq & 1))
        block[:] = bytes(self.block_size)
        struct.pack_into("<4sIQQQ", block, 0, b"ZJTR", 0, self.generation, seq, stamp)
        seal(block, self.seed, 512)

    def take_segment(self, lane, seg):
        """From now on this lane writes to this segment, from its block 0 on."""
        self.seg_of[lane] = seg
        self.next[seg] = 0
        self.last_tenure += 1
        self.tenure[seg] = self.last_tenure

    def _place(self, lane, nr):
        if lane not in self.seg_of or self.next[self.seg_of[lane]] + nr > self.seg_blocks:
            self.take_segment(lane, next(s for s in range(self.nr_segs) if s not in self.next))
        seg = self.seg_of[lane]
        block = self.next[seg]
        self.next[seg] += nr
        return seg, block

    def chunk(self, stamp, lane, images, tid=None, members=1, index=0, chunks=1, deps=(),
              revokes=(), durable=0, before=None):
        """Append one chunk; images are (home block, contents). Returns its header's block.

        With the device's contents before, little changes of blocks that have an image are lines.
        """
        room = self.block_size - 128 - 8 * (len(deps) + len(revokes)) - 24 * len(images)
        parts = {}
        for home, data in images:
            lines = self._lines(home, data, before)
            if lines and 64 * len(lines) <= room:
                parts[home] = lines
                room -= 64 * len(lines)
        self.imaged |= {home for home, _ in images}
        self.parts += len(parts)
        seg, block = self._place(lane, 1 + len(images) - len(parts))
        at = LOG_FIRST + seg * self.seg_blocks + block
        entries = struct.pack(f"<{len(deps) + len(revokes)}Q", *deps, *revokes)
        n, tail = 0, b""
        for home, data in images:
            if home in parts:
                mask = sum(1 << line for line in parts[home])
                entries += struct.pack("<QQIHH", home, mask, 0, 0, 0)
                tail = b"".join(data[line * 64:line * 64 + 64] for line in sorted(parts[home])) + tail
                continue
            data = bytearray(data)
            flags = ESCAPES.get(bytes(data[:4]), 0)
            if flags:
                data[:4] = bytes(4)
            n += 1
            self.blocks[at + n] = data
            csum = xxhash.xxh64_intdigest(data, self.seed) & 0xffffffff
            entries += struct.pack("<QQIHH", home, 2**64 - 1, csum, flags, 0)
        header = struct.pack("<4sIQQIIQIIIIIIIIQ4xIQ", b"ZJCH", 0, self.generation,
                             self.tenure[seg], seg, block, stamp,
                             (100 + stamp if tid is None else tid) & 0xffffffff, lane, members,
                             index, chunks, len(deps), len(revokes), len(images), 1700000000,
                             len(parts), durable)
        used = (header.ljust(128, b"\0") + entries).ljust(self.block_size - len(tail), b"\0")
        self.blocks[at] = bytearray(used + tail)
        seal(self.blocks[at], self.seed, self.block_size)
        return at

    def _lines(self, home, data, before):
        """The lines of 64 bytes that have changed, if they are few and the block has an image."""
        if before is None or home not in self.imaged:
            return []
        at = home * self.block_size
        old = before[at:at + self.block_size]
        lines = [i for i in range(self.block_size // 64) if old[i * 64:i * 64 + 64] != data[i * 64:i * 64 + 64]]
        return lines if len(lines) * 64 <= (self.block_size - 128) // 2 - 24 else []

    def component(self, stamp, images, lanes=(0,), deps=(), revokes=(), tids=None, durable=0, before=None):
        """One chunk for each lane, the images dealt out among them. Returns the headers' blocks.

        Dependencies and revokes are all in the first lane's record.
        """
        dealt = sorted(images.items())
        return [self.chunk(stamp, lane, dealt[n::len(lanes)], members=len(lanes),
                           tid=tids[n] if tids else None,
                           deps=deps if not n else (), revokes=revokes if not n else (), durable=durable,
                           before=before)
                for n, lane in enumerate(lanes)]
