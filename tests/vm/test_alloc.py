# SPDX-License-Identifier: GPL-2.0-only
"""alloc=core: lanes that do private work touch no block of each other's."""

import re

import pytest

import conftest

pytestmark = pytest.mark.zext4

LANES = 4

# A null_blk device that is sparse, not rotating and far larger than memory.
DEVICE = """
mkdir -p /sys/kernel/config; [ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config
nb=/sys/kernel/config/nullb/alloc
[ ! -d $nb ] || { echo 0 >$nb/power; rmdir $nb; }
mkdir $nb || die configfs
for v in size=%d blocksize=512 memory_backed=1 power=1; do echo ${v#*=} >$nb/${v%%=*} || die "null_blk: $v"; done
dev=/dev/nullb$(cat $nb/index); [ -b $dev ] || dev=/dev/alloc
# It reads as zeros: no inode table has to be written.
big() { mk $dev -E lazy_itable_init=1,lazy_journal_init=1 "$@"; }
sum() { sed -n "s/^lane.* \\([0-9]*\\) $1.*/\\1/p" /proc/fs/zjournal/*/info | awk '{ n += $1 } END { print n }'; }
"""


@pytest.fixture(scope="module")
def machine():
    with conftest.new_vm(cpus=LANES, memory="2G") as vm:
        vm.sh("modprobe null_blk nr_devices=0 && modprobe zext4")
        yield vm


def run(machine, script, size_mb=65536, timeout=240):
    result = machine.sh(DEVICE % size_mb + script, timeout=timeout)
    machine.check_console()
    assert result, result.out
    return result.out


@pytest.mark.parametrize("alloc, mode", [("core", "ordered"), ("core", "journal"), ("stock", "ordered")])
def test_private_work_is_not_tied(machine, mode, alloc):
    """Directories that one process has made, each used by one CPU."""
    # The linked list of orphans begins in the super block; write-back has a CPU of its own.
    out = run(machine, f"""
        big -O orphan_file; mnt $dev noinit_itable,data={mode},commit=300,alloc={alloc}
        echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
        mkdir /mnt/users
        for w in $(seq 0 {LANES - 1}); do mkdir /mnt/users/$w || die mkdir; done
        # The first file opened since the mount has the mount point noted in the super block.
        : >/mnt/opened
        fsctl syncfs /mnt
        before=$(sum united) deps=$(sum depends)
        for w in $(seq 0 {LANES - 1}); do
            taskset $((1 << w)) stress -p 1 -n 120 -s $w /mnt/users/$w &
        done
        wait
        echo united $(($(sum united) - before)) depends $(($(sum depends) - deps))
        grep -E "^(united|depends):" /proc/fs/zjournal/*/info
        unmnt; fsck $dev
    """)
    united, depends = map(int, re.search(r"^united (\d+) depends (\d+)", out, re.M).groups())
    if alloc == "core":
        assert (united, depends) == (0, 0), out
    else:
        assert united > 0


def test_directories_of_a_copied_tree_share_blocks(machine):
    """Those of a tree that one task fills with files do; those that are made for others do not."""
    out = run(machine, """
        big; mnt $dev noinit_itable,alloc=core
        mkdir -p /tmp/tree; >/tmp/tree/first
        for d in $(seq 12); do mkdir /tmp/tree/$d; >/tmp/tree/$d/file; done
        >/tmp/tree/last
        taskset 2 cp -a /tmp/tree /mnt/copy || die cp
        for d in $(seq 12); do taskset 2 mkdir /mnt/copy/for-others-$d; done
        stat -c 'copied %i' /mnt/copy/[1-9]*
        stat -c 'made %i' /mnt/copy/for-others-*
        rm -r /tmp/tree
        unmnt; fsck $dev
    """)
    table_block = {what: {(int(ino) - 1) // 16 for _, ino in found} for what, found in
                   [(word, re.findall(rf"^({word}) (\d+)$", out, re.M)) for word in ("copied", "made")]}
    assert len(table_block["copied"]) <= 2
    assert len(table_block["made"]) == 12


def test_files_that_lanes_delete_for_each_other_lie_together(machine):
    """Each file is made by one lane and deleted by the next; in another directory, by its own."""
    out = run(machine, f"""
        big; mnt $dev noinit_itable,alloc=core
        mkdir /mnt/mixed /mnt/own
        on() {{ w=$1; shift; taskset $((1 << w % {LANES})) "$@" || die "$@"; }}
        for i in $(seq 0 {LANES - 1}); do on $i touch /mnt/mixed/a$i /mnt/own/a$i; done
        for i in $(seq 0 {LANES - 1}); do
            on $((i + 1)) rm /mnt/mixed/a$i
            on $i rm /mnt/own/a$i
            on $i touch /mnt/mixed/b$i /mnt/own/b$i
            on $i dd if=/dev/zero of=/mnt/mixed/b$i bs=4k count=64 conv=fsync 2>/dev/null
        done
        for d in mixed own; do
            for i in $(seq 0 {LANES - 1}); do echo $d $(($(stat -c %i /mnt/$d/b$i) / 8192)); done
        done
        unmnt; fsck $dev
    """)
    groups = {name: set(re.findall(rf"^{name} (\d+)$", out, re.M)) for name in ("mixed", "own")}
    assert len(groups["mixed"]) == 1
    assert len(groups["own"]) == LANES


def test_auto_on_a_disk_without_a_head(machine):
    """Regions, also if it says that it rotates, as virtual disks do (test_one_head.py has a disk with a head)."""
    out = run(machine, """
        big
        for r in 0 1; do
            echo $r >/sys/block/$(basename $dev)/queue/rotational
            mnt $dev noinit_itable,alloc=auto; mkdir /mnt/d$r
            for w in 0 1 2 3; do taskset $((1 << w)) touch /mnt/d$r/f$w; done
            for w in 0 1 2 3; do echo $r $(($(stat -c %i /mnt/d$r/f$w) / 8192)); done
            unmnt
        done
        fsck $dev
    """)
    groups = [set(), set()]
    for rotates, group in re.findall(r"^([01]) (\d+)$", out, re.M):
        groups[int(rotates)].add(group)
    assert [len(found) for found in groups] == [LANES, LANES]


def test_remount_changes_it(machine):
    run(machine, """
        big; mnt $dev noinit_itable,alloc=core
        grep -q alloc=core /proc/mounts || die "not shown"
        mount -o remount,alloc=stock /mnt || die remount
        grep -q alloc=stock /proc/mounts || die "remount not shown"
        known_tree; check_tree
        unmnt; fsck $dev
        mark; no_mnt zext4 $dev alloc=near; said 'alloc= must be auto or core'
    """)


def test_whole_disk_is_used(machine):
    """One lane fills the disk, far beyond its region; then inodes run out."""
    run(machine, """
        mk $dev -N 500 -J size=8 -g 4096; mnt $dev alloc=core
        grep -q alloc=core /proc/mounts || die "no regions"
        for n in $(seq 40); do
            taskset 4 dd if=/dev/zero of=/mnt/big$n bs=1M count=16 2>/dev/null || break
        done
        free=$(df -k /mnt | awk 'END { print $4 }')
        [ $free -lt 1024 ] || die "$free KiB are free, yet the disk is full"
        rm /mnt/big1
        taskset 2 stress -p 1 -n 50 -s 1 /mnt || die stress
        n=0
        while taskset 1 touch /mnt/f$n 2>/dev/null; do n=$((n + 1)); done
        [ $(df -i /mnt | awk 'END { print $4 }') -lt 4 ] || die "inodes are left: $(df -i /mnt)"
        unmnt; fsck $dev
    """, size_mb=192)
