# SPDX-License-Identifier: GPL-2.0-only
"""The output of each command, in text and JSON, and its exit status."""

import json
import lzma
import os
import pty
import re
import shutil
import subprocess

import pytest

from zjctl_images import ROOT, TABLES, fsck, mkfs, move_out, sh, validate
from nvmlog import CrashedNvm
from zjctl_machine import machine
from zjlog import Log

pytest_plugins = "zjctl_fixtures"

INFO = """12 transactions in 2 lanes, 3584 credits each at most
log: zj
average:
  834us from seal to commit
  5 handles per transaction
  4 logged blocks per transaction
segments: 63 of 256 blocks, 60 free
stamps: 9 newest, 7 reclaimed
state: live
recovered: 3 transactions, 8 blocks
fsyncs by time:
  12 below 256us
  1 longer
components: 9 closed, 12 members, 2 at most
  6 of 1 to 1 members
  3 of 2 to 3 members
dependencies: 8 logged, 2 at most, 7 awaited, 6 resolved, 17 arrivals
united: 3 in all, 2 at inode_table, 1 at directory
depends: 4 in all, 4 at inode
lane   0:        7 txns         40 handles         21 blocks        7 headers        9 flushes        1 copies        0 ahead      0 wait_log        2 united        3 depends      0 wait_locked      0 wait_space
united in lane 0: 2 in all, 1 at inode_table, 1 at directory
depends in lane 0: 4 in all, 4 at inode
lane   1:        5 txns         20 handles         11 blocks        5 headers        5 flushes        0 copies        0 ahead      0 wait_log        2 united        1 depends      0 wait_locked      1 wait_space
united in lane 1: 1 in all, 1 at inode_table
"""


# ---- info ----

def test_info_clean(zjctl, image):
    got = zjctl("info", "--json", image)
    assert got.returncode == 0
    assert got.json["journal"]["state"] == "clean"
    assert got.json["journal"]["blocks"] == 1024
    assert "orphan_file" in got.json["filesystem"]["features"]
    assert "log" not in got.json
    assert "clean; a plain ext4" in zjctl("info", image).out


def test_info_crashed(zjctl, crashed):
    crashed.log.ckpt(6, 2)
    got = zjctl("info", "--json", crashed.path).json
    assert got["journal"]["state"] == "crashed"
    log = got["log"]
    assert (log["lanes"], log["segments"], log["segment_blocks"]) == (4, 15, 64)
    assert (log["checkpoint_stamp"], log["newest_stamp"], log["newest_committed_stamp"]) == (2, 5, 5)
    assert log["segments_free"] == 12
    assert [lane["transactions"] for lane in log["per_lane"]] == [3, 3, 3, 0]
    out = zjctl("info", crashed.path).out
    assert "crashed: recovery is due" in out and "  format            version 1, generation" in out


def test_advice_on_a_crashed_file_system(zjctl, crashed):
    """e2fsprogs refuse it before it is recovered, which the advice says where it has a command."""
    first = f"(recover first: zjctl recover {crashed.path})"
    assert first in zjctl("info", "--cpus", 64, crashed.path).out
    assert zjctl("recover", crashed.path).returncode == 1
    out = zjctl("info", "--cpus", 64, crashed.path).out
    assert first not in out and "to fix it: zjctl resize-journal" in out


