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

import debian_machine
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
        self.running = "6.1.0-47-amd64"
        for name in ("modules", "packages", "state", "bin", "dkms"):
            (folder / name).mkdir()
        for name in ("zext4", "packaging", "tools", "include"):
            shutil.copytree(TOP / name, self.top / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.script("bin/dkms", DKMS)
        self.script("bin/modinfo", MODINFO)
        self.script("bin/apt-cache", "#!/bin/sh\n")
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
               "ZJ_RUNNING": os.environ.get("ZJ_RUNNING", self.running), "ZJ_FSTAB": str(self.folder / "fstab"),
               "ZJ_MOUNTS": str(self.folder / "mounts"), "ZJ_BUILD_VERSION": "0.1.0", "ZJ_MODULES": str(self.folder / "modules"), "ZJ_PACKAGES": str(self.folder / "packages"),
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


# ---- what is said when all is done ----

@pytest.mark.parametrize("running,says", [
    ("6.12.117+deb12-amd64", "next: mount -t zext4 DEVICE FOLDER"),
    ("6.1.0-47-amd64", "next: reboot into 6.12.117+deb12-amd64 (this is 6.1.0-47-amd64, which has no zext4)")])
def test_next_step(machine, running, says):
    machine.kernel("6.1.0-47-amd64", "6.1.176")
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.package("6.12.117")
    machine.running = running
    said = machine.build()
    assert says in said and "WARNING" not in said
    assert "6.12.117+deb12-amd64 (2 of 2 kernels): building the modules" in said and "build/make.log" in said
    assert "next:" not in machine.build()


def test_no_kernel_at_all(machine):
    machine.kernel("6.1.0-47-amd64", "6.1.176")
    said = machine.build()
    assert "apt-get install linux-image-6.12-amd64" in said


FSTAB = "# /dev/sda1 /old zext4\n/dev/sda2 / ext4 defaults 0 1\n/dev/sdb1 /srv zext4 defaults,nofail 0 2\n"


@pytest.mark.parametrize("fstab", [FSTAB, FSTAB.splitlines()[1] + "\n"])
def test_newest_kernel_without_zext4(machine, fstab):
    """It will boot next, so now is the time to say it, if something needs zext4."""
    (machine.folder / "fstab").write_text(fstab)
    machine.kernel("6.12.117+deb12-amd64", "6.12.117")
    machine.kernel("6.12.118+deb12-amd64", "6.12.118")
    machine.package("6.12.117")
    said = machine.build()
    needed = "zext4" in fstab
    assert ("WARNING: 6.12.118+deb12-amd64, the newest kernel" in said) == needed
    assert ("to keep zext4, boot 6.12.117+deb12-amd64" in said and "/etc/fstab: /dev/sdb1 on /srv" in said) == needed
    assert "/old" not in said and "/dev/sda2" not in said


@pytest.mark.parametrize("package,says", [("zjournal-dkms", "no kernel has zext4"),
                                          ("zjournal-tools", "a kernel without zext4 stops the boot")])
@pytest.mark.parametrize("needing", ["  /etc/fstab: /dev/sdb1 on /srv", ""])
def test_removal(tmp_path, package, says, needing):
    """What to do is said before the packages go, and not at an upgrade."""
    (tmp_path / "dependents").write_text(f"#!/bin/sh\nprintf '{needing}'\n")
    (tmp_path / "dependents").chmod(0o755)
    (tmp_path / "dkms").write_text("#!/bin/sh\n")
    (tmp_path / "dkms").chmod(0o755)
    script = (TOP / f"packaging/debian/{package}.prerm").read_text()
    script = re.sub(r"/usr/lib/zjournal/(source/packaging/)?dependents", f"{tmp_path}/dependents", script)
    script = script.replace("/usr/lib/zjournal/source/tools/version", "echo 0").replace("/var/lib/dkms", f"{tmp_path}/var")
    script = script.replace("/lib/modules", f"{tmp_path}/modules")

    def prerm(action):
        return subprocess.run(["sh", "-c", script, "prerm", action], check=True, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}).stderr
    said = prerm("remove")
    assert [text in said for text in (says, "BEFORE YOU REBOOT", "/dev/sdb1 on /srv")] == [bool(needing)] * 3, said
    assert not prerm("upgrade")


