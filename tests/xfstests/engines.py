# SPDX-License-Identifier: GPL-2.0-only
"""The two guests in which xfstests runs: User Mode Linux, and QEMU over this host's files."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
BUILD = TOP / "build"
sys.path.insert(0, str(TOP / "tests/kit"))

import patience    # noqa: E402  pylint: disable=wrong-import-position


class Guest:
    """A guest that runs; what it prints goes to the file out."""

    def __init__(self, command, out, env=None):
        with open(out, "wb") as stream:
            # pylint: disable-next=consider-using-with
            self.proc = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=stream,
                                         stderr=subprocess.STDOUT, start_new_session=True, env=env)

    @property
    def lives(self):
        return self.proc.poll() is None

    def kill(self):
        """Ends the guest with all its processes, which may have sessions of their own."""
        patience.kill(self.proc.pid)
        self.proc.wait()


class Uml:
    """Native speed, one CPU; the same source of the kernel, built for ARCH=um."""
    slow = 1
    lanes = "lanes=4,lane_by=dir"

    def __init__(self, args):
        self.memory = args.memory
        self.uml = BUILD / "xfstests/uml"
        if not (self.uml / "done").exists():
            sys.exit("xfstests: no User Mode Linux in build/xfstests/uml; tests/xfstests/build-uml makes it")
        self.kernel = (self.uml / "release").read_text().strip()
        extra = self.uml / f"modules/lib/modules/{self.kernel}/extra"
        self.modules = [extra / "zjournal.ko", extra / "zext4.ko"]

    @staticmethod
    def load(_):
        return "modprobe zext4 register_as=ext4"

    def start(self, checkout, results, out):
        # At each system call it changes from one process to another, which is cheapest on one CPU.
        return Guest(["taskset", "-c", str(max(os.sched_getaffinity(0))),
                      self.uml / "linux-um", f"mem={self.memory}", "rootfstype=hostfs", "rootflags=/", "ro",
                      f"init={HERE}/uml-init", "con=null", "ssl=null", "con0=fd:0,fd:1", "quiet", "loglevel=1",
                      f"XFS_MODULES={self.uml}/modules", f"XFS_CHECKOUT={checkout}", f"XFS_RESULTS={results}",
                      f"XFS_GUEST={HERE}/guest.sh"], out)


class Qemu:
    """The distribution's own kernel with several CPUs, by virtme-ng; slow without KVM."""
    lanes = "lanes=4"

    def __init__(self, args):
        sys.path.insert(0, str(TOP / "tests/vm"))
        import vm                                           # pylint: disable=import-outside-toplevel
        self.memory, self.cpus = args.memory, args.cpus
        found = vm.Kernel.find()
        self.kernel, self.image = found.version, found.image
        self.modules = found.own_modules()[:2]
        self.kvm = "kvm" in vm.accel()
        self.slow = 1 if self.kvm else 12

    @staticmethod
    def load(modules):
        return "modprobe -a mbcache crc16 libcrc32c && insmod {} && insmod {} register_as=ext4".format(
            *(shlex.quote(str(m)) for m in modules))

    def start(self, checkout, results, out):
        inside = f"bash {HERE}/guest.sh {shlex.quote(str(checkout))} {shlex.quote(str(results))}"
        vng = [str(BUILD / "venv/bin/vng"), "-r", str(self.image), "--cpus", str(self.cpus), "--memory", self.memory,
               "--disable-microvm", "--rwdir", str(checkout), "--rwdir", str(results)]
        vng += [] if self.kvm else ["--disable-kvm"]
        # vng wants a terminal; script(1) gives it one.
        return Guest(["script", "-qec", shlex.join([*vng, "--", inside]), "/dev/null"], out,
                     {**os.environ, "PATH": f"{BUILD}/venv/bin:{os.environ['PATH']}"})


ENGINES = {"uml": Uml, "qemu": Qemu}
