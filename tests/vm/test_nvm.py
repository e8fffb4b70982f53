# SPDX-License-Identifier: GPL-2.0-only
"""The log in persistent memory: journal_nvm=."""

import pytest

import conftest
import pack
import vm as vmlib

modules = pack.ModuleTree(vmlib.Kernel.find().moddir)
pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(not {"nd_pmem"} & {*modules.path, *modules.builtin},
                                 reason="this kernel has no driver for persistent memory")]
SETUP = """
. /lib/zj/pmem.sh
NVM="journal_nvm=/dev/pmem0"
# Writes and flushes.
disk_io() { awk '{print $5 + $16}' /sys/block/vda/stat; }
info() { cat /proc/fs/zjournal/vda-8/info; }
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


@pytest.mark.parametrize("options", ["", ",nvm_check=on", ",nvm_unit=block",
                                     ",lanes=1,txninfo_max=256,data=journal"])
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
        # No write-back of what is valid meanwhile.
        echo 0 >/proc/sys/vm/dirty_writeback_centisecs
        mkdir /mnt/a; fsctl fsync /mnt/a || die fsync
        before=$(disk_io)
        for n in 1 2 3 4 5 6 7 8; do
            mkdir /mnt/a/d$n; fsctl fsync /mnt/a || die fsync
            chmod 700 /mnt/a/d$n; fsctl fsync /mnt/a/d$n || die fsync
        done
        after=$(disk_io)
        [ "$before" = "$after" ] || die "requests to the disk: $before, then $after"
        # File data is written, and flushed.
        echo data >/mnt/a/file; fsctl fsync /mnt/a/file || die fsync
        [ "$(disk_io)" -gt "$after" ] || die "no data was written"
        echo 500 >/proc/sys/vm/dirty_writeback_centisecs
        crash; mnt /dev/vda "$NVM"
        [ "$(cat /mnt/a/file)" = data ] || die "lost the file"
        [ -d /mnt/a/d8 ] || die "lost a directory"
        unmnt; fsck /dev/vda
    """)


def test_statistics(guest):
    guest(FORMAT + """
        counter() { info | awk -v word=$1 '$1 == "lane" { for (i = 3; i < NF; i++) if ($(i + 1) == word) n += $i }
            END { print n + 0 }'; }
        mnt /dev/vda "$NVM,lanes=1,txninfo_max=256"
        mkdir /mnt/d; fsctl syncfs /mnt || die syncfs
        before=$(counter nvm_bytes)
        chmod 700 /mnt/d; fsctl fsync /mnt/d || die fsync
        # Lines of one inode, and a TxnInfo.
        stored=$(($(counter nvm_bytes) - before))
        [ $stored -ge 256 ] && [ $stored -le 1024 ] || die "$stored bytes for a chmod: $(info)"
        for n in $(seq 100); do echo >/mnt/d/$n; done
        fsctl syncfs /mnt || die syncfs
        [ $(counter nvm_full) -gt 0 ] || die "no TxnInfo was full: $(info)"
        zjctl stats /dev/vda | grep -q nvm_full || die "not shown: $(zjctl stats /dev/vda)"
        unmnt
        # Without memory it says nothing of it.
        mnt /dev/vda; info | grep nvm && die "nvm counters of a log on disk"; unmnt
    """)


