# SPDX-License-Identifier: GPL-2.0-only
"""The packages in a Debian 12 of their own: install, upgrade of the kernel, boots, purge.

"make test-packages" runs this. It is no part of "make test", because it downloads a
Debian (600 MB) and compiles the modules twice.  Needs root.  The tests are the steps of one story:
each goes on where the one before ended.
"""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest
import vm as vmlib

TOP = pathlib.Path(__file__).resolve().parents[2]
TREE = TOP / "build/packages/tree"
pytestmark = pytest.mark.skipif(not os.environ.get("ZJ_PACKAGES"),
                                reason="downloads a Debian and compiles for minutes: make test-packages")

# An overlay over the tree, in a mount namespace that ends with the command.
INSIDE = """
root=$1/root
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$root"
"""
# The first boot and the second, and the unit that runs them.
UNIT = """[Unit]
After=local-fs.target systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/bash /zj-boot
[Install]
WantedBy=multi-user.target
"""
BOOT = """exec >/dev/ttyS1 2>&1
step=/zj-first
[ ! -e /zj-booted ] || step=/zj-second
touch /zj-booted
bash -eux $step
rc=$?
sync -f /
echo "step ended: $rc"
"""
FIRST = """
mkfs.ext4 -q /dev/vdb
echo '/dev/vdb /srv zext4 defaults 0 2' >>/etc/fstab
systemctl daemon-reload
mount /srv
echo kept >/srv/file
sync /srv/file
echo 'no module was named, and none had to be'
grep -E '^z(journal|ext4) ' /proc/modules
"""
SECOND = """
findmnt -n -o FSTYPE,TARGET /srv
cat /srv/file
systemctl show -p Result systemd-fsck@dev-vdb.service
journalctl -b -o cat -u systemd-fsck@dev-vdb.service
umount /srv
fsck -t zext4 -A -p
rmmod zext4 zjournal
! grep zjournal /proc/modules
dmesg | grep -E 'BUG:|WARNING:|Oops' && exit 1
true
"""


class Machine:
    """The tree with what has been changed in it."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("upper", "work", "root"):
            (folder / name).mkdir()
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
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                                   "DEBIAN_FRONTEND": "noninteractive"})
        assert done.returncode == rc, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

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

    def image(self):
        """The machine as a disk that can be booted."""
        disk = self.folder / "disk"
        vmlib.make_image(disk, "6G")
        subprocess.run(["unshare", "-m", "sh", "-euc", INSIDE + 'mke2fs -q -F -t ext4 -d "$root" "$2"',
                        str(TREE), str(self.folder), str(disk)], check=True)
        boot = self.folder / "boot"
        boot.mkdir()
        for name in ("vmlinuz", "initrd.img"):
            file = f"{name}-{self.newer}"
            where = self.folder / "upper/boot" / file
            shutil.copy(where, boot / name)
        return disk

    def boot(self):
        """Boots, and cuts the power when the step has ended; returns what the step has said."""
        said = self.folder / "said"
        said.write_text("")
        command = ["timeout", "-k", "5", "1800", "qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-machine", "q35",
                   "-m", "1G", "-smp", "2", *vmlib.accel(),
                   "-kernel", str(self.folder / "boot/vmlinuz"), "-initrd", str(self.folder / "boot/initrd.img"),
                   "-append", "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off no_timer_check quiet",
                   "-serial", f"file:{self.folder}/console", "-serial", f"file:{said}"]
        for name in ("disk", "data"):
            command += ["-drive", f"if=virtio,format=raw,cache=unsafe,file={self.folder / name}"]
        with subprocess.Popen(command) as qemu:
            try:
                while "step ended" not in said.read_text(errors="replace") and qemu.poll() is None:
                    time.sleep(1)
            finally:
                qemu.terminate()
        return said.read_text(errors="replace").replace("\r", "")


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    subprocess.run([TOP / "tests/packages/make-machine", TREE], check=True)
    folder = TOP / "build/packages/run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    machine = Machine(folder)
    debs = sorted((TOP / "build/deb").glob("*.deb"))
    assert len(debs) == 2, "build the packages first: make deb"
    for deb in debs:
        (folder / "upper/root").mkdir(exist_ok=True)
        shutil.copy(deb, folder / "upper/root")
    machine.before = machine.files()
    return machine


def module(machine, kver, field):
    return machine.run(f"modinfo -k {kver} -F {field} zext4").strip()


def test_install(machine):
    said = machine.run("dpkg -i /root/*.deb")
    assert f"{machine.older}: modules installed" in said
    assert module(machine, machine.older, "ext4_source") == machine.older.split("+")[0]
    # DKMS makes a key of the machine and signs, Secure Boot or not.
    assert module(machine, machine.older, "signer") == "DKMS module signing key"
    assert "usage" in machine.run("fsck.zext4 /none", rc=16)
    machine.run("test -e /usr/share/man/man8/fsck.zext4.8.gz")


def test_another_kernel(machine):
    """The modules of the older kernel stay as they are; the newer kernel gets its own."""
    said = machine.run("dpkg -i /root/newer/*.deb")
    assert f"{machine.newer}: modules installed" in said
    assert module(machine, machine.older, "ext4_source") == machine.older.split("+")[0]
    assert module(machine, machine.newer, "ext4_source") == machine.newer.split("+")[0]


def test_boots(machine):
    machine.put("etc/systemd/system/zj.service", UNIT)
    for name, script in ("boot", BOOT), ("first", FIRST), ("second", SECOND):
        machine.put(f"zj-{name}", script)
    machine.run("systemctl enable zj.service")
    machine.image()
    vmlib.make_image(machine.folder / "data", "256M")
    said = machine.boot()
    assert "step ended: 0" in said, said
    said = machine.boot()
    assert "step ended: 0" in said, said
    assert re.search(r"(?m)^zext4 +/srv", said) and "\nkept" in said, said
    assert "Result=success" in said, said
    # The power was cut while it was mounted: fsck.zext4 has replayed the log.
    assert "replay" in said or "recover" in said, said


def test_purge(machine):
    """Only the newer kernel is more than before, DKMS's key, and what this test has put there."""
    machine.run("dpkg --purge zjournal-dkms zjournal-tools")
    after = machine.files()
    kernel = re.compile("|".join((
        re.escape(machine.newer.removesuffix("-amd64")), "/usr/src/linux-", "/(boot|usr/share/doc)/",
        "linux-(kbuild|headers|source)-", r"^/(vmlinuz|initrd\.img)")))
    assert {line.split()[0] for line in after - machine.before if not kernel.search(line)} == {
        "/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub", "/zj-boot", "/zj-first", "/zj-second",
        "/etc/systemd/system/zj.service", "/etc/systemd/system/multi-user.target.wants/zj.service"}
    assert not [line for line in machine.before - after if not kernel.search(line)]
    assert not [line for line in after if re.search("zjournal|zext4|zjctl|/updates", line)]
