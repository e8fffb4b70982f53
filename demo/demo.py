# SPDX-License-Identifier: GPL-2.0-only
"""Shows zext4 surviving a power cut, and what a sync costs; writes build/results/demo.json and .svg.

The verdict is that of the power cut.  The speed has none, because it says nothing about safety.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for folder in "tests/vm", "bench":
    sys.path.insert(0, str(ROOT / folder))

import common    # noqa: E402
import fsync    # noqa: E402
import nbd    # noqa: E402
import picture    # noqa: E402
import vm as vmlib    # noqa: E402

FS = os.environ.get("FSTYPE", "zext4")
SOURCE = os.environ.get("LINUX_SOURCE", "/usr/src/linux-source-6.12.tar.xz")
# What each CPU unpacks: about as many files each.
PARTS = ["ext4 jbd2 ext2 exfat", "ntfs3 fat isofs", "f2fs erofs squashfs", "nfsd lockd proc sysfs"]
# What each CPU does then, and the file in which it notes what is durable.
WORK_OF_CPU = [("SQLite inserts, WAL", "rows.wal"), ("SQLite inserts, rollback journal", "rows.delete"),
               ("git commits", "commits"), ("mails, a synced file each", "mails")]
NOTES = ["trees", *(name for _, name in WORK_OF_CPU)]
ENOUGH_COMMITS = 3
SPEED = {"CASES": "eight", "KINDS": "fua", "MODES": "ordered", "ROUNDS": "1", "TYPES": f"ext4 {FS}"}
LATENCY_MS = 20
WORK = vmlib.BUILD / "demo"
RESULTS = vmlib.BUILD / "results"


def say(text=""):
    print(text, flush=True)


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


def wait_for(job, ready, what):
    """Until ready(), however long that takes while the guest gets on; its programs must not end before."""
    machine = job.vm
    machine._wait(lambda: ready() or job.name in machine.finished, 120, what)
    if job.name in machine.finished and not ready():
        fail(f"{what}: ended by itself: {job.output()}\n{machine.console_tail()}")


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


# ---- 1 and 2: the load and the cut ----

def per_lane(share):
    """[[seconds, transactions of lane 0, of lane 1, ...]]; the last line may be a part of one."""
    rows = [line.split() for line in (share / "lanes").read_text().splitlines()[:-1]]
    return [[float(row[0]) - float(rows[0][0]), *map(int, row[1:])] for row in rows]


def show_load(machine, samples):
    files = sum(lines(WORK / f"tree{n}.md5") for n in range(4))
    lanes = "" if FS == "ext4" else ", a lane a CPU"
    say(f"1. LOAD   {FS}{lanes}; 4 CPUs unpack {files} files of Linux, and go on with")
    last = [*samples[-1][1:], *[None] * 4]
    for cpu, (what, name) in enumerate(WORK_OF_CPU):
        lane = f"; lane {cpu}: {last[cpu]:5} commits" if last[cpu] is not None else ""
        say(f"          CPU {cpu}: {what:33} {lines(machine.share / name):5} noted{lane}")


def load_until_power_cut(image, seed):
    """The first boot.  Returns what the guest noted as durable, and the samples of its lanes."""
    sock = WORK / "disk.sock"
    vmlib.make_image(image, "512M")
    disk = nbd.VolatileDisk(image, sock)
    machine = new_vm(vmlib.Disk(str(sock), nbd=True))
    try:
        machine.start()
        for path in WORK.glob("tree*.*"):
            (machine.share / path.name).write_bytes(path.read_bytes())
        job, share = machine.spawn(". /lib/zj/demo-load.sh"), machine.share
        wait_for(job, lambda: lines(share / "trees") == 4 and lines(share / "commits") >= ENOUGH_COMMITS and
                 all(lines(share / name) for name in NOTES), "the load")
        disk.stop_after(1 + seed % 200)
        wait_for(job, disk.stopped.is_set, "the load, shortly before the cut")
        machine.check_console()
    finally:
        machine.kill()
        seen, lost = disk.power_cut(seed)
    samples = per_lane(machine.share)
    show_load(machine, samples)
    say(f"2. CUT    after {disk.writes} writes and {disk.flushes} flushes; "
        f"{lost} of {seen} sectors in the cache are lost")
    noted = {}
    for name in [*NOTES, *(f"tree{n}.md5" for n in range(4))]:
        data = (machine.share / name).read_bytes()
        noted[name] = data[:data.rfind(b"\n") + 1]
    machine.cleanup()
    return noted, samples


# ---- 3: what is left ----

def recover_and_check(image, noted):
    """The second boot: recovery and the check of all that was noted.  Returns what the check says."""
    machine = new_vm(vmlib.Disk(str(image)))
    machine.memory = "4G"
    with machine:
        for name, data in noted.items():
            (machine.share / name).write_bytes(data)
        job = machine.spawn(". /lib/zj/demo-check.sh")
        result = job.wait(120)
        if not result:
            fail(f"the check ended with status {result.rc}: {result.out}\n{machine.console_tail()}")
        machine.check_console()
    said = dict(re.findall(r"^(\w+)=(.*)$", result.out, re.M))
    said["there"] = {name: (int(noted), int(lost))
                     for name, noted, lost in re.findall(r"^there (\S+) (\d+) (\d+)$", result.out, re.M)}
    if set(said["there"]) != set(NOTES):
        fail(f"the check is not complete: {result.out}")
    return said


def show_check(said):
    mounted = f"3. AFTER  {FS} mounts the disk"
    if "stock" in said:
        say(f"3. AFTER  stock ext4 refuses the disk ({said['stock'][:32]})")
        mounted = f"          {FS} recovers {said['recovered'].split(' in ')[0]}"
    say(f"{mounted:48}{'noted':>7}{'there':>7}{'lost':>7}")
    for name, what in [("trees", "files of Linux"), *((name, what) for what, name in WORK_OF_CPU)]:
        noted, lost = said["there"][name]
        say(f"          {what:38}{noted:7}{noted - lost:7}{lost:7}")
    clean = "e2fsck finds nothing" if said["e2fsck"] == "0" else f"e2fsck -fn: status {said['e2fsck']}"
    say(f"          {said.get('broken') or clean}{'' if FS == 'ext4' else '; stock ext4 mounts the disk now'}")


# ---- 4: what a sync costs ----

def speed():
    """{type: what bench/fsync.py says of it}, or None on a machine that gets nowhere."""
    try:
        with vmlib.VM(cpus=8, memory="6G", programs=[vmlib.BUILD / "guest/loadgen"], accel=common.ICOUNT) as guest:
            result = common.run_script(guest, "fsync.sh", SPEED | {"LATENCY_MS": str(LATENCY_MS)}, timeout=120)
        (types,) = fsync.parse(result.out).values()
        return {fstype: fsync.summary(runs, LATENCY_MS * 1000) for fstype, runs in types.items()}
    except (vmlib.VMError, vmlib.ConsoleError, ValueError) as error:
        say(f"4. SPEED  was not measured: {str(error).splitlines()[0]}")
        return None


def show_speed(types):
    say(f"4. SPEED  8 programs append and fsync; a request takes {LATENCY_MS} ms (simulated time)")
    say(f"          {'':12}{'fsyncs a second':>17}{'ms each':>10}{'flushes each':>14}")
    for fstype, f in types.items():
        say(f"          {fstype:12}{f['fsyncs_per_second']:17.0f}{f['p50_us'] / 1000:10.0f}{f['flushes_per_fsync']:14.2f}")


# ---- all of it ----

def summary(said, types):
    promised = sum(noted for noted, _ in said["there"].values())
    faster = ""
    if types and FS in types and FS != "ext4":
        ratio = types[FS]["fsyncs_per_second"] / types["ext4"]["fsyncs_per_second"]
        faster = f"\nEight programs that sync got {ratio:.1f} times as much done as on stock ext4."
    return (f"demo: a power cut in the midst of four CPUs' work, and {FS} has lost none of\n"
            f"the {promised} files, rows and commits that programs were told are durable.{faster}")


def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    if not Path(SOURCE).exists():
        fail(f"{SOURCE} is missing; run tools/deps")
    trees()
    image = WORK / "disk.img"
    image.unlink(missing_ok=True)
    kernel = vmlib.Kernel.find().version
    how = "emulated" if "tcg" in vmlib.accel()[1] else "KVM"
    say(f"A virtual machine with Linux {kernel} ({how}); SEED={seed}")
    noted, samples = load_until_power_cut(image, seed)
    said = recover_and_check(image, noted)
    show_check(said)
    lost = sum(lost for _, lost in said["there"].values())
    if lost or said["e2fsck"] != "0" or "broken" in said:
        fail(f"{lost} of what was noted are lost, e2fsck exit {said['e2fsck']}, {said.get('broken', 'nothing broken')}")
    types = speed()
    if types:
        show_speed(types)
    RESULTS.mkdir(parents=True, exist_ok=True)
    result = {"seed": seed, "kernel": kernel, "lanes": samples, "check": said, "speed": types}
    (RESULTS / "demo.json").write_text(json.dumps(result, indent=1) + "\n")
    picture.draw(RESULTS / "demo.svg", FS, samples, said["there"], types)
    say(f"\n{summary(said, types)}\nThe picture: {(RESULTS / 'demo.svg').relative_to(ROOT)}; all figures: demo.json beside it")


if __name__ == "__main__":
    try:
        main()
    except (vmlib.VMError, vmlib.ConsoleError) as broken:
        fail(str(broken))
