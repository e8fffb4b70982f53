# SPDX-License-Identifier: GPL-2.0-only
"""A Debian of its own, 12 or 13 like this one, in a tree that make-machine makes, for tests that change and boot it."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time

import patience
import pytest
import vm as vmlib

on_demand = pytest.mark.skipif(not os.environ.get("ZJ_PACKAGES"),
                               reason="downloads a Debian and compiles for minutes: make test-packages")

TOP = pathlib.Path(__file__).resolve().parents[2]
TREE = TOP / "build/packages/tree"
# An overlay over the tree, in a mount namespace that ends with the command.
INSIDE = """
root=$1/root
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$root"
"""
# Runs a step of the test in a machine that has booted.
UNIT = """[Unit]
After=local-fs.target systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/bash /zj-boot
[Install]
WantedBy=multi-user.target
"""
# Runs the step that the kernel's command line names.
BOOT = r"""exec >/dev/ttyS1 2>&1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive
{before}
step=$(sed -n 's/.*zj-step=\([a-z]*\).*/\1/p' /proc/cmdline)
bash -eux /zj-$step
rc=$?
{after}
! dmesg | grep -E 'BUG:|WARNING:|Oops|I/O error' || rc=complaints
sync -f /
echo "step ended: $rc"
"""
# Stands in for make where DKMS calls it: the modules that were compiled before, with the version of the package.
# It stops where a test wants it to: it says so by a file, and waits until that is gone.
STAND_IN = """#!/bin/sh
if [ -e /tmp/stop-at-{name} ]; then
	mv /tmp/stop-at-{name} /tmp/stopped
	while [ -e /tmp/stopped ]; do sleep 0.1; done
fi
{then}
"""
MAKE = r"""case "$*" in
*packaging/dkms.mk*)
	[ ! -e /tmp/no-space ] || { echo 'fatal error: No space left on device' >&2; exit 1; }
	folder=build/kmod-$(echo "$*" | sed 's/.*KVER=\([^ ]*\).*/\1/')
	mkdir -p "$folder"
	# It must be as long as the old one.
	sed -i "s/\(version\)=[0-9]\.[0-9]\.[0-9][0-9a-z.+]*/\1=$(tools/version)/" /root/built/zjournal.ko /root/built/zext4.ko
	exec cp /root/built/zjournal.ko /root/built/zext4.ko "$folder"
	;;
