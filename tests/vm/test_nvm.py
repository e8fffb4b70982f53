# SPDX-License-Identifier: GPL-2.0-only
"""The log in persistent memory: journal_nvm=."""

import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

import conftest
import nbd
import pack
import test_log_data
import vm as vmlib

modules = pack.ModuleTree(vmlib.Kernel.find().moddir)
pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(not {"nd_pmem"} & {*modules.path, *modules.builtin},
                                 reason="this kernel has no driver for persistent memory")]
SETUP = """
. /lib/zj/pmem.sh
NVM="journal_nvm=/dev/pmem0"
# Requests: reads, writes, discards and flushes.
disk_io() { awk '{print $1 + $5 + $12 + $16}' /sys/block/vda/stat; }
info() { cat /proc/fs/zjournal/vda-8/info; }
# The kernel numbers memory in no fixed order. By address: 0 is the first.
memory_at() {
    for _dev in /sys/block/pmem*; do
        echo "$(cat $_dev/device/resource) /dev/${_dev##*/}"
    done | sort | sed -n "$(($1 + 1))s/.* //p"
}
"""
FORMAT = "mk /dev/vda -J size=8\nzjctl nvm-format --force /dev/pmem0 /dev/vda || die nvm-format\n"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    disk = vmlib.Disk(str(tmp_path_factory.mktemp("nvm") / "disk"), size="64M")
    with conftest.new_vm(memory="768M", disks=[disk],
                         pmem=[vmlib.Pmem("32M"), vmlib.Pmem("16M")]) as vm:
        yield vm


@pytest.fixture
def guest(machine):
    def run(script, timeout=240):
        result = machine.sh(SETUP + script, timeout=timeout)
        assert result, f"{result.out}\n{machine.console_tail()}"
        machine.check_console()
        return result.out
    return run


@pytest.mark.parametrize("options", ["", ",tune=log_check:on", ",tune=log_unit:block",
                                     ",lanes=1,tune=txninfo_max:256,data=journal"])
def test_crash_and_recovery(guest, options):
    guest(FORMAT + f"""
        mnt /dev/vda "$NVM{options}"
        grep -q "journal_nvm=/dev/pmem0" /proc/mounts || die "not shown: $(cat /proc/mounts)"
        known_tree
        fsctl syncfs /mnt || die syncfs
        stress -p 3 -n 300 /mnt || die stress
        for n in 1 2 3 4 5; do mkdir /mnt/d$n; fsctl fsync /mnt/d$n || die fsync; done
        info | grep -q "^log: nvm" || die "$(info)"
        crash
        mark recovery
        mnt /dev/vda "$NVM{options}"
        said "recovered [1-9]"
        check_tree
        for n in 1 2 3 4 5; do [ -d /mnt/d$n ] || die "lost d$n"; done
        unmnt
        fsck /dev/vda
        # Clean it is an ordinary ext4.
        modprobe ext4; mount -t ext4 /dev/vda /mnt || die "mount -t ext4"; check_tree; umount /mnt
    """)


def test_fsync_of_metadata_leaves_the_disk_alone(guest):
    guest(FORMAT + """
        mnt /dev/vda "$NVM"
        # No write-back of what is committed meanwhile.
        echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
        mkdir /mnt/a; fsctl fsync /mnt/a || die fsync
        before=$(disk_io)
        for n in 1 2 3 4 5 6 7 8; do
            mkdir /mnt/a/d$n; fsctl fsync /mnt/a || die fsync
            chmod 700 /mnt/a/d$n; fsctl fsync /mnt/a/d$n || die fsync
        done
        after=$(disk_io)
        [ "$before" = "$after" ] || die "requests to the disk: $before, then $after"
        # Little file data is logged, too; otherwise it is written, and flushed.
        echo data >/mnt/a/file; fsctl fsync /mnt/a/file || die fsync
        [ "$(disk_io)" = "$after" ] || die "data that was logged was written as well"
        mount -o remount,tune=fsync_data:before /mnt || die remount
        echo data >/mnt/a/other; fsctl fsync /mnt/a/other || die fsync
        [ "$(disk_io)" -gt "$after" ] || die "no data was written"
        echo 500 >/proc/sys/vm/dirty_writeback_centisecs
        crash; mnt /dev/vda "$NVM"
        [ "$(cat /mnt/a/file)" = data ] || die "lost the file"
        [ -d /mnt/a/d8 ] || die "lost a directory"
        unmnt; fsck /dev/vda
    """)


