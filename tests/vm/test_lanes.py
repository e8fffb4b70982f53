# SPDX-License-Identifier: GPL-2.0-only
"""The causality oracle, a sample: what is recovered is what some of the operations give, and all
that was synced is there.  make ace runs all of it; tests/vm/lanes/zjace.c says what is done."""

import re
import subprocess
import sys

import pytest

import conftest
import vm as vmlib

sys.path.insert(0, str(vmlib.HERE / "lanes"))
import ace  # noqa: E402 pylint: disable=wrong-import-position

# Profiles of file systems; lanes/ties.py shows that each named workload finds its tie taken out.
PROFILES = sorted({tie.profile for tie in ace.all_ties()})
SAMPLE = 16
SEED = 1


def in_guest(guest, command, rc=0, profile=ace.PROFILES["default"]):
    """zjace in the guest, on recording disks of its own."""
    return guest(f"""
        [ $FS = ext4 ] || modprobe ext4
        modprobe $FS
        modprobe zjdisk ndev=3 size_mb={profile.disk} || die zjdisk
        echo 1 >/sys/kernel/rcu_expedited
        # Each workload is stopped by a shutdown, which the kernel tells.
        dmesg -n 2
        {profile.base()} || die base
        {command}
        rc=$?
        echo 0 >/sys/kernel/rcu_expedited
        dmesg -n 8
        rmmod zjdisk || die rmmod
        exit $rc
    """, timeout=300, rc=rc)


OPTIONS = ace.options(conftest.FSTYPE, "qemu")


@pytest.mark.parametrize("tie", [tie.name for tie in ace.all_ties()])
def test_tie_can_be_taken_out(tie):
    """The patch of removed-fixes fits the sources; make ties builds and runs it."""
    done = subprocess.run(["patch", "--dry-run", "--fuzz=0", "-f", "-p1", "-d", ace.TOP, "-i", ace.FIXES / f"{tie}.patch"],
                          capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout


@pytest.mark.parametrize("profile", PROFILES)
def test_named_workloads(guest, profile):
    """For each tie, those that show it missing."""
    named = ace.named(profile)
    options = ace.options(conftest.FSTYPE, "qemu", profile)
    out = in_guest(guest, "".join(f'\n zjace one $FS {options} "{text}" || rc1=1' for text in named) +
                   "\n [ -z $rc1 ]", profile=ace.PROFILES[profile])
    assert len(re.findall(rf"^{conftest.FSTYPE}: [1-9]\d* cuts, 0 failed", out, re.M)) == len(named), out


def test_sample(guest):
    out = in_guest(guest, f"zjace sample $FS {OPTIONS} {SEED} {SAMPLE}")
    assert f"workloads={SAMPLE} " in out and "failed=0" in out, out
    # Recovery has seen lines; with stock's log there are none.
    assert re.search(r" lines=[1-9]", out) or conftest.FSTYPE != "zext4", out


@pytest.mark.zext4
def test_oracle_finds_loss(guest):
    """If the disk ignores flushes, the oracle must fail."""
    out = in_guest(guest, f'ZJACE_LIE=3 zjace one $FS {OPTIONS} "mkdir-q@0 create-k@1 all@1"', rc=1)
    assert "FAIL mkdir-q@0 create-k@1 all@1" in out, out