# ---- reports ----

class Watched:
    """A machine that zjournal-check looks at"""

    def __init__(self, folder):
        self.folder = folder
        for name in "bin", "modules", "proc", "notes", "state":
            (folder / name).mkdir()
        for name in "user/zjournal-check", "packaging/dependents":
            shutil.copy(TOP / name, folder / "bin")
        for name, text in {"sendmail": 'cat >>"$MAIL"', "zjctl": '[ "$2" = --json ] || echo "zjctl: this is why" >&2; cat "$JSON"',
                           "mountpoint": "exit 1"}.items():
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / "bin" / name).chmod(0o755)
        self.json = folder / "json"
        self.json.write_text('{"journal":{"state":"clean"')
        (folder / "fstab").write_text("")

    def kernel(self, kver, zext4):
        folder = self.folder / "modules" / kver
        (folder / "kernel").mkdir(parents=True)
        (folder / "updates/dkms").mkdir(parents=True)
        if zext4:
            (folder / "updates/dkms/zext4.ko.xz").touch()

    def look(self):
        """What is printed and, the same, mailed."""
        mail = self.folder / "mail"
        mail.unlink(missing_ok=True)
        names = {"ZJ_MODULES": "modules", "ZJ_PROC": "proc", "ZJ_NOTES": "notes", "STATE_DIRECTORY": "state",
                 "ZJ_FSTAB": "fstab", "ZJ_MOUNTS": "none", "ZJ_HOOK": "hook", "MAIL": "mail", "JSON": "json"}
        done = subprocess.run([self.folder / "bin/zjournal-check"], capture_output=True, text=True, check=True,
                              env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", **{k: str(self.folder / v) for k, v in names.items()}})
        assert not done.stderr
        said = done.stdout.replace("<3>", "")
        if said:
            assert mail.read_text().startswith("To: root\nSubject: ") and mail.read_text().endswith("\n\n" + said)
        else:
            assert not mail.exists()
        return said


@pytest.fixture(name="watched")
def watched_fixture(tmp_path):
    return Watched(tmp_path)


def test_nothing_to_report(watched):
    watched.kernel("6.12.117+deb12-amd64", True)
    watched.kernel("6.12.118+deb12-amd64", False)
    assert watched.look() == ""
    (watched.folder / "fstab").write_text("/dev/sdb1 /srv zext4 defaults 0 2\n")
    watched.kernel("6.12.119+deb12-amd64", True)
    assert watched.look() == ""


def test_each_thing_is_reported_once(watched):
    watched.kernel("6.12.117+deb12-amd64", True)
    watched.kernel("6.12.118+deb12-amd64", False)
    (watched.folder / "fstab").write_text("/dev/sdb1 /srv zext4 defaults 0 2\n")
    said = watched.look()
    assert said.startswith("6.12.118+deb12-amd64, the newest kernel, has no zext4") and "/dev/sdb1 on /srv" in said
    assert watched.look() == ""
    (watched.folder / "proc/sdb1-8").mkdir()
    (watched.folder / "proc/sdb1-8/info").write_text("log: zj\nstate: aborted\n")
    assert watched.look().startswith("the journal of sdb1 has failed")
    watched.json.write_text('{"journal":{"state":"damaged"')
    assert watched.look() == ("the log of /dev/sdb1 (/srv) cannot be used. Copy the device before anything else"
                              " (zjctl: this is why)\n")
    assert watched.look() == ""
    # What went away and comes back is new.
    (watched.folder / "proc/sdb1-8/info").write_text("log: zj\nstate: running\n")
    assert watched.look() == ""
    (watched.folder / "proc/sdb1-8/info").write_text("log: zj\nstate: aborted\n")
    assert "sdb1 has failed" in watched.look()
    (watched.folder / "notes/zext4-srv").write_text("/srv is mounted as ext4, not zext4: ...\n")
    assert watched.look().startswith("/srv is mounted as ext4")


def test_the_root_needs_the_newest_kernel(watched):
    watched.kernel("6.12.118+deb12-amd64", False)
    (watched.folder / "hook").touch()
    assert "the root (zjournal-root)" in watched.look()


# ---- apt ----

@pytest.mark.parametrize("release,line", [
    ("ID=debian\nVERSION_CODENAME=bookworm", "deb http://security.debian.org/debian-security bookworm-security main"),
    ("ID=debian\nVERSION_CODENAME=trixie", "deb http://deb.debian.org/debian trixie main"),
    ("ID=other\nPRETTY_NAME=Other", "Other is no Debian")])
@pytest.mark.parametrize("candidate", ["(none)", "6.12.117-1"])
def test_sources_that_lack_the_kernel(tmp_path, release, line, candidate):
    (tmp_path / "apt-cache").write_text(f"#!/bin/sh\necho 'linux-source-6.12:'; echo '  Candidate: {candidate}'\n")
    (tmp_path / "apt-cache").chmod(0o755)
    (tmp_path / "os-release").write_text(release + "\n")
    done = subprocess.run([TOP / "packaging/kernel-sources"], check=True, capture_output=True, text=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin", "ZJ_OS_RELEASE": str(tmp_path / "os-release")})
    assert (line in done.stdout) == (candidate == "(none)") == bool(done.stdout)


APT = r"""#!/bin/sh
echo "$*" >>"$STATE/asked"
if [ "$(wc -l <"$STATE/asked")" -le "$LOCKED" ]; then
	echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)' >&2
	exit 100
fi
[ -z "$REASON" ] || { echo "E: $REASON" >&2; exit 100; }
"""


@pytest.mark.parametrize("locked,reason", [(2, ""), (0, "Unable to locate package linux-source-6.12"), (0, "Failed to fetch it")])
def test_apt_that_is_locked_or_fails(tmp_path, locked, reason):
    """Another apt is waited for, and the reason of a failure is the one that apt gives."""
    for name, text in (("apt-get", APT), ("dpkg-query", "#!/bin/sh\nexit 1\n"), ("sleep", "#!/bin/sh\n"), ("sudo", '#!/bin/sh\n"$@"\n'),
                       ("apt-cache", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name in "tools/deps", "packaging/kernel-sources", "zext4/series":
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / "tree" / name)
    done = subprocess.run([tmp_path / "tree/tools/deps", "deb"], check=False, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "STATE": str(tmp_path),
                               "LOCKED": str(locked), "REASON": reason})
    assert (done.returncode == 0) == (not reason), done.stderr
    assert done.stdout.count("another apt is running, waiting for it to end") == locked
    assert not locked or "held by process 7 (unattended-upgr)" in done.stdout
    if reason:
        assert reason in done.stderr


# ---- mkfs.zext4 ----

@pytest.mark.parametrize("size,cpus,options", [
    ("64M", 1, []), ("2G", 4, ["-b", "1024"]), ("20G", 8, ["-O", "quota", "-L", "name"]), ("400G", 64, ["-O^64bit"])])
def test_mkfs_leaves_no_advice(tmp_path, size, cpus, options):
    """What zjctl info would advise afterwards has been done; a choice of the caller stays."""
    disk = tmp_path / "disk"
    subprocess.run(["truncate", "-s", size, disk], check=True)

    def ids():
        done = subprocess.run([TOP / "build/zjctl", "info", "--json", "--cpus", str(cpus), disk], check=True,
                              capture_output=True, text=True)
        return set(re.findall(r'"id":"([^"]*)"', done.stdout)) - {"quota", "small"}
    subprocess.run([TOP / "build/mkfs.zext4", f"--cpus={cpus}", "-q", "-F", *options, disk], check=True, capture_output=True)
    assert not ids()
    subprocess.run([TOP / "build/mkfs.zext4", f"--cpus={cpus}", "-q", "-F", "-O", "^orphan_file", "-g8192", disk], check=True,
                   capture_output=True)
    assert "no-orphan-file" in ids()


# ---- the version ----

def test_one_version():
    version = subprocess.run([TOP / "build/zjctl", "--version"], capture_output=True, text=True, check=True).stdout
    number = subprocess.run([TOP / "tools/version", "--release"], capture_output=True, text=True, check=True).stdout.strip()
    kind = re.escape(number) + r"(\+git\d{8}\.\d{6}\.[0-9a-f]{12}(\.dirty)?)?"
    assert re.match(f"zjctl of zjournal {kind},", version)
    folder = TOP / f"build/kmod-{vmlib.Kernel.find().version}"
    for name in ("zjournal", "zext4"):
        found = subprocess.run(["/sbin/modinfo", "-F", "version", folder / f"{name}.ko"],
                               capture_output=True, text=True, check=True).stdout
        assert re.fullmatch(kind, found.strip())


class Clone:
    """A repository of the files that make the version"""

    def __init__(self, folder):
        self.folder = folder
        for name in "tools/version", "tools/commit", ".gitattributes", "include/zjournal/version.h":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, folder / name)
        self.git("init", "-q")

    def git(self, *words, date="0"):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=self.folder, check=True,
                       capture_output=True, env={**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date})

    def commit(self, date):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "step", date=date)
        return self.version()

    def version(self, folder=None):
        return subprocess.run([(folder or self.folder) / "tools/version"], capture_output=True, text=True, check=True,
                              cwd="/").stdout.strip()

    def archive(self, out):
        out.mkdir()
        subprocess.run(f"git archive HEAD | tar x -C {out}", cwd=self.folder, shell=True, check=True)
        return self.version(out)


