# SPDX-License-Identifier: GPL-2.0-only
"""Which kernels the package builds modules for, and from which source; one version for all parts.

DKMS, the kernels and their source packages are small imitations.  test_machine.py has the
real ones.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "kernelversion:\n\t@echo {release}\n"
TREE = {"Makefile": "VERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = {2}\n",
        "fs/ext4/super.c": "/* ext4 of {0}.{1}.{2} */\n", "include/trace/events/ext4.h": ""}
# The imitation keeps what is installed, and what it was asked for, in files of $STATE.
DKMS = r"""#!/bin/sh
echo "$*" >>"$STATE/calls"
case $1 in
status) [ ! -e "$STATE/installed-${4:-none}" ] || echo "zjournal/0, $4, x86_64: installed" ;;
install) [ ! -e "$STATE/fails" ] && echo 6.12.117 >"$STATE/installed-$4" ;;
remove) rm "$STATE/installed-$4" ;;
esac
"""
MODINFO = '#!/bin/sh\ncat "$STATE/installed-$2"\n'


class Machine:
    """Installed kernels and source packages, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.top = folder / "top"
        self.state = folder / "state"
        for name in ("modules", "packages", "state", "bin"):
            (folder / name).mkdir()
        for name in ("zext4", "packaging", "tools", "include"):
            shutil.copytree(TOP / name, self.top / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.script("bin/dkms", DKMS)
        self.script("bin/modinfo", MODINFO)
        self.reviewed(True)

    def script(self, path, text):
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)

    def reviewed(self, yes):
        answer = "exit 0" if yes else "echo 'fs/ext4/a.c: a() has changed since it was reviewed'; exit 1"
        self.script("top/zext4/review", f"#!/bin/sh\n{answer}\n")

    def kernel(self, kver, release=None):
        (self.folder / "modules" / kver / "kernel").mkdir(parents=True)
        if release:
            build = self.folder / "modules" / kver / "build"
            build.mkdir()
            (build / "Makefile").write_text(HEADERS.format(release=release))

    def package(self, release):
        tree = self.folder / f"linux-{release}"
        for name, text in TREE.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text.format(*release.split(".")))
        series = release.rsplit(".", 1)[0]
        subprocess.run(["tar", "cJf", self.folder / f"packages/linux-source-{series}.tar.xz", "-C", self.folder,
                        tree.name], check=True)

    def run(self, program, *arguments):
        env = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "STATE": str(self.state),
               "ZJ_MODULES": str(self.folder / "modules"), "ZJ_PACKAGES": str(self.folder / "packages"),
               "ZJ_SOURCES": str(self.folder / "kept")}
        return subprocess.run([self.top / program, *arguments], env=env, capture_output=True, text=True,
                              check=False)

    def source(self, kver):
        done = self.run("packaging/ext4-source", kver)
        return done.stdout.strip() if done.returncode == 0 else done.stderr

    def build(self):
        done = self.run("packaging/build-modules")
        assert done.returncode == 0, done.stderr
        return done.stderr

    def installs(self):
        calls = self.state / "calls"
        return re.findall(r"(?m)^install \S+ -k (\S+)", calls.read_text()) if calls.exists() else []


@pytest.fixture(name="machine")
def machine_fixture(tmp_path):
    return Machine(tmp_path)


# ---- the source ----

