# SPDX-License-Identifier: GPL-2.0-only
"""Cores share what docs/internals/architecture.md says, and when: handles in private blocks are
run one at a time, so that each line that two cores use is seen to move (lines.h)."""
import bisect
import collections
import json
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
WORK = BUILD / "tests/sharing"

LINE = 64

# What an object is, by the function that allocates it.
OBJECTS = {
    "journal_alloc": "journal", "zj_lanes_start": "lane", "zj_seg_init": "segment",
    "zj_tids_init": "tid chain", "zj_component_alloc": "component", "zj_txn_alloc": "txn",
    "jh_alloc": "head", "zj_spare_fill": "part", "new_buf": "buffer", "handle_alloc": "handle",
}

# Of the layer: the number of RCU's grace period, jiffies, tasks.
LAYER = {"kl_period", "kl_jiffies", "memory"}

# What cores take from each other, as the second table of "What cores share, and when" has it: the
# functions and the lines.  Each happens a few times for a transaction, or more rarely.
OPENED = {
    ("zj_txn_alloc", "journal.next_tid"): "the tid of a new transaction",
    ("zj_space_grow", "journal.next_tid"): "granted: by 1/64 of the budget",
    ("take_segments", "journal.pool_lock"): "the lane takes segments",
    ("take_segments", "segment"): "which are in one list",
}
SYNCED = {
    ("zj_txn_alloc", "journal.next_tid"): "the tid of a new transaction",
    ("zj_tids_add", "tid chain"): "transactions whose tids have one chain",
    ("zj_space_sealed", "journal.next_tid"): "granted and nr_running",
    ("request_commit", "journal.comp_lock"): "the component is locked",
    ("seal_component", "component"): "the list of components, by stamp",
    ("depend_on_previous", "component"): "the lane's last one, whose place in that list changed",
    ("note_committed_stamp", "journal.comp_lock"): "it is committed",
    ("waitqueue_active", "journal.comp_lock"): "does anybody wait for that?",
    ("zj_needs_flush", "journal.flush"): "flushes that were done",
    ("flush_cache", "journal.flush"): "the flush is led",
    ("zj_data_flush", "journal.flush"): "is the data covered?",
    ("place_chunk", "segment"): "other lanes' segments are in the same line",
    ("thr_lock", "journal.flush"): "the end wakes those that wait",
    ("zj_flush_expected", "lane"): "a hint for those that flush",
    ("count_turnarounds", "lane"): "who reads these hints: who leads a flush",
}

# A worker has 128 handles in a round.
ONCE_A_ROUND = 1.01 / 128

# What a checkpoint and its barrier have written, and the first handles after it use.
AFTER_CHECKPOINT = {"buffer", "lane", "segment", "tid chain", "journal.public",
                    "journal.next_tid", "journal.pool_lock"}


def make(*args):
    subprocess.run(["make", "-s", "-j2", "-C", TOP / "tests/sharing", *args], check=True)


@pytest.fixture(scope="module", autouse=True)
def program():
    make()


class Names:
    """What the addresses of a program are."""

    def __init__(self, program, addresses):
        # -a prints each address before its functions, the innermost inlined one first.
        text = subprocess.run(["addr2line", "-a", "-f", "-i", "-e", program,
                               *map(hex, sorted(addresses))],
                              capture_output=True, text=True, check=True).stdout
        self.chain = {}
        lines = iter(text.splitlines())
        for line in lines:
            if line.startswith("0x"):
                chain = self.chain[int(line, 16)] = []
            else:
                chain.append((line, next(lines)))
        symbols = subprocess.run(["nm", "-n", "--defined-only", program],
                                 capture_output=True, text=True, check=True).stdout.splitlines()
        self.symbols = [(int(at, 16), name) for at, _, name in
                        (line.split() for line in symbols)]

    def function(self, pc):
        """The innermost function of src/, or the outermost one of the layer."""
        for name, place in self.chain[pc]:
            if "/src/" in place:
                return name, True
        return self.chain[pc][-1][0], False

    def variable(self, at):
        return self.symbols[bisect.bisect(self.symbols, (at, "~")) - 1][1] if at else "memory"