def newer(one, other):
    return not subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False).returncode


def test_a_newer_build_upgrades_an_older_one(tmp_path):
    """Commits of the same day, too; and each upgrades the release that it follows, and is upgraded by the next one."""
    clone = Clone(tmp_path / "clone")
    versions = [clone.commit(date) for date in ("2026-11-26T09:59:59Z", "2026-11-26T10:00:00Z", "2026-11-27T01:00:00Z")]
    assert versions[0].startswith("0.1.0+git20261126.095959.")
    ordered = ["0.1.0", *versions, "0.1.1", "0.2.0"]
    assert all(newer(b, a) for a, b in zip(ordered, ordered[1:]))
    # The release is the tag, and in an archive the version is the same.
    assert clone.archive(tmp_path / "one") == versions[-1]
    clone.git("tag", "v0.1.0")
    assert clone.version() == clone.archive(tmp_path / "two") == "0.1.0"
    (clone.folder / "tools/commit").write_text("changed\n")
    assert re.fullmatch(r"0\.1\.0\+git20261127\.010000\.[0-9a-f]{12}\.dirty", clone.version())


def test_archive_inside_another_repository(tmp_path):
    """That one's commit is not ours."""
    clone = Clone(tmp_path / "clone")
    version = clone.commit("2026-11-26T09:59:59Z")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert clone.archive(tmp_path / "out") == version


