# SPDX-License-Identifier: GPL-2.0-only
"""Hibernation and suspend under load: nothing changes the disk after the copy of the memory (L3).

ZJ_HIBERNATE=N runs the longer forms, N times each.
"""
import contextlib
import os
import re
import shutil
import subprocess
import time

import pytest

import conftest
import vm as vmlib

ROUNDS = int(os.environ.get("ZJ_HIBERNATE", "0"))
longer = pytest.mark.skipif(not ROUNDS, reason="only with ZJ_HIBERNATE=N")

# Little, because the copy of the memory is written and read under emulation.
MEMORY = "640M"
PROGRAMS = [p for p in conftest.PROGRAMS if p.name == "fsctl"]
SWAP_BPS = 40 << 20     # so slow that a commit timer of 1 to 3 s expires while the copy is written

# Runs from the guest's memory and speaks on the console: the host's directory does not survive.
# Write-back rests, so that what the test finds changed was changed by the journal.
PREPARE = """
exec >/dev/ttyS0 2>&1
. /lib/zj/lib.sh
umount -l /share
rmmod 9p 9pnet_virtio
mkswap /dev/vdb >/dev/null
swapon /dev/vdb || die "no swap"
{first}
modprobe {fs}
mount -t {fs} -o {options},noatime /dev/vda /mnt || die "mount"
echo {writeback} | tee /proc/sys/vm/dirty_expire_centisecs >/proc/sys/vm/dirty_writeback_centisecs
mkdir /mnt/0 /mnt/1
for c in 0 1; do
	(n=0
	while :; do
		n=$((n + 1))
		echo $n >/mnt/$c/f$((n % 200))
		mkdir /mnt/$c/d$n
		rmdir /mnt/$c/d$n
		[ $((n % 4)) != 0 ] || fsctl fsync /mnt/$c/f$((n % 200)) || die "fsync"
	done) &
	taskset -p $((1 << c)) $! >/dev/null
	load="$load $!"
done
sleep 2
"""

# A file system in a file: its writes and flushes are fsyncs of a kernel thread, whose workqueue is
# frozen as tasks are.
LOOP = """
mkdir /tmp/loop
truncate -s 24M /mnt/image
mk /mnt/image -J size=4
modprobe loop
mount -t {fs} -o loop /mnt/image /tmp/loop || die "loop"
(n=0
while :; do
	n=$((n + 1))
	echo $n >/tmp/loop/f$((n % 50))
	fsctl fsync /tmp/loop/f$((n % 50)) || die "fsync on loop"
done) &
load="$load $!"
sleep 1
"""

# As of a root file system: programs run from it, and the copy of the memory goes to a file of it.
ROOT = r"""
mkdir -p /mnt/root/bin
cp /bin/busybox /usr/bin/fsctl /mnt/root/bin
swapoff /dev/vdb
fallocate -l 200M /mnt/swap
mkswap /mnt/swap >/dev/null
swapon /mnt/swap || die "no swap file"
at=$(filefrag -v /mnt/swap | sed -n 's/^ *0: *[^:]*: *\([0-9]*\)\.\..*/\1/p')
echo "swap file at $at."
echo $at >/sys/power/resume_offset
# It finds nothing to resume.
echo 254:0 >/sys/power/resume
fsctl syncfs /mnt
echo 3 >/proc/sys/vm/drop_caches
chroot /mnt/root /bin/busybox sh -c 'n=0
while n=$((n + 1)); do
	echo $n >/f$((n % 50))
	/bin/fsctl fsync /f$((n % 50)) || exit 1
done' &
load="$load $!"
until [ -e /mnt/root/f2 ]; do sleep 0.1; done
"""
ROOT_AFTER = """
echo 3 >/proc/sys/vm/drop_caches
chroot /mnt/root /bin/fsctl fsync /f1 || die "a program does not run any more"
"""

# Tasks are frozen and thawed again. What is waited for after that is not of interest.
FREEZE = """
echo 0 >/sys/module/suspend/parameters/pm_test_delay
echo freezer >/sys/power/pm_test
n=0
while [ $((n += 1)) -le {times} ]; do
	echo mem >/sys/power/state || die "suspend $n failed"
	echo "tried $n"
	[ {pause} = 0 ] || sleep 0.$((n % 10))
done
echo none >/sys/power/pm_test
"""

# A program that hibernates through /dev/snapshot, which has opened it before the module was loaded.
USER_OPENS = """
fsctl snapshot 'until [ -e /tmp/go ]; do sleep 0.1; done' 'sh /tmp/goes-on' &
user=$!
until [ -e /proc/$user/fd/3 ]; do sleep 0.1; done
"""

