# SPDX-License-Identifier: GPL-2.0-only
"""One VM is shared by many tests; a test that breaks it gets a fresh one started for the next."""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

import uml
import vm as vmlib

FSTYPE = os.environ.get("FSTYPE", "zext4")
PROGRAMS = sorted((vmlib.BUILD / "guest").glob("*"))

CLEAN = r"""
sync
for n in 1 2 3 4; do
	grep -q ' /mnt' /proc/mounts || break
	for m in $(awk '$2 ~ "^/mnt" {print $2}' /proc/mounts | sort -r); do umount $m; done
done
! grep /mnt /proc/mounts || exit 1
if [ -e /dev/mapper/control ]; then dmsetup remove_all --force; fi
"""


class Guest:
    """A lazily started VM with three disks that tests may do anything to."""

    def __init__(self, **options):
        self.options = options
        self.vm = None
        self.disks = tempfile.TemporaryDirectory(prefix="zjdisks-")

    def ensure(self):
        if self.vm and self.vm.running:
            return self.vm
        self.stop()
        disks = [vmlib.Disk(f"{self.disks.name}/{n}.img", size=s)
                 for n, s in enumerate(("256M", "256M", "64M"))]
        modules = [m for m in vmlib.Kernel.find().own_modules() if m.stem == "zjdisk"] if FSTYPE == "ext4" else None
        self.vm = new_vm(disks=disks, modules=modules, **self.options)
        self.vm.start()
        return self.vm

    @contextlib.contextmanager
    def recording(self, *, allow=()):
        """The machine, for a test that loads the recording disk; if it fails or allows complaints, nobody else gets it."""
        machine = self.ensure()
        machine.checked, machine.allow = len(machine.console_text()), allow
        try:
            yield machine
            machine.check_console()
            kept = not allow and machine.sh("rmmod zjdisk")
        except BaseException:
            self.stop()
            raise
        if not kept:
            self.stop()

    def stop(self):
        if self.vm:
            self.vm.kill()
            self.vm.cleanup()
            self.vm = None

    def close(self):
        self.stop()
        self.disks.cleanup()


def new_vm(**options):
    """A VM with our programs; the variable FS is set in every script."""
    machine = uml.machine(programs=PROGRAMS, **options)
    machine.prelude = f"FS={FSTYPE}\n"
    # With erms and fsrm a kernel copies by instructions that emulation executes byte by byte. After a cmpxchg16b
    # (cx16) QEMU 7.2 may have garbage in the flags until the next comparison, which an interrupt saves: a kernel
    # complaint out of nowhere. Benches leave the kernel the choice.
    machine.cpu = "max,-erms,-fsrm,-cx16"
    return machine


@pytest.fixture(scope="session")
def shared_guest():
    guest = Guest(cpus=2)
    yield guest
    guest.close()


@pytest.fixture
def guest(request, shared_guest):
    """run(script, timeout, rc) on the shared VM; the console must stay free of complaints."""
    machine = shared_guest.ensure()
    machine.checked = len(machine.console_text())
    marker = request.node.get_closest_marker("allow")
    machine.allow = marker.args if marker else ()
    try:
        yield Runner(machine)
        machine.check_console()
        if not machine.sh(CLEAN, timeout=60):
            shared_guest.stop()
    except BaseException:
        shared_guest.stop()
        raise


class Runner:
    def __init__(self, machine):
        self.vm = machine

    def __call__(self, script, timeout=120, rc=0):
        result = self.vm.sh(script, timeout=timeout)
        if result.rc == 77:    # lib.sh: lacks
            pytest.skip(result.out.splitlines()[-1])
        tail = "\n".join(self.vm.console_text().splitlines()[-25:])
        assert result.rc == rc, f"exit status {result.rc}:\n{result.out}\nconsole:\n{tail}"
        return result.out


def pytest_runtest_setup(item):
    if item.get_closest_marker("zext4") and FSTYPE != "zext4":
        pytest.skip("only for zext4")
    if item.get_closest_marker("programs") and not PROGRAMS:
        pytest.fail("build/guest is empty; run make guest-programs")


@pytest.fixture
def tmp(tmp_path):
    return Path(tmp_path)