def test_own_release(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    found = pathlib.Path(machine.source("6.12.117+deb12-amd64"))
    assert (found / "fs/ext4/super.c").read_text() == "/* ext4 of 6.12.117 */\n"


def test_older_kernel_keeps_its_source(machine):
    machine.kernel("6.12.115+deb12-amd64", "6.12.115")
    machine.package("6.12.115")
    old = machine.source("6.12.115+deb12-amd64")
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    new = machine.source("6.12.117+deb12-amd64")
    assert machine.source("6.12.115+deb12-amd64") == old and new != old
    assert "6.12.115" in (pathlib.Path(old) / "fs/ext4/super.c").read_text()
    assert "6.12.117" in (pathlib.Path(new) / "fs/ext4/super.c").read_text()


@pytest.mark.parametrize("package", ["6.12.115", "6.12.118"])
def test_other_release_is_not_taken(machine, package):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package(package)
    assert f"another release (linux-{package})" in machine.source("6.12.117+deb12-amd64")


def test_reasons(machine):
    machine.kernel("6.1.0-47-amd64")
    assert "not made for ext4 of Linux 6.1" in machine.source("6.1.0-47-amd64")
    machine.kernel("6.12.115+deb12-amd64")
    assert "apt-get install linux-headers-6.12.115+deb12-amd64" in machine.source("6.12.115+deb12-amd64")
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    assert "apt-get install linux-source-6.12" in machine.source("6.12.117+deb12-amd64")


def test_build_without_packages_refuses_another_release(machine):
    machine.package("6.12.117")
    package, out = machine.folder / "packages/linux-source-6.12.tar.xz", machine.folder / "out"
    done = machine.run("zext4/extract", package, "6.12.115+deb12-amd64", out)
    assert done.returncode == 1 and "is Linux 6.12.117, the kernel is 6.12.115+deb12-amd64" in done.stderr
    assert machine.run("zext4/extract", package, "6.12.117+deb12-amd64", out).returncode == 0
    assert (out / "release").read_text() == "6.12.117\n"


# ---- the modules ----

def test_each_kernel_that_can_be_served(machine):
    machine.kernel("6.1.0-47-amd64", "6.1.176")
    machine.kernel("6.12.115+deb12-amd64", "6.12.115")
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.kernel("6.12.117+deb12-cloud-amd64", "6.12.117")
    machine.package("6.12.117")
    said = machine.build()
    assert machine.installs() == ["6.12.117+deb12-amd64", "6.12.117+deb12-cloud-amd64"]
    assert said.count("modules installed, made of the ext4 of Linux 6.12.117") == 2
    assert "6.1.0-47-amd64: skipped: zext4 is not made" in said
    assert "6.12.115+deb12-amd64: skipped: the source of its ext4 is not there" in said


def test_built_once(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    machine.build()
    assert "the modules are there" in machine.build()
    assert len(machine.installs()) == 1


def test_unreviewed_source(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    machine.reviewed(False)
    assert "skipped: in the ext4 of Linux 6.12.117 1 functions differ" in machine.build()
    assert not machine.installs()


def test_failure_does_not_stop_the_installation_of_a_kernel(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    (machine.state / "fails").touch()
    assert "NOT BUILT" in machine.build()
    assert machine.installs()


def test_headers_that_went_do_not_matter(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    machine.build()
    shutil.rmtree(machine.folder / "modules/6.12.117+deb12-amd64/build")
    assert machine.build() == ""


# ---- the kernel that "make modules" builds for ----

@pytest.mark.parametrize("running,kernels,expected", [
    ("6.12.115+deb12-amd64", ["6.12.115+deb12-amd64", "6.12.117+deb12-amd64"], "6.12.115+deb12-amd64"),
    ("6.1.0-47-amd64", ["6.12.99+deb12-amd64", "6.12.117+deb12-amd64"], "6.12.117+deb12-amd64"),
    ("6.1.0-47-amd64", ["6.12.117+deb12-amd64", "6.12.117+deb12-rt-amd64"], "6.12.117+deb12-amd64"),
    ("6.1.0-47-amd64", ["6.12.117+deb12-cloud-amd64"], "6.12.117+deb12-cloud-amd64"),
    ("6.1.0-47-amd64", ["6.1.0-47-amd64"], ""),
])
def test_default_kernel(machine, monkeypatch, running, kernels, expected):
    for kver in kernels:
        machine.kernel(kver, "any")
    monkeypatch.setenv("ZJ_RUNNING", running)
    assert machine.run("tools/kver", machine.folder / "modules").stdout.strip() == expected


# ---- the version ----

def test_one_version(machine):
    version = machine.run("tools/version").stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    said = subprocess.run([TOP / "build/zjctl", "--version"], capture_output=True, text=True, check=True).stdout
    assert f"zjournal {version}," in said
    folder = max(TOP.glob("build/kmod-6.12*"))
    for name in ("zjournal", "zext4"):
        found = subprocess.run(["/sbin/modinfo", "-F", "version", folder / f"{name}.ko"],
                               capture_output=True, text=True, check=True).stdout
        assert found.strip() == version


@pytest.mark.parametrize("line,warned", [("/dev/sda1 /srv zext4 defaults 0 2", True), ("/dev/sda1 / ext4 lanes=2 0 1", False),
                                         ("# /dev/sda1 /srv zext4 defaults 0 2", False)])
def test_types_that_the_next_boot_would_miss(tmp_path, line, warned):
    """With zjournal-root there is no type zext4, and a boot stops at a line of fstab that names it."""
    (tmp_path / "fstab").write_text(line + "\n")
    (tmp_path / "update-initramfs").write_text("#!/bin/sh\n")
    (tmp_path / "update-initramfs").chmod(0o755)
    script = (TOP / "packaging/debian/zjournal-root.postinst").read_text().replace("/etc/fstab", str(tmp_path / "fstab"))
    done = subprocess.run(["sh", "-c", script, "postinst", "configure"], check=True, capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert ("BEFORE YOU REBOOT" in done.stderr and line in done.stderr) == warned, done.stderr


def test_what_packages_are_built_with(tmp_path):
    """A bare Debian has no compiler, and dpkg-buildpackage asks for build-essential, which no package names."""
    control = (TOP / "packaging/debian/control").read_text()
    needed = set(re.findall(r"[a-z][a-z0-9-]+", re.search(r"(?m)^Build-Depends: (.*)", control)[1])) - {"debhelper-compat"}
    for name, text in ("dpkg-query", "exit 1"), ("apt-get", f'echo "$@" >>{tmp_path}/asked'), ("sudo", '"$@"'):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    subprocess.run([TOP / "tools/deps", "deb"], check=False, capture_output=True,
                   env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    asked = set((tmp_path / "asked").read_text().split())
    assert needed | {"build-essential", "debhelper", "lintian"} <= asked
