# SPDX-License-Identifier: GPL-2.0-only
# wrong: EXT4_IOC_SWAP_BOOT starts a handle too small to charge users: an error, and wrong usage
# hit: quota
# since: not known
# right: credits for what the handle changes
# patch: 44-quota
modprobe -q quota_v2
mk /dev/vda -O quota,project -E quotatype=usrquota:grpquota:prjquota -J size=8
mnt /dev/vda
mark swap
seq 3000 >/mnt/f; chown 1000:1001 /mnt/f; chattr -p 7 /mnt/f; sync
fsctl swap-boot /mnt/f >/tmp/out 2>&1; rc=$?
seq 9000 >/mnt/f; sync
fsctl swap-boot /mnt/f >>/tmp/out 2>&1; rc="$rc $?"
lines=$(dmesg | sed -n "/$_mark/,\$p" | grep -i 'ext4\|jbd2' | sed 's/^\[ *[0-9.]*\] //' | tail -n 3 | tr '\n' ' ')
umount /mnt
said=$(complaints /dev/vda)
[ -z "$said" ] || shown "status $rc; e2fsck: $said; kernel: $lines"
not_shown "status $rc; e2fsck finds nothing; kernel: $lines"
