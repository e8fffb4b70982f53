#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make_images.py [NAME...]: make the images again, all or those named.

Each function below is one image: NAME.img.xz, a file system with a live log, and
NAME.json, what zjctl recover must make of it. The images are kept in the repository
because they pin the format: make them again only if that is meant to change. The
same e2fsprogs gives the same bytes, but for the time in stock-log. The live-* images
are capture_live.py's.
"""

import json
import lzma
import struct
import sys
from pathlib import Path

from filesystem import FileSystem, home_hash

HERE = Path(__file__).resolve().parent
IMAGES = {}


def image(make):
    IMAGES[make.__name__.replace("_", "-")] = make
    return make


def recovered(fs, data, home, transactions, components, discarded=0, torn=0):
    """Recovery brings the device to this state; e2fsck finds nothing to repair."""
    state = fs.states[home] if isinstance(home, int) else home
    return data, dict(outcome="recovered", transactions=transactions, committed_components=components,
                      discarded_transactions=discarded, torn_records=torn,
                      block_size=fs.block_size, journal=fs.journal,
                      home=home_hash(state, fs.block_size, fs.journal))


def refused(data, says):
    return data, dict(outcome="refused", says=says)


def nothing_to_do(data, state):
    return data, dict(outcome="nothing to do", state=state)


def three_steps(block_size=1024):
    """A file system and what three transactions change in it."""
    fs = FileSystem(block_size)
    return fs, [fs.step("mkdir d1"), fs.step("mkdir d1/sub"), fs.step("mkdir d2")]


# ---- what a crash leaves ----

@image
def clean():
    """Cleanly unmounted: the log's old chunks are still there and mean nothing."""
    fs, steps = three_steps()
    log = fs.log(lanes=2)
    for n, step in enumerate(steps):
        log.component(n + 1, step, deps=[n] if n else ())
    fs.step("feature -needs_recovery")
    return nothing_to_do(fs.image(log, home=4, live=False), "clean")


@image
def one_lane():
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    for n, step in enumerate(steps):
        log.component(n + 1, step, deps=[n] if n else ())
    return recovered(fs, fs.image(log), 3, transactions=3, components=3)


def four(block_size):
    fs = FileSystem(block_size)
    log = fs.log(lanes=4)
    for n in range(8):
        step = fs.step(f"mkdir d{n}")
        lanes = [n % 4] if n % 2 else [0, 1, 2, 3]
        log.component(n + 1, step, lanes=lanes, deps=[n] if n else ())
    return recovered(fs, fs.image(log), 8, transactions=20, components=8)


@image
def four_lanes_1k():
    """Components of one lane and of all four, in turns."""
    return four(1024)


@image
def four_lanes_4k():
    """The same with blocks of 4 KiB."""
    return four(4096)


@image
def dependent_components():
    """Each lane depends on what the other one logged before, across segments."""
    fs = FileSystem(1024)
    log = fs.log(lanes=2)
    for n in range(6):
        if n in (2, 3):
            log.take_segment(n % 2, 10 - n)
        log.component(n + 1, fs.step(f"mkdir d{n}"), lanes=[n % 2], deps=range(max(n - 1, 1), n + 1))
    return recovered(fs, fs.image(log), 6, transactions=6, components=6)


@image
def missing_member():
    """Of the second component one member of three was not written."""
    fs, steps = three_steps()
    log = fs.log(lanes=4)
    log.component(1, steps[0], lanes=[3])
    lost = log.component(2, steps[1], lanes=[0, 1, 2], deps=[1])[1]
    log.blocks[lost] = bytearray(1024)
    return recovered(fs, fs.image(log), 1, transactions=1, components=1, discarded=2)


@image
def missing_chunk():
    """A member of two chunks of which the second was not written."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    log.component(1, steps[0])
    images = sorted(steps[1].items())
    log.chunk(2, 0, images[:3], chunks=2, deps=[1])
    log.blocks[log.chunk(2, 0, images[3:], index=1, chunks=2)] = bytearray(1024)
    return recovered(fs, fs.image(log), 1, transactions=1, components=1, discarded=1)


@image
def missing_ancestor():
    """The third component is whole, but depends on the second, which is lost."""
    fs, steps = three_steps()
    log = fs.log(lanes=3)
    for n, step in enumerate(steps):
        at = log.component(n + 1, step, lanes=[n], deps=[n] if n else ())[0]
        if n == 1:
            log.blocks[at] = bytearray(1024)
    return recovered(fs, fs.image(log), 1, transactions=1, components=1, discarded=1)


@image
def missing_distant_ancestor():
    """The fourth depends on the third, the third on the lost second."""
    fs, steps = three_steps()
    steps.append(fs.step("mkdir d3"))
    log = fs.log(lanes=4)
    for n, step in enumerate(steps):
        at = log.component(n + 1, step, lanes=[n], deps=[n] if n else ())[0]
        if n == 1:
            log.blocks[at + 1] = bytearray(1024)
    return recovered(fs, fs.image(log), 1, transactions=1, components=1, discarded=2, torn=1)


@image
def torn_header():
    """Of the last header only the first sector was written; its tags go beyond."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    for n, step in enumerate(steps):
        revokes = range(2000, 2060) if n == 2 else ()
        at = log.component(n + 1, step, deps=[n] if n else (), revokes=revokes)[0]
    log.blocks[at][512:] = bytes(512)
    return recovered(fs, fs.image(log), 2, transactions=2, components=2)