esac
exec /usr/bin/make "$@"
"""
KEEP = """set -eu
mkdir /root/built
cp /lib/modules/*/updates/dkms/z*.ko.xz /root/built
unxz /root/built/*
cp -a /var/lib/zjournal /root/kept
"""


def text_of(file):
    return file.read_text(errors="replace").replace("\r", "")


class Machine:
    """The tree with what has been changed in it."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
        self.accel = vmlib.accel()
        self.older = (TREE / "root/older-release").read_text().strip()
        self.newer = (TREE / "root/newer-release").read_text().strip()

    def run(self, command, rc=0):
        """Runs a command in the tree."""
        script = INSIDE + """
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
exec chroot "$root" /bin/sh -c "$2"
"""
        done = subprocess.run(["unshare", "-m", "sh", "-euc", script, str(TREE), str(self.folder), command],
                              capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        assert done.returncode == rc, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

    def stand_ins(self, programs):
        """From now on DKMS's builds take the modules that are installed; these programs have stand-ins."""
        self.run(KEEP)
        for name, then in programs.items():
            self.put(f"usr/local/sbin/{name}", STAND_IN.format(name=name, then=then), 0o755)

    def files(self):
        """All files, without those that any package changes."""
        found = self.run("find / -xdev \\( -path /proc -o -path /dev -o -path /var/lib/dpkg -o -path /var/cache"
                         " -o -path /var/log -o -path /tmp -o -path /root \\) -prune -o -printf '%p %y %m %l\\n'")
        return set(found.splitlines())

    def put(self, name, text, mode=0o644):
        path = self.folder / "upper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def boots_into(self, steps, before="", after=""):
        """A boot runs one of these scripts ({name: text}), between the other two."""
        self.put("etc/systemd/system/zj.service", UNIT)
        self.put("zj-boot", BOOT.format(before=before, after=after))
        for name, text in steps.items():
            self.put(f"zj-{name}", text)
        self.run("systemctl enable zj.service")

    def finds_root(self, modules="ext4", fstab="/dev/vda / ext4 errors=remount-ro 0 1\n"):
        """What the hooks of the initramfs find out on a machine that has the disk."""
        self.put("etc/initramfs-tools/conf.d/root", "FSTYPE=ext4\nMODULES=list\n")
        self.put("etc/initramfs-tools/modules", f"virtio_pci\nvirtio_blk\n{modules}\n")
        self.put("etc/fstab", fstab)

    def on_disk(self):
        """The tree as a disk, with what boots it."""
        disk = self.image()
        self.take_kernel(self.older)
        return disk

    def image(self):
        """The machine as a disk that can be booted."""
        disk = self.folder / "disk"
        vmlib.make_image(disk, "6G")
        subprocess.run(["unshare", "-m", "sh", "-euc", INSIDE + 'mke2fs -q -F -t ext4 -d "$root" "$2"',
                        str(TREE), str(self.folder), str(disk)], check=True)
        return disk

    def check_disk(self):
        """Stock's e2fsck knows the log and finds nothing, whatever a cut has left."""
        subprocess.run(["e2fsck", "-p", self.folder / "disk"], check=False)
        done = subprocess.run(["e2fsck", "-f", "-n", self.folder / "disk"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def take_kernel(self, kver):
        """What a boot loader reads from the disk, which is not mounted."""
        for name in ("vmlinuz", "initrd.img"):
            subprocess.run(["debugfs", "-R", f"dump /boot/{name}-{kver} {self.folder / name}", self.folder / "disk"],
                           check=True, capture_output=True)
            assert (self.folder / name).stat().st_size

    def step(self, name, options="ro", disks=("disk",)):
        """Boots into a step, which must end well; returns what it has said."""
        said = self.boot(f"{options} zj-step={name}", disks=disks)
        assert "step ended: 0" in said, said + self.console
        return said

    def boot(self, options="ro", until="step ended", disks=("disk",)):
        """Boots, and cuts the power when this was said, by the step or on the console; returns what the step has said.

        The disk keeps all that was written before; so the cut loses only what was in memory.
        """
        # The emulator sometimes breaks a kernel before it has come to the initramfs.
        for _ in range(3):
            said = self._boot(options, until, disks)
            if "Run /init as init process" in self.console:
                break
        return said

    def _boot(self, options, until, disks):
        said, console = self.folder / "said", self.folder / "console"
        for file in said, console:
            file.write_text("")
        command = ["qemu-system-x86_64", "-nodefaults", "-display", "none",
                   "-no-reboot", "-machine", "q35", "-m", "1G", "-smp", "2", *self.accel,
                   "-kernel", str(self.folder / "vmlinuz"), "-initrd", str(self.folder / "initrd.img"),
                   "-append", f"root=/dev/vda {options} console=ttyS0 panic=-1 mitigations=off no_timer_check"
                              " watchdog_thresh=60",
                   "-serial", f"file:{console}", "-serial", f"file:{said}"]
        for name in disks:
            command += ["-drive", f"if=virtio,format=raw,cache=unsafe,file={self.folder / name}"]
        with subprocess.Popen(command) as qemu:
            # Nothing new for so long: twice what a unit waits for a disk that is not there (test_root_fallback).
            wait = patience.Patience(1800, lambda: [qemu.pid], lambda: [file.stat().st_size for file in (said, console)])
            try:
                ended = patience.until(lambda: re.search(until, text_of(console) + text_of(said)) or qemu.poll() is not None,
                                       wait, lambda: time.sleep(0.5))
            finally:
                qemu.terminate()
        self.console = text_of(console)
        assert ended, f"waiting for {until!r}: {wait.why()}\n{self.console[-3000:]}"
        return text_of(said)


def new_machine(name, packages):
    """A Machine in a folder of this name, with the packages of ours that it can install in /root."""
    subprocess.run([TOP / "tests/packages/make-machine", TREE], check=True)
    folder = TOP / "build/packages" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    machine = Machine(folder)
    (folder / "upper/root").mkdir()
    for package in packages:
        found = list((TOP / "build/deb").glob(f"{package}_*.deb"))
        assert len(found) == 1, "build the packages first: make deb"
        shutil.copy(found[0], folder / "upper/root")
    return machine


def machine_with_modules(name, packages=("zjournal-root",)):
    """A Machine that has zjournal-dkms and zjournal-tools, and these packages in /root.

    All tests that begin so share one build of the modules, which takes minutes.
    """
    base = TOP / "build/packages/installed"
    stamp = hashlib.sha256(b"".join(deb.read_bytes() for deb in sorted((TOP / "build/deb").glob("*.deb")))).hexdigest()
    done = base / "done"
    if not done.exists() or done.read_text() != stamp:
        new_machine(base.name, ["zjournal-dkms", "zjournal-tools"]).run("dpkg -i /root/*.deb; rm /root/*.deb")
        done.write_text(stamp)
    machine = new_machine(name, packages)
    subprocess.run(["cp", "-a", f"{base}/upper/.", f"{machine.folder}/upper"], check=True)
    return machine


def share_results(top):
    """What the patches give is known by what they are made of, in any tree.  To apply all of them takes a minute."""
    recorded = TOP / "build/recorded"
    recorded.mkdir(parents=True, exist_ok=True)
    (top / "build").mkdir()
    (top / "build/recorded").symlink_to(recorded)


def packages_of_version(version, folder):
    """The packages that this tree makes when it has that version."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True).stdout
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", folder], cwd=TOP, input=files, check=True)
    share_results(folder)
    subprocess.run(["packaging/make-deb"], cwd=folder, check=True, capture_output=True,
                   env={**os.environ, "ZJ_BUILD_VERSION": version})
    return list((folder / "build/deb").glob("*.deb"))
