# SPDX-License-Identifier: GPL-2.0-only
"""What README.md says under "Use it" and "Go back", typed as it stands there, on a bare Debian 12 and a bare Debian 13.

The commands are taken from README. What a chroot cannot do, a reboot and a mount of zext4, tests/packages does in machines
that it boots. The host may be under any load: a command is given up when it says nothing new (tests/kit/patience.py).
"""
import os
import re

import bare_debian
import pytest
import readme_blocks

pytestmark = pytest.mark.skipif(not os.environ.get("ZJ_NEWCOMER"),
                                reason="downloads Debian 12 and 13 and compiles the modules in both: make newcomer")
TOP = "/root/zjournal"
SUITES = ["bookworm", "trixie"]
NOT_IN_A_CHROOT = re.compile("sudo (reboot|mount|umount) ?")
MAKE_DEB = readme_blocks.line_of("Use it", "sudo apt update")
INSTALL = readme_blocks.line_of("Use it", "sudo apt install")
MKFS = readme_blocks.line_of("Use it", "sudo mkfs.zext4").split("#")[0]
PURGE = readme_blocks.line_of("Go back", "sudo apt purge").split("#")[0]
SOURCES = readme_blocks.line_of("Use it", "deb ")
FSTAB = readme_blocks.line_of("Use it", "/dev/sdX1 /mnt")


def new_debian(request, suite, name):
    debian = bare_debian.Debian(suite, name)
    request.addfinalizer(debian.close)
    return debian


def add_sources(debian, suite):
    if suite == "bookworm":
        debian.run(f"echo '{SOURCES}' >>/etc/apt/sources.list")


@pytest.fixture(scope="module", name="suite", params=SUITES)
def suite_fixture(request):
    return request.param


@pytest.fixture(scope="module", name="user")
def user_fixture(request, suite):
    """A Debian in which all commands of "Use it" were typed that a chroot can run, and what they have said."""
    debian = new_debian(request, suite, "plain")
    add_sources(debian, suite)
    debian.clone()
    debian.times.clear()
    debian.said = debian.run(MAKE_DEB, TOP) + debian.run(INSTALL, TOP)
    debian.report(suite)
    return debian


def test_every_command_of_readme_is_tried():
    known = {MAKE_DEB, INSTALL, MKFS.strip(), PURGE.strip()}
    assert [line for line in readme_blocks.commands("Use it") + readme_blocks.commands("Go back")
            if line not in known and not NOT_IN_A_CHROOT.match(line)] == []


def test_installs(user):
    kver = re.search(r"zext4: (\S+): modules installed, made of the ext4 of Linux 6\.12\.\d+", user.said).group(1)
    user.run(f"modinfo -k {kver} zext4")
    # What comes next is the last thing that the package says.
    last = [line for line in user.said.splitlines() if line.startswith("zext4: ")][-1]
    assert re.match(rf"zext4: next: (reboot into {re.escape(kver)}|mount -t zext4 DEVICE FOLDER)", last), last


def test_tools_answer(user):
    disk = "/root/disk"
    user.run(f"truncate -s 1G {disk} && {MKFS.replace('/dev/sdX1', disk)}")
    assert "Advice" not in user.run(f"zjctl info {disk}")
    assert "no zext4 is mounted" in user.run("zjctl status")
    # It exits with 1 where the running kernel, which is the host's, is not served.
    assert re.search(r"(?m)^6\.12\.\S+: served, ", user.run("zjctl kernels", rc=None))


def test_purge_warns_of_fstab(user):
    """The last case of this Debian."""
    user.put("etc/fstab", FSTAB + "\n")
    said = user.run(PURGE, text="y\n")
    assert "/etc/fstab: /dev/sdX1 on /mnt" in said and "BEFORE YOU REBOOT" in said, said
    left = "/lib/modules/*/updates/dkms/z*.ko* /usr/src/zjournal* /var/lib/dkms/zjournal /var/lib/zjournal"
    assert user.run(f"ls -d {left} 2>/dev/null", rc=2) == ""


def test_archive_with_another_apt_at_work(request, suite):
    """In a release's archive there is no git; another apt holds the locks when each command begins."""
    debian = new_debian(request, suite, "archive")
    add_sources(debian, suite)
    debian.archive()
    other = bare_debian.OtherApt(debian)
    said = debian.run(MAKE_DEB, TOP, at=("lock", other.let_go))
    other.end()
    assert "make deb: build/deb has zjournal-dkms, zjournal-tools" in said
    # make is there now, so tools/deps is the one that waits.
    debian.run("apt-get -q purge -y libxxhash-dev")
    other = bare_debian.OtherApt(debian)
    said = debian.run("make deb", TOP, at=("tools/deps: another apt is running", other.let_go))
    other.end()
    assert "make deb: build/deb has zjournal-dkms, zjournal-tools" in said


def test_sources_without_the_line(request):
    """Debian 12 has no Linux 6.12 in main: what to add is said, and adding it is enough."""
    debian = new_debian(request, "bookworm", "sources")
    debian.clone()
    said = debian.run(MAKE_DEB, TOP)
    said += debian.run(INSTALL, TOP, rc=100)
    assert SOURCES in said
    # What it says is typed, too.
    for line in re.findall(r"^    ((?:echo|sudo) .*)$", said.split("No source of apt has", 1)[1], re.M)[:2]:
        debian.run(line)
    assert "modules installed" in debian.run(INSTALL, TOP)
