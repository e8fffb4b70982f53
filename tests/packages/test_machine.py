# SPDX-License-Identifier: GPL-2.0-only
"""The packages in a Debian of their own: install, upgrade of the kernel, boots, purge.

"make test-packages" runs this. It is no part of "make test", because it downloads a
Debian (600 MB) and compiles the modules, three times together with test_root.py.  Needs
root.  The tests are the steps of one story: each goes on where the one before ended.
"""
import re

import debian_machine
import pytest
import vm as vmlib

pytestmark = debian_machine.on_demand

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
zjctl status
zjctl kernels
zjctl top -n 1 -d 0.5
zjctl report -o /report
umount /srv
fsck -t zext4 -A -p
rmmod zext4 zjournal
if grep zjournal /proc/modules; then exit 1; fi
"""
DISKS = ("disk", "data")


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.new_machine("run", ["zjournal-dkms", "zjournal-tools"])
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
    assert "/none: No such file" in machine.run("fsck.zext4 /none", rc=8)
    machine.run("test -e /usr/share/man/man8/fsck.zext4.8.gz")


def test_another_kernel(machine):
    """The modules of the older kernel stay as they are; the newer kernel gets its own."""
    said = machine.run("dpkg -i /root/newer/*.deb")
    assert f"{machine.newer}: modules installed" in said
    assert module(machine, machine.older, "ext4_source") == machine.older.split("+")[0]
    assert module(machine, machine.newer, "ext4_source") == machine.newer.split("+")[0]


def test_boots(machine):
    machine.boots_into({"first": FIRST, "second": SECOND})
    machine.image()
    machine.take_kernel(machine.newer)
    vmlib.make_image(machine.folder / "data", "256M")
    machine.step("first", "rw", DISKS)
    said = machine.step("second", "rw", DISKS)
    assert re.search(r"(?m)^zext4 +/srv", said) and "\nkept" in said, said
    assert "Result=success" in said, said
    for kver in machine.older, machine.newer:
        assert f"\n{kver}: served, " in said, said
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
