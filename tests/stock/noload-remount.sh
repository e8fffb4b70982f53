# SPDX-License-Identifier: GPL-2.0-only
# wrong: ro,noload may become rw with a log due: it is dropped, or replayed over what is newer
# hit: whoever remounts so
# since: not known
# right: the remount is refused as well
# patch: 12-mount
#
# After a power cut the log has 60 synced files. After the remount others are made and synced.
disks 3 64
seen=
for end in unmount crash; do
	mk /dev/zjd0 -J size=4
	zjd 0 record on
	mnt /dev/zjd0 commit=300
	mkdir /mnt/d; for n in $(seq 60); do echo old >/mnt/d/$n; done; fsctl fsync /mnt/d/* /mnt/d || die fsync
	cut=$(moments 0)
	umount /mnt || die umount
	zjd 0 record off
	zjd 1 rebuild 0 $cut 1 0 8
	zjd 0 record clear
	no_mnt $FS /dev/zjd1 noload
	zjd 1 record on
	mnt /dev/zjd1 ro,noload
	mount -o remount,rw /mnt 2>/dev/null || { umount /mnt; not_shown "the remount is refused"; }
	mkdir /mnt/e || die mkdir; for n in $(seq 60); do echo new >/mnt/e/$n; done; sync; fsctl fsync /dev/zjd1
	cut=$(moments 1)
	umount /mnt || die umount
	zjd 1 record off
	dev=/dev/zjd1
	[ $end = unmount ] || { zjd 2 rebuild 1 $cut 1 0 8; dev=/dev/zjd2; }
	zjd 1 record clear
	mnt $dev
	old=$(cat /mnt/d/* 2>/dev/null | grep -c old)
	new=$(cat /mnt/e/* 2>/dev/null | grep -c new)
	umount /mnt
	said=$(complaints $dev)
	[ "$old $new" = "60 60" ] && [ -z "$said" ] ||
		seen="$seen $end: $old of 60 files of the log and $new of 60 later ones are left; e2fsck: ${said:-nothing};"
done
[ -z "$seen" ] || shown $seen
not_shown "all that was synced is there"
