# SPDX-License-Identifier: GPL-2.0-only
"""zjournal-root on a machine with a second kernel, for which there is no zext4: each recovers what the other has left.

Part of "make test-packages", like test_root.py.  The tests are the steps of one story.
"""
import subprocess

import debian_machine
import pytest
import vm as vmlib

pytestmark = debian_machine.on_demand

# The timeouts are for emulators: udev has to find four disks first.
FSTAB = """/dev/vda / ext4 errors=remount-ro 0 1
LABEL=srv /srv ext4 defaults,x-systemd.device-timeout=900,x-systemd.mount-timeout=900 0 2
LABEL=old /old ext3 defaults,x-systemd.device-timeout=900,x-systemd.mount-timeout=900 0 2
LABEL=older /older ext2 defaults,x-systemd.device-timeout=900,x-systemd.mount-timeout=900 0 2
"""
DISKS = {"srv": "ext4", "old": "ext3", "older": "ext2"}
BEFORE = r"""
findmnt -rn -o TARGET,FSTYPE,OPTIONS -t ext4,ext3,ext2
grep -oE '^(zext4|ext4) ' /proc/modules
grep -E '^log' /proc/fs/zjournal/*/info
# A system without dbus has no terminals but the first.
systemctl list-units --plain --no-legend --state=failed | grep -v getty-static | sed 's/^/failed: /'
"""
# Each boot shows what the ones before have synced, and leaves the logs full of what is not.
WORK = """set +x
for dir in / /srv /old /older; do
	cat $dir/kept 2>/dev/null || true
	echo "kept $dir $(cat $dir/kept 2>/dev/null | wc -l)" >>$dir/kept
	sync $dir/kept
done
for n in $(seq 200); do echo $n >/var/tmp/$n; echo $n >/srv/$n; done
sync /var/tmp/1 /srv/1
"""
NAMES = """
modprobe ext4
grep '^ext4 ' /proc/modules && exit 1
dmesg | grep duplicate && exit 1
dmesg | grep 'the module ext4 is not loaded'
umount /srv
[ "$(blkid -s TYPE -o value /dev/vdb)" = ext4 ]
fsck -A -R -M -p -T
mount -t auto /dev/vdb /mnt
[ "$(findmnt -n -o FSTYPE /mnt)" = ext4 ]
umount /mnt
mount "UUID=$(blkid -s UUID -o value /dev/vdb)" /mnt
cat /mnt/kept
umount /mnt
mount /srv
"""
# The boot partition is full, and nothing but the package's own step may fail.
FULL = """
mkdir /tmp/boot
cp -a /boot/. /tmp/boot
mount -t tmpfs -o size=$(( $(du -sk /boot | cut -f 1) + 2000 ))k none /boot
cp -a /tmp/boot/. /boot
dpkg --purge zjournal-root && exit 1
sha256sum /boot/initrd.img-* | sed 's/^/after: /'
ls /boot | sed 's/^/there: /'
sha256sum /tmp/boot/initrd.img-* | sed 's/^/before: /'
umount /boot
dpkg --purge zjournal-root
dpkg -l zjournal-root && exit 1
true
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.machine_with_modules("fallback")
    # One that is listed with an option of its own must not come before zext4.
    machine.finds_root("ext4 dyndbg=+p", FSTAB)
    for folder in "old", "older":
        machine.put(f"{folder}/mount-point", "")
    machine.boots_into({"work": WORK, "names": NAMES}, BEFORE)
    return machine


def test_install(machine):
    """The second kernel has no headers."""
    machine.run("dpkg -i /root/newer/linux-image-*.deb")
    said = machine.run("dpkg -i /root/zjournal-root_*.deb")
    assert f"{machine.newer} has no module zext4; with this kernel stock ext4 mounts the root" in said
    for kver, there in (machine.older, True), (machine.newer, False):
        inside = machine.run(f"lsinitramfs /boot/initrd.img-{kver}")
        assert ("zext4.ko" in inside) == there and ("zext4-root.conf" in inside) == there
        assert "fsck.zext4" in inside and "sbin/zjctl" in inside
    assert "register_as" not in machine.run("modprobe --showconfig | grep zext4 || true")
    # Lanes that a stock ext4 can overlook: in the file system, not in /etc/fstab.
    disk = machine.image()
    for name, fstype in DISKS.items():
        vmlib.make_image(machine.folder / name, "256M")
        subprocess.run(["mke2fs", "-q", "-F", "-t", fstype, "-L", name, machine.folder / name], check=True)
    for path in disk, machine.folder / "srv":
        subprocess.run(["tune2fs", "-E", "mount_opts=lanes=2", path], check=True, capture_output=True)


def boot(machine, kver, step, options=""):
    machine.take_kernel(kver)
    said = machine.step(step, f"ro {options}", ("disk", *DISKS))
    assert "\nfailed: " not in said, said + machine.console
    assert sorted(line.split()[:2] for line in said.splitlines()[:4]) == [
        ["/", "ext4"], ["/old", "ext3"], ["/older", "ext2"], ["/srv", "ext4"]], said
    return said


def test_lanes_of_the_file_system(machine):
    said = boot(machine, machine.older, "work")
    assert "\nzext4 " in said and "\next4 " not in said and said.count("log: zj") == 2, said


def test_kernel_without_zext4(machine):
    """Logs of lanes, which stock ext4 and e2fsck refuse, have been replayed before."""
    said = boot(machine, machine.newer, "work")
    assert "\next4 " in said and "\nzext4 " not in said, said
    for folder in "/", "/srv", "/old", "/older":
        assert f"\nkept {folder} 0\n" in said, said


def test_names(machine):
    """And the way back, with a full check; stock ext4, which a program asks for by name, is not needed."""
    said = boot(machine, machine.older, "names", "fsck.mode=force")
    assert "\nzext4 " in said and "\nkept /srv 1\n" in said, said


def test_boot_partition_is_full(machine):
    said = machine.run(f"set -eu\n{FULL}")
    found = {when: [line.split()[1:] for line in said.splitlines() if line.startswith(f"{when}: ")]
             for when in ("before", "after", "there")}
    assert len(found["before"]) == 2
    assert [one[0] for one in found["after"]] == [one[0] for one in found["before"]], said