def revoke_states(fs):
    """A directory's block is freed and becomes a file's, then a directory's again."""
    steps = [fs.step("mkdir d1"),
             fs.step("rmdir d1", f"write {fs.file(b'not in the log' * 100)} f"),
             fs.step("rm f", "mkdir d2")]
    block = max(b for b in steps[0] if fs.at(fs.states[1], b)[:4] != fs.at(fs.states[0], b)[:4])
    data = {b: steps[1][b] for b in steps[1] if b"not in the log" in steps[1][b]}
    assert block in data and block in steps[2]
    home = bytearray(fs.states[0])
    for b, contents in data.items():
        fs.put(home, b, contents)            # data is written in place, before the commit
        del steps[1][b]
    return steps, block, home


@image
def revoke_after():
    """Logged by 1, revoked by 2, then file data: what 1 logged must not come back."""
    fs = FileSystem(1024)
    steps, block, home = revoke_states(fs)
    log = fs.log(lanes=2)
    log.component(1, steps[0], lanes=[0])
    log.component(2, steps[1], lanes=[1], deps=[1], revokes=[block])
    return recovered(fs, fs.image(log, home), 2, transactions=2, components=2)


@image
def revoke_before():
    """Revoked by 2, logged again by 3: what 3 logged counts."""
    fs = FileSystem(1024)
    steps, block, home = revoke_states(fs)
    log = fs.log(lanes=2)
    log.component(1, steps[0], lanes=[0])
    log.component(2, steps[1], lanes=[1], deps=[1], revokes=[block])
    log.component(3, steps[2], lanes=[0, 1], deps=[2])
    return recovered(fs, fs.image(log, home), 3, transactions=4, components=3)


@image
def revoke_not_committed():
    """The revoke is in a component that the crash cut off: it does not count."""
    fs = FileSystem(1024)
    steps, block, _ = revoke_states(fs)
    log = fs.log(lanes=2)
    log.component(1, steps[0], lanes=[0])
    cut = log.component(2, steps[1], lanes=[0, 1], deps=[1], revokes=[block])[1]
    log.blocks[cut] = bytearray(1024)
    return recovered(fs, fs.image(log), 1, transactions=1, components=1, discarded=1)


@image
def wrap_around():
    """Segment 0 is in its second tenure; behind the new chunk lie the first one's, still good."""
    fs = FileSystem(1024)
    log = fs.log(lanes=1)
    steps = [fs.step(f"mkdir d{n}") for n in range(6)]
    for n in range(3):
        log.component(n + 1, steps[n], deps=[n] if n else ())
    log.take_segment(0, 14)
    log.component(4, steps[3], deps=[3])
    log.component(5, steps[4], deps=[4])
    log.ckpt(7, 3)
    log.take_segment(0, 0)
    log.component(6, steps[5], deps=[5])
    return recovered(fs, fs.image(log, home=3), 6, transactions=3, components=3)


