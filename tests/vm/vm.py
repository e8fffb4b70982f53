# SPDX-License-Identifier: GPL-2.0-only
"""Boots a kernel in QEMU and runs shell scripts in it.

    with VM(modules=[...], disks=[Disk("a.img", size="256M")]) as vm:
        result = vm.sh("mke2fs -q -t ext4 /dev/vda && echo made")

A script's output and exit status come back as a Result.  What the kernel says
goes to a console file; check_console() raises when it holds a complaint.
"""

import atexit
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import bare
import pack

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kit"))

from patience import Patience, until    # noqa: E402  pylint: disable=wrong-import-position

ROOT = HERE.parent.parent
BUILD = ROOT / "build"

COMPLAINTS = [
    r"BUG:", r"WARNING: ", r"\bOops\b", r"KASAN", r"UBSAN", r"general protection fault",
    r"Kernel panic", r"INFO: task .* blocked for more than", r"soft lockup", r"hard LOCKUP",
    r"hung task", r"rcu.*detected.*stall", r"kernel BUG at", r"refcount_t:", r"list_(add|del) corruption",
    r"Objects remaining in", r"still has objects", r"scheduling while atomic",
    r"possible recursive locking", r"circular locking", r"inconsistent lock state",
]

# What consoles and scripts say is read as a whole, and kept in memory; the most of any test is a hundredth.
SAID_MOST = 256 << 20
# Limits of patience (tests/kit/patience.py) are multiplied by this: debug kernels are slow.
SLOW = float(os.environ.get("ZJ_SLOW", "1"))

_living = set()


def _kill_all():
    for vm in list(_living):
        vm.kill()


atexit.register(_kill_all)


class VMError(Exception):
    """The VM did not boot, died or did not answer in time."""


class ConsoleError(AssertionError):
    """The kernel complained on the console."""


@dataclass
class Kernel:
    """What to boot: version, image and the directory of its modules."""
    version: str
    image: Path
    moddir: Path

    @staticmethod
    def find():
        """The kernel named by ZJ_KVER (and ZJ_KIMAGE, ZJ_MODDIR), else that of "make modules"."""
        version = os.environ.get("ZJ_KVER")
        if not version:
            version = subprocess.run([ROOT / "tools/kver"], check=True, capture_output=True, text=True).stdout.strip()
            if not version:
                raise VMError("no 6.12 kernel with headers in /lib/modules; run tools/deps")
        # Not installed: one that tools/debian-kernel has brought.
        root = Path("/") if Path(f"/lib/modules/{version}/modules.dep").exists() else BUILD / "kernels" / version
        image = Path(os.environ.get("ZJ_KIMAGE", root / f"boot/vmlinuz-{version}"))
        return Kernel(version, image, Path(os.environ.get("ZJ_MODDIR", root / f"lib/modules/{version}")))

    def own_modules(self):
        return pack.own_modules(BUILD / f"kmod-{self.version}")


@dataclass
class Disk:
    """A disk of the guest; vda, vdb, ... and nvme0n1, ... and sda, ... in the order given.

    path: image file, made sparse if size is given; or an NBD server's unix socket
    iface: virtio, nvme or scsi
    cache: QEMU's cache mode; unsafe shows the guest a volatile cache and syncs nothing here
    options: properties of QEMU's device, such as write-cache=off
    """
    path: str
    size: str = ""
    iface: str = "virtio"
    cache: str = "unsafe"
    nbd: bool = False
    options: str = ""

    def args(self, n):
        if self.nbd:
            drive = ["-blockdev", f"driver=nbd,node-name=disk{n},server.type=unix,"
                                  f"server.path={self.path},export=d,cache.direct=on,discard=unmap"]
        else:
            if self.size:
                make_image(self.path, self.size)
            drive = ["-drive", f"if=none,id=disk{n},format=raw,file={self.path},cache={self.cache}"]
        device = {"nvme": "nvme", "scsi": "scsi-hd,bus=scsi.0", "virtio": "virtio-blk-pci"}[self.iface]
        more = [self.options] if self.options else []
        if self.nbd and self.iface != "nvme" and "write-cache=" not in self.options:
            more.append("write-cache=on")
        return drive + ["-device", ",".join([f"{device},drive=disk{n},serial=disk{n}", *more])]


