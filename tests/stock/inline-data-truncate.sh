# SPDX-License-Identifier: GPL-2.0-only
# wrong: truncate() that makes a file grow out of its inode follows a null pointer
# hit: inline_data
# since: not known
# right: the file grows
# kernel: BUG: kernel NULL pointer dereference
# patch: 37-inline-data
#
# Nobody has opened the file for writing since it was read in, so that it has no jbd2_inode.
mk /dev/vdc -I 256 -O inline_data
mnt /dev/vdc
printf small >/mnt/f
umount /mnt
mnt /dev/vdc
fsctl grow /mnt/f || die truncate
size=$(stat -c %s /mnt/f)
umount /mnt
not_shown "the file has $size bytes"