@image
def torn_ckpt_slot():
    """The newest checkpoint slot is torn: the one before counts, and replaying more does no harm."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    for n, step in enumerate(steps):
        log.component(n + 1, step, deps=[n] if n else ())
    log.ckpt(1, 1)
    log.ckpt(2, 2)
    log.block(2)[0x20] = 1
    return recovered(fs, fs.image(log, home=2), 3, transactions=2, components=2)


@image
def escaped_blocks():
    """Journaled file data that begins with the magic numbers of headers."""
    fs = FileSystem(1024)
    contents = [b"\xc0\x3b\x39\x98" + b"j" * 900, b"ZJCH" + b"z" * 900]
    steps = [fs.step(f"write {fs.file(data)} f{n}") for n, data in enumerate(contents)]
    for step, data in zip(steps, contents):
        assert any(block[:4] == data[:4] for block in step.values())
    log = fs.log(lanes=2)
    log.component(1, steps[0], lanes=[0])
    log.component(2, steps[1], lanes=[1], deps=[1])
    return recovered(fs, fs.image(log), 2, transactions=2, components=2)


@image
def tid_near_wrap():
    """Tids up to the largest, then from 1 on."""
    fs, steps = three_steps()
    log = fs.log(lanes=2)
    log.component(1, steps[0], lanes=[0, 1], tids=[0xfffffffe, 0xffffffff])
    log.component(2, steps[1], lanes=[1], deps=[1], tids=[1])
    log.component(3, steps[2], lanes=[0], deps=[2], tids=[2])
    return recovered(fs, fs.image(log), 3, transactions=4, components=3)


@image
def older_generation():
    """Behind and beside the log lie chunks of the generation before, with higher stamps."""
    fs, steps = three_steps()
    steps.append(fs.step("mkdir stale"))
    log = fs.log(lanes=2)
    for n in range(8):
        log.component(50 + n, steps[3], lanes=[n % 2])
    log.set_generation(log.generation + 1)
    for n in range(3):
        log.component(n + 1, steps[n], deps=[n] if n else ())
    return recovered(fs, fs.image(log), 3, transactions=3, components=3)


@image
def largest_stamps():
    """The last stamps there are, and a checkpoint stamp just below them."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    top = 2**64 - 1
    for n, step in enumerate(steps):
        log.component(top - 2 + n, step, deps=[top - 3 + n])
    log.ckpt(2**64 - 1, top - 2)
    log.ckpt(2**64 - 2, top - 3)
    return recovered(fs, fs.image(log, home=1), 3, transactions=2, components=2)


@image
def crash_in_recovery():
    """The power failed again in the recovery: one block home, one torn, the others not."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    for n, step in enumerate(steps):
        log.component(n + 1, step, deps=[n] if n else ())
    changed = fs.changed(0, 3)
    home, torn = sorted(changed)[2:4]
    data = fs.image(log)
    fs.put(data, home, changed[home])
    fs.put(data, torn, changed[torn][:512] + fs.at(data, torn)[512:])
    return recovered(fs, data, 3, transactions=3, components=3)


@image
def crash_after_recovery():
    """The log is empty already, the journal's block 0 still says live."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    for n, step in enumerate(steps):
        log.component(n + 1, step, deps=[n] if n else ())
    log.generation += 1
    log.write_super()
    return recovered(fs, fs.image(log, home=3), 3, transactions=0, components=0)


@image
def beyond_the_old_end():
    """The device is longer than the file system, as in an online resize that is in the log."""
    fs = FileSystem(1024, spare_blocks=64)
    log = fs.log(lanes=1)
    step = fs.step("mkdir d1")
    step[fs.device_blocks - 1] = b"grown into".ljust(1024, b".")
    log.component(1, step)
    state = bytearray(fs.states[1])
    fs.put(state, fs.device_blocks - 1, step[fs.device_blocks - 1])
    return recovered(fs, fs.image(log), state, transactions=1, components=1)


# ---- what no crash leaves: refused, nothing written ----

def damaged(lanes=2):
    """A log that would be replayed, so that a write would show."""
    fs, steps = three_steps()
    log = fs.log(lanes=lanes)
    log.component(1, steps[0])
    return fs, steps, log


@image
def tag_of_a_journal_block():
    """An image of journal block 70, at home."""
    fs, steps, log = damaged()
    log.component(2, {**steps[1], fs.map[70]: b"!" * 1024}, deps=[1])
    return refused(fs.image(log), "which is the journal's own block 70")


@image
def tag_beyond_the_end():
    """An image of the first block that the device does not have."""
    fs, steps, log = damaged()
    log.component(2, {**steps[1], fs.device_blocks: b"!" * 1024}, deps=[1])
    return refused(fs.image(log), f"image of block {fs.device_blocks}, but the device has")


@image
def two_images_of_one_block():
    """Two members of one component log the same block."""
    fs, steps, log = damaged()
    for lane in 0, 1:
        log.chunk(2, lane, list(steps[1].items())[:2], members=2)
    return refused(fs.image(log), "two images of block")


@image
def misplaced_chunk():
    """A good chunk, copied to another segment."""
    fs, _, log = damaged()
    log.blocks[4 + 5 * 64] = log.blocks[4]
    return refused(fs.image(log), "segment 5 block 0: chunk header with a correct checksum")


@image
def newer_version():
    """Format version 1000, which only a later program can read."""
    fs, _, log = damaged()
    log.write_super(version=1000)
    return refused(fs.image(log), "unknown format version")


@image
def lanes_out_of_range():
    fs, _, log = damaged()
    log.write_super(lanes=257)
    return refused(fs.image(log), "number of lanes out of range")


@image
def log_super_checksum():
    fs, _, log = damaged()
    log.block(1)[0x38] ^= 1
    return refused(fs.image(log), "log super block (journal block 1): wrong checksum")


