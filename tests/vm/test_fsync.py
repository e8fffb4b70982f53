# SPDX-License-Identifier: GPL-2.0-only
"""What an fsync asks of the device, and whom it disturbs."""

import re

import pytest

import conftest

FSYNCS = 40
# What the journal does beside: going live, a timer's commit, the checkpoint slot.
BESIDE = 6

# flushes per fsync by (volatile cache, FUA, data mode); E18
FLOOR = {
    (0, 0, "journal"): 0, (0, 0, "ordered"): 0,
    (1, 1, "journal"): 0, (1, 1, "ordered"): 0,
    (1, 0, "journal"): 1, (1, 0, "ordered"): 2,
}


@pytest.fixture(scope="module")
def machine():
    with conftest.new_vm(cpus=2, memory="2G") as vm:
        assert vm.sh("modprobe zjdisk ndev=1 && modprobe $FS")
        yield vm


def counted(machine, script):
    """The script's output, and the device's counters before and after it."""
    out = machine.sh(f"""
        count() {{ sed -n 's/^zjd0 / counters /p' /dev/zjdctl; }}
        {script}
    """, timeout=120)
    machine.check_console()
    assert out, out.out
    before, after = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in out.out.splitlines()
                     if line.startswith(" counters")]
    return out.out, {k: int(after[k]) - int(v) for k, v in before.items()}


def setup(cache, fua, mode):
    return f"""
        echo 0 cache {cache} {fua} >/dev/zjdctl || die cache
        # Write-back has a clock of its own.
        echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
        mk /dev/zjd0
        mnt /dev/zjd0 data={mode},commit=300
        touch /mnt/file; fsctl syncfs /mnt || die syncfs
    """


@pytest.mark.zext4
@pytest.mark.parametrize("what", ["append", "overwrite", "directory"])
@pytest.mark.parametrize("cache,fua,mode", FLOOR)
def test_flushes_of_a_lone_writer(machine, cache, fua, mode, what):
    step = {
        "append": "dd if=/dev/zero of=/mnt/file bs=4k count=1 seek=$n conv=notrunc,fsync 2>/dev/null",
        "overwrite": "echo $n | dd of=/mnt/file bs=4k conv=notrunc,fsync 2>/dev/null",
        "directory": "mkdir /mnt/d$n && fsctl fsync /mnt",
    }[what]
    _, used = counted(machine, setup(cache, fua, mode) + f"""
        count
        for n in $(seq {FSYNCS}); do {step} || die "step $n"; done
        count
        unmnt; fsck /dev/zjd0
    """)
    data = mode == "ordered" and what != "directory"
    assert FSYNCS <= used["writes"] <= (1 + data) * FSYNCS + BESIDE
    assert used["flushes"] <= FLOOR[cache, fua, mode] * FSYNCS + BESIDE
    if cache and not fua:
        assert used["flushes"] >= FSYNCS / 2


@pytest.mark.zext4
@pytest.mark.parametrize("what", ["never", "much", "direct"])
def test_data_without_fua_is_flushed(machine, what):
    """A flush follows tune=data_fua:never, an fsync of much data, and direct I/O."""
    size = "512k" if what == "much" else "4k"
    flags = "oflag=direct" if what == "direct" else ""
    option = ",tune=data_fua:never+fsync_data:before" if what == "never" else ""
    _, used = counted(machine, setup(1, 1, "ordered" + option) + f"""
        count
        for n in $(seq {FSYNCS}); do
            dd if=/dev/zero of=/mnt/file bs={size} count=1 seek=$n conv=notrunc,fsync {flags} \\
                2>/dev/null || die "step $n"
        done
        count
        unmnt; fsck /dev/zjd0
    """)
    assert FSYNCS <= used["flushes"] <= FSYNCS + BESIDE


@pytest.mark.zext4
def test_encrypted_data_is_never_journaled(machine):
    """It is ordered data with data=journal, too, and a flush follows it."""
    for m in "cts", "xts":
        machine.sh(f"modprobe {m}")
    _, used = counted(machine, setup(1, 1, "journal").replace("/dev/zjd0\n", "/dev/zjd0 -O encrypt\n", 1) + f"""
        mkdir /mnt/e; fsctl encrypt /mnt/e || die encrypt
        fsctl syncfs /mnt
        count
        for n in $(seq {FSYNCS}); do
            dd if=/dev/zero of=/mnt/e/file bs=512k count=1 seek=$n conv=notrunc,fsync 2>/dev/null || die "step $n"
        done
        count
        unmnt; fsck /dev/zjd0
    """)
    assert used["flushes"] >= FSYNCS


