# SPDX-License-Identifier: GPL-2.0-only
# wrong: a read-only mount that finishes orphans leaves its log without needs_recovery: a power cut, then errors
# hit: roots after SysRq u
# since: not known
# right: the log says by itself whether it is due
# patch: 12-mount
#
# Files that are deleted and open become orphans of a clean file system by SysRq u. It is mounted
# read-only, and the power is cut at each moment of that.
disks 3 64
mke2fs -q -F -t ext4 -b 1024 -O ^orphan_file -J size=4 -E lazy_itable_init=0,lazy_journal_init=0 /dev/zjd0 || die mke2fs
mnt /dev/zjd0
for n in 1 2 3 4 5 6; do dd if=/dev/zero of=/mnt/o$n bs=16k count=30 2>/dev/null; done
fallocate -l 100k /mnt/keep; fsctl syncfs /mnt
exec 4</mnt/o1 5</mnt/o2 6</mnt/o3 7</mnt/o4 8</mnt/o5 9</mnt/o6
rm /mnt/o?; fsctl syncfs /mnt
dmesg -c >/dev/null; echo u >/proc/sysrq-trigger
until dmesg | grep -q 'Emergency Remount complete'; do sleep 0.2; done
# The disk as a reset would leave it now.
dd if=/dev/zjd0 of=/dev/zjd1 bs=1M 2>/dev/null
exec 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
umount /mnt || die umount
dumpe2fs -h /dev/zjd1 2>/dev/null | grep -q needs_recovery && not_shown "needs_recovery is set with orphans left"
dumpe2fs -h /dev/zjd1 2>/dev/null | grep -q '^First orphan inode' || not_shown "there is no orphan"
zjd 1 record on
mnt /dev/zjd1 ro
# Time passes on a machine that was not touched: what is committed goes home.
fsctl syncfs /mnt; fsctl fsync /dev/zjd1
end=$(moments 1)
zjd 1 record off
umount /mnt || die umount
bad=0 first=
for cut in $(seq 0 $end); do
	zjd 2 rebuild 1 $cut 1 0 8
	if mount -t $FS /dev/zjd2 /mnt 2>/dev/null; then umount /mnt; fi
	said=$(complaints /dev/zjd2)
	[ -z "$said" ] || { bad=$((bad + 1)); [ -n "$first" ] || first="cut $cut: $said"; }
done
[ $bad = 0 ] || shown "$bad of $((end + 1)) power cuts, each followed by a mount, leave errors: $first"
not_shown "sound after $((end + 1)) power cuts"
