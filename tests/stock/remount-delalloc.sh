# SPDX-License-Identifier: GPL-2.0-only
# wrong: a write() to a file with chattr +j after remount,delalloc hits an assertion of jbd2
# hit: chattr +j
# since: not known
# right: whether a file is journaled does not change at a remount
# kernel: kernel BUG at fs/jbd2/transaction.c
# patch: 25-data-journal
mk /dev/vdc -J size=8
mnt /dev/vdc nodelalloc,commit=300
printf old >/mnt/f; chattr +j /mnt/f || die chattr
printf mid | dd of=/mnt/f conv=notrunc,fsync 2>/dev/null || die write
mount -o remount,delalloc /mnt || die remount
printf new | dd of=/mnt/f conv=notrunc,fsync 2>/dev/null
now=$(cat /mnt/f)
umount /mnt
not_shown "the write succeeds, and the file has $now"