@dataclass
class Pmem:
    """Persistent memory of the guest; /lib/zj/pmem.sh makes it /dev/pmem0, ... there.

    size: a multiple of 2M
    path: file of an NVDIMM, made if need be; it keeps what was stored, even if the VM is
    killed.  Without one it is RAM that the kernel treats as persistent (memmap=).
    """
    size: str
    path: str = ""


@dataclass
class Result:
    rc: int
    out: str

    def __bool__(self):
        return self.rc == 0


@dataclass
class Job:
    """A script running in the guest."""
    vm: "VM"
    name: str
    rc: int | None = field(default=None)

    def output(self):
        path = self.vm.share / f"{self.name}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait(self, timeout=120):
        """timeout: seconds of the guest's own time without anything new (tests/kit/patience.py)"""
        self.vm._wait(lambda: self.name in self.vm.finished, timeout, f"script {self.name}")
        self.rc = self.vm.finished[self.name]
        return Result(self.rc, self.output())


def guest_scripts():
    """Pairs (path in the guest, script)"""
    found = [("lib/zj", p) for where in (HERE / "guest", HERE / "crash", ROOT / "bench", ROOT / "demo")
             for p in where.glob("*.sh")]
    found += [("lib/zj/apps", p) for p in ROOT.glob("bench/apps/*.sh")]
    return sorted((f"{inside}/{p.name}", p) for inside, p in found)


def make_image(path, size):
    subprocess.run(["truncate", "-s", str(size), str(path)], check=True)


def bytes_of(size):
    """Bytes of a size in QEMU's notation, such as 64M."""
    number, unit = re.fullmatch(r"(\d+)([KMG]?)", str(size)).groups()
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]


PMEM_AT = 256 << 20    # above the kernel, below what QEMU puts at the end of the RAM


def pmem_args(memory, pmem):
    """QEMU's and the kernel's arguments for memory, including persistent memory."""
    ram = [p for p in pmem if not p.path]
    dimms = [p for p in pmem if p.path]
    total = bytes_of(memory) + sum(bytes_of(p.size) for p in ram)
    at, append = PMEM_AT, []
    for p in ram:
        append.append(f"memmap={bytes_of(p.size)}!{at}")
        at += bytes_of(p.size)
    if ram and at > 1792 << 20:
        raise VMError("pmem in RAM has to fit below 1.75G")
    args = ["-machine", "q35,nvdimm=on" if dimms else "q35"]
    most = total + sum(bytes_of(p.size) for p in dimms)
    args += ["-m", f"{total >> 20}M" + (f",slots={len(dimms)},maxmem={most >> 20}M" if dimms else "")]
    for n, p in enumerate(dimms):
        if not Path(p.path).exists():
            make_image(p.path, p.size)
        args += ["-object", f"memory-backend-file,id=pmem{n},share=on,mem-path={p.path},size={p.size},align=2M",
                 "-device", f"nvdimm,id=nvdimm{n},memdev=pmem{n}"]
    return args, " ".join(append)


def accel(threads="multi", cpu="max"):
    """QEMU's accelerator arguments: KVM if a short trial boots, otherwise software emulation.

    A guest that hibernates patches the kernel's text, which QEMU 7.2's emulation survives on a single thread only.
    """
    choice = os.environ.get("ZJ_ACCEL") or _kvm_trial()
    if choice == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", f"tcg,thread={threads}", "-cpu", cpu]


