# SPDX-License-Identifier: GPL-2.0-only
"""make soak: its choices and sums, and a few seconds of it in a VM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# At the end: bench/concurrent.py must not be taken for the package of Python.
sys.path += [str(HERE), str(ROOT / "tests" / "vm"), str(ROOT / "bench")]

import nbd         # noqa: E402
import soak        # noqa: E402
import soakgive    # noqa: E402
import soakplan    # noqa: E402
import soakrun     # noqa: E402


def lives(count=200, seconds=60):
    return [soakplan.plan_life("test", n, seconds) for n in range(count)]


def test_a_life_depends_on_its_seed_and_number_only():
    again = [soakplan.as_json(soakplan.plan_life("7", n, 60)) for n in (3, 2, 3)]
    assert again[0] == again[2] != again[1]
    assert again[0] != soakplan.as_json(soakplan.plan_life("8", 3, 60))


def test_everything_is_chosen_now_and_then():
    cycles = [cycle for life in lives() for cycle in life.cycles]
    assert {app for cycle in cycles for app in cycle.apps} == set(soakplan.APPS)
    assert {name for cycle in cycles for _, name, _ in cycle.events} == set(soakplan.EVENTS)
    assert {cycle.end for cycle in cycles} == set(soakplan.ENDS)
    assert {cycle.recover for cycle in cycles} == {"mount", "zjctl", "stock"}
    assert {life.journal for life in lives()} == {"internal", "external", "nvm"}


def test_only_stock_logs_are_recovered_by_stock_ext4():
    for life in lives():
        for cycle in life.cycles:
            if cycle.recover == "stock":
                assert life.journal != "nvm"
                assert "lanes=1," in cycle.options and "log=zj" not in cycle.options


def test_a_remount_takes_no_promise_back():
    found = {argument for life in lives() for cycle in life.cycles for _, name, argument in cycle.events
             if name == "remount"}
    assert "fsync=all" in found and "fsync=own" not in found and not any("barrier" in word for word in found)


def test_events_are_within_the_cycle_and_in_order():
    for life in lives(seconds=30):
        for cycle in life.cycles:
            times = [when for when, _, _ in cycle.events]
            assert times == sorted(times) and all(2 <= when < 30 for when in times)


def test_quota_only_where_there_is_quota():
    for life in lives():
        names = {name for cycle in life.cycles for _, name, _ in cycle.events}
        assert "quota" in life.features or not names & {"quota", "project"}


@pytest.mark.parametrize("options,order", [("lanes=1,fsync=own", True), ("lanes=8,fsync=all", True),
                                           ("lanes=16,fsync=own", False)])
def test_when_older_changes_must_be_there(options, order):
    assert soakplan.one_order(options) is order


def test_sums_go_on_from_a_file(tmp_path):
    for _ in range(2):
        sums = soakplan.Summary(tmp_path / "sums" / "s.json")
        sums.add("cycles")
        sums.add("events freeze", 600)
        sums.add("events trim")
        sums.save()
    assert soakplan.Summary(tmp_path / "sums" / "s.json").text() == \
        "  cycles: 2\n  events: 1,200 freeze, 2 trim"


def test_counters_of_all_lanes_are_added():
    info = ("9 transactions in 2 lanes\nlane   0:   43 txns   191 handles   352 blocks   37 fsyncs   473551 fsync_us\n"
            "united in lane 0: 8 in all\nlane   1:   1 txns   2 handles   3 blocks   4 fsyncs   5 fsync_us\n")
    assert soakplan.lane_sums(info) == {"txns": 44, "handles": 193, "blocks": 355, "fsyncs": 41}


def test_what_checks_say_is_counted():
    assert soakplan.checked("checked rows 12\nnoise\nchecked files 3\ncount git resets\n") == \
        [(12, "rows"), (3, "files"), (1, "git resets")]


def test_notes_end_with_a_whole_line():
    assert soakrun.whole_lines(b"one\ntwo\nthr") == b"one\ntwo\n"
    assert soakrun.whole_lines(b"on") == b""


@pytest.mark.parametrize("arguments,text", [(["HOUR=1"], "HOUR=1 is not one of"), (["APPS=git vi"], "named vi")])
def test_wrong_settings_are_refused(arguments, text):
    with pytest.raises(SystemExit, match=text):
        soak.settings(arguments)


def test_a_trim_is_lost_with_the_power(tmp_path):
    """Of what was written and then trimmed, each sector is there or reads as zeros."""
    image = tmp_path / "disk"
    image.write_bytes(b"x" * (4 << 20))
    disk = nbd.VolatileDisk(image, tmp_path / "sock", trim=True)
    disk._trim(4096, 2 << 20)    # pylint: disable=protected-access
    assert disk.live[4095:4098] == b"x\0\0" and disk.trims == 1
    seen, lost = disk.power_cut(seed=1, keep=0.5)
    data = image.read_bytes()
    sectors = {data[at:at + 512] for at in range(4096, 4096 + (2 << 20), 512)}
    assert seen == 4096 and 0 < lost < seen and sectors == {b"x" * 512, bytes(512)}
    assert data[:4096] == b"x" * 4096 and data[4096 + (2 << 20):] == b"x" * (len(data) - 4096 - (2 << 20))


def test_another_image_is_put_in(tmp_path):
    for name, letter in (("one", b"1"), ("two", b"2")):
        (tmp_path / name).write_bytes(letter * 4096)
    disk = nbd.VolatileDisk(tmp_path / "one", tmp_path / "sock")
    disk._write(0, b"x" * 512, False)    # pylint: disable=protected-access
    disk.insert(tmp_path / "two")
    assert disk.live[:4096] == b"2" * 4096
    disk.power_cut(seed=1, keep=1)
    assert (tmp_path / "one").read_bytes() == b"2" * 4096


def guest_function(call, files):
    """A function of the guest's scripts, here, where files has notes and what is mounted"""
    text = "\n".join((HERE / name).read_text() for name in ("soak-apps.sh", "soak-databases.sh"))
    text = text.replace("/tmp/", f"{files}/out-").replace("/mnt/", f"{files}/")
    return subprocess.run(["sh", "-c", f"die() {{ echo FAILED: $*; exit 1; }}\nACK={files}\n{text}\n{call}"],
                          capture_output=True, text=True, check=False)