@pytest.mark.zext4
@pytest.mark.parametrize("how", ["over", "new"])
def test_a_neighbours_data_is_not_flushed(machine, how):
    """Write-back of another file in another lane does not make an fsync flush."""
    seek = {"over": 0, "new": "$((n * 262144))"}[how]
    _, used = counted(machine, setup(1, 1, "ordered,lanes=2") + f"""
        # Inodes and directories in different blocks.
        mkdir /mnt/a; for n in $(seq 40); do echo $n >/mnt/a/f$n; done; mkdir /mnt/b
        dd if=/dev/zero of=/mnt/b/big bs=256k count=1 2>/dev/null; fsctl syncfs /mnt
        count
        for n in $(seq {FSYNCS}); do
            taskset 1 dd if=/dev/zero of=/mnt/b/big bs=256k count=1 seek={seek} oflag=seek_bytes \
                conv=notrunc 2>/dev/null || die big
            taskset 1 fsctl write-back /mnt/b/big || die write-back
            taskset 2 dd if=/dev/zero of=/mnt/a/f1 bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        done
        count
        unmnt; fsck /dev/zjd0
    """)
    assert used["flushes"] <= BESIDE


@pytest.mark.zext4
@pytest.mark.parametrize("who", ["own", "evicted", "sync", "other-first"])
def test_what_write_back_wrote_is_flushed(machine, who):
    """An fsync of the file, or a sync, flushes overwritten data that is in no transaction."""
    then = {
        "own": "fsctl fsync /mnt/big",
        "evicted": "echo 2 >/proc/sys/vm/drop_caches; fsctl fsync /mnt/big",
        "sync": "fsctl syncfs /mnt",
        "other-first": "dd if=/dev/zero of=/mnt/file bs=4k count=1 conv=notrunc,fsync 2>/dev/null; fsctl fsync /mnt/big",
    }[who]
    _, used = counted(machine, setup(1, 1, "ordered,lanes=2") + f"""
        dd if=/dev/zero of=/mnt/big bs=256k count=1 2>/dev/null; fsctl syncfs /mnt
        count
        for n in $(seq {FSYNCS}); do
            dd if=/dev/zero of=/mnt/big bs=256k count=1 conv=notrunc 2>/dev/null || die big
            fsctl write-back /mnt/big || die write-back
            {then} || die "step $n"
        done
        count
        unmnt; fsck /dev/zjd0
    """)
    assert used["flushes"] >= FSYNCS


@pytest.mark.zext4
@pytest.mark.parametrize("fsync", ["own", "all"])
@pytest.mark.parametrize("mode", ["ordered", "journal"])
def test_only_the_own_component(machine, mode, fsync):
    """A neighbour's changes on another CPU stay uncommitted, unless fsync=all asks for them."""
    out = machine.sh(f"""
        echo 0 cache 1 1 >/dev/zjdctl
        mk /dev/zjd0
        mnt /dev/zjd0 data={mode},commit=300,lanes=2,fsync={fsync}
        # Inodes in different blocks of the inode table.
        for n in $(seq 40); do echo $n >/mnt/f$n; done
        fsctl syncfs /mnt || die syncfs
        txns() {{ sed -n "s/^lane *$1: *\\([0-9]*\\) txns.*/\\1/p" /proc/fs/zjournal/*/info; }}
        before=$(txns 0) own=$(txns 1)
        for n in $(seq 10); do
            taskset 1 dd if=/dev/zero of=/mnt/f1 bs=64 count=1 conv=notrunc 2>/dev/null
            taskset 2 dd if=/dev/zero of=/mnt/f40 bs=64 count=1 seek=$n conv=notrunc,fsync 2>/dev/null || die fsync
        done
        echo others $(($(txns 0) - before)) own $(($(txns 1) - own))
        grep -o "fsync=[a-z]*" /proc/mounts
        unmnt; fsck /dev/zjd0
    """, timeout=120)
    machine.check_console()
    assert out, out.out
    others, own = map(int, re.search(r"others (\d+) own (\d+)", out.out).groups())
    assert own >= 10
    assert others >= 10 if fsync == "all" else others == 0
    assert ("fsync=all" in out.out) == (fsync == "all")


