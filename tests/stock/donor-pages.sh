# SPDX-License-Identifier: GPL-2.0-only
# wrong: after EXT4_IOC_MOVE_EXT the donor's cached pages go on to show its old data
# hit: readers of a donor
# since: not known
# right: the pages show what the exchanged blocks hold
# patch: 45-log-data
mk /dev/vda
mnt /dev/vda
for f in f:a donor:d; do
	tr '\0' ${f#*:} </dev/zero | dd of=/mnt/${f%:*} bs=4k count=3 iflag=fullblock conv=fsync 2>/dev/null || die write
done
before=$(head -c 1 /mnt/donor)
fsctl move-first /mnt/donor /mnt/f || die move
fsctl syncfs /mnt
cached=$(head -c 1 /mnt/donor | tr '\0' 0)
echo 3 >/proc/sys/vm/drop_caches
disk=$(head -c 1 /mnt/donor | tr '\0' 0)
umount /mnt
[ "$cached" = "$disk" ] || shown "the donor had $before; after the exchange its page shows $cached, and its block $disk"
not_shown "the donor shows $cached both ways"
