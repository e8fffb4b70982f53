# SPDX-License-Identifier: GPL-2.0-only
# wrong: growing data that finds no block is lost, or its inode gets a wrong checksum
# hit: inline_data
# since: not known
# right: the inode is as it was, with a checksum of what it holds
# patch: 37-inline-data
#
# A file of 300 bytes is to grow when no block is free; the growth fails with ENOSPC.
seen=
for how in append journal truncate; do
	opts=delalloc
	[ $how != append ] || opts=nodelalloc
	[ $how != journal ] || opts=data=journal
	mk /dev/vdc -I 1024 -O inline_data -m 0
	mnt /dev/vdc noatime,$opts
	head -c 300 /dev/zero | tr '\0' i >/mnt/f
	fill_up
	case $how in
	truncate) truncate -s 20000 /mnt/f ;;
	*) dd if=/dev/zero of=/mnt/f bs=5000 count=1 oflag=append conv=notrunc ;;
	esac 2>/dev/null && die "$how found a block"
	umount /mnt
	said=$(complaints /dev/vdc)
	[ -z "$said" ] || { seen="$seen $how: e2fsck: $said;"; continue; }
	mnt /dev/vdc
	[ "$(cat /mnt/f)" = "$(head -c 300 /dev/zero | tr '\0' i)" ] || seen="$seen $how: the file has $(first_bytes /mnt/f);"
	umount /mnt
done
[ -z "$seen" ] || shown $seen
not_shown "the inode is whole after each way to grow"
