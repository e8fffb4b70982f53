# SPDX-License-Identifier: GPL-2.0-only
"""An installation of the packages that is killed, or that cannot build: what dpkg does then, and what it says.

Part of "make test-packages", without a boot.  The modules have been compiled before, and a stand-in for
make copies them.  DKMS, dpkg, and all else are Debian's.
"""
import re

import debian_machine
import pytest

pytestmark = debian_machine.on_demand

STAND_INS = {"make": debian_machine.MAKE, "strip": 'exec /usr/bin/strip "$@"', "depmod": 'exec /sbin/depmod "$@"'}
# All that dpkg has started is killed with it, as by a loss of power.
KILL = """
touch /tmp/stop-at-{name}
setsid dpkg -i /root/*.deb >/tmp/said 2>&1 &
dpkg=$!
until [ -e /tmp/stopped ]; do kill -0 $dpkg; sleep 0.1; done
kill -KILL -$dpkg
wait $dpkg || true
rm /tmp/stopped
dpkg -l zjournal-dkms | grep ^iF
"""
# Here only dpkg is killed, and what it has started goes on beside the next one.
KILL_DPKG_ALONE = """
touch /tmp/stop-at-make
dpkg -i /root/*.deb >/tmp/said 2>&1 &
dpkg=$!
until [ -e /tmp/stopped ]; do kill -0 $dpkg; sleep 0.1; done
kill -KILL $dpkg
wait $dpkg || true
dpkg --configure -a >/tmp/second 2>&1 &
second=$!
until grep -q 'waiting for another build' /tmp/second; do kill -0 $second; sleep 0.1; done
rm /tmp/stopped
wait $second
cat /tmp/second
"""
WHAT_IS_LEFT = (r"find / -xdev \( -path /proc -o -path /tmp -o -path /root \) -prune"
                r" -o -name '*zjournal*' -print -o -name '*zext4*' -print")


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    machine = debian_machine.machine_with_modules("interrupted", ["zjournal-dkms"])
    machine.stand_ins(STAND_INS)
    machine.run("dpkg --purge zjournal-dkms zjournal-tools")
    return machine


@pytest.fixture(autouse=True)
def purge_fixture(machine):
    # To take ext4 out of the kernel's source takes longer than all else here.
    machine.run("cp -a /root/kept /var/lib/zjournal")
    yield
    machine.run("rm -f /tmp/no-space; dpkg --purge zjournal-dkms")
    assert machine.run(WHAT_IS_LEFT) == ""


def installed(machine):
    """depmod knows the modules, so that mount finds them, and DKMS takes them for its own."""
    found = machine.run(f"modprobe -S {machine.older} -n -v zext4; dkms status zjournal; dpkg --audit")
    for name in "zjournal", "zext4":
        assert f"/updates/dkms/{name}.ko" in found, found
    assert f"{machine.older}, x86_64: installed\n" in found and "half" not in found, found


@pytest.mark.parametrize("name", STAND_INS)
def test_dpkg_goes_on(machine, name):
    """Killed in the compilation, when DKMS has stored one of the modules, and when depmod has not run."""
    machine.run(f"set -eu\n{KILL.format(name=name)}")
    said = machine.run("dpkg --configure -a")
    assert f"{machine.older}: modules installed" in said, said
    installed(machine)


@pytest.mark.parametrize("name", STAND_INS)
def test_purge_of_what_was_interrupted(machine, name):
    """Nothing is left of it; the fixture looks."""
    machine.run(f"set -eu\n{KILL.format(name=name)}")
    machine.run("dpkg --purge zjournal-dkms")


def test_a_build_that_goes_on(machine):
    said = machine.run(f"set -eu\n{KILL_DPKG_ALONE}")
    assert "NOT BUILT" not in said, said
    installed(machine)


def test_a_build_that_fails(machine):
    """The installation ends well, so apt can do its other work, and says what is missing and what to do."""
    said = machine.run("touch /tmp/no-space; dpkg -i /root/*.deb")
    assert f"{machine.older}: NOT BUILT: no zext4 can be mounted with this kernel" in said, said
    log, remedy = re.search(r"(\S+/make\.log);.*: (/\S+/build-modules \S+)\n", said).groups()
    assert "No space left on device" in machine.run(f"cat {log}")
    assert f"{machine.older}: modules installed" in machine.run(f"rm /tmp/no-space; {remedy}")
    installed(machine)


def test_sources_that_are_missing(machine):
    """What dpkg does not forbid: headers and source of different releases, or no headers."""
    source = "/usr/src/linux-source-6.12.tar.xz"
    machine.run(f"rm -r /var/lib/zjournal; mv {source} {source}.away")
    said = machine.run("dpkg -i /root/*.deb")
    assert f"{machine.older}: skipped: the source of its ext4 is not installed" in said, said
    remedy = "/usr/lib/zjournal/source/packaging/build-modules"
    headers = f"/lib/modules/{machine.older}/build"
    said = machine.run(f"mv {source}.away {source}; mv {headers} {headers}.away; {remedy}")
    assert f"(apt-get install linux-headers-{machine.older})" in said, said
    assert f"{machine.older}: modules installed" in machine.run(f"mv {headers}.away {headers}; {remedy}")
    installed(machine)