# What a file system has in the inode table decides on what ext4 does there.
@pytest.mark.parametrize("features", ["-I 256", "-I 128", "-I 512 -O inline_data", "-O ^metadata_csum,^flex_bg -b 1024"])
def test_ranges_that_ext4_tells(guest, features):
    """nvm_check=on aborts if something else has changed; lanes meet in the blocks of inodes."""
    guest(f"""
        mk /dev/vda -J size=8 {features}
        zjctl nvm-format --force /dev/pmem0 /dev/vda || die nvm-format
        mnt /dev/vda "$NVM,nvm_check=on,lanes=4"
        grep -q nvm_check=on /proc/mounts || die "not shown: $(cat /proc/mounts)"
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
        dmesg | grep nvm_check: && die "something was not told"
        info | grep -q "^state: live" || die "$(info)"
        crash
        mnt /dev/vda "$NVM,nvm_check=on"
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
        refused alone nvm_unit=block "go with journal_nvm"
        refused unchecked nvm_check=on "go with journal_nvm"
        refused log "$NVM,log=zj" "leave log= out"
        no_mnt zext4 /dev/vda "$NVM,txninfo_max=300"
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
        refused torn "$NVM" "damaged super block"
        zjctl recover /dev/vda 2>&1 | grep "damaged super block" || die "zjctl, torn"; same zjctl
        zjctl nvm-format --force /dev/pmem0 /dev/vda && die "a live log was overwritten"
        dd if=/tmp/super of=/dev/pmem0 bs=512 count=1 conv=notrunc,fsync 2>/dev/null
        # Of two copies zjctl takes neither by itself.
        dd if=/dev/pmem0 of=/dev/pmem1 bs=512 count=1 conv=notrunc,fsync 2>/dev/null
        zjctl check /dev/vda 2>&1 | grep "at more than one" || die "zjctl chose one"
        zjctl check --nvm=/dev/pmem0 /dev/vda || die "zjctl check"; same zjctl
        mnt /dev/vda "$NVM"; [ -d /mnt/d ] || die lost
        # Claimed: nobody else formats or mounts it.
        zjctl nvm-format --force /dev/pmem0 /dev/vda && die "formatted while mounted"
        unmnt; fsck /dev/vda
    """)


def test_zjctl(guest):
    """It finds the memory and recovers as a mount does; the memory then serves the next mount."""
    guest(FORMAT + """
        mnt /dev/vda "$NVM"
        known_tree; fsctl syncfs /mnt || die syncfs
        for n in 1 2 3 4 5; do mkdir /mnt/d$n; chmod 700 /mnt/d1; fsctl fsync /mnt/d$n || die fsync; done
        zjctl info --json /mnt | grep -q '"holds_log":true' || die "info of a mounted one: $(zjctl info /mnt)"
        zjctl dump /dev/vda >/tmp/dump || die "dump of a mounted one"
        grep -q "lines 0x" /tmp/dump || die "no parts of blocks: $(cat /tmp/dump)"
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


def test_power_cut(tmp_path):
    """The VM is killed: what was fsynced is in the NVDIMM."""
    dimm = vmlib.Pmem("34M", path=str(tmp_path / "dimm"))
    disk = vmlib.Disk(str(tmp_path / "disk"), size="64M")

    def run(vm, script):
        result = vm.sh(SETUP + script, timeout=240)
        assert result, f"{result.out}\n{vm.console_tail()}"
        vm.check_console()

    with conftest.new_vm(memory="512M", pmem=[dimm], disks=[disk]) as vm:
        run(vm, FORMAT + """
            mnt /dev/vda "$NVM"
            known_tree; fsctl syncfs /mnt || die syncfs
            for n in 1 2 3 4 5 6; do echo $n >/mnt/f$n; fsctl fsync /mnt/f$n || die fsync; done
            for n in 1 2 3; do mv /mnt/f$n /mnt/tree/; done; fsctl fsync /mnt/tree || die fsync
        """)
        vm.kill()
    disk.size = ""
    with conftest.new_vm(memory="512M", pmem=[dimm], disks=[disk]) as vm:
        run(vm, """
            mark recovery; mnt /dev/vda "$NVM"; said "recovered [1-9]"
            check_tree
            for n in 1 2 3; do [ "$(cat /mnt/tree/f$n)" = $n ] || die "lost tree/f$n"; done
            for n in 4 5 6; do [ "$(cat /mnt/f$n)" = $n ] || die "lost f$n"; done
            unmnt; fsck /dev/vda
        """)
