# SPDX-License-Identifier: GPL-2.0-only
# Guest part 1: load until the power is cut.  What was made durable is noted in
# /share (outside the disk): lines of "rows.*", "commits" and "trees".
. /lib/zj/lib.sh

step() {
	echo "  guest: $*"
}

stats() {
	for info in /proc/fs/zjournal/*/info; do
		[ -e "$info" ] && sed 's/^/    /' "$info"
	done
}

modprobe "$FS" || die "modprobe $FS"
step "mkfs.ext4 (stock) on a 512 MiB disk with a volatile cache"
mkfs.ext4 -q -F -b 4096 -J size=32 -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda || die "mkfs.ext4"
mnt /dev/vda
step "mounted: $(grep ' /mnt ' /proc/mounts)"

step "4 CPUs unpack a part of linux-source's fs/ each"
cpu=0
touch /share/trees
for tar in /share/tree*.tar; do
	name=$(basename "$tar" .tar)
	(
		mkdir "/mnt/$name"
		taskset -c $cpu tar -xf "$tar" -C "/mnt/$name" || die "tar"
		fsctl syncfs /mnt && echo "$name" >>/share/trees
		step "CPU $cpu: $(find "/mnt/$name" -type f | wc -l) files unpacked and synced"
	) &
	cpu=$((cpu + 1))
done
sqlload wal /mnt/wal.db /share/rows.wal &
sqlload delete /mnt/delete.db /share/rows.delete &
while [ "$(wc -l </share/trees)" -lt 4 ]; do sleep 1; done
step "statistics per lane:"
stats

step "committing the trees to git, while SQLite inserts"
git config --global user.name demo
git config --global user.email demo@example.org
git config --global core.fsync all
git init -q -b main /mnt/git && cd /mnt/git && fsctl syncfs /mnt || die "git init"
for name in tree0 tree1 tree2 tree3; do
	for dir in /mnt/$name/*/fs/*; do
		cp -r "$dir" . && git add . && git commit -q -m "$name ${dir##*/}" || die "git commit"
		# git syncs its files, not the directories that name them
		find .git -type d | xargs fsctl fsync || die "fsync"
		git rev-parse HEAD >>/share/commits
		step "commit $(git rev-parse --short HEAD): ${dir##*/}," \
			"rows so far: $(tail -qn 1 /share/rows.* | tr '\n' ' ')"
	done
done
while sleep 1; do
	date >now; git add now; git commit -q -m now || die "git commit"
	find .git -type d | xargs fsctl fsync || die "fsync"
	git rev-parse HEAD >>/share/commits
done
