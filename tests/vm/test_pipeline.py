# SPDX-License-Identifier: GPL-2.0-only
"""Concurrent commit: its options, and what its statistics say about a load of fsyncs."""

import re

import pytest

import conftest

pytestmark = pytest.mark.zext4


@pytest.fixture(scope="module")
def machine():
    with conftest.new_vm(cpus=2, memory="2G") as guest:
        assert guest.sh("modprobe zjdisk ndev=1 && modprobe $FS")
        yield guest


def number(text, what):
    return float(re.search(rf"([\d.]+) {what}", text).group(1))


@pytest.mark.parametrize("options,on", [
    ("lanes=1", "on"), ("lanes=1,tune=versions:1", "on"), ("lanes=1,log=zj", "off"), ("lanes=2,tune=pipeline:on", "on"),
    ("lanes=1,tune=pipeline:off", "off")])
def test_fsyncs_of_eight(machine, options, on):
    """Eight writers in one directory; what they wrote is there, and is counted. Stock's format is pipelined."""
    out = machine.sh(f"""
        mk /dev/zjd0; mnt /dev/zjd0 commit=300,{options}
        mkdir /mnt/d; loadgen -d /mnt/d -w 8 -n 30 -t fsync-create -s -r -u || die loadgen
        cat /proc/fs/zjournal/*/info
        unmnt; fsck /dev/zjd0
    """, timeout=180)
    machine.check_console()
    assert out, out.out
    assert f"pipeline: {on}, runs of 16 at most" in out.out
    below = sum(int(n) for n in re.findall(r"^  (\d+) (?:below \d+us|longer)$", out.out, re.M))
    # Two may count at once.
    assert 150 <= below <= 260
    if on == "on" and "versions" not in options:
        assert number(out.out, "conflicts per transaction") < 2
    assert number(out.out, "flushes per fsync") <= 2.5


def test_options(machine):
    out = machine.sh("""
        mk /dev/zjd0; mark
        mnt /dev/zjd0 lanes=1
        info() { grep ^pipeline: /proc/fs/zjournal/*/info; }
        info
        mount -o remount,tune=versions:1+coalesce:off,tune=flush_batch:3 /mnt || die remount
        info
        grep -q tune=flush_batch:3+versions:1+coalesce:off /proc/mounts || die "not shown"
        unmnt; mnt /dev/zjd0 lanes=4; info
        unmnt; fsck /dev/zjd0
    """, timeout=60)
    machine.check_console()
    assert out, out.out
    assert "pipeline: on, runs of 16 at most, 5 versions, coalescing on" in out.out
    assert "pipeline: on, runs of 3 at most, 1 versions, coalescing off" in out.out
    assert "pipeline: off" in out.out
