# SPDX-License-Identifier: GPL-2.0-only
"""A Debian as its installer's smallest variant leaves it, in a chroot, for what a new user types first.

Packages that were downloaded are kept in build/newcomer/SUITE/archives for the next run. The mirror is deb.debian.org.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

import patience

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build/newcomer"
MIRROR = "http://deb.debian.org/debian"
# The mounts live as long as this shell, which ends when nobody can write to it any more.
MOUNTS = """
mount -t overlay overlay -o "lowerdir=$1/tree,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
mount --rbind /dev "$2/root/dev"
mount --bind "$1/archives" "$2/root/var/cache/apt/archives"
echo mounted
read -r end
"""
# Only what keeps the downloads.
APT = """APT::Keep-Downloaded-Packages "true";
Binary::apt::APT::Keep-Downloaded-Packages "true";
APT::Sandbox::User "root";
"""
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}
# Seconds without a new word. The longest silence is a compilation of the modules: 200 s on one core.
QUIET = 900


def end_of(process, path, seen=lambda text: None):
    """Waits for a process that writes to a file, and returns its status; seen() gets what it has said so far."""
    wait = patience.Patience(QUIET, lambda: patience.tree(process.pid), lambda: path.stat().st_size)
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            seen(path.read_text(errors="replace"))
        if wait.over():
            patience.kill(process.pid)
            process.wait()
            raise AssertionError(f"{wait.why()}:\n{path.read_text(errors='replace')[-6000:]}")


def make_tree(suite):
    """debootstrap's smallest variant, with sudo, and the sources that debootstrap writes."""
    folder = BUILD / suite
    if not (folder / "done").exists():
        shutil.rmtree(folder / "tree", ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "said"
        with open(path, "w", encoding="utf-8") as file, \
             subprocess.Popen(["debootstrap", "--variant=minbase", "--include=sudo", suite, folder / "tree", MIRROR],
                              stdout=file, stderr=subprocess.STDOUT) as process:
            assert end_of(process, path) == 0, path.read_text()
        (folder / "done").touch()
    (folder / "archives/partial").mkdir(parents=True, exist_ok=True)
    return folder


class Debian:
    """The tree with what a case changes in it. Its commands run in the folder that they name."""

    def __init__(self, suite, name):
        base = make_tree(suite)
        self.folder = base / name
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir(parents=True)
        self.times, self.commit, self.started = [], None, []
        # Held until the end of the case.
        self.shell = subprocess.Popen(  # pylint: disable=consider-using-with
            ["unshare", "-m", "sh", "-euc", MOUNTS, "sh", base, self.folder], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        assert self.shell.stdout.readline() == "mounted\n"
        self.put("etc/apt/apt.conf.d/90newcomer", APT)
        # What is thrown away needs no fsyncs.
        self.put("etc/dpkg/dpkg.cfg.d/newcomer", "force-unsafe-io\n")
        self.put("etc/resolv.conf", pathlib.Path("/etc/resolv.conf").read_text())

    def close(self):
        for process in self.started:
            if process.poll() is None:
                patience.kill(process.pid)
                process.wait()
        self.shell.communicate("end\n")
        shutil.rmtree(self.folder)

    def put(self, name, text):
        """Writes the file as root in there would."""
        self.run(f"mkdir -p /{pathlib.Path(name).parent} && cat >/{name}", text=text)

    def start(self, command, folder="/root", said=subprocess.DEVNULL, text=None):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["nsenter", "-t", str(self.shell.pid), "-m", "chroot", self.folder / "root", "bash", "-c",
             f"cd {folder} && {command}"], stdin=subprocess.PIPE, stdout=said, stderr=subprocess.STDOUT, text=True,
            env=ENVIRONMENT)
        if text is not None:
            process.stdin.write(text)
        process.stdin.close()
        self.started.append(process)
        return process

    def run(self, command, folder="/root", rc=0, text=None, at=None):
        """Runs a command to its end and returns what it said. AT is a text and what is done when it has been said."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        at = [at] if at else []

        def seen(text):
            if at and at[0][0] in text:
                at.pop()[1]()

        # What is done meanwhile may run a command, too.
        with tempfile.NamedTemporaryFile("w", dir=self.folder, prefix="said-") as file:
            path = pathlib.Path(file.name)
            process = self.start(command, folder, file, text)
            end_of(process, path, seen)
            said = path.read_text(errors="replace")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.times.append({"command": command, "wall_s": round(time.monotonic() - begun, 1),
                           "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1)})
        assert rc is None or process.returncode == rc, f"{command}: {process.returncode}\n{said[-6000:]}"
        assert not at, f"{command} has not said {at[0][0]!r}:\n{said[-6000:]}"
        return said

    def clone(self, folder="/root/zjournal"):
        """This commit, as git clone leaves it."""
        to = self.folder / "clone"
        self.commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=TOP, check=True, capture_output=True,
                                     text=True).stdout.strip()
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{TOP}", to], check=True)
        self.take(to, folder)

    def report(self, suite):
        """What README's commands took, for the record."""
        path = TOP / f"build/results/newcomer-{suite}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"commit": self.commit, "date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(),
                                    "load": os.getloadavg()[0], "commands": self.times}, indent=1) + "\n")

    def archive(self, folder="/root/zjournal"):
        """This commit, as the archive of a release has it."""
        to = self.folder / "archive"
        to.mkdir()
        subprocess.run(f"git archive HEAD | tar x -C '{to}'", shell=True, cwd=TOP, check=True)
        self.take(to, folder)

    def take(self, source, folder):
        subprocess.run(["nsenter", "-t", str(self.shell.pid), "-m", "cp", "-r", source, f"{self.folder}/root{folder}"],
                       check=True)
        shutil.rmtree(source)


class OtherApt:
    """Another apt that is at work, as unattended-upgrades is: it holds the locks until it may end."""

    def __init__(self, debian):
        self.debian = debian
        debian.run("apt-get -q update && apt-get -q install -y --download-only --reinstall hostname")
        debian.run("touch /tmp/hold")
        hook = "touch /tmp/held; while [ -e /tmp/hold ]; do sleep 0.2; done"
        self.path = debian.folder / "other-apt"
        with open(self.path, "w", encoding="utf-8") as file:
            self.process = debian.start(f"apt-get install -y --reinstall -o DPkg::Pre-Invoke::='{hook}' hostname", said=file)
        debian.run("while [ ! -e /tmp/held ]; do sleep 0.2; done")

    def let_go(self):
        assert self.process.poll() is None
        self.debian.run("rm /tmp/hold /tmp/held")

    def end(self):
        assert end_of(self.process, self.path) == 0, self.path.read_text()
