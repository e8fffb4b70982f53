# SPDX-License-Identifier: GPL-2.0-only
# wrong: unwritten extents are zeroed past the log: recovery puts other files' data there
# hit: data=journal
# since: not known
# right: with data=journal such an extent is split, or zeroed through the journal
# patch: 27-zeroout
#
# A file that the log holds is deleted, its blocks are preallocated for others, and the first bytes
# of those are written. A crash follows.
mk /dev/vdc -m 0
mnt /dev/vdc data=journal
tr '\0' x </dev/zero | dd of=/mnt/first bs=64k count=16 iflag=fullblock 2>/dev/null
fsctl syncfs /mnt || die syncfs
fill_up
rm /mnt/first
fsctl syncfs /mnt || die syncfs
for n in $(seq 40); do
	fallocate -l 16384 /mnt/second$n || die fallocate
done
fsctl syncfs /mnt || die syncfs
for n in $(seq 40); do
	echo written | dd of=/mnt/second$n conv=notrunc 2>/dev/null
done
fsctl syncfs /mnt || die syncfs
crash
mnt /dev/vdc data=journal
bad=0
for n in $(seq 40); do
	[ "$(tr -d '\0' </mnt/second$n)" = written ] || bad=$((bad + 1))
done
umount /mnt
[ $bad = 0 ] || shown "$bad of 40 files show what a deleted file held"
not_shown "all 40 files have what was written to them"
