# SPDX-License-Identifier: GPL-2.0-only
# wrong: a quota file's blocks are freed without revokes: recovery writes quota over synced data
# hit: usrjquota= and quotaoff
# since: not known
# right: they are revoked, or the log is emptied when quota is switched off
# patch: 44-quota
#
# Many users have entries, so the quota file has many blocks. They are deleted, another file gets them
# and is synced. A crash follows.
modprobe -q quota_v2
options="noatime,commit=300,usrjquota=aquota.user,jqfmt=vfsv0"
mk /dev/vda -m 0 -b 1024 -J size=16
mnt /dev/vda $options
printf '\021\037\300\331\000\0\0\0\200\072\011\0\200\072\011\0\0\0\0\0\002\0\0\0' >/mnt/aquota.user
dd if=/dev/zero of=/mnt/aquota.user bs=1 seek=2047 count=1 conv=notrunc 2>/dev/null
fsctl quota-on /dev/vda /mnt/aquota.user || die quota-on
: >/mnt/f
for n in $(seq 400); do : >/mnt/u$n; chown $((1000 + 37 * n)) /mnt/u$n || die chown; done
fsctl syncfs /mnt || die syncfs
filefrag -v -b1024 /mnt/aquota.user | awk '/^ *[0-9]+:/ { sub("[.][.].*", "", $4); print $4, $6 + 0 }' >/tmp/first
fsctl quota-off /dev/vda || die quota-off
fill_up
rm /mnt/aquota.user || die rm
fsctl syncfs /mnt || die syncfs
tr '\0' n </dev/zero | dd of=/mnt/next bs=1k iflag=fullblock 2>/dev/null
fsctl fsync /mnt/next || die fsync
size=$(stat -c %s /mnt/next)
filefrag -v -b1024 /mnt/next | awk '/^ *[0-9]+:/ { sub("[.][.].*", "", $4); print $4, $6 + 0 }' >/tmp/second
common=$(awk 'NR == FNR { for (i = 0; i < $2; i++) was[$1 + i]; next }
	{ for (i = 0; i < $2; i++) n += $1 + i in was } END { print n + 0 }' /tmp/first /tmp/second)
[ "$common" -gt 0 ] || not_shown "the next file has none of the quota file's blocks"
crash
mnt /dev/vda noatime
bad=$(tr -d n </mnt/next | wc -c)
[ "$(stat -c %s /mnt/next)" = $size ] || bad="$bad (size $(stat -c %s /mnt/next) of $size)"
umount /mnt
[ "$bad" = 0 ] || shown "$bad of $size synced bytes are wrong, in a file with $common blocks of the quota file"
not_shown "all $size synced bytes are there, $common blocks were the quota file's"