def test_fsync_does_not_follow_a_writer(guest):
    """It logs what was dirty when it began, though it goes on in steps and more is written meanwhile."""
    guest(test_log_data.LIB + test_log_data.HOLD + """
        mk $DEV -J size=8; zjctl nvm-format --force /dev/pmem0 $DEV || die nvm-format
        mnt $DEV "$NVM,lanes=1"
        put /mnt/f a 1; fsctl syncfs /mnt
        hold /mnt/f 0 4096; put /mnt/f b 1; fsctl begin-write-back /mnt/f; wait_until "held 1"
        # A step takes 31 pages.
        put /mnt/f c 35; was=$(logged)
        fsctl fsync /mnt/f & sync=$!
        wait_until "sleeps $sync"
        put /mnt/f d 100 35; held 1 || die "the write was not held back until now"
        say release
        wait $sync || die fsync
        [ $(logged) = $((was + 35)) ] || die "$(($(logged) - was)) blocks are logged, and 35 were dirty"
        crash; mnt $DEV "$NVM"
        is /mnt/f c 0 35; is /mnt/f d 35 100
        unmnt; fsck $DEV; rmmod zjdisk
        echo 500 >/proc/sys/vm/dirty_writeback_centisecs
    """)


def test_statistics(guest):
    guest(FORMAT + """
        counter() { info | awk -v word=$1 '$1 == "lane" { for (i = 3; i < NF; i++) if ($(i + 1) == word) n += $i }
            END { print n + 0 }'; }
        mnt /dev/vda "$NVM,lanes=1,tune=txninfo_max:256"
        mkdir /mnt/d; fsctl syncfs /mnt || die syncfs
        before=$(counter nvm_bytes)
        chmod 700 /mnt/d; fsctl fsync /mnt/d || die fsync
        # Lines of one inode, and a TxnInfo.
        stored=$(($(counter nvm_bytes) - before))
        [ $stored -ge 256 ] && [ $stored -le 1024 ] || die "$stored bytes for a chmod: $(info)"
        for n in $(seq 100); do echo >/mnt/d/$n; done
        fsctl syncfs /mnt || die syncfs
        [ $(counter nvm_full) -gt 0 ] || die "no TxnInfo was full: $(info)"
        zjctl stats --all /dev/vda | grep -q nvm_full || die "not shown: $(zjctl stats /dev/vda)"
        unmnt
        # Without memory it says nothing of it.
        mnt /dev/vda; info | grep nvm && die "nvm counters of a log on disk"; unmnt
    """)


# What a file system has in the inode table decides on what ext4 does there.
@pytest.mark.parametrize("features, where", [("-I 256", "$NVM,"), ("-I 128", "$NVM,"), ("-I 512 -O inline_data", "$NVM,"),
                                             ("-O ^metadata_csum,^flex_bg -b 1024", "$NVM,"), ("-I 256", ""),
                                             ("-b 1024 -O orphan_file", ""), ("-O orphan_file,casefold", "$NVM,")])
