# SPDX-License-Identifier: GPL-2.0-only
# wrong: blocks that an encrypted file gets were not revoked: recovery overwrites its synced data
# hit: data=journal with encrypt
# since: not known
# right: blocks are revoked where data may be written in place
# patch: 38-revokes
#
# A file, then a directory, that the log holds is deleted, and an encrypted file gets its blocks and
# is fsynced. A crash follows.
for m in cts xts; do modprobe -q $m; done
seen=
for what in file directory; do
	mk /dev/vdc -m 0 -N 4096 -O encrypt
	mnt /dev/vdc data=journal,commit=300
	mkdir /mnt/secret; fsctl encrypt /mnt/secret || die encrypt
	: >/mnt/secret/file
	case $what in
	file) tr '\0' x </dev/zero | dd of=/mnt/first bs=64k count=12 iflag=fullblock 2>/dev/null ;;
	directory) mkdir /mnt/first; for n in $(seq 1200); do : >/mnt/first/$(printf %0250d $n); done ;;
	esac
	fsctl syncfs /mnt || die syncfs
	fill_up
	rm -r /mnt/first
	fsctl syncfs /mnt || die syncfs
	seq 1000000 2>/dev/null >/mnt/secret/file; fsctl fsync /mnt/secret/file || die fsync
	crash
	mnt /dev/vdc data=journal
	fsctl add-key /mnt || die add-key
	size=$(stat -c %s /mnt/secret/file)
	bad=$(seq 1000000 2>/dev/null | head -c $size | cmp -l - /mnt/secret/file 2>/dev/null | wc -l)
	[ "$bad" = 0 ] || seen="$seen blocks of a $what: $bad of $size synced bytes are wrong;"
	umount /mnt
done
[ -z "$seen" ] || shown $seen
not_shown "the encrypted file has what was synced"
