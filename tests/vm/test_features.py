# SPDX-License-Identifier: GPL-2.0-only
"""Every feature of ext4 that zext4 takes: the load of the crash battery, power cuts, e2fsck after each.

One VM runs all, and a battery gives the memory of its disks back; a cut is a line of its output."""

import re

import pytest

import conftest

JOBS = 4
CUTS = 4
SMALL = "-J size=16"

# mke2fs options, mount options, what prepares the load's directory, what every mount needs
FEATURES = {
    "1k-blocks": dict(mkfs=f"-b 1024 {SMALL}"),
    "2k-blocks": dict(mkfs=f"-b 2048 {SMALL}", data="journal"),
    "bigalloc": dict(mkfs=f"-O bigalloc -C 16384 {SMALL}"),
    "plain": dict(mkfs=f"-b 4096 -O ^metadata_csum,^64bit,^orphan_file,^flex_bg,uninit_bg {SMALL}"),
    "indirect": dict(mkfs=f"-b 4096 -O ^extent,^64bit {SMALL}", data="journal"),
    "casefold": dict(mkfs=f"-b 4096 -O casefold -E encoding=utf8 {SMALL}", setup="chattr +F"),
    "quota": dict(mkfs=f"-b 4096 -O quota,project -E quotatype=usrquota:grpquota:prjquota {SMALL}"),
    "encrypt": dict(mkfs=f"-b 4096 -O encrypt {SMALL}", setup="fsctl encrypt", unlock="fsctl add-key"),
    "inline_data": dict(mkfs=f"-b 4096 -I 1024 -O inline_data {SMALL}"),
    "ea_inode": dict(mkfs=f"-b 4096 -O ea_inode,large_dir,orphan_file {SMALL}"),
    "128-byte-inodes": dict(mkfs=f"-b 4096 -I 128 {SMALL}"),
}


@pytest.fixture(name="machine", scope="module")
def machine_fixture():
    guest = conftest.Guest(cpus=4, memory="4G")
    yield guest
    guest.close()


@pytest.mark.parametrize("name", FEATURES)
def test_power_cuts(name, machine):
    what = FEATURES[name]
    guest = machine.ensure()
    guest.checked = len(guest.console_text())
    try:
        result = guest.sh(f"""
            for m in cts xts quota_v2; do modprobe $m; done
            modprobe zjdisk ndev={1 + 2 * JOBS} || die "zjdisk"
            modprobe $FS
            sh /lib/zj/crash.sh FSTYPE=$FS DATA={what.get('data', 'ordered')} CUTS={CUTS} JOBS={JOBS} \\
                'MKFS_OPTS={what['mkfs']}' 'SETUP={what.get('setup', '')}' 'UNLOCK={what.get('unlock', '')}' \\
                NESTED=2 SEED=$(date +%s) TIME=2 BIN=/usr/bin
        """, timeout=300)
        guest.check_console()
        if result.rc or not guest.sh("rmmod zjdisk"):
            machine.stop()
    except BaseException:
        machine.stop()
        raise
    cuts = re.findall(r"^ok cut=", result.out, re.M)
    assert result.rc == 0 and len(cuts) >= CUTS, result.out[-4000:]


GROW = {
    "append": "seq 2000 >>/mnt/f && fsctl begin-write-back /mnt/f",
    "fallocate": "fallocate -l 20000 /mnt/f && fsctl begin-write-back /mnt/f",
    "store": "fsctl store /mnt/f",
}


@pytest.mark.zext4
@pytest.mark.parametrize("data", ("ordered", "journal", "writeback"))
@pytest.mark.parametrize("how", GROW)
def test_inline_data_that_grows(guest, how, data):
    """Data that was fsynced in the inode survives another fsync that comes before the block's write."""
    guest(f"""
        modprobe zjdisk ndev=1 || die zjdisk
        mk /dev/zjd0 -I 1024 -O inline_data -J size=8
        mnt /dev/zjd0 lanes=1,data={data}
        head -c 600 /dev/zero | tr '\\0' i >/mnt/f; touch /mnt/other; sync
        echo 0 latency 300000 0 0 >/dev/zjdctl
        {GROW[how]} || die "{how}"
        echo other >/mnt/other; fsctl fsync /mnt/other || die fsync
        fsctl shutdown 2 /mnt || die shutdown
        echo 0 latency 0 0 0 >/dev/zjdctl
        umount /mnt; mnt /dev/zjd0
        [ "$(head -c 600 /mnt/f | tail -c 590)" = "$(head -c 590 /dev/zero | tr '\\0' i)" ] ||
            die "fsynced data is gone: $(od -c /mnt/f | head -5)"
        [ {how} != store ] || [ "$(head -c 6 /mnt/f)" = stored ] || die "a store is gone: $(od -c /mnt/f | head -5)"
        unmnt; fsck /dev/zjd0
        rmmod zjdisk
    """)