def test_ranges_that_ext4_tells(guest, features, where):
    """tune=log_check:on aborts if an undeclared line has changed; lanes share blocks."""
    guest(f"""
        mk /dev/vda -J size=8 {features}
        zjctl nvm-format --force /dev/pmem0 /dev/vda || die nvm-format
        OPTIONS="{where}tune=log_check:on"
        mnt /dev/vda "$OPTIONS,lanes=4"
        grep -q tune=log_check:on /proc/mounts || die "not shown: $(cat /proc/mounts)"
        change() {{
            mkdir /mnt/$1; cd /mnt/$1
            for n in 1 2 3 4 5 6 7 8 9; do
                echo $n >f$n; ln f$n l$n; ln -s f$n s$n; chmod 600 f$n; mkdir d$n
                dd if=/dev/zero of=f$n bs=3k count=$n 2>/dev/null
            done
            mv f1 d1/; mv d2 d3/; rm f3 l3 s3; : >f4; chown 7:7 f5; touch -t 200001010000 f6
            # Orphans, and their neighbours on the list.
            for n in 7 8 9; do exec 9<f$n; rm f$n l$n; : <&9; done
            exec 9<&-
            # Entries that are put in, taken out and replaced at the beginning, in the middle and at the end of blocks.
            mkdir e; for n in $(seq 150); do : >e/$n-$(printf %0$((n % 90))d); done
            fsctl fsync e || die fsync
            for n in $(seq 1 3 150); do mv e/$n-* e/$n; done
            for n in $(seq 2 3 150); do mv e/$n-* e/$((n - 1)); done
            fsctl fsync e || die fsync
            # Alone in its transaction, so that no other change declares the same lines.
            for n in $(seq 60 3 90); do rm e/$n-*; fsctl fsync e || die fsync; done
            for n in $(seq 100 -1 91); do rm e/$n e/$n-* 2>/dev/null; done
            for n in $(seq 60); do ln e/1 e/again$n; done
            cd /
        }}
        change a
        stress -p 3 -n 150 /mnt || die stress
        fsctl syncfs /mnt || die syncfs
        # Times of neighbours are written along.
        mount -o remount,lazytime /mnt || die lazytime
        touch /mnt/a/f4; cat /mnt/a/* >/dev/null 2>&1; change b; fsctl syncfs /mnt || die syncfs
        mount -o remount,nolazytime /mnt || die nolazytime
        change c; fsctl syncfs /mnt || die syncfs
        dmesg | grep log_check: && die "a change was not declared"
        info | grep -q "^state: live" || die "$(info)"
        crash
        mnt /dev/vda "$OPTIONS"
        [ "$(wc -c </mnt/c/f6)" = 18432 ] || die "$(ls -l /mnt/c)"
        unmnt
        fsck /dev/vda
    """)


def test_wrong_memory_is_refused(guest):
    guest(FORMAT + """
        before=$(md5sum </dev/vda)
        same() { [ "$(md5sum </dev/vda)" = "$before" ] || die "$1 wrote to the disk"; }
        refused() { mark "$1"; no_mnt zext4 /dev/vda "$2"; said "$3"; same "$1"; }
        dd if=/dev/zero of=/dev/pmem1 bs=64k count=1 conv=fsync 2>/dev/null
        refused unformatted journal_nvm=/dev/pmem1 "run zjctl nvm-format"
        refused missing journal_nvm=/dev/pmem9 "cannot be opened"
        refused nodax journal_nvm=/dev/vda "cannot be opened|no memory"
        mnt /dev/vda "$NVM"; mkdir /mnt/d; fsctl fsync /mnt/d; crash
        before=$(md5sum </dev/vda)
        refused live "" "mount with journal_nvm="
        modprobe ext4; no_mnt ext4 /dev/vda; same stock
        e2fsck -fy /dev/vda </dev/null && die "e2fsck found nothing wrong"; same e2fsck
        zjctl recover --nvm=/dev/pmem1 /dev/vda && die "recovered from other memory"; same zjctl
        zjctl nvm-format --force /dev/pmem0 /dev/vda && die "a live log was overwritten"
        zjctl nvm-format /dev/pmem1 /dev/vda || die "nvm-format of empty memory"
        refused other journal_nvm=/dev/pmem1 "but the log is in"
        zjctl nvm-format /dev/pmem1 /dev/vda && die "nvm-format of what is a journal"
        # A torn super block, and back.
        dd if=/dev/pmem0 of=/tmp/super bs=512 count=1 2>/dev/null
        dd if=/dev/zero of=/dev/pmem0 bs=1 seek=32 count=8 conv=notrunc,fsync 2>/dev/null
        refused torn "$NVM" "damaged superblock"
        zjctl recover /dev/vda 2>&1 | grep "damaged superblock" || die "zjctl, torn"; same zjctl
        zjctl nvm-format --force /dev/pmem0 /dev/vda && die "a live log was overwritten"
        dd if=/tmp/super of=/dev/pmem0 bs=512 count=1 conv=notrunc,fsync 2>/dev/null
        # Of two copies zjctl takes neither by itself.
        dd if=/dev/pmem0 of=/dev/pmem1 bs=512 count=1 conv=notrunc,fsync 2>/dev/null
        zjctl check /dev/vda 2>&1 | grep "at more than one" || die "zjctl chose one"
        zjctl check --nvm=/dev/pmem0 /dev/vda || die "zjctl check"; same zjctl
        mnt /dev/vda "$NVM"; [ -d /mnt/d ] || die lost
        # It is claimed: no other program can format or mount it.
        zjctl nvm-format --force /dev/pmem0 /dev/vda && die "formatted while mounted"
        unmnt; fsck /dev/vda
    """)


