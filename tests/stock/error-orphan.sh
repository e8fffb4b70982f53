# SPDX-License-Identifier: GPL-2.0-only
# wrong: an error writes the super block with what is never committed: a deleted file's inode is in no orphan list
# hit: errors=remount-ro without orphan_file
# since: not known
# right: the super block that an error writes has committed contents, and the error
# patch: none
mk /dev/vda
mnt /dev/vda commit=300,errors=remount-ro
echo a >/mnt/f
exec 7</mnt/f
rm /mnt/f
sync
# All is home, and the log empty.
fsfreeze --freeze /mnt && fsfreeze --unfreeze /mnt || die fsfreeze
exec 7<&-
echo 1 >/sys/fs/ext4/vda/trigger_fs_error || die trigger_fs_error
umount /mnt
mnt /dev/vda
umount /mnt
e2fsck -fn /dev/vda >/tmp/e2fsck 2>&1
grep 'zero dtime' /tmp/e2fsck >/tmp/lost && shown "e2fsck after the next mount: $(cat /tmp/lost)"
not_shown "$(cat /tmp/e2fsck)"
