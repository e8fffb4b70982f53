# SPDX-License-Identifier: GPL-2.0-only
"""Power cuts: one run's writes and flushes are recorded, the disk is rebuilt as a cut at any
moment would have left it, recovered and checked (tests/vm/crash/crash.sh).  Every cut is a test.
ZJ_CUTS=200 makes so many in each battery."""

import os
import re

import pytest

import conftest
import uml

# Small groups, so that each lane has a region of its own.
REGIONS = "alloc=core 'MKFS_OPTS=-b 4096 -J size=16 -g 1024 -G 4 -O orphan_file'"

BATTERIES = {
    "ordered": dict(cuts=20, args="DATA=ordered"),
    "journal": dict(cuts=14, args="DATA=journal"),
    "writeback-no-fua": dict(cuts=6, args="DATA=writeback FUA=0"),
    "zjctl": dict(cuts=8, args="DATA=ordered 'RECOVER=zjctl recover --no-fsck' 'MKFS_OPTS=-b 4096 -J size=16 -O orphan_file'"),
    # Each cut by zext4, by e2fsck, by zjctl and by a stock mount.
    "jbd2": dict(cuts=7, args="DATA=ordered MOUNT_OPTS=lanes=1,log=jbd2 OTHERS=1 'MKFS_OPTS=-b 4096 -J size=4'"),
    "jbd2-journal-no-fua": dict(cuts=4, args="DATA=journal FUA=0 MOUNT_OPTS=lanes=1,log=jbd2 OTHERS=1"),
    # Files' contents at the marks of their fsyncs.
    "fsx": dict(cuts=6, args="LOAD=fsx DATA=ordered NESTED=0"),
    # Pages with several blocks, which are not all logged; and so little log that home writes race.
    "fsx-1k": dict(cuts=6, args="LOAD=fsx DATA=ordered NESTED=0 'MKFS_OPTS=-b 1024 -J size=4'"),
    "fsx-disturbed": dict(cuts=6, args="LOAD=fsx DATA=ordered NESTED=0 DISTURB=1 MOUNT_OPTS=lanes=4 'MKFS_OPTS=-b 1024 -J size=4'"),
    "fsx-mixed": dict(cuts=6, args="LOAD=fsx DATA=ordered NESTED=0 MIXED=1 MOUNT_OPTS=lanes=4 'MKFS_OPTS=-b 1024 -J size=4'"),
    "fsx-frozen": dict(cuts=6, args="LOAD=fsx DATA=ordered NESTED=0 DISTURB=freeze"),
    "small-journal": dict(cuts=6, args="DATA=ordered 'MKFS_OPTS=-b 4096 -J size=4'"),
}
if conftest.FSTYPE == "zext4":
    BATTERIES["lane-by-dir"] = dict(cuts=6, args=f"DATA=ordered MOUNT_OPTS=lanes=4,lane_by=dir,{REGIONS}")
    BATTERIES["pipeline"] = dict(cuts=6, args=f"DATA=journal MOUNT_OPTS=lanes=4,tune=pipeline:on+versions:2,{REGIONS}")
JOBS = 4
CUTS = int(os.environ.get("ZJ_CUTS", "0"))
# One condition each for file data in the log; only with ZJ_CUTS.
FSX = "LOAD=fsx DATA=ordered NESTED=0"
ALONE = {
    "fsx-aio": f"{FSX} BESIDE=aio DISTURB=1 'MKFS_OPTS=-b 1024 -J size=4' MOUNT_OPTS=dioread_lock",
    "fsx-uring": f"{FSX} BESIDE=uring DISTURB=1",
    "fsx-memory": f"{FSX} MEMORY=4M DISTURB=1 'MKFS_OPTS=-b 4096 -J size=32'",
    "fsx-log-1m": f"{FSX} 'MKFS_OPTS=-b 1024 -J size=1'",
    "fsx-log-4m": f"{FSX} 'MKFS_OPTS=-b 4096 -J size=4'",
    "fsx-bigalloc": f"{FSX} UNIT=16384 'MKFS_OPTS=-b 4096 -J size=8 -O bigalloc -C 16384'",
    "fsx-quota": f"{FSX} 'MKFS_OPTS=-b 4096 -J size=8 -O quota,project'"
                 " MOUNT_OPTS=prjquota",
    "fsx-discard": f"{FSX} TRIM=1 DISTURB=1 'MKFS_OPTS=-b 1024 -J size=8' MOUNT_OPTS=discard",
    "fsx-resize": f"{FSX} 'GROW=40 120' 'MKFS_OPTS=-b 1024 -J size=4'",
    "fsx-snapshots": f"{FSX} SNAPSHOTS=1",
    "fsx-no-fua": f"{FSX} FUA=0 DISTURB=1 'MKFS_OPTS=-b 1024 -J size=8'",
}
if conftest.FSTYPE == "zext4":
    ALONE["fsx-lane-by-dir"] = f"{FSX} DIRS=1 MOUNT_OPTS=lanes=4,lane_by=dir,{REGIONS}"
if CUTS:
    BATTERIES |= {name: dict(args=args) for name, args in ALONE.items()}
    for battery_ in BATTERIES.values():
        battery_["cuts"] = CUTS

_results = {}


@pytest.fixture(name="machine", scope="module")
def machine_fixture():
    """One VM for all batteries; each frees the memory of its disks before the next begins."""
    guest = conftest.Guest(cpus=uml.cpus(4), memory="4G", stock=["dm_snapshot"])
    yield guest
    guest.close()