def test_zjctl(guest):
    """zjctl finds the memory and recovers as a mount does; the next mount can use the memory."""
    guest(FORMAT + """
        mnt /dev/vda "$NVM"
        known_tree; fsctl syncfs /mnt || die syncfs
        for n in 1 2 3 4 5; do mkdir /mnt/d$n; chmod 700 /mnt/d1; fsctl fsync /mnt/d$n || die fsync; done
        zjctl info --json /mnt | grep -q '"holds_log":true' || die "info of a mounted one: $(zjctl info /mnt)"
        zjctl dump /dev/vda >/tmp/dump || die "dump of a mounted one"
        grep -q "lines 0x" /tmp/dump || die "no parts of blocks: $(cat /tmp/dump)"
        # An orphan: of block 0 the super block alone.
        exec 9>/mnt/orphan; rm /mnt/orphan; fsctl syncfs /mnt || die syncfs; exec 9>&-
        zjctl dump /dev/vda | grep -q " 0(lines 0xffff0000)" || die "super block: $(zjctl dump /dev/vda)"
        zjctl recover /dev/vda && die "recovered while mounted"
        crash
        before=$(md5sum </dev/vda)
        cp /dev/pmem0 /tmp/memory
        zjctl check --nvm=/tmp/memory /dev/vda || die "check with a copy"
        for command in info dump check "recover -n"; do zjctl $command /dev/vda >/tmp/out || die "$command"; done
        [ "$(md5sum </dev/vda)" = "$before" ] || die "written to"
        zjctl recover /dev/vda >/tmp/out || [ $? = 1 ] || die recover
        grep "replayed [1-9]" /tmp/out || die "$(cat /tmp/out)"
        cmp /dev/pmem0 /tmp/memory || die "the memory was written to"
        fsck /dev/vda
        modprobe ext4; mount -t ext4 /dev/vda /mnt || die "mount -t ext4"
        check_tree; for n in 1 2 3 4 5; do [ -d /mnt/d$n ] || die "lost d$n"; done; umount /mnt
        mnt /dev/vda "$NVM"; mkdir /mnt/e; fsctl fsync /mnt/e || die fsync; crash
        fsck.zext4 -fp /dev/vda || [ $? = 1 ] || die fsck.zext4
        mount -t ext4 /dev/vda /mnt || die "mount -t ext4"; [ -d /mnt/e ] || die "lost e"; umount /mnt
    """)


def test_unbound_while_mounted(guest):
    """The memory is removed under load: the journal aborts, and nothing is lost when it is back."""
    # As on stock ext4, the super block that the error writes may have a newer list of orphans.
    guest(FORMAT.replace("vda", "vda -O orphan_file", 1) + """
        ns=$(basename $(readlink -f /sys/block/pmem0/device))
        driver=/sys/bus/nd/drivers/nd_pmem
        mnt /dev/vda "$NVM"
        known_tree; fsctl syncfs /mnt || die syncfs
        stress -p 3 -t 60 /mnt >/tmp/stress 2>&1 &
        sleep 1
        for n in 1 2 3 4 5; do mkdir /mnt/d$n; fsctl fsync /mnt/d$n || die fsync; done
        mark unbind
        echo $ns >$driver/unbind || die unbind
        said "is being removed"
        wait
        mkdir /mnt/e 2>/dev/null && die "still writable"
        [ -d /mnt/d5 ] || die "not readable"
        unmnt
        [ -b /dev/pmem0 ] && die "still there"
        mark missing; no_mnt zext4 /dev/vda "$NVM"; said "cannot be opened"
        echo $ns >$driver/bind || die bind
        mark recovery; mnt /dev/vda "$NVM"; said "recovered [1-9]"
        check_tree
        for n in 1 2 3 4 5; do [ -d /mnt/d$n ] || die "lost d$n"; done
        unmnt
        # The abort is noted in the file system.
        e2fsck -fp /dev/vda || [ $? = 1 ] || die e2fsck
        fsck /dev/vda
    """)