def _kvm_trial():
    """Boot the real guest under KVM for a few seconds; the answer is kept per boot of this host."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    cache = BUILD / "vm" / "accel"
    if cache.exists():
        known = cache.read_text().split()
        if len(known) == 2 and known[0] == boot_id:
            return known[1]
    answer = "tcg"
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        trial = VM(modules=[], cpus=2, accel=["-accel", "kvm", "-cpu", "host"])
        try:
            trial._boot(timeout=12)
            answer = "kvm" if trial.sh("true", timeout=5) else "tcg"
        except (VMError, ConsoleError, OSError):
            pass                         # for whatever reason, KVM does not boot our guest
        finally:
            trial.kill()
            trial.cleanup()
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(f"{boot_id} {answer}\n")
    return answer


class VM:
    cpu = "max"    # of software emulation

    def __init__(self, modules=None, disks=(), cpus=2, memory="1G", kernel=None, programs=(),
                 cmdline="", qemu_args=(), accel=None, pmem=(), stock=(), packed=False):
        self.kernel = kernel or Kernel.find()
        self.modules = self.kernel.own_modules() if modules is None else list(modules)
        self.disks = list(disks)
        self.cpus = cpus
        self.memory = memory
        self.programs = [Path(p) for p in programs]
        self.cmdline = cmdline
        self.qemu_args = list(qemu_args)
        self.accel = accel
        self.pmem = list(pmem)
        self.stock = list(stock)    # more of the kernel's own modules
        self.packed = packed    # boots the kernel's image as it is, which puts the kernel anywhere in memory
        self.allow = ()      # console messages that are no complaint
        self.prelude = ""    # goes before every script
        self.proc = None
        self.sock = None
        self.dir = None
        self.finished = {}
        self.checked = 0
        self._count = 0
        self._next_peek = 0
        self._buffer = b""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.kill()
        self.cleanup()

    # ---- life ----

    def start(self, timeout=90):
        """
        Boot; twice more if that fails: QEMU 7.2's emulation now and then breaks a boot.

        Under load it still executes an int3 that the kernel has patched away.
        Nothing of ours is loaded before it is over: a complaint of the kernel does not hide there.
        """
        for _ in range(2):
            try:
                return self._boot(timeout)
            except (VMError, ConsoleError) as error:
                print(f"vm: booting again after: {str(error).splitlines()[0]}")
                self.kill()
                self.cleanup()
        return self._boot(timeout)

    def _boot(self, timeout):
        self.finished, self._buffer = {}, b""
        self.dir = Path(tempfile.mkdtemp(prefix="zjvm-"))
        self.share = self.dir / "share"
        self.share.mkdir()
        self.console = self.dir / "console"
        initrd = pack.build(BUILD / "vm", self.kernel.version, self.kernel.moddir,
                            HERE / "guest" / "init", self.modules, self.programs,
                            guest_scripts(), self.stock)
        _living.add(self)
        with open(self.dir / "qemu.log", "wb") as log:
            self.proc = self._launch(self._command(initrd), log)
        self._connect()
        self._wait(lambda: "ready" in self.finished, timeout, "boot")

    def _command(self, initrd):
        memory, memmap = pmem_args(self.memory, self.pmem)
        kernel = self.kernel.image if self.packed else bare.kernel(self.kernel.image, BUILD / "vm")
        append = ("console=ttyS0 quiet panic=-1 mitigations=off no_timer_check "
                  "rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 tsc=reliable cryptomgr.notests "
                  # Caches of other modules must not live on in ours: a leak would hide there.
                  "slab_nomerge "
                  f"{memmap} {self.cmdline}")
        cmd = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
               "-no-reboot", *memory, "-smp", str(self.cpus),
               *(self.accel or accel(cpu=self.cpu)),
               "-kernel", str(kernel), "-initrd", str(initrd), "-append", append,
               "-chardev", f"file,id=con,path={self.console}", "-serial", "chardev:con",
               "-chardev", f"socket,id=agent,path={self.dir}/agent,server=on,wait=off",
               "-serial", "chardev:agent",
               "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none,"
                          "multidevs=forbid"]
        if any(disk.iface == "scsi" for disk in self.disks):
            cmd += ["-device", "virtio-scsi-pci,id=scsi"]
        for n, disk in enumerate(self.disks):
            cmd += disk.args(n)
        return cmd + self.qemu_args

    def _launch(self, command, log):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _connect(self):
        def connected():
            try:
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect(str(self.dir / "agent"))
                self.sock.settimeout(0.2)
                return True
            except OSError:
                self.sock.close()
                self._alive("QEMU did not start")
                return False

        if not until(connected, self._patience(20), lambda: time.sleep(0.05)):
            raise VMError("QEMU did not open its socket")

    def _alive(self, what):
        if self.proc.poll() is not None:
            qemu = (self.dir / "qemu.log").read_text(errors="replace")
            raise VMError(f"{what}: QEMU ended with status {self.proc.returncode}\n{qemu}"
                          f"{self.console_tail()}")

    def _patience(self, timeout):
        return Patience(timeout * SLOW, lambda: [self.proc.pid], self._progress)

    def _progress(self):
        """What differs when the guest has said, written or finished something."""
        files = [self.console, *self.share.iterdir()]
        sizes = []
        for path in files:
            with contextlib.suppress(OSError):
                sizes.append((path.name, path.stat().st_size))
        if sum(size for name, size in sizes if name == "console" or name.endswith(".out")) > SAID_MOST:
            raise VMError(f"the guest has said more than {SAID_MOST >> 20} MiB\n{self.console_tail(20)}")
        return len(self.finished), sizes

    def _wait(self, done, timeout, what):
        """Until done(), however long that takes while the guest gets on."""
        wait = self._patience(timeout)
        if not until(done, wait, lambda: self._receive(what)):
            self._show_blocked_tasks()
            raise VMError(f"{what}: {wait.why()}\n{self.console_tail(200)}")

    def _receive(self, what):
        """Takes what the guest's agent says, and waits a moment for it."""
        if time.monotonic() > self._next_peek:
            self._peek_console()
        try:
            data = self.sock.recv(4096)
        except TimeoutError:
            data = None
        except ConnectionError:      # QEMU died with something of ours unread
            data = b""
        if data == b"":
            self._wait_for_end()
        if not data:
            self._alive(what)
            return
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace").split())

    def _wait_for_end(self):
        if not until(lambda: not self.running, self._patience(10), lambda: time.sleep(0.1)):
            raise VMError(f"QEMU closed its socket but lives on\n{self.console_tail()}")

    def _peek_console(self):
        """Raise at the first complaint instead of waiting for the time limit."""
        seen = self.checked
        self.check_console()
        self.checked = seen
        self._next_peek = time.monotonic() + 2

    def _show_blocked_tasks(self):
        if "ready" in self.finished:
            try:
                (self.share / "blocked.sh").write_text("echo w >/proc/sysrq-trigger\n")
                self.sock.sendall(b"blocked\n")
                time.sleep(3)
            except OSError:
                pass

    def _line(self, words):
        if words[:1] == ["ready"]:
            self.finished["ready"] = 0
        elif len(words) == 3 and words[0] == "done":
            self.finished[words[1]] = int(words[2])

    @property
    def running(self):
        return self.proc is not None and self.proc.poll() is None

    def kill(self):
        """Kills the VM with SIGKILL at this moment."""
        if self.running:
            os.killpg(self.proc.pid, signal.SIGKILL)
        if self.proc:
            self.proc.wait()
        if self.sock:
            self.sock.close()
        _living.discard(self)

    @contextlib.contextmanager
    def stopped(self):
        """Pauses all CPUs of the guest, so that its memory and disks are consistent."""
        self.proc.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.proc.pid, os.WSTOPPED)
        try:
            yield
        finally:
            self.proc.send_signal(signal.SIGCONT)

    def cleanup(self):
        keep = os.environ.get("ZJ_KEEP_CONSOLE")
        if self.dir and self.dir.exists():
            if keep:
                shutil.copy(self.console, keep)
            shutil.rmtree(self.dir, ignore_errors=True)

    # ---- work ----

    def spawn(self, script):
        """Start a shell script in the guest."""
        self._count += 1
        name = f"j{self._count}"
        (self.share / f"{name}.sh").write_text(self.prelude + ". /lib/zj/lib.sh\n" + script + "\n")
        try:
            self.sock.sendall(f"{name}\n".encode())
        except ConnectionError:
            self._wait_for_end()
            self._alive(f"script {name}")
        return Job(self, name)

    def sh(self, script, timeout=120):
        """Run a shell script in the guest to its end; timeout as of Job.wait()."""
        return self.spawn(script).wait(timeout)

    def wait_file(self, name, timeout=60):
        """Wait until a script has made the file /share/NAME."""
        self._wait(lambda: (self.share / name).exists(), timeout, f"file {name}")

    def idle(self, seconds):
        """Let the guest run; raises if it dies."""
        end = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= end, seconds + 5, "running")

    # ---- what the kernel says ----

    def console_text(self):
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def console_tail(self, lines=60):
        return "\n".join(self.console_text().splitlines()[-lines:])

    def check_console(self):
        """Raise if the kernel complained since the last check; self.allow lets patterns pass."""
        text = self.console_text()
        new, self.checked = text[self.checked:], len(text)
        lines = new.splitlines()
        for n, line in enumerate(lines):
            if any(re.search(p, line) for p in COMPLAINTS) and \
                    not any(re.search(p, line) for p in self.allow):
                raise ConsoleError("kernel complaint:\n" + "\n".join(lines[max(0, n - 5):n + 80]))