def test_packages_are_made_without_git(tmp_path):
    """In an unpacked archive; what dpkg-buildpackage gets is the same tree."""
    stub = "#!/bin/sh\nfind . -type f | sort >{}/files\ncp debian/changelog .version {}\n"
    found = []
    for name, of in ("clone", None), ("archive", "clone"):
        top, out = tmp_path / name, tmp_path / f"{name}.out"
        out.mkdir()
        if of:
            top.mkdir()
            subprocess.run(f"git archive HEAD | tar x -C {top}", cwd=tmp_path / of, shell=True, check=True)
        else:
            subprocess.run(["git", "clone", "-q", "--no-hardlinks", "--depth=1", f"file://{TOP}", top], check=True)
        debian_machine.share_results(top)
        (tmp_path / "bin").mkdir(exist_ok=True)
        for program, text in ("dpkg-buildpackage", stub.format(out, out)), ("lintian", "#!/bin/sh\n"):
            (tmp_path / "bin" / program).write_text(text)
            (tmp_path / "bin" / program).chmod(0o755)
        done = subprocess.run([top / "packaging/make-deb"], check=True, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
        version = (out / ".version").read_text().strip()
        assert f"sudo apt-get install ./build/deb/zjournal-dkms_{version}_all.deb" in done.stdout
        found.append((version, (out / "files").read_text(), (out / "changelog").read_text().splitlines()[0]))
    assert found[0] == found[1] and f"zjournal ({found[0][0]})" in found[0][2]


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
    "/dev/sda1 /srv zext4 defaults,lanes=2 0 2": False,
    "/dev/sda1 / ext4 errors=remount-ro 0 1": False,
    "/dev/sda1 / ext4 noatime,lanes=2 0 1": True,
    "# /dev/sda1 /srv ext4 lanes=2 0 2": False,
}