def test_unbound_while_idle(guest):
    """Nothing is written, and nothing was ever logged."""
    guest(FORMAT + """
        ns=$(basename $(readlink -f /sys/block/pmem0/device))
        mnt /dev/vda "$NVM"
        echo $ns >/sys/bus/nd/drivers/nd_pmem/unbind || die unbind
        mkdir /mnt/e 2>/dev/null && die "still writable"
        unmnt
        echo $ns >/sys/bus/nd/drivers/nd_pmem/bind || die bind
        mnt /dev/vda "$NVM"; mkdir /mnt/e || die mkdir; unmnt
    """)


# In each mode; ZJ_CUTS=20 makes so many.
CUTS = int(os.environ.get("ZJ_CUTS", "2"))
WORKERS = 4
# Mount options, and what is checked: files that were fsynced (stress), or what they hold (fsxmarks).
MODES = [("", "stress"), (",data=journal,lanes=1,tune=txninfo_max:1024", "stress")]
if "ZJ_CUTS" in os.environ:
    MODES.insert(0, (",lanes=4", "fsx"))
RUN = {"stress": "setsid stress -p {workers} -t 3600 -s {seed} -l /share/noted /mnt >/dev/null 2>&1 &",
       "fsx": "fsxmarks setup /mnt {workers} || die setup\n"
              "setsid fsxmarks run /mnt /share {workers} 3600 {seed} - &"}

# Of a moment at which no file was at rest nothing is known.
CHECK = {"stress": "stress -v {logs}/noted /mnt",
         "fsx": "{{ fsxmarks verify /mnt {logs} {workers} 0 >/tmp/fsx || grep 'BAD: no file' /tmp/fsx ||"
                " {{ cat /tmp/fsx; false; }}; }}"}


@dataclass
class Cut:
    """The state of one moment: files of disk and memory, and what was fsynced."""
    name: str
    mode: str
    load: str
    disk: Path
    dimm: Path
    notes: dict = None

    def take_notes(self, machine):
        if self.load == "fsx":
            self.notes = {p.name: p.read_bytes() for p in machine.share.glob("*.marks")}
            noted = sum(len(n) for n in self.notes.values())
        else:
            self.notes = {p.name: whole_lines(p.read_bytes()) for p in machine.share.glob("noted.*")}
            noted = sum(n.count(b"\n") for n in self.notes.values())
        print(f"cut {self.name}: {noted} notes")
        assert noted, "nothing was fsynced"


def whole_lines(data):
    return data[:data.rfind(b"\n") + 1]


def snapshot(machine, disk, dimm, cut, seed):
    with machine.stopped():
        seen, lost = disk.snapshot(cut.disk, seed)
        nbd.sparse_copy(dimm, cut.dimm)
        cut.take_notes(machine)
    print(f"{lost} of {seen} unflushed sectors lost")


