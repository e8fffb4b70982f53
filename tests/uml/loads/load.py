# SPDX-License-Identifier: GPL-2.0-only
"""What the loads in this folder share. They run in a User Mode Linux guest, on recording disks (zjdisk).

The environment says what to do: FS, OPTS (mount options), SECONDS of load, CUTS, SEED, KIND.
"""
import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import time

FS, OPTS, KIND = os.environ["FS"], os.environ["OPTS"], os.environ.get("KIND", "")
SECONDS, CUTS, SEED = float(os.environ["SECONDS"]), int(os.environ["CUTS"]), int(os.environ["SEED"])
QUICK = "-E lazy_itable_init=0,lazy_journal_init=0"

dice = random.Random(SEED)
for folder in ("/mnt/m", "/mnt/n"):
    os.makedirs(folder, exist_ok=True)


def sh(command, check=True):
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    if check and done.returncode:
        print(f"FAILED: {command}: {done.returncode} {done.stdout[-300:]} {done.stderr[-300:]}")
    return done


def disk(command):
    """A command of zjdisk; who looks at a new device may have it open for a moment."""
    for _ in range(200):
        fd = os.open("/dev/zjdctl", os.O_WRONLY)
        try:
            os.write(fd, command.encode())
            return
        except OSError as e:
            if e.errno != errno.EBUSY:
                raise
        finally:
            os.close(fd)
        time.sleep(0.02)


def now(nr=0):
    """The number of the disk's next event."""
    with open("/dev/zjdctl", encoding="ascii") as f:
        return next(int(line.split("seq=")[1].split()[0]) for line in f if line.startswith(f"zjd{nr} "))


def mount(device="/dev/zjd0", at="/mnt/m", extra="", fs=FS, options=OPTS):
    return sh(f"mount -t {fs} -o {options}{extra} {device} {at}", check=False).returncode == 0


def sound(device, options=""):
    done = sh(f"e2fsck -fn {options} {device}", check=False)
    if done.returncode:
        print(f"e2fsck: {done.stdout[:400]}")
    return done.returncode == 0


def in_lane(n):
    """With lane_by=cgroup the caller's handles are in one of two lanes from now on."""
    with open(f"/mnt/cgroups/lane{n % 2}/cgroup.procs", "w", encoding="ascii") as f:
        f.write("0")


def beside(function, *args):
    """Runs it in a process of its own."""
    pid = os.fork()
    if pid:
        return pid
    try:
        function(*args)
        os._exit(0)
    except BaseException as e:  # pylint: disable=broad-exception-caught
        print(f"FAILED: {function.__name__}: {e!r}", flush=True)
        os._exit(1)


def wait(pids):
    for pid in pids:
        os.waitpid(pid, 0)


def kill(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait(pids)


def expires():
    """Tells whether the time of the load is over."""
    end = time.monotonic() + SECONDS
    return lambda: time.monotonic() >= end


def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def put(path, data, sync=False):
    with open(path, "wb") as f:
        f.write(data)
        f.flush()
        if sync:
            os.fsync(f.fileno())


def ioctl(path, number, data=b""):
    fd = os.open(path, os.O_RDONLY)
    try:
        return fcntl.ioctl(fd, number, data)
    finally:
        os.close(fd)


def say(**found):
    print("RESULT " + json.dumps(found))