@pytest.mark.parametrize("line", WARNINGS)
def test_lines_at_which_a_boot_would_stop(tmp_path, line):
    """A kernel without zext4 refuses its options for the type ext4; for zext4 there is mount.zext4."""
    said = root_postinst(tmp_path, fstab=line)
    assert ("move them into the file system, as in tune2fs -E mount_opts=" in said) == (line in said) == WARNINGS[line]


def root_postinst(folder, fstab="", cpus=1, answer="false", stored=""):
    """What it says, for a root with these stored options and a machine with so many CPUs."""
    (folder / "fstab").write_text(fstab + "\n")
    (folder / "confmodule").write_text(f"db_get() {{ RET={answer}; }}\n")
    for name, text in {"update-initramfs": "", "nproc": f"echo {cpus}", "findmnt": "echo /dev/root",
                       "dumpe2fs": f"echo 'Mount options:   {stored}'", "tune2fs": 'echo "asked tune2fs $*"'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    script = (TOP / "packaging/debian/zjournal-root.postinst").read_text().replace("/etc/fstab", str(folder / "fstab"))
    script = script.replace("/usr/share/debconf/confmodule", f"{folder}/confmodule").replace('[ -b "$root" ] &&', "")
    return subprocess.run(["sh", "-c", script, "postinst", "configure"], check=True, capture_output=True, text=True,
                          env={"PATH": f"{folder}:/usr/bin:/bin"}).stderr


@pytest.mark.parametrize("cpus,answer,stored,says,done", [
    (1, "true", "", "", False),
    (16, "false", "", "ONE lane, for all 16 CPUs", False),
    (16, "false", "noatime", "tune2fs -E mount_opts=noatime,lanes=16 /dev/root", False),
    (16, "true", "noatime", "from the next boot on the root has 16 lanes", True),
    (16, "true", "lanes=4", "", False)])
def test_never_one_lane_without_a_word(tmp_path, cpus, answer, stored, says, done):
    said = root_postinst(tmp_path, cpus=cpus, answer=answer, stored=stored)
    assert says in said and bool(says) == ("lane" in said)
    assert ("asked tune2fs -E mount_opts=" + (stored + "," if stored else "") + f"lanes={cpus} " in said) == done


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
    included = {name for source in (*TOP.glob("user/**/*.[ch]"), *TOP.glob("src/recovery/*.[ch]"),
                                                  TOP / "src/nvm/recovery_nvm.c")
                for name in re.findall(r"(?m)^#include <(.*)>", source.read_text())}
    paths = [f"/usr/include/{name}" for name in sorted(included) if pathlib.Path("/usr/include", name).exists()]
    owners = subprocess.run(["dpkg-query", "-S", *paths], capture_output=True, text=True, check=False).stdout
    found = set(re.findall(r"(?m)^([a-z0-9.+-]+)(?::\w+)?: ", owners))
    assert {"libext2fs-dev", "libxxhash-dev"} <= found <= needed | {"comerr-dev", "libc6-dev", "linux-libc-dev"}
