# SPDX-License-Identifier: GPL-2.0-only
"""The packages are upgraded while zext4 serves the root, and the power fails in the middle of it.

Part of "make test-packages", like test_root.py.  The tests are the steps of one story.  The modules are not compiled
in the emulator: a stand-in for make has them.
"""
import re
import shutil

import debian_machine
import pytest

pytestmark = debian_machine.on_demand

# The root is written all the time, and after the step what was written is as it should be.
BEFORE = """
echo "root: $(findmnt -rn -o FSTYPE /) by $(grep -oE '^(zext4|ext4) ' /proc/modules)"
echo "options: $(findmnt -rn -o OPTIONS /)"
echo "version: $(cat /sys/module/zext4/version)"
(n=0; while [ ! -e /run/zj-end ]; do n=$((n + 1)); echo $n >>/var/tmp/busy; sync /var/tmp/busy; sleep 0.2; done) &
"""
AFTER = """
touch /run/zj-end
wait
echo "busy: $(sort -n -u /var/tmp/busy | wc -l) $(tail -n 1 /var/tmp/busy)"
rm /var/tmp/busy
"""
GO_ON = """
dpkg --configure -a
dpkg --audit
[ "$(cat /sys/module/zext4/version)" = "$(modinfo -F version zext4)" ] || echo 'loaded is still the old one'
# The boot loader reads the new initramfs, and replays no log.
fsfreeze --freeze / && fsfreeze --unfreeze /
"""


@pytest.fixture(scope="module", name="versions")
def versions_fixture():
    """Of the packages that are built, and a newer one that is as long."""
    old = next((debian_machine.TOP / "build/deb").glob("zjournal-dkms_*.deb")).name.split("_")[1]
    first, second, last, more = re.fullmatch(r"(\d)\.(\d)\.(\d)(.*)", old).groups()
    return old, f"{first}.{second}.{(int(last) + 1) % 10}{more}"


@pytest.fixture(scope="module", name="debs")
def debs_fixture(versions, tmp_path_factory):
    return debian_machine.packages_of_version(versions[1], tmp_path_factory.mktemp("new"))


def machine_of_the_old_version(name, debs):
    machine = debian_machine.machine_with_modules(name)
    machine.finds_root()
    machine.run("dpkg -i /root/*.deb")
    machine.stand_ins({"make": debian_machine.MAKE})
    (machine.folder / "upper/root/new").mkdir()
    for deb in debs:
        shutil.copy(deb, machine.folder / "upper/root/new")
    return machine


def with_steps(machine):
    machine.boots_into({"upgrade": "dpkg -i /root/new/*.deb", "go": GO_ON, "look": "true"}, BEFORE, AFTER)


@pytest.fixture(scope="module", name="machine", params=["", "rootflags=lanes=2"], ids=["stock-log", "lanes"])
def machine_fixture(debs, request):
    machine = machine_of_the_old_version("upgrade", debs)
    with_steps(machine)
    machine.on_disk()
    machine.flags = request.param
    return machine


def boot(machine, step, loaded, **more):
    said = machine.boot(f"ro {machine.flags} zj-step={step}", **more)
    assert "root: ext4 by zext4" in said and f"\nversion: {loaded}\n" in said, said + machine.console
    assert ("lanes=2" in re.search("\noptions: (.*)", said)[1]) == bool(machine.flags), said
    # A log of lanes is replayed by the next boot, not by stock's e2fsck.
    if not machine.flags:
        machine.check_disk()
    return said


def test_power_fails_in_the_upgrade(machine, versions):
    """The modules of the old version are removed by now.  The initramfs has them, so the root is mounted as before."""
    said = boot(machine, "upgrade", versions[0], until="building the modules")
    assert "modules installed" not in said, said


def test_upgrade_goes_on(machine, versions):
    said = boot(machine, "go", versions[0])
    assert "modules installed" in said and "step ended: 0" in said and "loaded is still the old one" in said, said
    lines, last = re.search(r"\nbusy: (\d+) (\d+)\n", said).groups()
    assert int(lines) >= int(last) > 0, said


def test_next_boot_has_the_new_version(machine, versions):
    machine.take_kernel(machine.older)
    said = boot(machine, "look", versions[1])
    assert "step ended: 0" in said, said
    machine.flags = ""
    assert "step ended: 0" in boot(machine, "look", versions[1])


def test_build_that_fails(debs):
    """The upgrade ends, and says that stock ext4 mounts the root at the next boot, which it does."""
    machine = machine_of_the_old_version("failing-upgrade", debs)
    with_steps(machine)
    inside = f"lsinitramfs /boot/initrd.img-{machine.older}"
    assert "zext4.ko" in machine.run(inside)
    said = machine.run("touch /tmp/no-space; dpkg -i /root/new/*.deb")
    assert f"{machine.older}: NOT BUILT" in said, said
    assert f"{machine.older} has no module zext4; with this kernel stock ext4 mounts the root" in said, said
    found = machine.run(inside)
    assert "/ext4.ko" in found and "fsck.zext4" in found, found
    assert "zext4.ko" not in found and "zext4-root.conf" not in found, found
    machine.on_disk()
    assert "root: ext4 by ext4" in machine.step("look")
    machine.check_disk()
    remedy = re.search(r": (/\S+/build-modules \S+)\n", said)[1]
    machine.run(f"rm /tmp/no-space; {remedy}")
    assert "zext4-root.conf" in machine.run(inside)
