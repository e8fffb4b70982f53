# SPDX-License-Identifier: GPL-2.0-only
"""Online growth by a task that changes its lane between the steps."""

import pytest


@pytest.mark.zext4
@pytest.mark.allow("zext4", "zjournal", "I/O error")
def test_new_groups_have_their_bitmaps(guest):
    """The task sets up bitmaps in lane 0, goes to lane 1 while a flush holds it up, and adds the groups there.

    None of the new groups has a backup of the super block or of descriptors, so that the two steps share no block.
    """
    guest("""
        needs_stacks
        modprobe zjdisk ndev=1 size_mb=208 || die zjdisk
        mke2fs -q -F -t ext4 -b 1024 -G 4 -J size=8 /dev/zjd0 98305k || die mke2fs
        mnt /dev/zjd0 noatime,commit=300
        echo >/mnt/file; fsctl syncfs /mnt || die syncfs
        before=$(stat -f -c %b /mnt)
        echo 0 latency 0 0 1500000 >/dev/zjdctl
        taskset 1 resize2fs /dev/zjd0 >/tmp/resize 2>&1 & task=$!
        until tr '\\n' ' ' </proc/$task/stack | grep -q '_flush.*ext4_resize_fs'; do
            kill -0 $task || die "no flush: $(cat /tmp/resize)"
        done
        taskset -p 2 $task >/dev/null || die taskset
        while [ $(stat -f -c %b /mnt) = $before ]; do
            kill -0 $task || die "not grown: $(cat /tmp/resize)"
        done
        taskset 2 sh -c 'echo >>/mnt/file'
        taskset 2 fsctl fsync /mnt/file || die fsync
        grep -q ext4_resize_fs /proc/$task/stack || die "too late: the resize has ended"
        # A shutdown would not do: resize2fs goes on, and ext4 writes the super block past the journal.
        echo 0 power off >/dev/zjdctl; echo 0 latency 0 0 0 >/dev/zjdctl
        wait $task
        umount /mnt || die umount
        echo 0 power on >/dev/zjdctl
        mnt /dev/zjd0
        after=$(stat -f -c %b /mnt)
        unmnt; fsck /dev/zjd0; rmmod zjdisk
        echo "$before $after"
    """)