def line_name(names, move, groups):
    if not move["class"]:
        return names.variable(move["at"])
    allocator, _ = names.function(move["class"])
    name = OBJECTS.get(allocator, allocator)
    if name != "journal":
        return name
    # The line of ckpt_lock begins with fields before it, which only an external journal uses.
    return "journal." + max((at, group) for group, at in groups.items()
                            if at // LINE * LINE <= move["at"])[1]


def is_ours(line):
    return line.split(".")[0] in OBJECTS.values() and line != "buffer"


Move = collections.namedtuple("Move", "function line src phase write placed from_worker by_worker")


def run(program, *args):
    """How often a handle moves a line, by Move."""
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)
    moves = result["moves"]
    names = Names(program, {m["pc"] for m in moves} | {m["class"] for m in moves})
    count = collections.Counter()
    for m in moves:
        function, src = names.function(m["pc"])
        count[Move(function, line_name(names, m, result["groups"]), src, m["phase"],
                   *(bool(m[f]) for f in ("write", "placed", "from_worker", "by_worker")))] \
            += m["count"] / result["handles"]
    return count


def between_workers(moves):
    """What handles take from another worker's core."""
    return taken(moves, lambda m: m.from_worker)


def taken(moves, which):
    """By handles, but for what is the layer's or the allocator's doing."""
    found = collections.Counter()
    for m, count in moves.items():
        if (m.phase == "handles" and m.by_worker and not m.placed and which(m) and
                (is_ours(m.line) or (m.src and m.line not in LAYER))):
            found[m.function, m.line] += count
    return found


# ---- tests ----


def again(program):
    return between_workers(run(program, "again", 8, 4, 4))


def synced(program):
    return between_workers(run(program, "sync", 4, 1, 12))


def first(program):
    """Also what they take from the core of the checkpoint, which runs between the rounds."""
    return taken(run(program, "first", 8, 4, 4), lambda m: True)


def test_handles_share_nothing():
    """In blocks that the transaction has, nothing moves at all, also not in the layer."""
    moves = run(BUILD / "zjsharing", "again", 8, 4, 4)
    assert not [m for m in moves if m.by_worker and m.phase == "handles"]


def test_transactions_share_what_is_documented():
    found = synced(BUILD / "zjsharing")
    assert set(found) == set(SYNCED)
    # One handle in eight ends a transaction.
    assert sum(found.values()) < 20 / 8


def test_new_blocks_share_what_is_documented():
    """Per handle only the blocks' own lines move, from where they were brought home."""
    moves = run(BUILD / "zjsharing", "first", 8, 4, 4)
    found = taken(moves, lambda m: True)
    assert {line for (_, line), count in found.items() if count > 0.2} == {"buffer"}
    assert {line for _, line in found} <= AFTER_CHECKPOINT
    between = between_workers(moves)
    assert set(between) >= set(OPENED)
    # A lane's thread, on its worker's core, may be the last to have helped the checkpoint.
    assert not [key for key in between if key not in OPENED and
                between[key] > ONCE_A_ROUND]


def test_new_blocks_cost_the_same_with_more_cores():
    alone, many = (sum(taken(run(BUILD / "zjsharing", "first", n, 4, 4),
                             lambda m: True).values()) for n in (1, 16))
    assert many < alone + 0.5


# Bugs that must be found: in which file, old and new text, the load, and how it shows.
MUTANTS = {
    "a counter of all handles": (
        "txn/handle.c", "	struct zj_txn *none = NULL, *txn;\n	enum join how;\n",
        "	static unsigned long started;\n	struct zj_txn *none = NULL, *txn;\n"
        "	enum join how;\n\n	WRITE_ONCE(started, started + 1);\n",
        again, "join_txn", "started"),
    "a start reads what is granted": (
        "txn/handle.c", "	if (zj_aborted(zj) || READ",
        "	if (atomic_read(&zj->granted) < 0 || zj_aborted(zj) || READ",
        synced, "join_locked", "journal.next_tid"),
    "lanes count in one of them": (
        "txn/handle.c", "	txn->handles++;\n	txn->credits += credits;\n",
        "	txn->handles++;\n	zj->lanes[0].stats.handles++;\n	txn->credits += credits;\n",
        again, "join_locked", "lane"),
    "the checkpoint's line is read for each new block": (
        "txn/lines.c", "	if (list_empty(&jh->parts) || !zj_space_low(zj))\n",
        "	if (!READ_ONCE(zj->ckpt_seq) || list_empty(&jh->parts) || !zj_space_low(zj))\n",
        first, "holds_back", "journal.ckpt_lock"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_finds(name):
    file, old, new, load, function, line = MUTANTS[name]
    copy = WORK / "mutant"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(TOP / "src", copy / "src")
    for folder in ("hooked", "plain", "src"):
        shutil.copytree(WORK / folder, copy / "o" / folder)
    text = (copy / "src" / file).read_text()
    assert old in text, f"{file} has changed: adapt the mutant"
    (copy / "src" / file).write_text(text.replace(old, new))
    make(f"SRC={copy}/src", f"O={copy}/o", f"BIN={copy}")
    assert [key for key in load(copy / "zjsharing")
            if key[0] == function and key[1].startswith(line)], "not found"