def battery(name, machine):
    """Run one battery, once; its result lines."""
    if name not in _results:
        _results[name] = ["not ok the battery raised: the first test that asked for it says why"]
        what = BATTERIES[name]
        guest = machine.ensure()
        guest.checked = len(guest.console_text())
        try:
            result = guest.sh(f"""
                modprobe zjdisk ndev={1 + 3 * JOBS} || die "zjdisk"
                [ -e /dev/zjdctl ] || die "no zjdctl"
                modprobe $FS
                sh /lib/zj/crash.sh FSTYPE=$FS {what['args']} CUTS={what['cuts']} JOBS={JOBS} \\
                    SEED=$(date +%s) TIME=4 BIN=/usr/bin
            """, timeout=max(570, 20 * CUTS))
        except BaseException:
            machine.stop()
            raise
        lines = re.findall(r"^(?:not )?ok .*(?:\n# .*)*", result.out, re.M)
        if result.rc == 2 or not lines:
            lines = [f"not ok the battery did not run: {result.out[-3000:]}"]
        try:
            guest.check_console()
        except AssertionError as error:
            lines.insert(0, f"not ok console: {error}")
        if result.rc or not guest.sh("rmmod zjdisk"):
            machine.stop()
        _results[name] = lines
    return _results[name]


@pytest.mark.parametrize("name", BATTERIES)
def test_load_and_console(name, machine):
    lines = battery(name, machine)
    assert not [line for line in lines if "load without a cut" in line and line.startswith("not")], lines
    assert not lines[0].startswith("not ok console"), lines[0]
    assert not [line for line in lines if line.startswith("not ok kernel messages")], lines
    assert len([line for line in lines if "cut=" in line]) >= BATTERIES[name]["cuts"], lines[-1]


@pytest.mark.parametrize("name,n", [(b, n) for b in BATTERIES for n in range(BATTERIES[b]["cuts"])])
def test_power_cut(name, n, machine):
    """The n-th cut of a battery, with the cut inside its recovery, if any."""
    cuts = [line for line in battery(name, machine) if "cut=" in line]
    first = [line for line in cuts if "in-recovery" not in line and "by-" not in line]
    nested = [line for line in cuts if "in-recovery" in line]
    assert n < len(first), "the battery ended early: " + "\n".join(battery(name, machine)[-3:])
    assert first[n].startswith("ok"), first[n]
    if "OTHERS" in BATTERIES[name]["args"]:
        which = re.search(r"cut=\d+ seed=\d+", first[n])[0]
        for who in ("e2fsck", "zjctl", "ext4"):
            lines = [line for line in cuts if f"by-{who}: {which}" in line]
            assert lines
            assert all(line.startswith("ok") for line in lines), "\n".join(lines)
    # Later cuts than there are pairs have nothing nested.
    if n < len(nested):
        assert nested[n].startswith("ok"), nested[n]


def test_recording_disk(machine):
    """The recording disk that the batteries use: what it keeps, loses and refuses."""
    with machine.recording() as guest:
        for option in ("ndev=0", "size_mb=0", "size_mb=4000000000"):
            assert not guest.sh(f"dmesg -c >/dev/null; modprobe zjdisk {option}")
            assert "size_mb 1 to 524288" in guest.sh("dmesg | grep zjdisk:").out
        result = guest.sh("modprobe zjdisk ndev=2 || die zjdisk\nzjdisk-test", timeout=120)
        assert result, result.out
        # mke2fs discards 2 GiB at a time, of which the disk makes requests of 8 MiB.
        large = guest.sh("rmmod zjdisk; modprobe zjdisk ndev=1 size_mb=4096 && mke2fs -q -F -E discard /dev/zjd0 && "
                           "cat /dev/zjdctl")
        assert large and int(re.search(r" discards=(\d+)", large.out)[1]) >= 4096 / 8, large.out


def test_battery_finds_loss(machine):
    """On a disk that ignores flushes or FUA, cuts must fail; otherwise the batteries prove nothing."""
    # What the kernel says of such a disk is its affair.
    with machine.recording(allow=(".*",)) as guest:
        assert guest.sh(f"modprobe zjdisk ndev={1 + 2 * JOBS} && modprobe $FS")
        for how in ("LIE=3 TIME=6 CUTS=24", "LOAD=fsx LIE=2 TIME=3 CUTS=8"):
            result = guest.sh(f"""
                sh /lib/zj/crash.sh FSTYPE=$FS DATA=ordered NESTED=0 JOBS={JOBS} {how} \\
                    SEED=$(date +%s) BIN=/usr/bin
            """, timeout=300)
            assert result.rc == 1, result.out[-3000:]
            assert "not ok cut=" in result.out


@pytest.mark.skipif(not CUTS, reason="only with ZJ_CUTS=, like the batteries of these conditions")
@pytest.mark.parametrize("name", ALONE)
def test_condition_finds_loss(name):
    """Each condition under which file data was tried notices a disk that ignores flushes and FUA."""
    with conftest.new_vm(cpus=4, memory="4G", stock=["dm_snapshot"]) as machine:
        machine.allow = (".*",)
        result = machine.sh(f"""
            modprobe zjdisk ndev={1 + 3 * JOBS} && modprobe $FS || die "no disk"
            sh /lib/zj/crash.sh FSTYPE=$FS {ALONE[name]} LIE=3 TIME=4 CUTS=24 JOBS={JOBS} \\
                SEED=$(date +%s) BIN=/usr/bin
        """, timeout=570)
        assert result.rc == 1, result.out[-3000:]
        assert "not ok cut=" in result.out