def test_info_stock_dirty(zjctl, crashed):
    crashed.log.patch(0, 0x28, bytes(4))
    assert zjctl("info", "--json", crashed.path).json["journal"]["state"] == "stock-dirty"
    assert zjctl("check", "--json", crashed.path).json["verdict"] == "good"
    for args in (["convert", "--check"], ["resize-journal", "-n"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4 and f"first: zjctl recover {crashed.path}" in got.out
    sh("debugfs", "-w", "-R", "feature -needs_recovery", crashed.path)
    assert zjctl("check", "--json", crashed.path).json["verdict"] == "stock"
    for args in (["convert", "--check"], ["resize-journal", "-n"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4 and f"first: e2fsck {crashed.path}" in got.out


ADVICE = {
    "no-journal": ("-b 1024 -O ^has_journal", 2, "tune2fs -O has_journal"),
    "no-orphan-file": ("-b 1024 -O ^orphan_file", 2, "tune2fs -O orphan_file"),
    "quota": ("-b 1024 -O quota,project", 2, "tune2fs -O ^project,^quota"),
    "small-inodes": ("-b 1024 -I 128 -O ^flex_bg,^metadata_csum", 2, "tune2fs -I 256"),
    "journal-small": ("-b 1024 -J size=1", 64, "zjctl resize-journal --lanes 64"),
}


@pytest.mark.parametrize("what", ADVICE)
def test_advice_and_its_remedy(zjctl, tmp_path, what):
    options, cpus, command = ADVICE[what]
    path = mkfs(tmp_path / "a.img", "64M", options)
    advice = {a["id"]: a.get("command") for a in zjctl("info", "--json", "--cpus", cpus, path).json["advice"]}
    assert advice[what] == f"{command} {path}"
    assert f"to fix it: {command} {path}" in zjctl("info", "--cpus", cpus, path).out
    # The command fixes it.
    if command.startswith("zjctl"):
        assert zjctl(*advice[what].split()[1:]).returncode == 1
    else:
        sh(*advice[what].split())
    left = {a["id"] for a in zjctl("info", "--json", "--cpus", cpus, path).json["advice"]}
    assert what not in left
    fsck(path)


def test_advice_on_descriptor_blocks(zjctl, tmp_path):
    """There is no command to paste, because it would lose all data; the option that is named does it."""
    path = mkfs(tmp_path / "a.img", "1G", "-b 4096")
    (advice,) = [a for a in zjctl("info", "--json", "--cpus", 2, path).json["advice"]
                 if a["id"] == "few-descriptor-blocks"]
    assert "command" not in advice
    option = re.search(r"\(option (-g \d+) of mke2fs\)", advice["text"])[1]
    sh("mke2fs", "-q", "-F", "-t", "ext4", *option.split(), path)
    left = {a["id"] for a in zjctl("info", "--json", "--cpus", 2, path).json["advice"]}
    assert "few-descriptor-blocks" not in left


def test_advice_on_a_small_file_system(zjctl, tmp_path):
    """No command corrects it, so none is shown; a larger one is told something else."""
    path = mkfs(tmp_path / "a.img", "64M", "-b 4096 -O orphan_file")
    (advice,) = [a for a in zjctl("info", "--json", "--cpus", 2, path).json["advice"] if a["id"] == "small"]
    assert "command" not in advice
    out = zjctl("info", "--cpus", 2, path).out
    assert advice["text"] in " ".join(out.split()) and "to fix it" not in out.split("file system is small")[1].split("\n\n")[0]
    assert not [a for a in zjctl("info", "--json", "--cpus", 1, path).json["advice"] if a["id"] == "small"]


def measured():
    """{file system: {load: fsyncs per second of 8 lanes}} of the table of costs"""
    text = (ROOT / "docs/compatibility.md").read_text()
    table = text.split("tools/features-doc: costs -->")[1].split("<!-- end -->")[0]
    found = {}
    for row in table.strip().splitlines()[2:]:
        name, load, _, _, ours, *_ = [cell.strip() for cell in row.strip("|").split("|")]
        found.setdefault(name, {})[load] = float(ours)
    return found


@pytest.mark.parametrize("what,options,layout", [
    ("no-orphan-file", "-O ^orphan_file", "default of Debian 12, no orphan_file"),
    ("quota", "-O orphan_file,quota", "orphan_file, quota"),
    ("quota", "-O orphan_file,quota,project", "orphan_file, quota, project"),
    ("small", "-b 4096 -O orphan_file", "orphan_file, 2 GiB: one block of group descriptors"),
    ("few-descriptor-blocks", "-b 1024 -O orphan_file", "orphan_file, 32 GiB: 4 blocks of group descriptors"),
])
def test_advice_has_the_figures_of_the_documents(zjctl, tmp_path, what, options, layout):
    """The largest loss among the loads of the table."""
    path = mkfs(tmp_path / "a.img", "64M", options)
    (advice,) = [a["text"] for a in zjctl("info", "--json", "--cpus", 2, path).json["advice"] if a["id"] == what]
    slow, fast = measured()[layout], measured()["orphan_file (Debian 13)"]
    assert set(slow) == set(fast) == {"append", "mail", "beside"}
    assert f"up to {max(round(100 * (1 - slow[load] / fast[load])) for load in slow)} % slower" in advice


# ---- dump ----

def test_dump_committed_records(zjctl, crashed):
    got = zjctl("dump", "--json", crashed.path).json
    found = [(r["stamp"], r["lane"], r["journal_block"]) for r in got["records"]]
    assert found == crashed.records
    assert all(r["component"] == "committed" and r["record"] == "good" and not r["why"]
               for r in got["records"])
    assert [r["depends_on"] for r in got["records"]] == [[s - 1] if s > 1 else []
                                                          for s, _, _ in crashed.records]
    text = zjctl("dump", crashed.path).out
    assert "stamp 5  lane 2  tid 82  record 1 of 1  members 3" in text
    assert "NOT COMMITTED" not in text


def test_dump_filters(zjctl, crashed):
    got = zjctl("dump", "--json", "--lane", 1, crashed.path).json
    assert {r["lane"] for r in got["records"]} == {1} and len(got["records"]) == 5
    got = zjctl("dump", "--json", "--tid", 3 * 16 + 2, crashed.path).json
    assert [(r["stamp"], r["lane"]) for r in got["records"]] == [(3, 2)]


def test_dump_names_the_missing_ancestor(zjctl, crashed):
    crashed.log.patch(crashed.at(3, 1) + 1, 100, b"torn")
    got = zjctl("dump", "--json", crashed.path).json
    by_stamp = {r["stamp"]: r for r in got["records"]}
    assert [by_stamp[s]["component"] for s in range(1, 6)] == \
        ["committed", "committed", "incomplete", "orphaned", "orphaned"]
    assert by_stamp[4]["missing_ancestor"] == by_stamp[5]["missing_ancestor"] == 3
    torn = [r for r in got["records"] if r["record"] == "torn"]
    assert [(r["stamp"], r["lane"]) for r in torn] == [(3, 1)]
    assert [i["checksum_ok"] for i in torn[0]["images"]].count(False) == 1
    text = zjctl("dump", crashed.path).out
    assert "depends on stamp 4, which in turn depends on stamp 3, which is incomplete: " \
           "2 of 3 members are in the log; the record of lane 1 (tid 49) in segment 1 block 8 is torn" in text
    assert "BAD CHECKSUM" in text
    check = zjctl("check", "--json", crashed.path).json
    assert check["verdict"] == "good" and check["recovery"]["transactions"] == 6
    assert [n["stamp"] for n in check["not_committed"]] == [3, 4, 5]
    graph = zjctl("dump", "--graph", crashed.path).out
    assert "s4 -> s3 [color=red];" in graph and 'label="5 orphaned' in graph


def test_dump_what_a_lost_header_hides(zjctl, crashed):
    crashed.log.write(crashed.at(4, 0), b"\xaa" * 1024)
    got = zjctl("dump", "--json", crashed.path).json
    hidden = [(r["stamp"], r["lane"]) for r in got["records"] if r["record"] == "hidden"]
    assert hidden == [(5, 0)]
    assert next(s for s in got["segments"] if s["lane"] == 0)["end"] == "unused"
    assert "follows a lost header" in zjctl("dump", crashed.path).out


def test_dump_dependency_on_nothing(zjctl, crashed):
    crashed.log.put(9, 3, deps=[8])
    records = zjctl("dump", "--json", "--lane", 3, crashed.path).json["records"]
    assert records[0]["missing_ancestor"] == 8
    assert records[0]["why"] == "depends on stamp 8, which is not in the log"
    assert 'label="8 missing"' in zjctl("dump", "--graph", crashed.path).out


def test_dump_block_history(zjctl, crashed):
    log = crashed.log
    body = b"x" * 1024
    log.put(6, 3, images=[(15000, body)])
    log.put(7, 3, images=[(15000, b"y" * 1024)], deps=[6])
    got = zjctl("dump", "--json", "--block", 15000, crashed.path).json
    assert [h["fate"] for h in got["history"]] == ["superseded", "taken"]
    assert got["written_by_recovery"]
    log.put(8, 3, revokes=[15000], deps=[7])
    got = zjctl("dump", "--json", "--block", 15000, crashed.path).json
    assert [(h["kind"], h.get("fate")) for h in got["history"]] == \
        [("image", "revoked"), ("image", "revoked"), ("revoke", None)]
    assert got["history"][2]["counts"] and not got["written_by_recovery"]
    log.ckpt(2, 6)
    got = zjctl("dump", "--json", "--block", 15000, crashed.path).json
    assert [h.get("fate") for h in got["history"]] == ["home", "revoked", None]
    assert "revoke: images up to this stamp" in zjctl("dump", "--block", 15000, crashed.path).out
    assert "neither an image nor a revoke of this block" in zjctl("dump", "--block", 14000, crashed.path).out
    got = zjctl("dump", "--block", 99999999, crashed.path)
    assert got.returncode == 16 and "has blocks 0 to 16383" in got.out


def test_dump_inode(zjctl, crashed):
    got = zjctl("dump", "--json", "--inode", 2, crashed.path).json
    assert [h["inode"]["links"] for h in got["history"]] == [4, 5, 6, 7, 8]
    assert [h["fate"] for h in got["history"]] == ["superseded"] * 4 + ["taken"]
    assert "inode 2: mode 040755, links 8" in zjctl("dump", "--inode", 2, crashed.path).out
    got = zjctl("dump", "--inode", 4000000, crashed.path)
    assert got.returncode == 16 and "no inode 4000000" in got.out


# ---- check, convert, resize-journal ----

def test_check(zjctl, crashed, image):
    got = zjctl("check", "--json", crashed.path)
    assert got.returncode == 0 and got.json["verdict"] == "good"
    assert got.json["recovery"]["transactions"] == 15
    assert "the log is good" in zjctl("check", crashed.path).out
    assert zjctl("check", "--json", image).json["verdict"] == "clean"


def test_convert(zjctl, image):
    got = zjctl("convert", "--json", "--check", image)
    assert got.returncode == 0 and got.json["plain_ext4"] and not got.json["findings"]
    log = Log(image)                           # as after a clean unmount: records, but not live
    log.put(1, images=[(15000, b"x" * 1024)])
    got = zjctl("convert", "--json", "--check", image)
    assert got.returncode == 0 and [f["id"] for f in got.json["findings"]] == ["marks"]
    assert zjctl("convert", "--to-ext4", image).returncode == 1
    assert log.read(1) == log.read(4) == bytes(1024)
    assert zjctl("convert", "--to-ext4", image).returncode == 0
    fsck(image)
    sh("debugfs", "-w", "-R", "feature +needs_recovery", image)
    assert zjctl("convert", "--json", "--check", image).json["plain_ext4"] is False
    assert zjctl("convert", "--json", "--to-ext4", image).json["plain_ext4"] is True
    assert "needs_recovery" not in sh("dumpe2fs", "-h", image).stdout


def test_convert_and_resize_refuse_a_crashed_one(zjctl, crashed):
    before = crashed.path.read_bytes()
    for args in (["convert", "--check"], ["convert", "--to-ext4"], ["resize-journal"]):
        got = zjctl(*args, crashed.path)
        assert got.returncode == 4 and f"first: zjctl recover {crashed.path}" in got.out
        assert crashed.path.read_bytes() == before


@pytest.mark.parametrize("options", ["-b 1024 -J size=4", "-b 4096 -J size=8",
                                     "-b 4096 -O bigalloc -C 16384 -J size=8",
                                     "-b 1024 -O ^extents,^64bit,^metadata_csum -J size=4"])
def test_resize_journal(zjctl, tmp_path, options):
    path = mkfs(tmp_path / "r.img", "160M", options)
    sh("debugfs", "-w", "-R", "mkdir kept", path)
    before = path.read_bytes()
    plan = zjctl("resize-journal", "-n", "--json", "--lanes", 8, path)
    assert plan.returncode == 0 and not plan.json["changed"] and path.read_bytes() == before
    got = zjctl("resize-journal", "--json", "--lanes", 8, path)
    assert got.returncode == 1 and got.json["changed"]
    assert got.json["new_blocks"] == plan.json["new_blocks"] > got.json["old_blocks"]
    assert got.json["lanes_that_fit"] == 8
    fsck(path)
    assert zjctl("info", "--json", path).json["journal"]["blocks"] == got.json["new_blocks"]
    assert "directory" in sh("debugfs", "-R", "stat kept", path).stdout
    assert zjctl("resize-journal", "--lanes", 8, path).returncode == 0
    assert zjctl("resize-journal", "--size", 4, path).returncode == 1
    fsck(path)


def test_resize_journal_without_room(zjctl, tmp_path):
    path = mkfs(tmp_path / "r.img", "32M", "-b 1024 -J size=4")
    big = tmp_path / "big"
    big.write_bytes(os.urandom(18 << 20))
    sh("debugfs", "-w", "-R", f"write {big} big", path)
    before = path.read_bytes()
    got = zjctl("resize-journal", "--size", 15, path)
    assert got.returncode == 8 and "no room" in got.out
    got = zjctl("resize-journal", "--size", 30, path)
    assert got.returncode == 16 and "more than half" in got.out
    assert path.read_bytes() == before


# ---- stats, top ----

def test_stats(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text(INFO)
    got = zjctl("stats", "--json", "--from", copy).json["journals"][0]
    assert (got["state"], got["transactions"], got["commit_us"]) == ("live", 12, 834)
    assert (got["segments"], got["segment_blocks"], got["segments_free"]) == (63, 256, 60)
    assert (got["newest_stamp"], got["checkpoint_stamp"], got["recovered_blocks"]) == (9, 7, 8)
    assert got["lanes"][1]["counters"]["wait_space"] == 1
    assert got["lanes"][0]["counters"]["flushes"] == 9
    assert got["components"] == {
        "closed": 9, "members": 12, "max_members": 2, "dependencies": 8, "max_dependencies": 2,
        "awaited": 7, "resolved": 6, "arrivals": 17,
        "sizes": [{"from": 1, "to": 1, "count": 6}, {"from": 2, "to": 3, "count": 3}]}
    assert got["united"] == {"inode_table": 2, "directory": 1}
    assert got["depends"] == {"inode": 4}
    assert [lane["united"] for lane in got["lanes"]] == [
        {"inode_table": 1, "directory": 1}, {"inode_table": 1}]
    assert [lane["depends"] for lane in got["lanes"]] == [{"inode": 4}, {}]
    text = zjctl("stats", "--from", copy).out
    assert "wait_locked" in zjctl("stats", "--all", "--from", copy).out and "834 us" in text
    assert "lanes united: 2 at inode_table, 1 at directory\n" in text
    assert "lanes depending: 4 at inode\n" in text


def test_stats_of_a_module_without_components(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text(re.sub(r"(?m)^(comp|dep|united|fsyncs|  \d+ (of|below|longer)).*\n", "", INFO))
    assert len(copy.read_text().splitlines()) == 12
    got = zjctl("stats", "--json", "--from", copy).json["journals"][0]
    assert got["components"]["closed"] == 0 and got["united"] == {}
    assert got["segments"] == 63 and len(got["lanes"]) == 2


def test_stats_of_nothing(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text("nonsense\nlane x\n")
    got = zjctl("stats", "--json", "--from", copy)
    assert got.returncode == 8 and "is not a copy" in got.json["messages"][0]["text"]


def test_top(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text(INFO)
    got = zjctl("top", "--json", "-d", 0.05, "-n", 2, "--from", copy)
    assert got.returncode == 0 and len(got.json) == 2
    rates = got.json[1]["journals"][0]["rates"]
    assert [r["lane"] for r in rates] == [0, 1]
    assert rates[0]["per_second"]["handles"] == 0.0
    assert "fsyncs 0.0/s" in zjctl("top", "-d", 0.05, "-n", 1, "--from", copy).out


def test_top_writes_one_object_for_each_refresh(zjctl, image):
    """Also where the device is known before the first one."""
    got = zjctl("top", "--json", image)
    assert got.returncode == 8 and got.json["device"] == str(image)
    assert len(got.stdout.splitlines()) == 1


def test_options_before_the_command(zjctl, image):
    got = zjctl("--json", "--color=never", "info", image)
    assert got.returncode == 0 and got.json["command"] == "info"
    assert zjctl("--json", "nonsense").returncode == 16


def test_graph_as_json_is_the_records(zjctl, crashed):
    got = zjctl("dump", "--graph", "--json", crashed.path)
    assert got.returncode == 0 and got.json["records"] == zjctl("dump", "--json", crashed.path).json["records"]


def test_stats_wants_a_mounted_zext4(zjctl, image):
    got = zjctl("stats", "--json", image)
    assert got.returncode == 8 and "not mounted as zext4" in got.json["messages"][0]["text"]


# ---- stalls ----

WAITS = """\
now lane=0 reason=flush us=800 pid=9 comm=zj/sda1-8:0
now lane=0 reason=committed us=1234567 for=17 for_lane=0 phase=sealed pid=12 comm=my fsync er
past lane=1 reason=flush us=5000 pid=13 comm=zj/sda1-8:1
past lane=1 reason=space us=9000 pid=13 comm=us=3 for=8
"""


def test_stalls(zjctl, tmp_path):
    copy = tmp_path / "waits"
    copy.write_text(WAITS + "nonsense\nmore lane=0\n")
    got = zjctl("stalls", "--json", "--from", copy).json["journals"][0]
    assert got["more"] is True
    assert [(w["now"], w["us"]) for w in got["waits"]] == [
        (True, 1234567), (True, 800), (False, 9000), (False, 5000)]
    assert got["waits"][0] == {
        "now": True, "lane": 0, "reason": "committed", "us": 1234567, "for_transaction": 17,
        "for_lane": 0, "phase": "sealed", "pid": 12, "comm": "my fsync er"}
    # Names of tasks are anything.
    assert got["waits"][2]["comm"] == "us=3 for=8" and "for_transaction" not in got["waits"][2]
    text = zjctl("stalls", "-n", 1, "--from", copy).out
    assert "1234.567 ms  lane 0   an fsync waits for its transaction; transaction 17" in text
    assert "log space" in text and "5.000 ms" not in text


def test_stalls_of_nobody(zjctl, tmp_path):
    copy = tmp_path / "waits"
    copy.write_text("")
    assert "no waits recorded" in zjctl("stalls", "--from", copy).out
    got = zjctl("stalls", "--json", "--from", tmp_path / "none")
    assert got.returncode == 8 and "cannot be read" in got.json["messages"][0]["text"]
    copy.write_text("components 5 closed\n")
    got = zjctl("stalls", "--json", "--from", copy)
    assert got.returncode == 8 and "needs a copy made with cat" in got.json["messages"][0]["text"]


def test_stalls_wants_a_mounted_zext4(zjctl, image):
    got = zjctl("stalls", "--json", image)
    assert got.returncode == 8 and "not mounted as zext4" in got.json["messages"][0]["text"]


# ---- around ----

USAGE = [[], ["nonsense"], ["info"], ["info", "a", "b"], ["dump", "--lane", "x", "a"],
         ["dump", "--block", "1", "--inode", "2", "a"], ["dump", "--graph", "--block", "1", "a"],
         ["convert", "a"], ["convert", "--check", "--to-ext4", "a"], ["recover", "--bad", "a"],
         ["resize-journal", "--lanes", "0", "a"], ["top", "-d", "x"], ["top", "-n"],
         ["check", "--color", "blue", "a"], ["stats", "--from"],
         ["stalls", "-n", "x"], ["stalls", "--from", "a", "b"]]


@pytest.mark.parametrize("args", USAGE, ids=" ".join)
def test_usage(zjctl, args):
    got = zjctl(*args)
    assert got.returncode == 16 and "usage:" in got.out
    if args:
        got = zjctl(*args, "--json") if "--from" not in args and "-n" not in args else zjctl(args[0], "--json", *args[1:])
        assert got.returncode == 16


def test_no_such_device(zjctl, tmp_path):
    (tmp_path / "empty").write_bytes(bytes(1 << 20))
    for command in ("info", "dump", "check", "recover", "resize-journal"):
        got = zjctl(command, "--json", tmp_path / "missing")
        assert got.returncode == 8 and "lsblk -f" in got.json["messages"][0]["text"]
        got = zjctl(command, "--json", tmp_path / "empty")
        assert got.returncode == 8 and "right device" in got.json["messages"][0]["text"]
    assert zjctl("info", "UUID=00000000-1111-2222-3333-444444444444").returncode == 8


def test_what_is_no_whole_ext4_is_named(zjctl, image, tmp_path):
    """Each message names the cause and a remedy that fits it."""
    swap = tmp_path / "swap"
    swap.write_bytes(bytes(1 << 20))
    sh("mkswap", swap)
    short = tmp_path / "short"
    short.write_bytes(image.read_bytes()[:3 << 20])
    for command in ("info", "dump", "check", "recover", "resize-journal", "convert --check"):
        got = zjctl(*command.split(), "--json", swap)
        assert got.returncode == 8 and "contains swap, not ext4" in got.json["messages"][0]["text"]
        got = zjctl(*command.split(), "--json", short)
        assert got.returncode == 8
        assert "shorter than the file system on it, 3072 of 16384" in got.json["messages"][0]["text"]


def test_no_permission(sanitized, image):
    image.chmod(0)
    as_user = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    got = subprocess.run([*as_user, str(sanitized), "info", str(image)], capture_output=True,
                         text=True)
    assert got.returncode == 8, got
    assert "Permission denied" in got.stderr and "sudo" in got.stderr
    assert "right device" not in got.stderr


@pytest.mark.parametrize("claim", ["honest", "damaged"])
def test_journal_inode_of_absurd_size(plain, tmp_path, claim):
    """A false size in an inode costs no memory; the journal's own length counts."""
    path = tmp_path / "huge.img"
    sh("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-N", "16", "-O", "^resize_inode", "-J",
       "size=4", path, "1500G")
    claimed = 1200 << 30
    sh("debugfs", "-w", "-R", f"sif <8> size {claimed}", path)
    if claim == "damaged":
        block = int(sh("debugfs", "-R", "bmap <8> 0", path).stdout)
        with open(path, "r+b") as f:
            f.seek(block * 4096)
            f.write(b"x")
    got = subprocess.run(["prlimit", f"--as={1 << 30}", str(plain), "info", "--json", str(path)],
                         capture_output=True, text=True)
    assert got.returncode == (0 if claim == "honest" else 4), got
    if claim == "honest":
        assert json.loads(got.stdout)["journal"]["blocks"] == 1024


def on_terminal(program, *args, **env):
    """The program's output to a terminal."""
    leader, follower = pty.openpty()
    base = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    subprocess.run([str(a) for a in (program, *args)], stdout=follower, stderr=follower,
                   env={**base, "TERM": "xterm", **env})
    os.close(follower)
    out = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(leader)
    return out


def test_colours_on_a_terminal_only(sanitized, zjctl, crashed):
    args = ("check", crashed.path)
    assert b"\x1b[32m" in on_terminal(sanitized, *args)
    assert b"\x1b" not in on_terminal(sanitized, *args, NO_COLOR="1")
    assert b"\x1b" not in on_terminal(sanitized, *args, TERM="dumb")
    assert b"\x1b" not in on_terminal(sanitized, *args, "--color=never")
    assert "\x1b" not in zjctl(*args).out
    assert "\x1b" in zjctl(*args, "--color=always").out


def test_validation_notices(crashed, zjctl):
    """The schema test itself: an unknown field, a wrong type, a missing field."""
    good = zjctl("check", "--json", crashed.path).json
    for change in ({"surprise": 1}, {"verdict": 3}, {"exit": "0"}):
        with pytest.raises(AssertionError):
            validate({**good, **change})
    del good["verdict"]
    with pytest.raises(AssertionError):
        validate(good)


def test_every_documented_field_occurs(zjctl, crashed, image, tmp_path):
    """Each optional field, too, is written by a command here."""
    (tmp_path / "info").write_text(INFO)
    (tmp_path / "waits").write_text(WAITS)
    log = crashed.log
    log.put(6, 3, images=[(15000, b"x" * 1024)], revokes=[15001])
    log.put(9, 3, deps=[8])
    seen = {name: set() for name in TABLES}
    machine(tmp_path / "root")
    copy = tmp_path / "copy.img"
    shutil.copy(crashed.path, copy)
    sh("debugfs", "-w", "-R", "feature +needs_recovery", image)
    ring = tmp_path / "ring.img"
    ring.write_bytes(lzma.decompress((ROOT / "tests/images/stock-log.img.xz").read_bytes()))
    apart = mkfs(tmp_path / "apart.img")
    journal = f"--journal={move_out(apart, tmp_path / 'journal.img')}"
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(16 << 20))
    (tmp_path / "nvm").mkdir()
    c = CrashedNvm(tmp_path / "nvm", steps=2)
    nvm = f"--nvm={c.log.memory}"
    bad = c.copy(tmp_path)
    bad.log.store(bad.log.tails[0][1] * 64 - 8, b"X")
    for args in (["nvm-format", memory, image], ["info", ring], ["info", journal, apart], ["dump", ring], ["info", copy], ["dump", copy], ["dump", "--block", 15000, copy],
                 ["dump", "--block", 15001, copy], ["dump", "--inode", 2, copy], ["check", copy],
                 ["convert", "--check", copy], ["recover", copy], ["recover", image],
                 ["resize-journal", "-n", copy], ["stats", "--from", tmp_path / "info"], ["stalls", "--from", tmp_path / "waits"],
                 ["info", nvm, c.path], ["dump", nvm, c.path], ["dump", "--block", 2, nvm, c.path],
                 ["dump", f"--nvm={bad.log.memory}", bad.path], ["top", "-n", 1, "-d", 0.05, "--from", tmp_path / "info"]):
        got = zjctl(args[0], "--json", *args[1:]).json
        seen[args[0]] |= validate(got)
    for args in (["status", "--root", tmp_path / "root"], ["kernels", "--root", tmp_path / "root"]):
        seen[args[0]] |= validate(zjctl(args[0], "--json", *args[1:]).json)
    # Only of what is mounted now.
    mounted = {"filesystem.mounted_at", "filesystem.mount_type", "live.*", "journals[].device",
               "journals[].directory", "mounts[].fsyncs_per_second"}
    for name in set(TABLES) - {"Every document", ""}:
        for path in set(TABLES[name]) - mounted:
            pattern = re.compile(re.escape(path).replace(r"\*", ".*") + "$")
            assert any(pattern.match(p) for p in seen[name]), f"{name}: {path} never written"


# ---- manual pages, completion ----

def helps(zjctl):
    out = zjctl("--help").out
    commands = re.findall(r"^  ([a-z][a-z-]+)  +\S", out.split("DEV is")[0], re.M)
    assert len(commands) == 13
    for command in commands:
        text = zjctl(command, "--help").out
        assert "Examples:" in text and text.startswith(f"usage: zjctl {command}")
        options = set(re.findall(r"(?<![\w-])(--?[a-z][a-z0-9-]*)", text.split("Examples:")[0]))
        yield command, options - {"-p", "-f", "-t", "-"}      # of other programs, and a key of top


def test_help_manual_and_completion_agree(zjctl):
    manual = (ROOT / "man" / "zjctl.8").read_text()
    completion = ROOT / "user" / "completion" / "zjctl.bash"
    for command, options in helps(zjctl):
        section = manual.split(f".Ss {command}", 1)[1].split(".Ss ")[0]
        for option in options - {"--json"}:
            assert f"Fl {option[1:]}" in section, f"zjctl.8: {command} {option}"
        script = f'. {completion}; COMP_WORDS=(zjctl {command} -); COMP_CWORD=2; _zjctl; printf "%s\\n" "${{COMPREPLY[@]}}"'
        offered = sh("bash", "-c", script).stdout.split()
        assert options <= set(offered), f"completion: {command} {options - set(offered)}"
        assert "--help" in offered and ("--json" in offered) == (command != "report")
    script = f'. {completion}; COMP_WORDS=(zjctl re); COMP_CWORD=1; _zjctl; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assert sh("bash", "-c", script).stdout.split() == ["recover", "resize-journal", "report"]


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "man").iterdir()))
def test_manual_pages(page):
    path = ROOT / "man" / page
    assert shutil.which("mandoc"), "mandoc is missing: apt-get install mandoc"
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True)
    assert lint.returncode == 0 and not lint.stdout, lint.stdout


def test_install(sanitized, tmp_path):
    sh("make", "-s", "-C", ROOT / "user", "install", f"O={sanitized.parent}", f"DESTDIR={tmp_path}",
       "PREFIX=/usr", "CFLAGS=-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all")
    for name in ("sbin/zjctl", "share/man/man8/zjctl.8", "share/man/man5/zext4.5",
                 "share/man/man5/zjournal-format.5", "share/man/man7/zjournal.7",
                 "share/bash-completion/completions/zjctl", "share/zsh/vendor-completions/_zjctl",
                 "share/fish/vendor_completions.d/zjctl.fish", "share/bash-completion/completions/mount.zext4",
                 "share/fish/vendor_completions.d/mkfs.zext4.fish"):
        assert (tmp_path / "usr" / name).is_file()
    # The pages name the folders in which things are.
    page = (tmp_path / "usr/share/man/man7/zjournal.7").read_text()
    assert "/usr/share/zjournal" in page and (tmp_path / "usr/share/zjournal/zext4.cil").is_file()
    assert not [page for page in tmp_path.rglob("*.[578]") if "/usr/local/" in page.read_text()]
