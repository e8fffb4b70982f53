# SPDX-License-Identifier: GPL-2.0-only
# Guest part 1: a program on each of four CPUs until the power is cut.  What was made durable is
# noted in /share (outside the disk): a line of "trees", "rows.*", "commits" and "mails" each.
# /share/lanes gets a line each second: the time, and the transactions that each lane has committed.
. /lib/zj/lib.sh

sample() {
	awk '{ printf "%s", $1 }' /proc/uptime
	sed -n 's/^lane *[0-9]*: *\([0-9]*\) txns.*/ \1/p' /proc/fs/zjournal/*/info 2>/dev/null | tr -d '\n'
	echo
}

# unpack CPU: a part of linux-source's fs/
unpack() {
	mkdir "/mnt/tree$1"
	tar -xf "/share/tree$1.tar" -C "/mnt/tree$1" || die tar
	fsctl syncfs /mnt && echo "tree$1" >>/share/trees
}

commit() {
	git add . && git commit -q -m "$1" || die "git commit"
	# git syncs its files, not the directories that name them
	find .git -type d | xargs fsctl fsync || die "fsync of the repository"
	git rev-parse HEAD >>/share/commits
}

commits() {
	git config --global user.name demo
	git config --global user.email demo@example.org
	git config --global core.fsync all
	git init -q -b main /mnt/git && cd /mnt/git && fsctl syncfs /mnt || die "git init"
	for dir in /mnt/tree2/*/fs/*; do
		cp -r "$dir" . && commit "${dir##*/}"
	done
	while date >now; do commit now; done
}

mails() {
	mkdir /mnt/mail && fsctl syncfs /mnt || die mkdir
	n=0
	while n=$((n + 1)); do
		seq $n $((n + 200)) >/mnt/mail/$n && fsctl fsync /mnt/mail/$n && fsctl fsync /mnt/mail ||
			die "fsync of a mail"
		echo $n >>/share/mails
	done
}

# on CPU: this program goes on there
on() {
	# The shell's own id, also in a subshell.
	taskset -p $((1 << $1)) "$(exec sh -c 'echo $PPID')" >/dev/null || die taskset
	unpack "$1"
}

modprobe "$FS" || die "modprobe $FS"
mkfs.ext4 -q -F -b 4096 -J size=32 -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda || die mkfs.ext4
options=
[ "$FS" = ext4 ] || options=lanes=4
mnt /dev/vda $options
grep ' /mnt ' /proc/mounts >/share/mounted
(on 0; sqlload wal /mnt/wal.db /share/rows.wal) &
(on 1; sqlload delete /mnt/delete.db /share/rows.delete) &
(on 2; commits) &
(on 3; mails) &
while sample >>/share/lanes; do sleep 1; done