@pytest.mark.zext4
def test_inline_data_in_a_commit(guest):
    """A hole after data that has left its inode only in memory: the commit writes nothing and starts no handle."""
    guest("""
        mk /dev/vdc -I 1024 -O inline_data -J size=8
        mnt /dev/vdc lanes=1,commit=300
        head -c 300 /dev/zero | tr '\\0' i >/mnt/f; touch /mnt/other; sync
        head -c 5000 /dev/zero | tr '\\0' d >>/mnt/f
        printf end | dd of=/mnt/f bs=1 seek=20000 conv=notrunc 2>/dev/null
        echo other >/mnt/other; fsctl fsync /mnt/other || die fsync
        crash; mnt /dev/vdc
        [ "$(head -c 300 /mnt/f | tr -d i | wc -c)" = 0 ] || die "synced data is gone: $(od -c /mnt/f | head -5)"
        unmnt; fsck /dev/vdc
    """)


# What asks for a block of /mnt/f, and the options with which it is not reserved before.
NO_BLOCK = {
    "append": ("dd if=/dev/zero of=/mnt/f bs=5000 count=1 oflag=append conv=notrunc", "nodelalloc"),
    "journal": ("dd if=/dev/zero of=/mnt/f bs=5000 count=1 oflag=append conv=notrunc", "data=journal"),
    "truncate": ("truncate -s 20000 /mnt/f", "delalloc"),
}


@pytest.mark.zext4
@pytest.mark.parametrize("how", NO_BLOCK)
def test_inline_data_on_a_full_disk(guest, how):
    """Data for which no block is free stays in its inode, and the inode's checksum is correct."""
    command, options = NO_BLOCK[how]
    guest(f"""
        mk /dev/vdc -I 1024 -O inline_data -m 0
        mnt /dev/vdc noatime,{options}
        head -c 300 /dev/zero | tr '\\0' i >/mnt/f
        for size in 1048576 65536 4096; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
        done
        {command} 2>/dev/null && die "{how} found a block"
        unmnt; fsck /dev/vdc
        mnt /dev/vdc
        [ "$(cat /mnt/f)" = "$(head -c 300 /dev/zero | tr '\\0' i)" ] || die "it is something else: $(od -c /mnt/f | head -5)"
        unmnt
    """)


# What changes the contents of /mnt/f, "old" before, and not its size.
IN_PLACE = {
    "inline": "printf new | dd of=/mnt/f conv=notrunc 2>/dev/null",
    "moved": "fsctl move-first /mnt/other /mnt/f && printf new | dd of=/mnt/f conv=notrunc 2>/dev/null",
    "donor": "fsctl move-first /mnt/f /mnt/other",
    "boot": "fsctl swap-boot /mnt/f",
}


@pytest.mark.zext4
@pytest.mark.parametrize("how", IN_PLACE)
def test_fdatasync_of_what_keeps_its_size(guest, how):
    """R8: contents that change without the size survive after fdatasync; stock ext4 loses them."""
    options = "-I 1024 -O inline_data" if how == "inline" else ""
    guest(f"""
        mk /dev/vdc {options} -J size=8
        mnt /dev/vdc
        printf new >/mnt/f; [ {how.split()[0]} != boot ] || fsctl swap-boot /mnt/f || die "swap-boot"
        printf old >/mnt/f; printf oth >/mnt/other
        unmnt; mnt /dev/vdc commit=300
        {IN_PLACE[how]} || die "{how}"
        cp /mnt/f /tmp/f; [ "$(tr '\\0' 0 </tmp/f)" != old ] || die "it has not changed"
        fsctl fdatasync /mnt/f || die fdatasync
        crash; mnt /dev/vdc
        cmp /mnt/f /tmp/f || die "synced data is gone: $(od -c /mnt/f)"
        unmnt; fsck /dev/vdc
    """)


def test_verity(guest):
    """After a crash a file is a verity file if this was fsynced, and is not if it was interrupted."""
    guest("""
        mk /dev/vda -O verity
        mnt /dev/vda; known_tree; sync
        fsctl verity /mnt/tree/d1/numbers || die "enable verity"
        fsctl fsync /mnt/tree/d1/numbers || die "fsync"
        fsctl verity /mnt/tree/d2/numbers || die "enable verity"
        crash
        mnt /dev/vda; check_tree
        lsattr /mnt/tree/d1/numbers | grep -q 'V' || die "the verity flag is gone: $(lsattr /mnt/tree/d1/numbers)"
        ! sh -c 'echo x >>/mnt/tree/d1/numbers' 2>/dev/null || die "a verity file was written"
        unmnt; fsck /dev/vda
        mount -t ext4 /dev/vda /mnt || die "stock mount"
        check_tree; umount /mnt
    """)
