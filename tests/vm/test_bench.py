# SPDX-License-Identifier: GPL-2.0-only
"""The scripts of bench/ that use loadgen, with hardly any work: each arm and load gets through and says what it did."""

import re
import sys

import pytest

import conftest
import vm as vmlib

pytestmark = pytest.mark.zext4

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import bench    # noqa: E402
import bulk     # noqa: E402
import fsync    # noqa: E402
import quota    # noqa: E402
import settle   # noqa: E402
import ties     # noqa: E402

ARMS = ["nojournal", "ext4", "fastcommit", "zext4:lanes=1", "zext4"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    disk = vmlib.Disk(str(tmp_path_factory.mktemp("disk") / "disk"), size="1G")
    with conftest.new_vm(cpus=2, memory="2G", disks=[disk], stock=["xfs", "btrfs"]) as guest:
        assert guest.sh("for m in ext4 zext4; do modprobe $m || exit; done; modprobe null_blk nr_devices=0")
        yield guest


def script(machine, name, timeout=300, **settings):
    args = " ".join(f"'{key}={value}'" for key, value in settings.items())
    result = machine.sh(f"sh /lib/zj/{name} {args}", timeout=timeout)
    machine.check_console()
    assert result, result.out
    return result.out


@pytest.mark.parametrize("where", [{"DEV": "/dev/vda"}, {"LATENCY_MS": 0.5, "SIZE_MB": 1024}], ids=["device", "simulated"])
def test_arms(machine, where):
    """With a device as on real hardware, and with the simulated disk, which says what it is."""
    about, arms = bench.parse(script(machine, "bench.sh", ARMS=" ".join(ARMS), LOAD="varmail-shared", WORKERS=2,
                                     MS=200, ROUNDS=1, JOURNAL_MB=32, MAIL_FILES=100, **where))
    assert list(arms) == ARMS
    for (run,) in arms.values():
        assert run["works"] > 0 and run["writes"] > 0
        assert sum(count for _, count in run["hist"]["fsyncs"]) == run["fsyncs_count"] >= 2 * run["works"]
        assert "DEV" in where or run["fsyncs_p50"] >= 500
    assert about["device"].startswith("vda" if "DEV" in where else "zjd0")
    assert about["write cache"] == "write back" and ("simulated disk" in about) == ("DEV" not in where)


def test_a_number_of_overwrites(machine):
    _, arms = bench.parse(script(machine, "bench.sh", ARMS="zext4", LOAD="over-20", WORKERS=2, ROUNDS=1, JOURNAL_MB=32,
                                 DEV="/dev/vda"))
    assert [run["works"] for run in arms["zext4"]] == [40]


def test_an_application(machine):
    """SQLite needs no package that is not there anyway: its inserts, the check after a remount, and e2fsck."""
    _, arms = bench.parse(script(machine, "bench.sh", ARMS="ext4 zext4", LOAD="sqlite-wal", APP="sqlite", WORKERS=2, MS=300,
                                 ROUNDS=1, JOURNAL_MB=32, DEV="/dev/vda"), "sqlite-wal")
    assert list(arms) == ["ext4", "zext4"]
    for (run,) in arms.values():
        assert run["works"] > 0 and run["writes"] > 0 and run["works_p50"] > 0


@pytest.mark.parametrize("spoil, says", [
    ('app_check() { rm $fs/app/w0/rows.db; sqlite3 $fs/app/w0/rows.db "SELECT count(*) FROM line"; }', "after a remount"),
    ("app_run() { die 'no space'; }", "sqlite-wal failed on ext4: .*no space"),
    ("e2fsck() { return 4; }", "left damage")], ids=["check", "run", "fsck"])
def test_an_application_that_fails_shows_no_rate(machine, spoil, says):
    (machine.share / "spoil").write_text(spoil + "\n")
    result = machine.sh("mkdir -p /tmp/b/apps; cp /lib/zj/*.sh /tmp/b/; cat /lib/zj/apps/sqlite.sh /share/spoil >/tmp/b/apps/sqlite.sh\n"
                        "sh /tmp/b/bench.sh DEV=/dev/vda LOAD=sqlite-wal APP=sqlite MS=100 ROUNDS=1 ARMS=ext4 JOURNAL_MB=32")
    assert result.rc == 1 and re.search(says, result.out.replace("\n", " ")), result.out
    assert "run ext4" not in result.out
    assert machine.sh("grep /tmp/fs /proc/mounts").rc == 1, "left mounted"


def test_a_load_that_fails_ends_the_bench(machine):
    result = machine.sh("sh /lib/zj/bench.sh DEV=/dev/vda LOAD=none MS=100 ROUNDS=1 ARMS=ext4 JOURNAL_MB=32; rc=$?; "
                        "umount /tmp/fs; exit $rc")
    assert result.rc == 1 and "none failed on ext4" in result.out


def test_fsync(machine):
    rows = fsync.parse(script(machine, "fsync.sh", CASES="lone shared", KINDS="fua", MODES="ordered", ROUNDS=1,
                              LATENCY_MS=2, FSYNCS=5, DISK="zjdisk", SIZE_MB=4096, TYPES="ext4 fastcommit zext4"))
    for case, fsyncs in (("lone", 5), ("shared", 40)):
        types = rows[case, "fua", "ordered"]
        assert {name: [run["fsyncs"] for run in runs] for name, runs in types.items()} == dict.fromkeys(
            ("ext4", "fastcommit", "zext4"), [fsyncs])
        assert all(sum(count for _, count in runs[0]["hist"]) == fsyncs for runs in types.values())


def test_ties(machine):
    """The figures of ties are parsed, with their causes."""
    rows = ties.parse(script(machine, "ties.sh", LAYOUTS="orphan-file quota", LOADS="append mail", LATENCY_MS=2,
                             TIMES=5, WORKERS=2, DISK="zjdisk", LARGE_MB=4096))
    assert set(rows) == {(layout, load) for layout in ("orphan-file", "quota") for load in ("append", "mail")}
    for (_, load), types in rows.items():
        assert [types[name][0]["fsyncs"] for name in ("ext4", "zext4")] == [{"append": 10, "mail": 20}[load]] * 2
        assert types["ext4"][0]["components"] == 0 and types["ext4"][0]["cause"] == "none"
        # Whether two lanes met at a block is a matter of time; "none" is an answer, too.
        zext4 = types["zext4"][0]
        assert zext4["members"] >= zext4["components"] > 0
        assert (zext4["cause"] == "none") == (zext4["count"] == 0)


def test_quota(machine):
    """Writers of different projects share nothing, on a disk whose groups have descriptors of their own."""
    runs = quota.parse(script(machine, "quota.sh", CASES="off projects project", ROUNDS=1, LATENCY_MS=2, FSYNCS=5,
                              CLIENTS=2, TYPES="ext4 zext4:lanes=2"))
    for case in ("off", "projects", "project"):
        assert [runs[case, name][0]["fsyncs"] for name in ("ext4", "zext4:lanes=2")] == [10, 10]
    [united] = [line for line in runs["projects", "zext4:lanes=2"][0]["info"] if line.startswith("united")]
    assert " at quota" not in united


def test_settle(machine):
    """Each call gets through, beside a neighbour that gets on."""
    calls = "fsync read write fiemap punch zero collapse insert move"
    runs = settle.parse(script(machine, "settle.sh", CASES=calls, LATENCY_MS=1, SECONDS_EACH=0.2, DIRS=20, TYPES="zext4"))
    for call in calls.split():
        [run] = runs[call, "zext4"]
        assert run["rounds"] and run["creates"]


@pytest.mark.parametrize("load", ["varmail", "fileserver", "randwrite", "untar"])
def test_bulk(machine, load):
    made = "mkdir -p /tmp/t/a; echo x >/tmp/t/a/f; tar -c -C /tmp/t -f /tmp/tree.tar a;"
    assert load != "untar" or machine.sh(made)
    rows = bulk.parse(script(machine, "bulk.sh", LOADS=load, TASKS=2, DISKS="nvme", SIZE_MB=2048, JOURNALS=32, SCALE=2,
                             SERVER_FILES=200, MAIL_FILES=100, FILE_BLOCKS=200, TREE_FILES=1, TYPES="zext4"))
    ((run,),) = (types["zext4"] for types in rows.values())
    works = {"varmail": 4 * 13, "fileserver": 20 * 11, "randwrite": 1600, "untar": 1}[load]
    assert run["operations"] == 2 * works


def concurrent(machine, mails=3, **settings):
    """The cases that take neither dbench nor a database; the files of these are not looked at."""
    (machine.share / "client.txt").write_text("")
    (machine.share / "postgresql").mkdir(exist_ok=True)
    return script(machine, "concurrent.sh", ROUNDS=1, MAILS=mails, DISK="zjdisk", SIZE_MB=4096, **settings)


def test_concurrent(machine):
    out = concurrent(machine, CASES="varmail-shared varmail-split", TYPES="ext4 zext4", LATENCY_MS=1)
    runs = [line.split() for line in out.splitlines() if line.startswith("run ")]
    assert [run[1:3] for run in runs] == [[case, fstype] for case in ("varmail-shared", "varmail-split")
                                          for fstype in ("ext4", "zext4")]
    # Two fsyncs of each mail, eight clients.
    assert all(run[4] == "48" and float(run[5]) > 0 for run in runs)
    # loadgen's percentiles, for bench/papers.py.
    assert out.count("us p99 of an fsync") == 4 and "waits for blocks" not in out


def test_conflicts_of_stock_are_counted(machine):
    """Clients of one directory want its blocks while a commit has them; no probe is left behind."""
    out = concurrent(machine, mails=12, CASES="varmail-shared", TYPES="ext4 zext4 ext4", CLIENTS=6, LATENCY_MS=5,
                     CONFLICTS=1)
    assert [line.split()[4] for line in out.splitlines() if line.startswith("run ")] == ["144"] * 3
    counted = [int(line.split()[1]) for line in out.splitlines() if "waits for blocks on their way to the log" in line]
    # A run in which every client happens to come between two commits has none.
    assert len(counted) == 2 and any(counted)
    assert not machine.sh("grep . /sys/kernel/tracing/events/zj/shadow/trigger | grep ^hist")
