# SPDX-License-Identifier: GPL-2.0-only
"""Shows zext4 surviving a power cut; writes build/results/demo.json."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "vm"))

import nbd    # noqa: E402
import vm as vmlib    # noqa: E402

FS = os.environ.get("FSTYPE", "zext4")
SOURCE = os.environ.get("LINUX_SOURCE", "/usr/src/linux-source-6.12.tar.xz")
# What each CPU unpacks: about as many files each.
PARTS = ["ext4 jbd2 ext2 exfat", "ntfs3 fat isofs", "f2fs erofs squashfs", "nfsd lockd proc sysfs"]
WORK = vmlib.BUILD / "demo"
START = time.monotonic()


def say(text):
    print(f"[{time.monotonic() - START:4.0f} s] {text}", flush=True)


def fail(text):
    say(text)
    print(f"demo: FAILED: {text.splitlines()[0]}")
    sys.exit(1)


def trees():
    """Four tar files of parts of fs/, with their checksums; made once."""
    done = WORK / "trees.done"
    want = f"{SOURCE} {os.path.getmtime(SOURCE)} {PARTS}"
    if done.exists() and done.read_text() == want:
        return
    say(f"taking parts of fs/ out of {SOURCE}")
    WORK.mkdir(parents=True, exist_ok=True)
    top = Path(SOURCE).name.removesuffix(".tar.xz")
    names = [f"{top}/fs/{d}" for part in PARTS for d in part.split()]
    subprocess.run(["tar", "-xf", SOURCE, "-C", WORK, *names], check=True)
    for n, part in enumerate(PARTS):
        sums = []
        with tarfile.open(WORK / f"tree{n}.tar", "w") as tar:
            for d in part.split():
                tar.add(WORK / top / "fs" / d, f"{top}/fs/{d}")
                for path in sorted((WORK / top / "fs" / d).rglob("*")):
                    if path.is_file():
                        digest = hashlib.md5(path.read_bytes()).hexdigest()
                        sums.append(f"{digest}  {path.relative_to(WORK)}\n")
        (WORK / f"tree{n}.md5").write_text("".join(sums))
    subprocess.run(["rm", "-rf", WORK / top], check=True)
    done.write_text(want)


def new_vm(disk):
    modules = [] if FS == "ext4" else None
    programs = sorted((vmlib.BUILD / "guest").glob("*"))
    machine = vmlib.VM(modules=modules, cpus=4, memory="2G", programs=programs, disks=[disk])
    machine.prelude = f"FS={FS}\n"
    return machine


class Follow:
    """Prints a job's output as it comes."""

    def __init__(self, job):
        self.job = job
        self.shown = 0

    def more(self):
        text = self.job.output()
        whole = text[:text.rfind("\n") + 1]
        for line in whole[self.shown:].splitlines():
            if not re.match(r"\w+=", line):
                say(line)
        self.shown = len(whole)
        return self.job.name in self.job.vm.finished

    def until(self, ready, timeout):
        """Returns the exit status if the job ends before ready() is true."""
        end = time.monotonic() + timeout
        while not ready():
            if self.more():
                return self.job.wait(5).rc
            if time.monotonic() > end:
                fail(f"no end within {timeout} s\n{self.job.vm.console_tail()}")
            self.job.vm.idle(0.5)
        self.more()
        return None


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def load_until_power_cut(image, seed):
    """The first boot.  Returns what the guest noted as durable."""
    sock = WORK / "disk.sock"
    vmlib.make_image(image, "512M")
    disk = nbd.VolatileDisk(image, sock)
    machine = new_vm(vmlib.Disk(str(sock), nbd=True))
    try:
        say(f"booting {machine.kernel.version}, 4 CPUs, {vmlib.accel()[1]}")
        machine.start()
        for path in WORK.glob("tree*.*"):
            (machine.share / path.name).write_bytes(path.read_bytes())
        follow = Follow(machine.spawn(". /lib/zj/demo-load.sh"))
        commits = machine.share / "commits"
        rc = follow.until(lambda: lines(commits) >= 6, timeout=240)
        if rc is not None:
            fail(f"the load ended by itself, status {rc}\n{machine.console_tail()}")
        disk.stop_after(1 + seed % 200)
        follow.until(disk.stopped.is_set, timeout=60)
        machine.check_console()
    finally:
        machine.kill()
        seen, lost = disk.power_cut(seed)
    say(f"POWER CUT: QEMU killed after {disk.writes} writes and {disk.flushes} flushes; "
        f"{lost} of {seen} unflushed sectors lost")
    names = ["trees", "commits", "rows.wal", "rows.delete", *(f"tree{n}.md5" for n in range(4))]
    noted = {}
    for name in names:
        data = (machine.share / name).read_bytes()
        noted[name] = data[:data.rfind(b"\n") + 1]
    machine.cleanup()
    return noted


