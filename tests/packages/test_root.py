# SPDX-License-Identifier: GPL-2.0-only
"""The root as zext4, in a Debian 12 of its own: boots, power cuts in the middle of one, and the way back.

Part of "make test-packages", like test_machine.py.  The tests are the steps of one story.
"""
import os

import debian_machine
import pytest

pytestmark = pytest.mark.skipif(not os.environ.get("ZJ_PACKAGES"),
                                reason="downloads a Debian and compiles for minutes: make test-packages")

# The step is in a file of the tree, and the test says by the kernel's command line which one it is.
BOOT = r"""exec >/dev/ttyS1 2>&1
findmnt -rn -o FSTYPE,OPTIONS /
grep -oE '^(zext4|ext4) ' /proc/modules
grep '^log' /proc/fs/zjournal/*/info
! dmesg | grep -E 'BUG:|WARNING:|Oops' || { echo "step ended: complaints"; exit 1; }
step=$(sed -n 's/.*zj-step=\([a-z]*\).*/\1/p' /proc/cmdline)
bash -eu /zj-$step
rc=$?
sync -f /
echo "step ended: $rc"
"""
# Each boot has what the ones before have synced, and leaves the log full of what is not.
WORK = """
cat /kept 2>/dev/null || true
echo "kept $(wc -l </kept 2>/dev/null || echo 0)" >>/kept
sync /kept
for n in $(seq 200); do echo $n >/var/tmp/$n; done
sync /var/tmp/1
"""
REMOVE = """
dpkg --purge zjournal-root
sed -i s/,lanes=2// /etc/fstab
lsinitramfs /boot/initrd.img-$(uname -r) | grep zext4 || true
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.machine_with_modules("root")
    machine.put("etc/systemd/system/zj.service", debian_machine.UNIT)
    # What the hook for fsck finds out on a machine that has this disk.
    machine.put("etc/initramfs-tools/conf.d/root", "FSTYPE=ext4\nMODULES=list\n")
    machine.put("etc/initramfs-tools/modules", "virtio_pci\nvirtio_blk\next4\n")
    machine.put("etc/fstab", "/dev/vda / ext4 defaults,lanes=2 0 1\n")
    for name, script in ("boot", BOOT), ("work", WORK), ("remove", REMOVE):
        machine.put(f"zj-{name}", script)
    machine.run("systemctl enable zj.service")
    return machine


def test_install(machine):
    said = machine.run("dpkg -i /root/*.deb")
    assert "from the next boot on" in said
    inside = machine.run(f"lsinitramfs /boot/initrd.img-{machine.older}")
    for name in ("zext4.ko", "zjournal.ko", "ext4/ext4.ko", "sbin/fsck", "fsck.zext4", "zjctl", "zext4-root.conf"):
        assert name in inside, name
    machine.image()
    machine.take_kernel(machine.older)


def test_boots(machine):
    """The options of fstab come too late for the journal; the boot goes on."""
    said = machine.boot("ro zj-step=work")
    assert "step ended: 0" in said, said + machine.console
    assert said.startswith("ext4 rw") and "\nzext4 " in said and "\next4 " not in said, said
    assert "lanes is ignored: only the first mount decides on it" in machine.console
    machine.check_disk()


@pytest.mark.parametrize("until", ["Begin: Running /scripts/local-bottom", "systemd.1.: .*Detected", "Mounted|Started"])
def test_cut_in_a_boot(machine, until):
    machine.boot("ro zj-step=work", until=until)
    said = machine.boot("ro zj-step=work")
    assert "step ended: 0" in said and "\nkept 0\n" in said, said + machine.console
    machine.check_disk()


def test_several_lanes(machine):
    """A log of lanes that a cut has left is replayed by the initramfs; no e2fsck of stock could."""
    for _ in range(2):
        said = machine.boot("ro rootflags=lanes=2 zj-step=work")
        assert "step ended: 0" in said and "lanes=2" in said, said + machine.console
    assert "replay" in machine.console or "recover" in machine.console, machine.console
    # A boot that mounts with stock's log needs a log that is empty: the clean way from lanes to it.
    said = machine.boot("ro zj-step=work")
    assert "step ended: 0" in said and "lanes=2" not in said.splitlines()[0], said + machine.console
    machine.check_disk()


def test_back_to_stock(machine):
    said = machine.boot("ro zj-step=remove")
    assert "step ended: 0" in said and "zext4-root.conf" not in said, said + machine.console
    machine.check_disk()
    machine.take_kernel(machine.older)
    said = machine.boot("ro zj-step=work")
    assert "\next4 " in said and "\nzext4 " not in said, said + machine.console
    assert "step ended: 0" in said and said.startswith("ext4 rw"), said + machine.console
    machine.check_disk()
