# SPDX-License-Identifier: GPL-2.0-only
"""The harness itself: a machine that dies is a VMError that says so, never anything else."""

import signal

import pytest

import conftest
import patience
import vm


def test_a_machine_that_gets_nowhere_or_is_dead_is_a_vm_error(monkeypatch):
    with conftest.new_vm(modules=[], memory="512M") as machine:
        # Longer than its limit, which holds from one sign of progress to the next.
        assert machine.sh("for n in $(seq 15); do echo $n; sleep 0.4; done", timeout=5)
        with pytest.raises(vm.VMError, match="nothing new for .* s of the machine's own time"):
            machine.sh("sleep 1000", timeout=5)
        with monkeypatch.context() as patch, pytest.raises(vm.VMError, match="no end within .* though it gets on"):
            patch.setattr(patience, "ROUNDS", 2)
            machine.sh("for n in $(seq 600); do echo $n; sleep 0.1; done", timeout=5)
        with monkeypatch.context() as patch, pytest.raises(vm.VMError, match="said more than 1 MiB"):
            patch.setattr(vm, "SAID_MOST", 1 << 20)
            machine.sh("yes")
        job = machine.spawn("sleep 1000")
        machine.proc.send_signal(signal.SIGKILL)
        with pytest.raises(vm.VMError, match="QEMU ended with status -9"):
            job.wait(timeout=30)
        with pytest.raises(vm.VMError, match="QEMU ended with status -9"):
            machine.sh("true")


@pytest.mark.parametrize("death", [vm.VMError, vm.ConsoleError])
def test_boot_that_breaks_is_tried_again(monkeypatch, death):
    boots = []

    def boot(self, timeout):
        boots.append(timeout)
        raise death("the boot")
    machine = conftest.new_vm(modules=[])
    monkeypatch.setattr(machine, "_boot", boot.__get__(machine))
    monkeypatch.setattr(machine, "kill", lambda: None)
    monkeypatch.setattr(machine, "cleanup", lambda: None)
    with pytest.raises(death):
        machine.start()
    assert len(boots) == 3


@pytest.mark.parametrize("death", [ConnectionResetError, vm.VMError, vm.ConsoleError])
def test_broken_kvm_means_emulation(monkeypatch, tmp_path, death):
    """The trial must not decide a test: if it dies for any reason, software emulation is used."""
    def boot(self, timeout):
        raise death("the trial")
    monkeypatch.setattr(vm.VM, "_boot", boot)
    monkeypatch.setattr(vm, "BUILD", tmp_path)
    monkeypatch.setattr(vm.os, "access", lambda path, mode: True)
    assert vm._kvm_trial() == "tcg"
    assert (tmp_path / "vm" / "accel").read_text().endswith(" tcg\n")
