# SPDX-License-Identifier: GPL-2.0-only
"""The causality oracle, a sample: what is recovered is what some of the operations give, and all
that was synced is there.  make ace runs all of it; tests/vm/lanes/zjace.c says what is done."""

import re
import sys

import pytest

import conftest
import vm as vmlib

sys.path.insert(0, str(vmlib.HERE / "lanes"))
import ace  # noqa: E402 pylint: disable=wrong-import-position

# Losses of the past: tests/vm/lanes/removed-fixes/run shows that each fails without its fix.
FOUND = {
    "a directory below itself": "mv-c-q@0 mv-a-k@1 /q/c/k@1",
    "the same by an exchange": "exchange-dirs@0 mv-a-v@1 /p/b/v/k@1",
    "a salt that was returned": "salt@0 salt-kept@1 /q/g@1",
}
PROFILE = ace.PROFILES["default"]
SAMPLE = 16
SEED = 1


def in_guest(guest, command, rc=0):
    """zjace in the guest, on recording disks of its own."""
    return guest(f"""
        [ $FS = ext4 ] || modprobe ext4
        modprobe $FS
        modprobe zjdisk ndev=3 size_mb={PROFILE.disk} || die zjdisk
        echo 1 >/sys/kernel/rcu_expedited
        # Each workload is stopped by a shutdown, which the kernel tells.
        dmesg -n 2
        {PROFILE.base()} || die base
        {command}
        rc=$?
        echo 0 >/sys/kernel/rcu_expedited
        dmesg -n 8
        rmmod zjdisk || die rmmod
        exit $rc
    """, timeout=300, rc=rc)


OPTIONS = ace.options(conftest.FSTYPE, "qemu")


def test_what_was_lost_once(guest):
    out = in_guest(guest, "".join(f'\n zjace one $FS {OPTIONS} "{text}" || rc1=1' for text in FOUND.values()) +
                   "\n [ -z $rc1 ]")
    assert len(re.findall(rf"^{conftest.FSTYPE}: [1-9]\d* cuts, 0 failed", out, re.M)) == len(FOUND), out


def test_sample(guest):
    out = in_guest(guest, f"zjace sample $FS {OPTIONS} {SEED} {SAMPLE}")
    assert f"workloads={SAMPLE} " in out and "failed=0" in out, out


@pytest.mark.zext4
def test_oracle_finds_loss(guest):
    """If the disk ignores flushes, the oracle must fail."""
    out = in_guest(guest, f'ZJACE_LIE=3 zjace one $FS {OPTIONS} "mkdir-q@0 create-k@1 all@1"', rc=1)
    assert "FAIL mkdir-q@0 create-k@1 all@1" in out, out
