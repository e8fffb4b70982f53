# SPDX-License-Identifier: GPL-2.0-only
"""Waits end when a machine gets nowhere, and not because the host is busy.  Time is made here, but for communicate()."""

import os
import subprocess
import sys

import pytest

import patience


class Host:
    """A clock, and a thread that waits for a CPU."""

    def __init__(self, monkeypatch, tmp_path):
        self.now, self.thread = 1000.0, tmp_path / "7/task/8/schedstat"
        self.thread.parent.mkdir(parents=True)
        self.starve(0)
        self.starved = 0.0
        monkeypatch.setattr(patience, "PROC", tmp_path)
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)

    def starve(self, seconds):
        self.starved = seconds
        self.thread.write_text(f"123 {int(seconds * 1e9)} 4\n")

    def goes_on(self, seconds, starved=0):
        self.now += seconds
        self.starve(self.starved + starved)


@pytest.fixture(name="host")
def host_fixture(monkeypatch, tmp_path):
    return Host(monkeypatch, tmp_path)


def patient(**more):
    return patience.Patience(60, pids=lambda: [7], **more)


def test_a_machine_that_gets_nowhere_is_given_up(host):
    p = patient()
    host.goes_on(59)
    assert not p.over()
    host.goes_on(2)
    assert p.over()


def test_a_host_that_runs_something_else_is_waited_for(host):
    p = patient()
    for _ in range(1000):
        host.goes_on(1, starved=0.98)
        assert p.quiet <= 21 and not p.over()
    host.goes_on(100, starved=1)
    assert p.over()


def talk(host, p, seen, seconds):
    """Something new twice a minute for so many seconds, or until patience is over; returns how long that took."""
    begun = host.now
    while host.now - begun < seconds and not p.over():
        seen.append("more")
        host.goes_on(30)
    return host.now - begun


def test_progress_makes_patience_new(host):
    seen = []
    p = patient(signs=lambda: len(seen))
    assert talk(host, p, seen, 1000) >= 1000
    assert not p.over()
    host.goes_on(61)
    assert p.over() and p.why().startswith("nothing new for 60 s ")


def test_what_talks_for_ever_is_given_up(host):
    """A script in a loop that prints; on a busy host, too, but for no longer than it is allowed by itself."""
    seen = []
    p = patient(signs=lambda: len(seen))
    host.goes_on(5000, starved=5000)
    assert not p.over()
    assert 1200 <= talk(host, p, seen, 10000) <= 1230
    assert p.over() and p.why().startswith("no end within 1200 s ")


def test_threads_come_and_go(host):
    p = patient()
    late = host.thread.parent.parent / "9/schedstat"
    late.parent.mkdir()
    late.write_text("5 999000000000 1\n")    # it has waited before anybody looked
    host.goes_on(61)
    assert p.over()
    host.thread.unlink()
    host.goes_on(1)
    assert p.over()


def test_until(host):
    p, calls = patient(), []

    def pause():
        calls.append(host.now)
        host.goes_on(30)
    assert patience.until(lambda: len(calls) == 2, p, pause)
    assert not patience.until(lambda: False, patient(), pause)
    assert len(calls) == 5


@pytest.mark.usefixtures("host")
def test_a_process_that_ends_while_it_is_looked_at(monkeypatch):
    scandir = os.scandir

    def gone(path="."):
        if str(path).endswith("7/task"):
            raise FileNotFoundError(path)
        return scandir(path)
    assert patience.waited([7])
    monkeypatch.setattr(os, "scandir", gone)
    assert not patience.waited([7])


def test_a_process_that_ends_and_one_that_does_not():
    def start(program):
        return subprocess.Popen(["sh", "-c", f"{sys.executable} -c '{program}'; true"], stdout=subprocess.PIPE, text=True)
    with start("print(7)") as proc:
        assert patience.communicate(proc, 60)[0] == "7\n"
    with start("import time; print(8, flush=True); time.sleep(1000)") as proc:
        assert patience.communicate(proc, 1) is None
        assert len(patience.tree(proc.pid)) == 2
        patience.kill(proc.pid)
        assert proc.communicate()[0] == "8\n", "what it had said is not lost"


def test_the_output_of_a_command():
    assert patience.output(["sh", "-c", "echo 7; echo 8 >&2; exit 9"], 60) == (9, "7\n", "8\n")
    with pytest.raises(SystemExit, match="sleep 1000: no end within 1 s"):
        patience.output(["sleep", 1000], 1)
