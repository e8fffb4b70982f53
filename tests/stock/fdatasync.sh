# SPDX-License-Identifier: GPL-2.0-only
# wrong: fdatasync misses overwritten inline data and exchanged extents
# hit: inline_data, defragmentation, SWAP_BOOT
# since: not known
# right: fdatasync waits for what a read of the file returns
# patch: 21-sync-tids
#
# A file that is durable changes its contents, fdatasync returns 0, and the power fails.
seen=
for how in inline moved donor boot; do
	options=
	[ $how != inline ] || options="-I 1024 -O inline_data"
	mk /dev/vdc $options -J size=8
	mnt /dev/vdc
	printf new >/mnt/f; [ $how != boot ] || fsctl swap-boot /mnt/f || die "swap-boot"
	printf old >/mnt/f; printf oth >/mnt/other
	umount /mnt; mnt /dev/vdc commit=300
	case $how in
	inline) printf new | dd of=/mnt/f conv=notrunc 2>/dev/null ;;
	moved) fsctl move-first /mnt/other /mnt/f && printf new | dd of=/mnt/f conv=notrunc 2>/dev/null ;;
	donor) fsctl move-first /mnt/f /mnt/other ;;
	boot) fsctl swap-boot /mnt/f ;;
	esac || die $how
	# What it has on the disk's part of the truth: a donor's pages may be stale.
	[ $how != donor ] || { fsctl write-back /mnt/f; echo 3 >/proc/sys/vm/drop_caches; }
	cp /mnt/f /tmp/f
	fsctl fdatasync /mnt/f || die fdatasync
	crash; mnt /dev/vdc
	cmp -s /mnt/f /tmp/f || seen="$seen $how: it had $(first_bytes /tmp/f), has $(first_bytes /mnt/f);"
	umount /mnt
done
[ -z "$seen" ] || shown "after fdatasync and a crash: $seen"
not_shown "what fdatasync has returned for is there"
