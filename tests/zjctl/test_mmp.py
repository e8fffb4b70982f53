# SPDX-License-Identifier: GPL-2.0-only
"""Multi-mount protection: zjctl's writers keep other hosts away, and let them in again however they end."""

import fcntl
import os
import pathlib
import shutil
import signal
import struct
import subprocess

import pytest

from zjctl_images import Crashed, field, fsck, mkfs, sh

pytest_plugins = "zjctl_fixtures"

CLEAN, FSCK = 0xff4d4d50, 0xe24d4d50
OPTIONS = "-b 1024 -O metadata_csum,64bit,orphan_file,mmp -J size=1"

NO_WAIT = """
unsigned int sleep(unsigned int s) { return 0; }
"""
# SIGNAL comes before write number AT; those of the MMP block are not counted.
PRELOAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	ssize_t (*fn)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
	static int writes;
	if (at / 1024 != atoi(getenv("MMP_BLOCK")) && writes++ == atoi(getenv("AT")))
		raise(atoi(getenv("SIGNAL")));
	return fn(fd, buf, n, at);
}
"""


def library(where, source):
    where.with_suffix(".c").write_text(source)
    sh("gcc", "-shared", "-fPIC", "-o", where, where.with_suffix(".c"), "-ldl")
    return where


@pytest.fixture(scope="module")
def no_wait(tmp_path_factory):
    """All programs would wait 11 seconds each time."""
    where = tmp_path_factory.mktemp("lib") / "no_wait.so"
    library(where, NO_WAIT)
    os.environ["LD_PRELOAD"] = str(where)
    yield where
    del os.environ["LD_PRELOAD"]


@pytest.fixture(scope="module")
def preload(no_wait):
    return f"{no_wait}:{library(no_wait.with_name('stop.so'), PRELOAD)}"


@pytest.fixture(scope="module")
def sample(no_wait, tmp_path_factory):
    return Crashed(tmp_path_factory.mktemp("mmp"), options=OPTIONS)


def heed_signals():
    """A job in the background inherits that it ignores some, and zjctl then goes on."""
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(sig, signal.SIG_DFL)


class Host:
    """zjctl on an image, stopped by a signal before one of its writes."""

    def __init__(self, plain, preload, path):
        self.path, self.at = path, int(field(path, "MMP block number")) * 1024
        self.plain = plain
        self.env = {**os.environ, "LD_PRELOAD": preload, "MMP_BLOCK": str(self.at // 1024)}

    def start(self, *args, sig=signal.SIGSTOP, at=0):
        env = {**self.env, "SIGNAL": str(int(sig)), "AT": str(at)}
        run = subprocess.Popen([self.plain, *args, self.path], env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               preexec_fn=heed_signals)
        if sig == signal.SIGSTOP:
            assert os.WIFSTOPPED(os.waitpid(run.pid, os.WUNTRACED)[1]), run.communicate()[0]
        return run

    def run(self, *args, sig=0, at=10 ** 6):
        run = self.start(*args, sig=sig, at=at)
        out = run.communicate()[0]
        return run.returncode, out

    def seq(self):
        with open(self.path, "rb") as f:
            f.seek(self.at + 4)
            return struct.unpack("<I", f.read(4))[0]

    def set_seq(self, value, name=b"other"):
        with open(self.path, "r+b") as f:
            f.seek(self.at + 4)
            f.write(struct.pack("<I", value))
            f.seek(self.at + 16)
            f.write(name.ljust(64, b"\0"))


WRITERS = {
    "recover": (["recover", "--no-fsck"], 1),
    "convert": (["convert", "--to-ext4"], 1),
    "resize-journal": (["resize-journal", "--size", "2"], 1),
}


@pytest.fixture(params=WRITERS)
def writer(request, plain, preload, sample, tmp_path):
    """An image that the command has to write to."""
    host = Host(plain, preload, shutil.copy(sample.path, tmp_path / "a.img"))
    args, rc = WRITERS[request.param]
    if request.param != "recover":
        assert host.run("recover")[0] == 1
    if request.param == "convert":
        sh("debugfs", "-w", "-R", "feature +needs_recovery", host.path)
    assert host.seq() == CLEAN
    return host, args, rc


def test_others_are_kept_away(writer, tmp_path):
    host, args, rc = writer
    run = host.start(*args)
    assert host.seq() == FSCK
    # Another host has another path to it, and no lock.
    other = Host(host.plain, host.env["LD_PRELOAD"], shutil.copy(host.path, tmp_path / "b.img"))
    got = other.run("convert", "--to-ext4")
    assert got[0] == 8 and "is running on it on host" in got[1], got
    assert sh("e2fsck", "-fp", other.path, check=False).returncode & 8
    # Nor is there a way in on this host.
    with open(host.path) as f, pytest.raises(BlockingIOError):
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if not os.geteuid() and os.path.exists("/dev/loop-control"):
        (tmp_path / "mnt").mkdir()
        mount = sh("mount", "-o", "loop", other.path, tmp_path / "mnt", check=False)
        assert mount.returncode, "another host mounts it"
    os.kill(run.pid, signal.SIGCONT)
    out = run.communicate()[0]
    assert run.returncode == rc and host.seq() == CLEAN, out
    fsck(host.path)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE],
                         ids=lambda s: s.name)
def test_released_by_signals(writer, sig):
    host, args, rc = writer
    got = host.run(*args, sig=sig, at=1)
    assert got[0] in (-sig, 32), got
    assert host.seq() == CLEAN
    if args[0] == "resize-journal":
        assert sh("e2fsck", "-fy", host.path, check=False).returncode & ~3 == 0
    else:
        assert host.run(*args)[0] == rc
        assert host.seq() == CLEAN


def test_killed(writer):
    """Nobody can take the mark back; the message says how."""
    host, args, rc = writer
    assert host.run(*args, sig=signal.SIGKILL, at=1)[0] == -signal.SIGKILL
    assert host.seq() == FSCK
    got = host.run("convert", "--to-ext4")
    assert got[0] == 8 and "tune2fs -E clear_mmp -f" in got[1]


def test_released_after_a_refusal(plain, preload, sample, tmp_path):
    """A log that is not empty, a journal that would be too large."""
    host = Host(plain, preload, shutil.copy(sample.path, tmp_path / "a.img"))
    for args, rc in ((["resize-journal", "--size", "2"], 4), (["convert", "--to-ext4"], 4)):
        got = host.run(*args)
        assert got[0] == rc and host.seq() == CLEAN, got
    assert host.run("recover")[0] == 1 and host.seq() == CLEAN
    got = host.run("resize-journal", "--size", "9")
    assert got[0] == 16 and host.seq() == CLEAN, got


def test_a_clean_log_is_not_waited_for(plain, preload, tmp_path):
    host = Host(plain, preload, mkfs(tmp_path / "a.img", options=OPTIONS))
    before = host.path.read_bytes()
    got = host.run("recover")
    assert got[0] == 0 and "waiting" not in got[1]
    assert host.path.read_bytes() == before


@pytest.mark.parametrize("alive", [False, True])
def test_of_another_host(plain, preload, tmp_path, alive):
    """A mark that changes is a living host's; one that does not was left by a crash."""
    host = Host(plain, preload, Crashed(tmp_path, steps=1, options=OPTIONS.replace("metadata", "^metadata")).path)
    host.set_seq(1)
    # While zjctl waits, the other host writes.
    alive_host = library(tmp_path / "alive.so", f"""
        #include <fcntl.h>
        #include <unistd.h>
        unsigned int sleep(unsigned int s)
        {{
            static unsigned int seq = 1;
            int fd = open("{host.path}", O_RDWR);
            seq += {int(alive)};
            if (seq > 1)
                pwrite(fd, &seq, 4, {host.at + 4});
            close(fd);
            return 0;
        }}
    """)
    got = subprocess.run([plain, "recover", "--no-fsck", host.path], capture_output=True, text=True,
                         env={**os.environ, "LD_PRELOAD": str(alive_host)})
    if alive:
        assert got.returncode == 8 and "is in use on host other" in got.stderr, got
        assert host.seq() == 2
    else:
        assert got.returncode == 1 and "waiting 22 s" in got.stderr, got
        assert host.seq() == CLEAN


def test_unknown_feature(plain, preload, sample, tmp_path):
    """The library would not take the mark, and nothing is written without it."""
    host = Host(plain, preload, shutil.copy(sample.path, tmp_path / "a.img"))
    sh("debugfs", "-w", "-R", "set_super_value feature_ro_compat 0x40000000", host.path)
    before = pathlib.Path(host.path).read_bytes()
    got = host.run("recover")
    assert got[0] == 8 and "multi-mount protection" in got[1], got
    assert pathlib.Path(host.path).read_bytes() == before