def test_what_was_taken_back_is_not_looked_for(tmp_path):
    (tmp_path / "trees").write_text("a\nb\n-a\nc\na2\n")
    assert sorted(guest_function("acked trees", tmp_path).stdout.split()) == ["a2", "b", "c"]


@pytest.mark.parametrize("found,rc", [("1 1 1\n1 1 2\n1 1 3\n", 0), ("1 1 1\n1 1 3\n", 1), ("1 1 1\n11 1 2\n", 1)])
def test_a_lost_row_is_noticed(tmp_path, found, rc):
    (tmp_path / "noted").write_text("1 1 1\n1 1 2\n")
    (tmp_path / "found").write_text(found)
    done = guest_function(f"missing {tmp_path}/noted {tmp_path}/found DB", tmp_path)
    assert done.returncode == rc and ("rows are lost" in done.stdout) == bool(rc)


def git(tmp_path, *words):
    return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-C", tmp_path / "git", *words],
                          check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(name="commits")
def commits_fixture(tmp_path):
    """Three commits, of which two are noted"""
    (tmp_path / "git").mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    found = []
    for n in range(3):
        (tmp_path / "git" / "file").write_text(f"{n}\n")
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "-q", "-m", str(n))
        found.append(git(tmp_path, "rev-parse", "HEAD"))
    (tmp_path / "ack").mkdir()
    (tmp_path / "ack" / "git").write_text("".join(f"{commit}\n" for commit in found[:2]))
    return found


def check_git(tmp_path, strict=""):
    return guest_function(f"ACK={tmp_path}/ack STRICT={strict}\ngit_check", tmp_path)


def lose(tmp_path, name):
    (tmp_path / "git" / ".git" / "objects" / name[:2] / name[2:]).unlink()


@pytest.mark.parametrize("strict", ["", "1"])
def test_commits_that_are_there(tmp_path, commits, strict):
    done = check_git(tmp_path, strict)
    assert done.returncode == 0 and done.stdout == "checked commits 2\n"
    assert git(tmp_path, "rev-parse", "HEAD") == commits[2]


