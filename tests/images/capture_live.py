#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""capture_live.py: make the live-* images, with the modules in build/.

A VM mounts zext4, several tasks make and remove files, and the file system is shut
down with its log live: real logs of the version that is built. What recovery makes
of them is taken from zjctl recover (build/zjctl), once the files are as they must
be; the other images' outcomes come from their makers.
"""

import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "vm"))

import vm as vmlib                                                  # noqa: E402
from filesystem import ENV, home_hash, journal_extents, run         # noqa: E402
from test_images import NUMBERS                                     # noqa: E402

# name: size of the device, of blocks, of the journal in MiB, lanes, tasks, rounds of each
LIVE = {
    "live-4-lanes-4k": ("24M", 4096, 8, 4, 4, 6),
    "live-2-lanes-1k": ("12M", 1024, 4, 2, 2, 5),
}

SCRIPT = """
FS=zext4
# work TASK ROUNDS: each round makes a directory, every third one removes the one before
work() {
	mkdir /mnt/t$1
	for n in $(seq $2); do
		mkdir /mnt/t$1/d$n; echo "$1 $n" >/mnt/t$1/d$n/file
		fsctl fsync /mnt/t$1/d$n/file || die fsync
		[ $((n % 3)) != 0 ] || rm -r /mnt/t$1/d$((n - 1))
	done
}
"""


def script(device, block_size, journal, lanes, tasks, rounds):
    work = "; ".join(f"work {t} {rounds} & p{t}=$!" for t in range(tasks))
    wait = "; ".join(f"wait $p{t} || die task" for t in range(tasks))
    return f"""
mke2fs -q -F -t ext4 -b {block_size} -N 256 -E lazy_itable_init=0,lazy_journal_init=0 \\
	-J size={journal} {device} || die mke2fs
mnt {device} lanes={lanes}
{work}
{wait}
crash
"""


def capture(directory):
    """Boots once; leaves the crashed devices in the directory."""
    disks = [vmlib.Disk(f"{directory}/{name}", size=LIVE[name][0]) for name in LIVE]
    machine = vmlib.VM(disks=disks, cpus=4, programs=sorted((vmlib.BUILD / "guest").glob("*")))
    with machine:
        for n, name in enumerate(LIVE):
            text = SCRIPT + script(f"/dev/vd{'ab'[n]}", *LIVE[name][1:])
            result = machine.sh(text, timeout=300)
            assert result, result.out
        machine.check_console()


def check_files(path, tasks, rounds):
    for task in range(tasks):
        for n in range(1, rounds + 1):
            got = run("debugfs", "-R", f"cat /t{task}/d{n}/file", path)
            removed = n % 3 == 2 and n < rounds
            if n + 1 == rounds and removed:
                continue                     # by the last round, after its fsync
            assert got == ("" if removed else f"{task} {n}\n"), (path, task, n, got)


def keep(path, name):
    _, block_size, _, lanes, tasks, rounds = LIVE[name]
    crashed = path.read_bytes()
    journal = journal_extents(path)
    done = subprocess.run([TOP / "build/zjctl", "recover", "--json", "--no-fsck", path],
                          stdout=subprocess.PIPE, text=True, env=ENV)
    said = json.loads(done.stdout)
    assert said["exit"] == 1, said
    check_files(path, tasks, rounds)
    expected = dict(what=f"Of a VM: {tasks} tasks on {lanes} lanes, fsync after every file.",
                    outcome="recovered", **{n: said[n] for n in NUMBERS}, block_size=block_size,
                    journal=journal, home=home_hash(path.read_bytes(), block_size, journal))
    (HERE / f"{name}.img.xz").write_bytes(lzma.compress(crashed, preset=9))
    (HERE / f"{name}.json").write_text(json.dumps(expected, indent=1) + "\n")


def main():
    with tempfile.TemporaryDirectory(prefix="zjlive-") as directory:
        capture(directory)
        for name in LIVE:
            keep(Path(directory) / name, name)


if __name__ == "__main__":
    main()
