# SPDX-License-Identifier: GPL-2.0-only
"""The root as zext4, in a Debian of its own: boots, power cuts in the middle of one, and the way back.

Part of "make test-packages", like test_machine.py.  The tests are the steps of one story.
"""
import subprocess

import debian_machine
import pytest
import vm as vmlib

pytestmark = debian_machine.on_demand

BEFORE = """
findmnt -rn -o FSTYPE,OPTIONS /
grep -oE '^(zext4|ext4) ' /proc/modules
grep '^log' /proc/fs/zjournal/*/info
"""
# Each boot has what the ones before have synced, and leaves the log full of what is not.
WORK = """
cat /kept 2>/dev/null || true
echo "kept $(wc -l </kept 2>/dev/null || echo 0)" >>/kept
sync /kept
for n in $(seq 200); do echo $n >/var/tmp/$n; done
sync /var/tmp/1
"""
# What a user types, while programs write; the script goes on after the resume.
SLEEP = """
swapon /dev/vdb
echo 0 >/sys/power/image_size
(n=0; while [ ! -e /run/awake ]; do n=$((n + 1)); echo $n >>/var/tmp/written; sync /var/tmp/written; sleep 0.1; done) &
until [ -e /var/tmp/written ]; do sleep 0.1; done
echo "falls asleep"
systemctl start systemd-hibernate
touch /run/awake
wait
[ "$(wc -l </var/tmp/written)" = "$(tail -n 1 /var/tmp/written)" ]
dmesg | grep 'hibernation: hibernation exit'
echo "after the resume" >>/kept
sync /kept
"""
REMOVE = """
dpkg --purge zjournal-root
sed -i s/,lanes=2// /etc/fstab
lsinitramfs /boot/initrd.img-$(uname -r) | grep zext4 || true
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.machine_with_modules("root")
    machine.finds_root(fstab="/dev/vda / ext4 defaults,lanes=2 0 1\n")
    machine.boots_into({"work": WORK, "sleep": SLEEP, "remove": REMOVE}, BEFORE)
    return machine


def test_install(machine):
    said = machine.run("dpkg -i /root/*.deb")
    assert "from the next boot on" in said
    inside = machine.run(f"lsinitramfs /boot/initrd.img-{machine.older}")
    for name in ("zext4.ko", "zjournal.ko", "ext4/ext4.ko", "sbin/fsck", "fsck.zext4", "zjctl", "zext4-root.conf"):
        assert name in inside, name
    machine.on_disk()


def test_boots(machine):
    """The options of fstab come too late for the journal; the boot goes on."""
    said = machine.step("work")
    assert said.startswith("ext4 rw") and "\nzext4 " in said and "\next4 " not in said, said
    assert "lanes is ignored: only the first mount decides on it" in machine.console
    machine.check_disk()


@pytest.mark.parametrize("until", ["Begin: Running /scripts/local-bottom", "systemd.1.: .*Detected", "Mounted|Started"])
def test_cut_in_a_boot(machine, until):
    machine.boot("ro zj-step=work", until=until)
    said = machine.step("work")
    assert "\nkept 0\n" in said, said + machine.console
    machine.check_disk()


def test_several_lanes(machine):
    """A log of lanes that a cut has left is replayed by the initramfs; no e2fsck of stock could."""
    for _ in range(2):
        said = machine.step("work", "ro rootflags=lanes=2")
        assert "lanes=2" in said, said + machine.console
    assert "replay" in machine.console or "recover" in machine.console, machine.console
    # A boot that mounts with stock's log needs a log that is empty: the clean way from lanes to it.
    said = machine.step("work")
    assert "lanes=2" not in said.splitlines()[0], said + machine.console
    machine.check_disk()


def test_hibernation(machine):
    """The initramfs, which has zext4, loads the memory before it looks at the root; then the power fails."""
    swap = machine.folder / "swap"
    vmlib.make_image(swap, "1G")
    subprocess.run(["mkswap", swap], check=True, capture_output=True)
    disks, lanes = ("disk", "swap"), "ro rootflags=lanes=2"
    options = f"{lanes} resume=/dev/vdb hibernate=nocompress"
    machine.accel = vmlib.accel("single")
    said = machine.boot(f"{options} zj-step=sleep", disks=disks)
    assert "falls asleep" in said and "step ended" not in said, said + machine.console
    said = machine.step("sleep", options, disks)
    assert "hibernation exit" in said and "falls asleep" not in said, said + machine.console
    machine.accel = vmlib.accel()
    assert "\nafter the resume\n" in machine.step("work", lanes)


def test_back_to_stock(machine):
    said = machine.step("remove")
    assert "zext4-root.conf" not in said, said + machine.console
    machine.check_disk()
    machine.take_kernel(machine.older)
    said = machine.step("work")
    assert "\next4 " in said and "\nzext4 " not in said, said + machine.console
    assert said.startswith("ext4 rw"), said
    machine.check_disk()
