# SPDX-License-Identifier: GPL-2.0-only
# wrong: a page of which only a part found blocks is not sent, yet reachable: deleted data is disclosed
# hit: blocks smaller than a page
# since: not known
# right: what is allocated is written before the commit that makes it reachable
# patch: 39-part-of-a-page
#
# One block is free, others are when a deletion is committed. A page of four blocks is fsynced; the
# power is cut at each moment of that. Deleted files held x.
disks 2 64
mk /dev/zjd0 -b 1024 -m 0 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard
mnt /dev/zjd0 noatime,commit=300
echo 0 >/sys/fs/$FS/zjd0/reserved_clusters || die reserved
truncate -s 8192 /mnt/file
tr '\0' x </dev/zero | head -c 1024 >/mnt/one
tr '\0' x </dev/zero | head -c 2000000 >/mnt/many
fsctl syncfs /mnt || die syncfs
fill_up
rm /mnt/one
fsctl syncfs /mnt || die syncfs
[ "$(stat -f -c %f /mnt)" = 1 ] || die "free blocks: $(stat -f -c %f /mnt)"
rm /mnt/many
zjd 0 record on
tr '\0' n </dev/zero | dd of=/mnt/file bs=4k count=1 conv=notrunc,fsync iflag=fullblock 2>/dev/null || die dd
end=$(moments 0)
zjd 0 record off
umount /mnt || die umount
seen=0
for cut in $(seq 0 $end); do
	zjd 1 rebuild 0 $cut 1 0 8
	mnt /dev/zjd1 noatime
	! grep -q x /mnt/file || seen=$((seen + 1))
	umount /mnt || die umount
done
[ $seen = 0 ] || shown "after $seen of $((end + 1)) power cuts the file shows what a deleted file held"
not_shown "the file shows its own data after $((end + 1)) power cuts"
