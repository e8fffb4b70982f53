# SPDX-License-Identifier: GPL-2.0-only
"""Boots User Mode Linux, a program, where vm.py boots QEMU: what needs no hardware runs natively, on several CPUs."""

import socket
import subprocess

import pytest

import vm

DISKS = 16    # at most


def wanted(kernel):
    """Is the kernel a program?"""
    return kernel.image.name == "linux-um"


def cpus(most):
    """How many CPUs leave stores through mappings alone: a process that runs keeps what another CPU has write-protected."""
    return 1 if wanted(vm.Kernel.find()) else most


def machine(**options):
    """A guest of the kernel that is to be booted."""
    return (UmlVM if wanted(vm.Kernel.find()) else vm.VM)(**options)


class UmlVM(vm.VM):
    """A guest with disks that are files, vda and so on; it has no other hardware."""

    def start(self, timeout=90):
        if self.pmem or self.qemu_args or any(d.nbd or d.iface != "virtio" or d.options for d in self.disks):
            pytest.skip("User Mode Linux has disks that are files, and no other hardware")
        return self._boot(timeout)

    def _command(self, initrd):
        self.sock, self.guest_end = socket.socketpair()
        self.sock.settimeout(0.2)
        for disk in self.disks:
            if disk.size:
                vm.make_image(disk.path, disk.size)
        agent = self.guest_end.fileno()
        return [str(self.kernel.image), f"mem={self.memory}", f"ncpus={self.cpus}", "seccomp=on",
                f"initrd={initrd}", "con=null", "ssl=null", "con0=fd:0,fd:1", f"ssl1=fd:{agent},fd:{agent}",
                f"uml_dir={self.dir}", "umid=uml", "quiet", "panic=-1", "slab_nomerge", f"ZJ_SHARE={self.share}",
                *self.cmdline.split(), *(f"ubd{n}={disk.path}" for n, disk in enumerate(self.disks))]

    def _launch(self, command, log):
        """The kernel says everything on its standard output."""
        with open(self.console, "wb") as console:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=log,
                                    pass_fds=[self.guest_end.fileno()], start_new_session=True)

    def _connect(self):
        self.guest_end.close()