@pytest.mark.zext4
@pytest.mark.parametrize("by, nice", [("task", 0), ("thread", 0), ("task", 1)])
def test_who_commits(machine, by, nice):
    """The lane's thread sleeps through the fsyncs of a task that commits; a task of low priority leaves it to the thread."""
    out = machine.sh(f"""
        mk /dev/zjd0
        mnt /dev/zjd0 commit=300,lanes=2,tune=commit_by:{by}
        echo >/mnt/file; fsctl syncfs /mnt || die syncfs
        pid=$(grep -l "^zj/zjd0-8:1\\$" /proc/[0-9]*/comm | cut -d/ -f3)
        switches() {{ sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/$pid/status; }}
        before=$(switches)
        renice -n {nice} $$ >/dev/null || die renice
        for n in $(seq 20); do
            taskset 2 dd if=/dev/zero of=/mnt/file bs=4k count=1 seek=$n conv=notrunc,fsync 2>/dev/null || die fsync
        done
        echo switches $(($(switches) - before))
        unmnt; fsck /dev/zjd0
    """, timeout=120)
    machine.check_console()
    assert out, out.out
    switches = int(re.search(r"switches (\d+)", out.out)[1])
    # A thread that is still awake when the next fsync asks does both without a switch.
    assert switches <= 4 if (by, nice) == ("task", 0) else switches > 10, out.out


@pytest.mark.zext4
def test_commit_is_no_io_of_the_tasks_cgroup(machine):
    """Other lanes wait for the log and for the flush, so the limits of one task's cgroup must not hold them back."""
    out = machine.sh("""
        mkdir -p /cg
        grep -q ' /cg ' /proc/mounts || mount -t cgroup2 none /cg || die cgroup2
        grep -qw io /cg/cgroup.controllers || lacks "limits of a cgroup's I/O"
        echo 0 cache 1 0 >/dev/zjdctl || die cache
        mk /dev/zjd0
        mnt /dev/zjd0 commit=300
        echo >/mnt/file; fsctl syncfs /mnt || die syncfs
        echo +io >/cg/cgroup.subtree_control || die io
        mkdir /cg/limited
        sh -c 'echo $$ >/cg/limited/cgroup.procs
            for n in 1 2 3 4 5; do chmod 60$n /mnt/file; fsctl fsync /mnt/file || exit 1; done
            dd if=/mnt/file of=/dev/null iflag=direct bs=4k 2>/dev/null' || die fsync
        sed 's/^/stat /' /cg/limited/io.stat
        rmdir /cg/limited; echo -io >/cg/cgroup.subtree_control
        unmnt; fsck /dev/zjd0
        echo 0 cache 1 1 >/dev/zjdctl
    """, timeout=120)
    machine.check_console()
    if out.rc == 77:
        pytest.skip(out.out.splitlines()[-1])
    assert out, out.out
    assert re.search(r"stat .* rios=[1-9]", out.out), out.out
    assert not re.search(r"stat .* wios=[1-9]", out.out), out.out


@pytest.mark.zext4
def test_wrong_fsync_option_is_refused(machine):
    out = machine.sh("mk /dev/zjd0; mark; no_mnt zext4 /dev/zjd0 fsync=some; said 'fsync= must be own'")
    assert out, out.out


@pytest.mark.zext4
def test_frozen_copy_option(machine):
    """Copies that a lone writer's commits make in advance; a remount can change the option."""
    out = machine.sh("""
        mk /dev/zjd0
        mnt /dev/zjd0 commit=300,tune=frozen_copy:always
        ahead() { awk '{ for (i = 2; i <= NF; i++) if ($i == "ahead") n += $(i - 1) } END { print n }' \\
            /proc/fs/zjournal/*/info; }
        twenty() {
            before=$(ahead)
            for n in $(seq 20); do
                dd if=/dev/zero of=/mnt/file bs=4k count=1 seek=$n conv=notrunc,fsync 2>/dev/null || die dd
            done
            grep -q "tune=frozen_copy:$1" /proc/mounts || die "frozen_copy:$1 is not shown"
            echo $1 $(($(ahead) - before))
            rm /mnt/file
        }
        touch /mnt/file; fsctl syncfs /mnt
        twenty always
        for how in never auto; do
            mount -o remount,tune=frozen_copy:$how /mnt || die remount
            touch /mnt/file; fsctl syncfs /mnt
            twenty $how
        done
        unmnt; fsck /dev/zjd0
    """, timeout=120)
    machine.check_console()
    assert out, out.out
    ahead = {how: int(n) for how, n in re.findall(r"^(always|never|auto) (\d+)$", out.out, re.M)}
    assert ahead["always"] >= 20
    assert ahead["never"] == 0
    assert ahead["auto"] <= 10
