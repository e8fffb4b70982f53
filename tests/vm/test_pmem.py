# SPDX-License-Identifier: GPL-2.0-only
"""Persistent memory in the VM: it is there, DAX works, it outlives the VM, stock ext4 can log to it."""

import os

import pytest

import conftest
import pack
import vm as vmlib

modules = pack.ModuleTree(vmlib.Kernel.find().moddir)
pytestmark = pytest.mark.skipif(not {"nd_pmem"} & {*modules.path, *modules.builtin},
                                reason="this kernel has no driver for persistent memory")
SETUP = ". /lib/zj/pmem.sh\nmodprobe ext4\n"
SECTORS = "blockdev --getsz /dev/pmem0"


def run(machine, script, timeout=120):
    result = machine.sh(SETUP + script, timeout=timeout)
    assert result, f"{result.out}\n{machine.console_tail()}"
    machine.check_console()
    return result.out.split()


def machine(**options):
    return conftest.new_vm(modules=[], memory="512M", **options)


def test_ram_as_pmem():
    with machine(pmem=[vmlib.Pmem("32M"), vmlib.Pmem("16M")]) as guest:
        assert run(guest, """
            cat /sys/block/pmem0/queue/dax /sys/block/pmem1/queue/dax
            blockdev --getsz /dev/pmem0
            blockdev --getsz /dev/pmem1""") == ["1", "1", str(32 << 11), str(16 << 11)]
        run(guest, """
            mk /dev/pmem0; mount -t ext4 -o dax /dev/pmem0 /mnt || die mount
            pmemstore store /mnt/file 10000 7 && pmemstore check /mnt/file 10000 7 || die "store and check"
            ! pmemstore check /mnt/file 10000 8 || die "check can't fail" """)


def test_nvdimm_outlives_the_vm(tmp_path):
    """Data that was stored and written back is there in the next VM, without any flush."""
    dimm = vmlib.Pmem("34M", path=str(tmp_path / "dimm"))
    with machine(pmem=[dimm]) as guest:
        assert run(guest, "cat /sys/block/pmem0/queue/dax") == ["1"]
        size = run(guest, SECTORS)
        run(guest, """
            mk /dev/pmem0; mount -t ext4 -o dax /dev/pmem0 /mnt || die mount
            pmemstore store /mnt/file 10 7
            sync
            pmemstore store /mnt/file 10 8 || die store""")
        guest.kill()
    with machine(pmem=[dimm]) as guest:
        assert run(guest, "cat /sys/block/pmem0/queue/dax") == ["1"]
        assert run(guest, SECTORS) == size, "DAX was set up again"
        run(guest, """
            mount -t ext4 -o dax /dev/pmem0 /mnt || die mount
            pmemstore check /mnt/file 10 8 || die check""")


def test_external_journal(tmp_path):
    """Stock ext4 with its journal on pmem: killed, its files come back from there."""
    dimm = vmlib.Pmem("34M", path=str(tmp_path / "dimm"))
    disk = vmlib.Disk(str(tmp_path / "disk"), size="64M")
    with machine(pmem=[dimm], disks=[disk]) as guest:
        before, after = run(guest, """
            mke2fs -q -F -O journal_dev -b 4096 /dev/pmem0 || die journal_dev
            mk /dev/vda -J device=/dev/pmem0
            mount -t ext4 /dev/vda /mnt || die mount
            awk '{print $7}' /sys/block/pmem0/stat
            seq 1000 | dd of=/mnt/numbers conv=fsync bs=8K 2>/dev/null
            awk '{print $7}' /sys/block/pmem0/stat""")
        assert int(after) >= int(before) + 8, "nothing was written to the journal"
        guest.kill()
    disk.size = ""
    with machine(pmem=[dimm], disks=[disk]) as guest:
        run(guest, """
            mark journal
            mount -t ext4 /dev/vda /mnt || die mount
            said "EXT4-fs .vda.: recovery complete"
            seq 1000 | cmp - /mnt/numbers || die "an fsynced file is lost"
            umount /mnt
            fsck /dev/vda""")


@pytest.mark.skipif(os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")
@pytest.mark.parametrize("fs,options", [("ext4", "defaults"), ("zext4", "lanes=1"), ("zext4", "lanes=2")])
def test_files_in_memory(tmp_path, fs, options):
    """The file system on pmem with DAX, which zext4 takes and refuses as stock ext4 does."""
    dimm = vmlib.Pmem("66M", path=str(tmp_path / "dimm"))
    with conftest.new_vm(modules=None if fs == "zext4" else [], memory="512M", pmem=[dimm], stock=["ext4"]) as guest:
        run(guest, f"""
            modprobe {fs}; FS={fs}
            mk /dev/pmem0
            no_mnt {fs} /dev/pmem0 {options},dax=always,data=journal
            mnt /dev/pmem0 {options},dax=inode
            # It is logged by its fsync, and has to be out of the log when it is mapped from the memory.
            mkdir /mnt/d; seq 500 >/mnt/d/file; fsctl fsync /mnt/d/file; seq 501 1000 >>/mnt/d/file; fsctl fsync /mnt/d/file
            chattr +x /mnt/d /mnt/d/file || die chattr
            pmemstore store /mnt/d/stored 1000 3 && pmemstore check /mnt/d/stored 1000 3 || die "store and check"
            unmnt
            mnt /dev/pmem0 {options},dax=always
            seq 1000 | cmp - /mnt/d/file || die "a file that was in the log"
            pmemstore store /mnt/other 10000 5
            for n in $(seq 50); do echo $n >/mnt/f$n; done
            fsctl fsync /mnt/other /mnt/f50 || die fsync
            fsctl syncfs /mnt
            pmemstore store /mnt/other 10000 6""")
        guest.kill()
    with conftest.new_vm(modules=None if fs == "zext4" else [], memory="512M", pmem=[dimm], stock=["ext4"]) as guest:
        run(guest, f"""
            modprobe {fs}; FS={fs}
            mnt /dev/pmem0 {options},dax=always
            pmemstore check /mnt/other 10000 6 || die "stored data is lost"
            pmemstore check /mnt/d/stored 1000 3 || die "stored data is lost"
            [ "$(cat /mnt/f50)" = 50 ] || die "a synced file is lost"
            unmnt; fsck /dev/pmem0""")


def test_sizes():
    assert vmlib.bytes_of("64M") == 64 << 20
    args, append = vmlib.pmem_args("1G", [vmlib.Pmem("64M"), vmlib.Pmem("1G")])
    assert args == ["-machine", "q35", "-m", "2112M"]
    assert append == f"memmap={64 << 20}!{256 << 20} memmap={1 << 30}!{320 << 20}"
    with pytest.raises(vmlib.VMError, match="has to fit"):
        vmlib.pmem_args("1G", [vmlib.Pmem("2G")])