def recover_and_compare(image, noted):
    """The second boot: recovery, the check of all that was noted, and the comparison."""
    machine = new_vm(vmlib.Disk(str(image)))
    machine.memory = "4G"
    result = {}
    with machine:
        for name, data in noted.items():
            (machine.share / name).write_bytes(data)
        say("booted again on what the disk kept")
        follow = Follow(machine.spawn(". /lib/zj/demo-check.sh"))
        rc = follow.until(lambda: False, timeout=180)
        for key, value in re.findall(r"^(\w+)=(\d+)$", follow.job.output(), re.M):
            result[key] = int(value)
        if rc != 0:
            fail(f"the check ended with status {rc}\n{machine.console_tail()}")
        machine.check_console()
        say("side by side with stock ext4, same boot, medians of alternating runs:")
        follow = Follow(machine.spawn(
            "sh /lib/zj/ab.sh -r 5 -n 400 -t 'create overwrite append create-fsync' "
            f"-a ext4 -b {FS} -d /usr/bin -o /share/ab.json"))
        rc = follow.until(lambda: False, timeout=240)
        if rc != 0:
            fail(f"the comparison ended with status {rc}\n{machine.console_tail()}")
        machine.check_console()
        result["comparison"] = json.loads((machine.share / "ab.json").read_text())
        result["ratio"] = {f"{r['mode']} {r['test']}": r["loop"]["ratio"]
                           for r in result["comparison"]["results"]}
    return result


def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    say(f"seed {seed}")
    if not Path(SOURCE).exists():
        fail(f"{SOURCE} is missing; run tools/deps")
    trees()
    image = WORK / "disk.img"
    image.unlink(missing_ok=True)
    noted = load_until_power_cut(image, seed)
    result = recover_and_compare(image, noted)
    result["seed"] = seed
    out = vmlib.BUILD / "results" / "demo.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")
    missing = [k for k in ("fsynced_checked", "fsynced_lost", "e2fsck_exit") if k not in result]
    if missing or result["fsynced_lost"] or result["e2fsck_exit"] or not result["fsynced_checked"]:
        say(f"figures in {out.relative_to(ROOT)}")
        fail(f"fsynced and lost: {result.get('fsynced_lost')} of {result.get('fsynced_checked')}, "
             f"e2fsck exit {result.get('e2fsck_exit')}")
    say(f"figures in {out.relative_to(ROOT)}")
    print(f"demo: proved: after a power cut in the middle of the load {FS} recovered "
          f"{result.get('recovered_transactions', 0)} transactions of {result.get('lanes', 0)} lanes; "
          f"all {result['fsynced_checked']} fsynced rows, commits and files are there, "
          "e2fsck found nothing, and stock ext4 mounts the result.")


if __name__ == "__main__":
    try:
        main()
    except vmlib.VMError as error:
        fail(str(error))
    except vmlib.ConsoleError as error:
        fail(str(error))
