# SPDX-License-Identifier: GPL-2.0-only
# wrong: growing data leaves the inode before its block is reachable: after a crash synced bytes are gone
# hit: inline_data
# since: not known
# right: the data leaves the inode in the transaction that makes its block reachable
# patch: 37-inline-data
#
# 600 bytes are fsynced. The file grows and its write-back has begun, on a slow disk. An fsync of
# another file commits; the power fails before the block is written.
disks 1
seen=
for how in append fallocate store; do
	mk /dev/zjd0 -I 1024 -O inline_data -J size=8
	mnt /dev/zjd0
	head -c 600 /dev/zero | tr '\0' i >/mnt/f; touch /mnt/other; sync
	zjd 0 latency 300000 0 0
	case $how in
	append) seq 2000 >>/mnt/f; fsctl begin-write-back /mnt/f ;;
	fallocate) fallocate -l 20000 /mnt/f; fsctl begin-write-back /mnt/f ;;
	store) fsctl store /mnt/f ;;
	esac || die $how
	echo other >/mnt/other; fsctl fsync /mnt/other || die fsync
	fsctl shutdown 2 /mnt || die shutdown
	zjd 0 latency 0 0 0
	umount /mnt; mnt /dev/zjd0
	left=$(head -c 600 /mnt/f | tail -c 590 | tr -d -c i | wc -c)
	[ "$left" = 590 ] || seen="$seen $how: $left of 590 fsynced bytes are left;"
	umount /mnt
done
[ -z "$seen" ] || shown $seen
not_shown "all fsynced bytes are there after each way to grow"
