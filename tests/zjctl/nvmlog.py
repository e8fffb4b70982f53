# SPDX-License-Identifier: GPL-2.0-only
"""Writes logs in persistent memory, from docs/internals/format.md ("A log in memory") alone."""

import shutil
import struct

from zjctl_images import Crashed
from zjlog import GENERATION, LANES_BIT, Log, crc32c, sealed, xxh64

NVM_BIT = 0x20000000
LINE = 64
UUID = bytes(range(0x40, 0x50))
HEAD, CKPT, TAILS, FIRST = 4096, 8192, 16384, 65536
INFO = "<3Q10I2Q28s5I"           # struct zj_txninfo
FIELDS = ("generation stamp prev_stamp prev start tid lane members chunk flags deps revokes data_lines "
          "data_hash commit_sec reserved csum info_lines end count magic").split()


class NvmLog(Log):
    """The log of an image in a file beside it, as a running zext4 has it; empty at first."""

    def __init__(self, image, lanes=4, seg_lines=256, size=1 << 20):
        super().__init__(image, lanes)
        if self.block_size > 4096:              # as they are, few blocks fit
            seg_lines, size = 4 * seg_lines, 4 * size
        self.write(1, bytes(self.block_size))
        self.memory = self.path + ".nvm"
        self.seg_lines, self.size = seg_lines, size
        self.nr_segs = (size - FIRST) // LINE // seg_lines
        self.next = [0] * self.nr_segs
        self.unit = max(LINE, self.block_size // 64)
        self.all = 2 ** (self.block_size // self.unit) - 1
        self.tails = {}                         # lane: stamp and end of its newest chunk
        self.was = {}                           # block: as it was logged last
        with open(self.memory, "wb") as f:
            f.truncate(size)
        self.store(0, self.nvm_super())
        self.store(HEAD, self.head())

    def load(self, at, n):
        with open(self.memory, "rb") as f:
            f.seek(at)
            return f.read(n)

    def store(self, at, data):
        with open(self.memory, "r+b") as f:
            f.seek(at)
            f.write(data)

    def nvm_super(self, **change):
        v = dict(magic=0x564e4a5a, version=1, uuid=UUID, fs_uuid=self.uuid, size=self.size)
        v.update(change)
        return sealed(struct.pack("<4I16s16sQ", v["magic"], 0, v["version"], 0, v["uuid"], v["fs_uuid"],
                                  v["size"]).ljust(512, b"\0"))

    def head(self, **change):
        v = dict(magic=0x484e4a5a, generation=GENERATION, block_size=self.block_size,
                 total=self.size // LINE, first=FIRST // LINE, seg_lines=self.seg_lines,
                 nr_segs=self.nr_segs, lanes=self.lanes)
        v.update(change)
        return sealed(struct.pack("<2I16sQ6IQ", v["magic"], 0, self.uuid, v["generation"], v["block_size"],
                                  v["total"], v["first"], v["seg_lines"], v["nr_segs"], v["lanes"], 0))

    def ckpt(self, stamp):
        self.store(CKPT, struct.pack("<Q", stamp))

    def tail(self, lane, stamp, end):
        self.store(TAILS + lane * LINE, struct.pack("<Q", (stamp & 0xffffffff) << 32 | end))

    def live(self, uuid=UUID, generation=GENERATION):
        super().live()
        block = bytearray(self.read(0))
        struct.pack_into(">I", block, 0x28, struct.unpack_from(">I", block, 0x28)[0] | LANES_BIT | NVM_BIT)
        block[0xd0:0xe8] = uuid + struct.pack(">Q", generation)
        self.write(0, bytes(block))

    def records(self, images):
        """Descriptions, lines and their hash; what was logged before goes in parts."""
        described, data, h = b"", b"", self.seed
        for block, body in images:
            old = self.was.get(block)
            lines = 0
            for n in range(self.block_size // self.unit):
                at = slice(n * self.unit, (n + 1) * self.unit)
                lines |= (old is None or old[at] != body[at]) << n
            self.was[block] = body
            if not lines:
                continue
            described += struct.pack("<2Q", block, lines)
            run = b""
            for n in range(65):
                if lines >> n & 1:
                    run += body[n * self.unit:(n + 1) * self.unit]
                elif run:
                    h = xxh64(run, h)
                    data += run
                    run = b""
        return described, data, h

    def put(self, stamp, lane=0, tid=None, images=(), deps=(), revokes=(), members=1, chunk=0, last=True,
            show=True, seg=None, **change):
        """Append a chunk, and move the lane's tail over it. Returns the line behind it."""
        for block in revokes:
            self.was.pop(block, None)
        described, data, h = self.records(images)
        entries = struct.pack(f"<{len(deps) + len(revokes)}Q", *deps, *revokes) + described
        info = -(-(len(entries) + 128) // LINE)
        lines = len(data) // LINE + info
        if seg is None:
            seg = self.of_lane.get(lane)
            if seg is None or self.next[seg] + lines > self.seg_lines:
                seg = self.of_lane[lane] = self.next.index(0)
        start = FIRST // LINE + seg * self.seg_lines + self.next[seg]
        before = self.tails.get(lane, (0, 0))
        v = dict(generation=GENERATION, stamp=stamp, prev_stamp=before[0], prev=before[1], start=start,
                 tid=stamp * 16 + lane if tid is None else tid, lane=lane, members=members, chunk=chunk,
                 flags=int(last), deps=len(deps), revokes=len(revokes), data_lines=len(data) // LINE,
                 data_hash=h, commit_sec=1700000000 + stamp, reserved=b"", csum=0, info_lines=info,
                 end=start + lines, count=len(described) // 16, magic=0x49544a5a)
        v.update(change)
        self.store(start * LINE, data)
        self.seal(start + lines, info, entries, v)
        self.next[seg] += lines
        assert self.next[seg] <= self.seg_lines
        self.tails[lane] = (stamp, start + lines)
        if show:
            self.tail(lane, stamp, start + lines)
        return start + lines

    def seal(self, end, info, entries, v):
        raw = bytearray(entries.ljust(info * LINE - 128, b"\0") + struct.pack(INFO, *(v[f] for f in FIELDS)))
        raw[-20:-16] = bytes(4)
        raw[-20:-16] = struct.pack("<I", crc32c(raw, self.seed))
        self.store((end - info) * LINE, raw)

    def info(self, end):
        """Decoded TxnInfo before a line, and its entries."""
        raw = self.load(end * LINE - 128, 128)
        v = dict(zip(FIELDS, struct.unpack(INFO, raw)))
        return v, self.load((end - v["info_lines"]) * LINE, v["info_lines"] * LINE - 128)

    def reseal(self, end, /, **change):
        """Random fields under a correct checksum."""
        v, entries = self.info(end)
        length = v["info_lines"]
        entries = change.pop("entries", entries)
        v.update(change)
        self.seal(end, length, entries, v)


class CrashedNvm(Crashed):
    """Like Crashed, with the log in memory; records: (stamp, lane, line behind the chunk)."""

    log_class = NvmLog

    def copy(self, where):
        new = super().copy(where)
        new.log.memory = new.log.path + ".nvm"
        shutil.copy(self.log.memory, new.log.memory)
        return new
