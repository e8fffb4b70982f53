# SPDX-License-Identifier: GPL-2.0-only
# wrong: replay fails, so that no mount succeeds, or leaves a wrong tree and errors for e2fsck
# hit: fast_commit
# since: 5.10
# right: the tree of the last fsync, and a sound file system
# patch: 46-fast-commit-replay
#
# Each load ends with an fsync that is a fast commit, and a crash.
tree() {
	(cd /mnt && find . ! -path './lost+found*' -exec stat -c '%n %F %s %h %a' {} + | sort
		find . -type f -exec md5sum {} + | sort)
}
sync_file() { fsctl fsync "$@" || die "fsync $*"; }
many() { for i in $(seq $2); do : >/mnt/$1/a-name-that-is-a-little-long-$i || die many; done; }
begin() {
	mk /dev/vda -J size=8,fast_commit_size=1024 -O fast_commit "$@"
	mount -t $FS -o commit=600 /dev/vda /mnt || die mount
}
# The blocks of the area for fast commits that are used, the last one last.
used() {
	journal=$(debugfs -c -R 'bmap <8> 0' /dev/vda 2>/dev/null)
	set -- $(dd if=/dev/vda bs=4k skip=$journal count=1 2>/dev/null | od -An -v -tu1 -w4 | awk 'NR == 5 || NR == 22 { print ($1 * 256 + $2) * 65536 + $3 * 256 + $4 }')
	for n in $(seq $(($1 - $2 + 1)) $(($1 - 1))); do
		at=$(debugfs -c -R "bmap <8> $n" /dev/vda 2>/dev/null)
		[ "$(dd if=/dev/vda bs=4k skip=$at count=1 2>/dev/null | tr -d '\0' | wc -c)" != 0 ] || return
		echo $at
	done
}
# end NAME: the power fails; what a mount makes of it
end() {
	commits=$(sed -n 's/ commits$//p' /proc/fs/$FS/vda/fc_info)
	[ "${commits:-0}" -gt 0 ] || not_shown "$1: no fast commit was made"
	tree >/tmp/want
	fsctl shutdown 2 /mnt || die shutdown
	exec 5<&- 6<&- 7<&-
	umount /mnt || die umount
	[ $1 != torn ] || dd if=/dev/zero of=/dev/vda bs=4k count=1 seek=$(used | tail -n 1) conv=notrunc 2>/dev/null
	mark fast
	if ! mount -t $FS /dev/vda /mnt 2>/dev/null; then
		said="$said $1: the mount is refused;"
		return
	fi
	tree >/tmp/got
	umount /mnt
	# What was torn was not synced.
	[ $1 = torn ] || cmp -s /tmp/want /tmp/got || said="$said $1: another tree (lost or wrong: $(grep -vxFf /tmp/got /tmp/want | head -n 1); instead: $(grep -vxFf /tmp/want /tmp/got | head -n 1));"
	wrong=$(complaints /dev/vda | cut -c1-70)
	[ -z "$wrong" ] || said="$said $1: e2fsck: $wrong;"
}
echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
said=

begin; mkdir -p /mnt/old/gone /mnt/old/stays; fsctl syncfs /mnt
mkdir /mnt/d; echo x >/mnt/d/x; sync_file /mnt/d/x
end mkdir

begin; mkdir -p /mnt/old/gone /mnt/old/stays; echo 1 >/mnt/f; fsctl syncfs /mnt
rmdir /mnt/old/gone; echo more >>/mnt/f; sync_file /mnt/f
end rmdir

begin; mkdir /mnt/d; fsctl syncfs /mnt
many d 150; sync_file /mnt/d/a-name-that-is-a-little-long-1
end grown

begin; echo 1 >/mnt/file; fsctl syncfs /mnt
mkdir /mnt/d; many d 150; sync_file /mnt/d/a-name-that-is-a-little-long-1
end new-and-grown

begin -O ^orphan_file; echo 1 >/mnt/one; echo 2 >/mnt/two; exec 5<>/mnt/one 6<>/mnt/two; rm /mnt/two; fsctl syncfs /mnt
rm /mnt/one; echo 3 >/mnt/three; exec 7<>/mnt/three; rm /mnt/three; echo x >/mnt/x; sync_file /mnt/x
end deleted-while-open

begin -O ^orphan_file; echo 2 >/mnt/two; exec 6<>/mnt/two; rm /mnt/two; fsctl syncfs /mnt
echo more >&6; echo x >/mnt/x; sync_file /mnt/x
end orphan

begin; : >/mnt/file; fsctl syncfs /mnt
for i in $(seq 255); do echo more >>/mnt/file; sync_file /mnt/file; done
end full

begin; mkdir /mnt/d; fsctl syncfs /mnt
many d 60; echo 2 >/mnt/last; sync_file /mnt/last
end torn

echo 500 >/proc/sys/vm/dirty_writeback_centisecs
[ -z "$said" ] || shown $said
not_shown "each mount shows the tree of the last fsync"
