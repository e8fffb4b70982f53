# SPDX-License-Identifier: GPL-2.0-only
"""Values that user space has read are the same after a crash (docs/internals/exposed-values.md)."""

import pytest

# Two CPUs, so two lanes; nothing is committed by a timer. The crash comes after an fsync of
# something that shares no block with the super block.
LIB = """
    first() { taskset 1 "$@"; }
    second() { taskset 2 "$@"; }
    begin() {
        mnt /dev/vda noatime,commit=300
        mkdir /mnt/d; : >/mnt/d/f; fsctl syncfs /mnt || die syncfs
    }
    end() {
        second dd if=/dev/zero of=/mnt/d/f bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        crash
        mnt /dev/vda noatime
    }
"""

# The salt of a new file system is made by mke2fs; of one that was made before the feature, by the kernel.
NO_SALT = """
    mk /dev/vda -O encrypt,^metadata_csum
    dd if=/dev/zero of=/dev/vda bs=1 seek=$((1024 + 0x258)) count=16 conv=notrunc 2>/dev/null
"""


def test_salt(guest):
    """Keys are derived from it, and names encrypted with them may be durable before the super block."""
    guest(LIB + NO_SALT + """
        begin
        mine=$(first fsctl salt /mnt) || die "salt"
        [ "$mine" != 00000000000000000000000000000000 ] || die "no salt"
        other=$(second fsctl salt /mnt) || die "salt"
        [ "$mine" = "$other" ] || die "two salts: $mine $other"
        end
        [ "$(fsctl salt /mnt)" = "$mine" ] || die "the salt was $mine, and is $(fsctl salt /mnt)"
        unmnt; fsck /dev/vda
    """)


@pytest.mark.zext4
def test_salt_that_cannot_be_kept(guest):
    """The journal is aborted before the salt is durable: no caller gets it, then or later."""
    guest(LIB + NO_SALT + """
        begin
        . /lib/zj/dm.sh; umount /mnt
        dm_good
        mount -t $FS -o commit=300,errors=continue $DM /mnt || die mount
        fsctl syncfs /mnt
        dm_no_writes
        ! first fsctl salt /mnt 2>/dev/null || die "returned a salt that is lost"
        ! second fsctl salt /mnt 2>/dev/null || die "returned a salt that is lost"
        umount /mnt; dm_good
        mount -t $FS $DM /mnt || die mount
        fsctl salt /mnt || die "no salt after the crash"
        umount /mnt; dmsetup remove faulty
    """)


@pytest.mark.parametrize("what,new", [("uuid", "7"), ("label", "seven")])
def test_set_by_ioctl(guest, what, new):
    """Other programs may identify the file system by it."""
    guest(LIB + f"""
        mk /dev/vda -O metadata_csum_seed
        begin
        first fsctl set-{what} {new} /mnt || die "set-{what}"
        seen=$(second fsctl get-{what} /mnt) || die "get-{what}"
        end
        [ "$(fsctl get-{what} /mnt)" = "$seen" ] || die "the {what} was $seen, and is $(fsctl get-{what} /mnt)"
        unmnt; fsck /dev/vda
    """)


# An empty file of user quota, made without the tools: magic and version, times of grace, two blocks in use.
QUOTA_FILE = r"""
    printf '\021\037\300\331\001\0\0\0\200\072\011\0\200\072\011\0\0\0\0\0\002\0\0\0' >/mnt/aquota.user
    dd if=/dev/zero of=/mnt/aquota.user bs=1 seek=2047 count=1 conv=notrunc 2>/dev/null
"""
JOURNALED = "usrjquota=aquota.user,jqfmt=vfsv1"


@pytest.mark.zext4
def test_usage_of_a_handle_from_before(guest):
    """A file becomes a hole, which waits for a bitmap while quota comes on, and is counted in the usage that is read then.

    Its handle begins after Q_QUOTAON has synced, and before quota is on; it shares no block with that.
    """
    cold = f"noatime,commit=300,no_prefetch_block_bitmaps,{JOURNALED}"
    guest(LIB + f"""
        needs_stacks
        modprobe -q quota_v2
        modprobe zjdisk ndev=1 || die zjdisk
        mk /dev/zjd0 -J size=8
        mnt /dev/zjd0 {cold}
        {QUOTA_FILE}
        fsctl quota-on /dev/zjd0 /mnt/aquota.user || die quota-on
        dd if=/dev/zero of=/mnt/other bs=4k count=1 2>/dev/null
        for n in $(seq 32); do : >/mnt/apart$n; done
        yes | dd of=/mnt/f bs=4k count=64 iflag=fullblock 2>/dev/null
        before=$(fsctl usage /dev/zjd0 0) || die usage
        fsctl syncfs /mnt || die syncfs
        fsctl quota-off /dev/zjd0 || die quota-off
        umount /mnt || die umount
        mnt /dev/zjd0 {cold}
        # Quotaon drops blocks that the journal does not hold: of f only the bitmap shall be read again.
        touch /mnt/f; cat /mnt/other >/dev/null; fsctl syncfs /mnt || die syncfs; sync

        echo 0 latency 1500000 0 0 >/dev/zjdctl
        taskset 2 fsctl quota-on /dev/zjd0 /mnt/aquota.user & quota=$!
        until grep -q v2_read_header /proc/$quota/stack; do kill -0 $quota || die "quota is on already"; done
        echo 0 latency 4000000 0 0 >/dev/zjdctl
        taskset 1 fsctl punch /mnt/f & punch=$!
        until grep -q ext4_wait_block_bitmap /proc/$punch/stack; do kill -0 $punch || die "not cold"; done
        grep -q v2_read_header /proc/$quota/stack || die "too late: quota comes on"
        echo 0 latency 0 0 0 >/dev/zjdctl
        wait $quota || die "quota is not on"
        grep -q ext4_wait_block_bitmap /proc/$punch/stack || die "too late: the hole is there"
        second dd if=/dev/zero of=/mnt/other bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        wait $punch || die punch

        seen=$(fsctl usage /dev/zjd0 0) || die usage
        [ $seen -le $((before - 64 * 4096)) ] || die "not counted: $seen of $before bytes are left"
        second dd if=/dev/zero of=/mnt/other bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        crash
        mnt /dev/zjd0
        [ "$(stat -c %b /mnt/f)" = 0 ] || die "usage is $seen bytes, and a file has $(stat -c %b /mnt/f) blocks"
        unmnt; rmmod zjdisk
    """)


@pytest.mark.zext4
def test_file_that_held_the_quota(guest):
    """Its blocks were journaled and are freed without revokes; recovery must not write old images of them."""
    guest(f"""
        modprobe -q quota_v2
        modprobe zjdisk ndev=1 size_mb=16 || die zjdisk
        mk /dev/zjd0 -J size=4
        mnt /dev/zjd0 commit=300,{JOURNALED}
        {QUOTA_FILE}
        fsctl quota-on /dev/zjd0 /mnt/aquota.user || die quota-on
        echo >/mnt/counted
        fsctl syncfs /mnt || die syncfs
        fsctl quota-off /dev/zjd0 || die quota-off
        rm /mnt/aquota.user
        fsctl syncfs /mnt || die syncfs
        dd if=/dev/zero of=/mnt/all bs=64k 2>/dev/null; fsctl fsync /mnt/all || die fsync
        crash
        mnt /dev/zjd0
        [ "$(tr -d '\\0' </mnt/all | wc -c)" = 0 ] || die "the file has a block of the old one"
        unmnt; fsck /dev/zjd0; rmmod zjdisk
    """)
