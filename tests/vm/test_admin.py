# SPDX-License-Identifier: GPL-2.0-only
"""What an administrator meets: who may read the statistics, what the kernel says, tools that know ext4 by name."""

import pytest

pytestmark = pytest.mark.zext4


def test_statistics_are_roots(guest):
    """They tell what other tenants do. Root may let a group read them, until the unmount."""
    guest("""
        mk /dev/vda; mnt /dev/vda
        info=$(echo /proc/fs/zjournal/*/info)
        [ "$(stat -c %a:%u $info)" = 400:0 ] || die "$(ls -l $info)"
        zjctl stats --prometheus | grep -q '^zjournal_up{journal="vda-8"} 1$' || die "no metrics"
        chmod 440 $info && chgrp 1234 $info || die "chmod or chgrp"
        [ "$(stat -c %a:%g $info)" = 440:1234 ] || die "$(ls -l $info)"
        unmnt; mnt /dev/vda
        [ "$(stat -c %a:%g $info)" = 400:0 ] || die "$(ls -l $info)"
        unmnt
    """)


def test_shutdown_is_not_called_an_error(guest):
    guest("""
        mk /dev/vda; mnt /dev/vda
        touch /mnt/x; dmesg -c >/dev/null
        fsctl shutdown 2 /mnt || die "shutdown ioctl"
        touch /mnt/y 2>/dev/null
        unmnt
        dmesg | grep -q "stopped, because the file system was shut down on request" || die "$(dmesg)"
        ! dmesg | grep "aborted: error" || die "a shutdown is reported as an error"
        mnt /dev/vda; unmnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("held", ["", "exec 9</mnt/f; rm /mnt/f"], ids=["no orphan", "an orphan"])
def test_boot_after_a_crash_checks_everything_only_for_orphans(guest, held):
    """A mount marks the orphan file as in use, which makes e2fsck check the whole file system."""
    guest(f"""
        mk /dev/vda -O orphan_file; mnt /dev/vda
        echo text >/mnt/f; mkdir /mnt/kept; {held}
        fsctl syncfs /mnt || die "syncfs"
        mkdir /mnt/lost; fsctl shutdown 2 /mnt || die "shutdown ioctl"
        exec 9<&-; unmnt
        dumpe2fs -h /dev/vda 2>/dev/null | grep -q orphan_present || die "not as after a crash"
        fsck.zext4 -a /dev/vda >/tmp/out 2>&1; [ $? -le 1 ] || die "fsck.zext4: $(cat /tmp/out)"
        grep -q replayed /tmp/out || die "no log: $(cat /tmp/out)"
        [ "{'yes' if held else 'no'}" = "$(grep -q 'e2fsck -fp finishes' /tmp/out && echo yes || echo no)" ] ||
            die "$(cat /tmp/out)"
        fsck /dev/vda
        mnt /dev/vda; [ -d /mnt/kept ] || die "what was synced is gone"; unmnt
        mount -t ext4 /dev/vda /mnt && umount /mnt || die "stock mount"
    """)