# A suspend to RAM while it has it open, and what it does after it has given up its copy, hold up
# nobody.
USER = """
echo 1000000000 >/sys/power/image_size
echo 'echo 1 >/mnt/new; fsctl fsync /mnt/new || exit 1; rm /mnt/new; echo "synced by the program"' >/tmp/goes-on
echo devices >/sys/power/pm_test
echo mem >/sys/power/state || die "suspend with /dev/snapshot open"
echo none >/sys/power/pm_test
sh /tmp/goes-on || die "fsync after a suspend"
: >/tmp/go
wait $user || die "/dev/snapshot"
fsctl snapshot : 'sh /tmp/goes-on' || die "/dev/snapshot, opened after the module was loaded"
"""

# The memory is copied, but the copy is not needed: the system goes on.
GIVE_UP = """
swapoff /dev/vdb
echo disk >/sys/power/state && die "hibernated without swap space"
swapon /dev/vdb
"""

# The size that the kernel aims at is none at which it would have to free memory first.
HIBERNATE = """
echo 1000000000 >/sys/power/image_size
echo {how} >/sys/power/disk
echo disk >/sys/power/state || die "hibernation failed"
kill -STOP $load
"""

AFTER = """
for c in 0 1; do
	echo after >/mnt/$c/after
	taskset $((1 << c)) fsctl fsync /mnt/$c/after || die "fsync"
	echo "synced $c"
done
echo READY-TO-CUT
sleep 1000
"""


def machine_of(folder, fs, size):
    disk, swap = folder / "disk.img", folder / "swap.img"
    vmlib.make_image(disk, size)
    vmlib.make_image(swap, "1G")
    subprocess.run(["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-J", "size=16",
                    "-E", "lazy_itable_init=0,lazy_journal_init=0", str(disk)], check=True)
    return vm_of(fs, disk, swap), disk


def vm_of(fs, disk, swap):
    """The disk is /dev/vda, the swap space /dev/vdb."""
    slow = ["-drive", f"if=none,id=swap,format=raw,file={swap},cache=unsafe,throttling.bps-write={SWAP_BPS}",
            "-device", "virtio-blk-pci,drive=swap"]
    # As a machine boots: the kernel that resumes lies elsewhere in memory than the one that it restores.
    return vmlib.VM(packed=True, memory=MEMORY, accel=vmlib.accel("single"), disks=[vmlib.Disk(str(disk))],
                    qemu_args=slow, programs=PROGRAMS, stock=["ext4", "loop"], modules=[] if fs == "ext4" else None,
                    cmdline="hibernate=nocompress no_console_suspend")


def begin(guest, *steps, **values):
    """Runs the steps in a session that needs nothing of the host."""
    (guest.share / "run").write_text("\n".join(s.format(**{"first": ""} | values) for s in steps))
    assert guest.sh("cp /share/run /tmp/run; cd /tmp; setsid dash /tmp/run </dev/null >/dev/null 2>&1 3>&- &")


def await_text(guest, text, times=1, timeout=150):
    """Waits until the guest has said it so many times."""
    def said():
        all_said = guest.console_text()
        failed = [w for w in ("FAILED: ", "refusing to freeze", "Kernel panic") if w in all_said]
        assert not failed and guest.running, f"waiting for {text!r}: {failed}\n{guest.console_tail(60)}"
        return all_said.count(text) >= times

    patience = vmlib.Patience(timeout * vmlib.SLOW, lambda: [guest.proc.pid], lambda: len(guest.console_text()))
    assert vmlib.until(said, patience, lambda: time.sleep(0.05)), \
        f"waiting for {text!r}: {patience.why()}\n{guest.console_tail(60)}"


def changed(before, after):
    """Numbers of the 4 KiB blocks in which two images differ."""
    found = []
    with open(before, "rb") as a, open(after, "rb") as b:
        n = 0
        while data := a.read(1 << 20):
            other = b.read(1 << 20)
            if data != other:
                found += [n * 256 + i for i in range(256)
                          if data[i * 4096:(i + 1) * 4096] != other[i * 4096:(i + 1) * 4096]]
            n += 1
    return found


