# SPDX-License-Identifier: GPL-2.0-only
# wrong: a readahead while a file shrinks maps pages behind the end: they show another page's data
# hit: blocks smaller than a page
# since: not known
# right: pages behind the end have no block
# patch: 49-stale-extents
#
# tests/vm/stalemap.c collapses a range while another task reads the end of the file.
disks 1 64
mk /dev/zjd0 -b 1024 -J size=4
mnt /dev/zjd0; stalemap prepare /mnt/file /mnt/other 1024 || die prepare; umount /mnt
mnt /dev/zjd0 no_prefetch_block_bitmaps
said=$(stalemap ${HOW:-read} /mnt/file /mnt/other 1024); rc=$?
umount /mnt; modprobe -r zjdisk
[ $rc != 2 ] || die "stalemap: $said"
[ $rc = 0 ] || shown "the file has other data than was written: $(echo $said | cut -c1-150)"
not_shown "the file has what was written, and zeros"
