# SPDX-License-Identifier: GPL-2.0-only
"""File systems that crashed, running zjctl on them, and the schema of its JSON."""

import copy
import fcntl
import os
import re
import shutil
import subprocess
import uuid
from pathlib import Path

from zjlog import Log

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "tests" / "zjctl"
SAN = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"

os.environ["PATH"] += ":/usr/sbin:/sbin"


def sh(*args, check=True):
    out = subprocess.run([str(a) for a in args], capture_output=True, text=True)
    assert not check or out.returncode == 0, f"{args}: {out.stdout}{out.stderr}"
    return out


def make(*args):
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:     # test processes share what is built
        fcntl.flock(lock, fcntl.LOCK_EX)
        sh("make", "-s", "-j2", "-C", ROOT / "user", *args)


# ---- images ----

def mkfs(path, size="16M", options="-b 1024 -O metadata_csum,64bit,orphan_file -J size=1"):
    sh("mke2fs", "-q", "-F", "-t", "ext4", *options.split(), path, size)
    return path


def blocks(path, size):
    data = Path(path).read_bytes()
    return [data[n:n + size] for n in range(0, len(data), size)]


class Crashed:
    """A file system whose last steps are in the log only: image, its log, and every step."""

    log_class = Log

    def __init__(self, where, steps=5, lanes=3, **mkfs_args):
        self.path = mkfs(where / "crashed.img", **mkfs_args)
        sh("debugfs", "-w", "-R", "feature +needs_recovery", self.path)
        self.log = self.log_class(self.path, lanes=lanes + 1)
        self.steps = [where / "step0.img"]
        self.records = []                       # (stamp, lane, journal block)
        self.stamp = 0
        shutil.copy(self.path, self.steps[0])
        for n in range(steps):
            self.step(n, lanes)
        self.log.live()

    def step(self, n, lanes):
        """One more directory, as one component of several lanes."""
        new = self.path.parent / f"step{n + 1}.img"
        shutil.copy(self.steps[-1], new)
        sh("debugfs", "-w", "-R", f"mkdir step{n + 1}", new)
        size = self.log.block_size
        old, now = blocks(self.steps[-1], size), blocks(new, size)
        self.steps.append(new)
        changed = [(b, now[b]) for b in range(len(now)) if now[b] != old[b]]
        parts = [changed[lane::lanes] for lane in range(lanes)]
        parts = [(lane, part) for lane, part in enumerate(parts) if part]
        self.stamp += 1
        for lane, part in parts:
            deps = [self.stamp - 1] if self.stamp > 1 else []
            at = self.log.put(self.stamp, lane, images=part, deps=deps, members=len(parts))
            self.records.append((self.stamp, lane, at))

    def at(self, stamp, lane):
        return next(block for s, n, block in self.records if (s, n) == (stamp, lane))

    def expect(self, step, path=None):
        """The file system is that of the step, except for the journal and the superblock."""
        size = self.log.block_size
        got, want = blocks(path or self.path, size), blocks(self.steps[step], size)
        skip = set(self.log.map) | {1024 // size}
        wrong = [b for b in range(len(want)) if b not in skip and got[b] != want[b]]
        assert not wrong, f"blocks {wrong[:10]}"


    def copy(self, where):
        """A copy, to be damaged."""
        new = copy.deepcopy(self)
        new.path = where / "crashed.img"
        shutil.copy(self.path, new.path)
        new.log.path = str(new.path)
        return new


def field(path, name):
    out = subprocess.run(["dumpe2fs", "-h", path], capture_output=True, text=True).stdout
    return re.search(rf"^{name}: *(\S+)", out, re.M)[1]


def move_out(path, device):
    """The journal of a file system, moved to a device of its own as mke2fs -J device= would have made it."""
    size = int(field(path, "Block size"))
    log = device.with_suffix(".log")
    sh("debugfs", "-R", f"dump <8> {log}", path)
    content = bytearray(log.read_bytes())
    start = 1024 // size + 1
    nr = len(content) // size
    with open(device, "wb") as f:
        f.truncate((nr + start) * size)
    sh("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", size, device, nr + start)

    def word(at, value):
        content[at:at + 4] = value.to_bytes(4, "big")

    word(0x10, nr + start)                      # its blocks, and the first of stock's log
    word(0x14, 1 + start)
    if content[0x1c:0x20] != bytes(4):
        word(0x1c, 1 + start)
    word(0x28, int.from_bytes(content[0x28:0x2c], "big") & ~0x18)   # no checksum
    word(0x40, 1)                               # its users
    content[0x100:0x110] = uuid.UUID(field(path, "Filesystem UUID")).bytes
    with open(device, "r+b") as f:
        f.seek(start * size)
        f.write(content)
    for what in ("ssv journal_inum 0", f"ssv journal_uuid {field(device, 'Filesystem UUID')}"):
        sh("debugfs", "-w", "-R", what, path)
    return device


def fsck(path):
    sh("e2fsck", "-fn", path)


# ---- the documented schema ----

def _tables():
    """{command: {path: (type, optional)}} from docs/zjctl-json.md."""
    tables, name = {}, None
    for line in (ROOT / "docs" / "zjctl-json.md").read_text().splitlines():
        if line.startswith("## "):
            name = line[3:].strip()
            tables[name] = {}
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] != "field" and "---" not in cells[0]:
            tables[name][cells[0].rstrip("?")] = (cells[1], cells[0].endswith("?"))
    tables["top"] = {**tables["stats"], **tables["top"]}
    tables[""] = {}
    return tables


TABLES = _tables()
KINDS = {
    "text": lambda v: isinstance(v, str),
    "bool": lambda v: isinstance(v, bool),
    "number": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, float),
    "any": lambda v: True,
}


def leaves(value, path=""):
    """Every leaf of a document with its path as in the tables."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path + "[]")
    else:
        yield path, value


def validate(document):
    """Every field is documented with its type, and every required one is there."""
    table = {**TABLES["Every document"], **TABLES[document["command"]]}
    patterns = [(re.compile(re.escape(p).replace(r"\*", r".*") + "$"), kind)
                for p, (kind, _) in table.items()]
    seen = set()
    for path, value in leaves(document):
        kinds = [kind for pattern, kind in patterns if pattern.match(path)]
        assert kinds, f"{document['command']}: {path} is not in docs/zjctl-json.md"
        assert KINDS[kinds[0]](value), f"{path}: {value!r} is no {kinds[0]}"
        seen.add(path)
    if document["exit"] in (0, 1):
        missing = [p for p, (_, optional) in table.items()
                   if not optional and "[]" not in p and p not in seen]
        assert not missing, f"{document['command']}: lacks {missing}"
    return seen