def check_after_cut(fs, disk):
    """What was synced after the resume is there, in a sound file system."""
    repair = [vmlib.BUILD / "zjctl", "recover", "--no-fsck", disk] if fs == "zext4" else \
        ["/usr/sbin/e2fsck", "-p", disk]
    done = subprocess.run(repair, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    for c in "01":
        out = subprocess.run(["/usr/sbin/debugfs", "-R", f"cat /{c}/after", disk],
                             capture_output=True, text=True).stdout
        assert out == "after\n", f"/{c}/after is lost: {out!r}\n{done.stdout}"
    sound = subprocess.run(["/usr/sbin/e2fsck", "-fn", disk], capture_output=True, text=True)
    assert sound.returncode == 0, sound.stdout


def no_failed_freeze(guest):
    said = guest.console_text()
    assert not re.search("Freezing .*(failed|aborted)|refusing to freeze", said), guest.console_tail(60)


def snapshot(guest, disk, path):
    with guest.stopped():
        shutil.copy(disk, path)


def copy_and_load(tmp_path, fs, options, freezes, writeback, user=False):
    """A hibernation whose copy is loaded at once; the changes while it existed.

    Before that a program makes a copy of its own, and gives it up, if it is to.
    """
    guest, disk = machine_of(tmp_path, fs, "96M")
    blocks = []

    def copy_exists(first, last, times=1):
        await_text(guest, first, times)
        snapshot(guest, disk, tmp_path / "before")
        await_text(guest, last)
        snapshot(guest, disk, tmp_path / "after")
        blocks.extend(changed(tmp_path / "before", tmp_path / "after"))
        print(f"until {last!r}: {blocks}")

    with guest:
        begin(guest, PREPARE, FREEZE, USER if user else "", GIVE_UP, HIBERNATE, AFTER, fs=fs, options=options,
              times=freezes, pause=0, how="test_resume", writeback=writeback, first=USER_OPENS if user else "")
        if user:
            copy_exists("\ncopied\n", "\ngiven up\n")
        copy_exists("Image created", "Image loading done", times=4 if user else 2)
        await_text(guest, "READY-TO-CUT")
        guest.kill()
        no_failed_freeze(guest)
        guest.check_console()
    check_after_cut(fs, disk)
    return blocks


@pytest.mark.zext4
def test_copy_that_is_loaded_at_once(tmp_path):
    """The commit timer expires while the copy is written, or kept by a program."""
    assert copy_and_load(tmp_path, "zext4", "lanes=2,commit=1", 5, 0, user=True) == []


CASES = [("zext4", "lanes=1"), ("zext4", "lanes=4"), ("zext4", "log=jbd2"),
         ("zext4", "lanes=4,data=journal"), ("ext4", "defaults")]


@longer
@pytest.mark.parametrize("n", range(ROUNDS))
@pytest.mark.parametrize("fs,options", CASES)
def test_copy_in_each_format(tmp_path, fs, options, n):
    assert copy_and_load(tmp_path, fs, f"{options},commit={1 + n % 3}", 1, 0) == []


@longer
@pytest.mark.parametrize("n", range(ROUNDS))
@pytest.mark.parametrize("fs,options", CASES)
def test_copy_beside_write_back(tmp_path, fs, options, n):
    """Write-back, which nothing freezes, brings committed blocks home meanwhile: that is harmless."""
    blocks = copy_and_load(tmp_path, fs, f"{options},commit={1 + n % 3}", 0, 50)
    print(f"{len(blocks)} blocks changed: {blocks[:20]}")


@longer
@pytest.mark.parametrize("n", range(ROUNDS))
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("fs,options", CASES)
def test_power_off_and_resume(tmp_path, fs, options, root, n):
    guest, disk = machine_of(tmp_path, fs, "400M" if root else "96M")
    with guest:
        begin(guest, PREPARE, ROOT if root else "", HIBERNATE, ROOT_AFTER if root else "", AFTER, fs=fs,
              options=f"{options},commit=1", how="shutdown", writeback=50)
        await_text(guest, "Image created")
        end = time.monotonic() + 120 * vmlib.SLOW
        while guest.running:
            assert time.monotonic() < end, guest.console_tail()
            time.sleep(0.1)
        no_failed_freeze(guest)
        at = re.search(r"swap file at (\d+)\.", guest.console_text())
    resume = "254:0" if root else "254:16"
    again = vm_of(fs, disk, tmp_path / "swap.img")
    with again:
        with contextlib.suppress(vmlib.VMError):
            again.spawn(f"umount -l /share; echo {at[1] if at else 0} >/sys/power/resume_offset; echo {resume} >/sys/power/resume")
        await_text(again, "READY-TO-CUT")
        again.kill()
        again.check_console()
    check_after_cut(fs, disk)


@longer
@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("fs,options", CASES)
def test_fifty_suspends(tmp_path, fs, options, loop):
    guest, disk = machine_of(tmp_path, fs, "96M")
    with guest:
        begin(guest, PREPARE, LOOP if loop else "", FREEZE, "kill -STOP $load", AFTER, fs=fs, options=options, times=50, pause=1,
              writeback=50)
        await_text(guest, "READY-TO-CUT", timeout=400)
        guest.kill()
        no_failed_freeze(guest)
        guest.check_console()
    check_after_cut(fs, disk)