def test_a_newer_commit_may_be_half_there_without_one_order(tmp_path, commits):
    lose(tmp_path, commits[2])
    strict = check_git(tmp_path, "1")
    assert strict.returncode == 1 and "FAILED: git fsck" in strict.stdout
    done = check_git(tmp_path)
    assert done.returncode == 0 and "count git resets" in done.stdout
    assert git(tmp_path, "rev-parse", "HEAD") == commits[1] and git(tmp_path, "fsck", "--strict", "--no-dangling") == ""


def test_before_the_first_note_all_may_be_half_there(tmp_path, commits):
    (tmp_path / "ack" / "git").write_text("")
    lose(tmp_path, commits[0])
    assert check_git(tmp_path, "1").returncode == 1
    done = check_git(tmp_path)
    assert done.returncode == 0 and "count git resets" in done.stdout


@pytest.mark.parametrize("what", ["{0}", "{1}", "{1}^{{tree}}", "{0}:file"])
def test_nothing_of_a_noted_commit_may_be_missing(tmp_path, commits, what):
    lose(tmp_path, git(tmp_path, "rev-parse", what.format(*commits)))
    done = check_git(tmp_path)
    assert done.returncode == 1 and "FAILED: git" in done.stdout


def test_a_noted_commit_that_the_branch_has_lost(tmp_path, commits):
    git(tmp_path, "update-ref", "refs/heads/main", commits[0])
    assert "is not on the branch" in check_git(tmp_path).stdout


def small_life():
    """Everything that needs few seconds, on a small machine"""
    life = soakplan.Life(0, "internal", ["-b", "4096", "-J", "size=16", "-O", "quota,project",
                                         "-E", "quotatype=usrquota:grpquota:prjquota"], 256, ["quota"], cpus=2)
    events = [(0, "freeze", "0"), (0, "grow", "24"), (1, "trim", ""), (1, "hotplug", "1 1"), (2, "remount", "fsync=all"),
              (3, "quota", ""), (3, "drop", "")]
    life.cycles.append(soakplan.Cycle(0, "data=ordered,lanes=4,fsync=own,discard", ["sqlite", "stress"], events, "cut", 0.5,
                                      5, "mount", 0, 1, [(0.9, 0.2)]))
    return life


@pytest.mark.skipif(not os.environ.get("ZJ_SOAK"), reason="takes minutes on a busy host: ZJ_SOAK=1")
def test_a_small_soak(tmp_path):
    """A cycle with a power cut passes; then a row that was never written is missed."""
    sums = soakplan.Summary(tmp_path / "sums.json")
    with soakgive.given(["sqlite", "stress"]) as gifts:
        life = small_life()
        running = soakrun.Running(life, tmp_path, gifts, sums, 5)
        running.patient = True
        try:
            running.cycle(life.cycles[0])
            assert sums.sums["ends cut"] == sums.sums["ends snapshot"] == 1
            assert sums.sums["checked rows"] > 0 and sums.sums["journal fsyncs"] > 0
            assert {name for name in sums.sums if name.startswith("events ")} >= {"events freeze", "events grow"}
            (running.guest.share / "ack" / "rows.1.wal").open("a").write("1000000\n")
            with pytest.raises(soakrun.Failure, match="SQLite, 1.wal"):
                running.check_disk(life.cycles[0], "vda", "ack", "")
        finally:
            running.stop()


def test_a_disk_that_lies_loses_what_was_flushed(tmp_path):
    image = tmp_path / "disk"
    image.write_bytes(bytes(4 << 20))
    disk = nbd.VolatileDisk(image, tmp_path / "sock")
    disk._write(0, b"a" * 512, False)       # pylint: disable=protected-access
    disk._flush()                           # pylint: disable=protected-access
    disk.lie = True
    disk._write(4096, b"b" * 512, True)     # pylint: disable=protected-access
    disk._write(8192, b"c" * 512, False)    # pylint: disable=protected-access
    disk._flush()                           # pylint: disable=protected-access
    disk.power_cut(seed=1, keep=0)
    assert {data for data in image.read_bytes() if data} == {ord("a")}