@image
def both_checkpoint_slots_damaged():
    fs, _, log = damaged()
    for seq in 1, 2:
        log.ckpt(seq, seq)
        log.block(2 + (seq & 1))[0x18] ^= 4
    return refused(fs.image(log), "both checkpoint slots")


@image
def checkpoint_slot_in_the_wrong_place():
    fs, _, log = damaged()
    log.ckpt(1, 0)
    log.blocks[2] = log.blocks.pop(3)
    return refused(fs.image(log), "checkpoint slot (journal block 2) has a correct checksum")


@image
def journal_super_checksum():
    """Block 0 of the journal with csum_v3 and a wrong checksum."""
    fs, _, log = damaged()
    data = fs.image(log)
    fs.patch_block0(data, lambda sb: sb.__setitem__(0xfc, sb[0xfc] ^ 1), sealed=False)
    return refused(data, "wrong checksum")


@image
def unknown_feature():
    """Block 0 of the journal with an incompatible feature from the future."""
    def add(sb):
        struct.pack_into(">I", sb, 0x28, struct.unpack_from(">I", sb, 0x28)[0] | 0x10000000)

    fs, _, log = damaged()
    data = fs.image(log)
    fs.patch_block0(data, add)
    return refused(data, "unknown features")


# ---- what was durable, and is not there ----

def durable(change, says):
    """Three components of one lane, each written when the one before was durable."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    log.version = 2
    log.write_super()
    at = [log.component(n + 1, step, deps=[n] if n else (), durable=n)[0]
          for n, step in enumerate(steps)]
    change(log, at)
    return refused(fs.image(log), says)


@image
def bad_checksum_in_the_middle():
    """An image of the second of three has rotted; the third says that the second was durable."""
    def rot(log, at):
        log.blocks[at[1] + 2][100] ^= 1

    return durable(rot, "stamp 2: a block of segment 0 block ")


@image
def lost_header():
    """The header of the second of three was never written, though the device said so."""
    def lose(log, at):
        log.blocks[at[1]] = bytearray(1024)

    return durable(lose, "stamp 2 is not in the log, or in part only")


@image
def rotten_ckpt_slot():
    """The newest checkpoint slot has rotted, and the space that it freed is in use again."""
    def rot(log, at):
        log.ckpt(1, 0)
        log.ckpt(2, 1)
        log.block(2)[0x100] ^= 1
        log.blocks[at[0]] = bytearray(1024)
        for seg in 0, 1:
            log.take_segment(0, seg)
        log.chunk(4, 0, [], durable=3)

    return durable(rot, "stamp 1 is not in the log, or in part only")


@image
def cut_off():
    """Version 2: the third of three is torn; only that the second was durable is known."""
    fs, steps = three_steps()
    log = fs.log(lanes=1)
    log.version = 2
    log.write_super()
    for n, step in enumerate(steps):
        at = log.component(n + 1, step, deps=[n] if n else (), durable=n)[0]
    log.blocks[at + 2][100] ^= 1
    return recovered(fs, fs.image(log), 2, transactions=2, components=2, discarded=0, torn=1)


@image
def lines():
    """Version 3: of blocks that are in the log already, two records have only the lines that changed."""
    fs, steps = three_steps()
    log = fs.log(lanes=2)
    log.version = 3
    log.write_super()
    log.component(1, steps[0], lanes=[0])
    log.component(2, steps[1], lanes=[1], deps=[1], before=fs.states[1])
    log.component(3, steps[2], lanes=[0], deps=[2], before=fs.states[2])
    assert log.parts > 4
    return recovered(fs, fs.image(log), 3, transactions=3, components=3)


# ---- a log in stock's format ----

@image
def stock_log():
    """A log of stock jbd2: three transactions, then one without a commit block."""
    fs, steps = three_steps()
    fs.path.write_bytes(fs.states[0])
    commands = []
    for step in [*steps, {2000: b"uncommitted".ljust(1024, b".")}]:
        blocks = ",".join(str(b) for b in sorted(step))
        data = fs.file(b"".join(step[b] for b in sorted(step)))
        commands.append(f"jw {'' if len(commands) < 3 else '-c '}-b {blocks} {data}")
    fs.step("jo -c -v 3", *commands, "jc")
    return recovered(fs, fs.states[-1], 3, transactions=3, components=3, discarded=1)


def main(names):
    for name in names or IMAGES:
        data, expected = IMAGES[name]()
        made = IMAGES[name].__doc__
        expected = {"what": " ".join(made.split()) if made else name.replace("-", " "), **expected}
        (HERE / f"{name}.img.xz").write_bytes(lzma.compress(bytes(data), preset=9))
        (HERE / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
