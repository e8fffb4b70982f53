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

import vm as vmlib

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "kernelversion:\n\t@echo {release}\n"
TREE = {"Makefile": "VERSION = {0}\nPATCHLEVEL = {1}\nSUBLEVEL = {2}\n",
        "fs/ext4/super.c": "/* ext4 of {0}.{1}.{2} */\n", "include/trace/events/ext4.h": ""}
# The imitation keeps what is installed, and what it was asked for, in files of $STATE.
DKMS = r"""#!/bin/sh
echo "$*" >>"$STATE/calls"
case $1 in
status) [ ! -e "$STATE/installed-${4:-none}" ] || echo "zjournal/0, $4, x86_64: installed" ;;
install) [ ! -e "$STATE/fails" ] && [ ! -e "$ZJ_DKMS/$2/$4" ] && echo 6.12.117 >"$STATE/installed-$4" ;;
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
        for name in ("modules", "packages", "state", "bin", "dkms"):
            (folder / name).mkdir()
        for name in ("zext4", "packaging", "tools", "include"):
            shutil.copytree(TOP / name, self.top / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.script("bin/dkms", DKMS)
        self.script("bin/modinfo", MODINFO)
        self.reviewed(True)
        self.adaptable("")

    def script(self, path, text):
        (self.folder / path).write_text(text)
        (self.folder / path).chmod(0o755)

    def reviewed(self, yes):
        answer = "exit 0" if yes else "echo 'fs/ext4/a.c: a() has changed since it was reviewed'; exit 1"
        self.script("top/zext4/review", f"#!/bin/sh\n{answer}\n")

    def adaptable(self, why_not):
        self.script("top/zext4/apply", f"#!/bin/sh\necho 'zext4: {why_not}' >&2\n{'exit 1' if why_not else ''}\n")

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
               "ZJ_SOURCES": str(self.folder / "kept"), "ZJ_DKMS": str(self.folder / "dkms")}
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


def test_neither_a_recorded_result_nor_coccinelle(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    machine.adaptable("a.c has no recorded result")
    assert "zext4: 6.12.117+deb12-amd64: skipped: a.c has no recorded result\n" in machine.build()
    assert not machine.installs()


def test_failure_does_not_stop_the_installation_of_a_kernel(machine):
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    (machine.state / "fails").touch()
    log = machine.folder / "dkms/zjournal" / machine.run("tools/version").stdout.strip() / "build/make.log"
    log.parent.mkdir(parents=True)
    log.write_text("make: a line\nzext4: 11-a.cocci does not fit super.c:\n    f: expected 2, made 0\nmake: *** Error 1\n")
    said = machine.build()
    assert "NOT BUILT" in said and "a line" not in said and "Error 1" not in said
    assert "zext4: 11-a.cocci does not fit super.c:\n    f: expected 2, made 0\n" in said
    assert machine.installs()


def test_what_an_interrupted_build_has_left(machine):
    """DKMS refuses to build into a folder that is there (test_interrupted.py)."""
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    version = machine.run("tools/version").stdout.strip()
    (machine.folder / f"dkms/zjournal/{version}/6.12.117+deb12-amd64/x86_64/log").mkdir(parents=True)
    assert "modules installed" in machine.build()


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
    folder = TOP / f"build/kmod-{vmlib.Kernel.find().version}"
    for name in ("zjournal", "zext4"):
        found = subprocess.run(["/sbin/modinfo", "-F", "version", folder / f"{name}.ko"],
                               capture_output=True, text=True, check=True).stdout
        assert found.strip() == version


# ---- the type ext4 ----

@pytest.mark.parametrize("has_zext4", [True, False])
def test_aliases_of_the_manual_page(tmp_path, has_zext4):
    """update-initramfs copies them to where only stock ext4 is; a boot must find that."""
    kernel = vmlib.Kernel.find()
    kver = kernel.version
    folder = tmp_path / "lib/modules" / kver
    (folder / "kernel").mkdir(parents=True)
    for name in ("zext4", "zjournal") if has_zext4 else ():
        shutil.copy(TOP / f"build/kmod-{kver}/{name}.ko", folder / "kernel")
    for name in "ext4", "jbd2", "mbcache", "crc16", "crc32c_generic", "libcrc32c":
        shutil.copy(next(kernel.moddir.rglob(f"{name}.ko*")), folder / "kernel")
    for name in "modules.builtin", "modules.order":
        shutil.copy(kernel.moddir / name, folder)
    subprocess.run(["/sbin/depmod", "-b", tmp_path, kver], check=True)
    page = (TOP / "man/zjournal.7").read_text()
    (tmp_path / "zext4.conf").write_text(re.search(r"(?s)(# /etc/modprobe.d/zext4.conf\n.*?)\.Ed", page)[1])
    said = subprocess.run(["/sbin/modprobe", "-d", tmp_path, "-S", kver, "-C", tmp_path / "zext4.conf", "-n", "-v",
                           "fs-ext4"], check=True, capture_output=True, text=True).stdout
    loaded = re.findall(r"/(z?ext4)\.ko\S*(.*)", said)
    # What is refused after zext4 is the only choice without it.
    assert [name for name, _ in loaded] == (["zext4", "ext4"] if has_zext4 else ["ext4"]), said
    assert not has_zext4 or "register_as=ext4" in loaded[0][1]


# ---- zjournal-root ----

WARNINGS = {
    "/dev/sda1 /srv zext4 defaults 0 2": ["BEFORE YOU REBOOT"],
    "/dev/sda1 / ext4 errors=remount-ro 0 1": [],
    "/dev/sda1 / ext4 noatime,lanes=2 0 1": ["tune2fs -E mount_opts="],
    "/dev/sda1 /srv zext4 lane_by=dir 0 2": ["BEFORE YOU REBOOT", "tune2fs -E mount_opts="],
    "# /dev/sda1 /srv zext4 lanes=2 0 2": [],
}


@pytest.mark.parametrize("line", WARNINGS)
def test_lines_at_which_a_boot_would_stop(tmp_path, line):
    """There is no type zext4 then, and a kernel without zext4 refuses its options."""
    (tmp_path / "fstab").write_text(line + "\n")
    (tmp_path / "update-initramfs").write_text("#!/bin/sh\n")
    (tmp_path / "update-initramfs").chmod(0o755)
    script = (TOP / "packaging/debian/zjournal-root.postinst").read_text().replace("/etc/fstab", str(tmp_path / "fstab"))
    done = subprocess.run(["sh", "-c", script, "postinst", "configure"], check=True, capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert [text for text in ("BEFORE YOU REBOOT", "tune2fs -E mount_opts=") if text in done.stderr] == WARNINGS[line]
    assert (line in done.stderr) == bool(WARNINGS[line])


def test_dracut_is_left_alone(tmp_path):
    """A machine whose initramfs dracut makes keeps it."""
    script = (TOP / "packaging/debian/zjournal-root.preinst").read_text()

    def install():
        return subprocess.run(["/bin/sh", "-c", script, "preinst", "install"], check=False, capture_output=True,
                              text=True, env={"PATH": str(tmp_path)})
    assert install().returncode == 0
    (tmp_path / "dracut").write_text("#!/bin/sh\n")
    (tmp_path / "dracut").chmod(0o755)
    done = install()
    assert done.returncode == 1 and "nothing was changed" in done.stderr


FUNCTIONS = """
force_load() { printf '%s\\n' "$@" >>"$DESTDIR/conf/modules"; manual_add_modules "$@"; }
manual_add_modules() { printf '%s\\n' "$@" >>"$DESTDIR/added"; }
copy_exec() { mkdir -p "$DESTDIR$(dirname "$1")"; : >"$DESTDIR$1"; }
modinfo() { [ "$HAS_ZEXT4" = yes ]; }
"""


@pytest.mark.parametrize("has_zext4", [True, False])
def test_initramfs(tmp_path, has_zext4):
    """A kernel without zext4 can replay a log of lanes, too; one with it loads zext4 before any other."""
    functions, root = tmp_path / "functions", tmp_path / "root"
    functions.write_text(FUNCTIONS)
    (root / "conf").mkdir(parents=True)
    (root / "sbin").mkdir()
    (root / "sbin/fsck.ext4").symlink_to("e2fsck")
    listed = "virtio_blk\next4\n ext4 dyndbg=+p\next4_other\n"
    (root / "conf/modules").write_text(listed)
    script = (TOP / "packaging/root/initramfs-hook").read_text().replace(
        "/usr/share/initramfs-tools/hook-functions", str(functions))
    subprocess.run(["sh", "-euc", script], check=True, capture_output=True,
                   env={**os.environ, "DESTDIR": str(root), "version": "6.12", "HAS_ZEXT4": "yes" if has_zext4 else ""})
    assert "fsck.zext4" in (root / "sbin/fsck.ext4").read_text() and not (root / "sbin/fsck.ext4").is_symlink()
    for name in "usr/sbin/zjctl", "usr/sbin/fsck.zext4", "sbin/e2fsck":
        assert (root / name).exists()
    assert (root / "etc/modprobe.d/zext4-root.conf").exists() == has_zext4
    if has_zext4:
        assert (root / "conf/modules").read_text() == "zext4\nvirtio_blk\next4_other\n"
        assert (root / "added").read_text().split() == ["zext4", "ext4"]
    else:
        assert (root / "conf/modules").read_text() == listed

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
    assert needed | {"build-essential", "debhelper"} <= asked and "lintian" not in asked
    # Each header of zjctl is in one of them, in libext2fs-dev's own dependency, or in build-essential.
    included = {name for source in (*TOP.glob("user/**/*.[ch]"), *TOP.glob("src/recovery/*.[ch]"))
                for name in re.findall(r"(?m)^#include <(.*)>", source.read_text())}
    paths = [f"/usr/include/{name}" for name in sorted(included) if pathlib.Path("/usr/include", name).exists()]
    owners = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, check=False).stdout
    found = set(re.findall(r"(?m)^([a-z0-9.+-]+)(?::\w+)?: ", owners))
    assert {"libext2fs-dev", "libxxhash-dev"} <= found <= needed | {"comerr-dev", "libc6-dev", "linux-libc-dev"}
