# SPDX-License-Identifier: GPL-2.0-only
"""A kernel without zext4 boots all the same, mounts what /etc/fstab calls zext4 as ext4, and says so.

Part of "make test-packages", like test_root.py.  The tests are the steps of one story.
"""
import subprocess

import debian_machine
import pytest
import vm as vmlib

pytestmark = debian_machine.on_demand

# The power is cut with a log that only zext4 and zjctl can replay.
USE = """
[ $(findmnt -n -o FSTYPE /srv) = zext4 ]
[ $(findmnt -n -o FSTYPE /checked) = zext4 ]
mv /lib/modules/$(uname -r)/updates /away
sync -f /
for folder in /srv /checked; do
	for n in 1 2 3 4; do echo $n >$folder/kept$n; done
	sync $folder/kept?
done
"""
# Nothing was typed: the boot has done it, for the file system with fsck and for the one without.
WITHOUT = """
for folder in /srv /checked; do
	[ $(findmnt -n -o FSTYPE $folder) = ext4 ]
	cat $folder/kept?
	grep "$folder is mounted as ext4, not zext4" /run/motd.d/zext4-*
done
if findmnt -n -o OPTIONS /srv | grep lanes; then exit 1; fi
journalctl -b -o cat -t mount.zext4 | grep '/dev/vdb: its log is recovered'
journalctl -b -o cat -t mount.zext4 | grep '/srv is mounted as ext4, not zext4'
dmesg | grep 'mount.zext4: /srv is mounted as ext4, not zext4'
systemctl start zjournal-check
journalctl -b -o cat -u zjournal-check | grep '/srv is mounted as ext4'
[ $(systemctl is-active zjournal-check.timer) = active ]
mount -o remount,noatime,lanes=2 /srv
findmnt -n -o OPTIONS /srv | grep noatime
umount /srv
mount -t zext4 UUID=$(blkid -s UUID -o value /dev/vdb) /srv
umount /srv
if mount -t zext4 -o bogus /dev/vdb /srv; then exit 1; fi
truncate -s 64M /image
mkfs.zext4 -q -F /image
mkdir /looped
mount -t zext4 -o loop,lanes=1 /image /looped
[ $(findmnt -n -o FSTYPE /looped) = ext4 ]
umount /looped
[ -z "$(losetup -a)" ]
"""
# As if it was built again: the next mount is one of zext4, and no login says anything.
AGAIN = """
mv /away /lib/modules/$(uname -r)/updates
umount /checked
mount /checked
mount /srv
mount -t zext4 -o loop,lanes=1 /image /looped
for folder in /srv /checked /looped; do [ $(findmnt -n -o FSTYPE $folder) = zext4 ]; done
if ls /run/motd.d/zext4-*; then exit 1; fi
umount /looped
[ -z "$(losetup -a)" ]
if mount -t zext4 -o lanes=bogus /image /looped; then exit 1; fi
"""
FSTAB = """/dev/vda / ext4 errors=remount-ro 0 1
/dev/vdb /srv zext4 lanes=2,nofail,x-systemd.device-timeout=30s 0 0
/dev/vdc /checked zext4 defaults,lanes=2 0 2
"""
DISKS = ("disk", "data", "data2")


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.machine_with_modules("missing", ())
    machine.finds_root(fstab=FSTAB)
    machine.boots_into({"use": USE, "without": WITHOUT + AGAIN})
    machine.run("mkdir -p /srv /checked; update-initramfs -u -k all")
    machine.on_disk()
    for name in DISKS[1:]:
        vmlib.make_image(machine.folder / name, "256M")
        subprocess.run(["mkfs.ext4", "-q", "-F", machine.folder / name], check=True)
    return machine


def test_cut_with_lanes(machine):
    machine.step("use", disks=DISKS)
    for name in DISKS[1:]:
        done = subprocess.run([debian_machine.TOP / "build/zjctl", "info", "--json", machine.folder / name],
                              capture_output=True, text=True, check=False)
        assert '"state":"crashed"' in done.stdout, done.stdout


def test_boots_without_the_module(machine):
    said = machine.step("without", disks=DISKS)
    assert "emergency" not in machine.console and said.count("\n1\n2\n3\n4\n") == 2, said


def test_newest_kernel_is_not_served(machine):
    """Without its headers no modules can be built; the next boot has it, so apt's output says what to do."""
    said = machine.run(f"dpkg -i /root/newer/linux-image-{machine.newer}_*.deb")
    assert f"{machine.newer}: skipped: its headers are not installed" in said, said
    assert f"WARNING: {machine.newer}, the newest kernel" in said and f"to keep zext4, boot {machine.older}" in said, said
    assert "/etc/fstab: /dev/vdb on /srv" in said, said


def test_purge_says_what_to_do(machine):
    said = machine.run("dpkg --purge zjournal-dkms zjournal-tools")
    assert "zjournal-dkms: after this no kernel has zext4" in said and "BEFORE YOU REBOOT" in said, said
    assert "/etc/fstab: /dev/vdb on /srv" in said and "a kernel without zext4 stops the boot" in said, said
