# SPDX-License-Identifier: GPL-2.0-only
# wrong: after remount,delalloc recovery puts journaled data over what was synced later
# hit: chattr +j
# since: not known
# right: where a file's data goes does not change while the log holds images of it
# patch: 25-data-journal
#
# A write() would stop the kernel (remount-delalloc.sh).
mk /dev/vdc -J size=8
mnt /dev/vdc nodelalloc,commit=300
printf before >/mnt/f; chattr +j /mnt/f || die chattr
printf middle | dd of=/mnt/f conv=notrunc,fsync 2>/dev/null || die write
mount -o remount,delalloc /mnt || die remount
fsctl store /mnt/f || die store
fsctl fsync /mnt/f || die fsync
crash; mnt /dev/vdc
now=$(tr '\0' 0 </mnt/f)
umount /mnt
[ "$now" = stored ] || shown "'stored' was synced, and after a crash the file has '$now'"
not_shown "the file has what was synced"
