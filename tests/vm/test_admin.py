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