def take_cuts(machine, disk, dimm, seed):
    """Cuts in each mode under load; the last one kills the VM."""
    cuts = []
    for mode, how in MODES:
        for old in machine.share.glob("noted.*"):
            old.unlink()
        load(machine, FORMAT + f"""
            mnt /dev/vda "$NVM{mode}"
            {RUN[how].format(workers=WORKERS, seed=seed)}
            echo $! >/tmp/stress.pid
        """)
        for n in range(CUTS):
            machine.idle(1 + (seed + n) % 3)
            name = str(len(cuts))
            cuts.append(Cut(name, mode, how, dimm.with_name(f"disk.{name}"), dimm.with_name(f"dimm.{name}")))
            snapshot(machine, disk, dimm, cuts[-1], seed + n)
        if (mode, how) == MODES[-1]:
            break
        load(machine, "kill -9 -$(cat /tmp/stress.pid); while ! umount /mnt; do sleep 0.1; done; fsck /dev/vda")
    machine.check_console()
    machine.kill()
    cuts.append(Cut("kill", mode, how, dimm.with_name("disk"), dimm))
    cuts[-1].take_notes(machine)
    return cuts


def load(machine, script):
    result = machine.sh(SETUP + script, timeout=240)
    assert result, f"{result.out}\n{machine.console_tail()}"
    machine.check_console()
    print(result.out, end="")


def recover(machine, cut, number):
    """A mount recovers, or zjctl."""
    (machine.share / cut.name).mkdir()
    for name, data in cut.notes.items():
        (machine.share / cut.name / name).write_bytes(data)
    # fsxmarks reads directly what it has synced, which empties the log.
    found = "recovery complete" if cut.load == "fsx" else "recovered [1-9]"
    load(machine, f"""
        disk=/dev/vd{"abcdefgh"[number]} memory=$(memory_at {number}) found="{found}"
        if [ {number % 2} = 1 ]; then
            zjctl recover --nvm=$memory $disk >/dev/null || [ $? = 1 ] || die "cut {cut.name}: zjctl"
            found=mounted
        fi
        mark cut
        mnt $disk "journal_nvm=$memory{cut.mode}"; said "$found"
        {CHECK[cut.load].format(logs=f"/share/{cut.name}", workers=WORKERS)} || die "cut {cut.name}: fsynced data is lost"
        unmnt; fsck $disk
    """)


def test_cuts_under_load(tmp_path):
    """Disk and NVDIMM as they were at one moment: several moments in one run, and a killed VM."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    dimm = tmp_path / "dimm"
    vmlib.make_image(tmp_path / "disk", "96M")
    disk = nbd.VolatileDisk(tmp_path / "disk", tmp_path / "s")
    try:
        with conftest.new_vm(cpus=4, memory="768M", pmem=[vmlib.Pmem("34M", path=str(dimm))],
                             disks=[vmlib.Disk(str(tmp_path / "s"), nbd=True)]) as machine:
            cuts = take_cuts(machine, disk, dimm, seed)
    finally:
        disk.power_cut(seed)
    for first in range(0, len(cuts), 8):
        some = cuts[first:first + 8]
        with conftest.new_vm(memory="768M", pmem=[vmlib.Pmem("34M", path=str(c.dimm)) for c in some],
                             disks=[vmlib.Disk(str(c.disk)) for c in some]) as machine:
            for n, cut in enumerate(some):
                recover(machine, cut, n)


def test_an_error_in_the_memory(guest):
    """The kernel reports that a page is lost. It remembers this, so the last memory is used."""
    guest(r"""
        mk /dev/vda -J size=8
        zjctl nvm-format --force /dev/pmem1 /dev/vda || die nvm-format
        mnt /dev/vda journal_nvm=/dev/pmem1
        mkdir /mnt/d; fsctl fsync /mnt/d || die fsync
        # Its last page: nothing was logged there.
        at=$(sed -n 's/^ *\([0-9a-f]*\)-\([0-9a-f]*\) : Persistent Memory (legacy)/\2/p' /proc/iomem | tail -n 1)
        mark page
        # Fails in the kernel's own accesses: no process has mapped that page.
        echo $((0x$at - 4095)) >/sys/devices/system/memory/hard_offline_page 2>/dev/null
        said "uncorrectable error"
        mkdir /mnt/e 2>/dev/null && die "still writable"
        unmnt
        mnt /dev/vda journal_nvm=/dev/pmem1; [ -d /mnt/d ] || die lost; unmnt
        e2fsck -fp /dev/vda || [ $? = 1 ] || die e2fsck
    """)
