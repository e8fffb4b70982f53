# SPDX-License-Identifier: GPL-2.0-only
# Guest part 2: what is left after the power cut.  Prints for the host
#	there WHAT NOTED LOST	for everything that part 1 has noted
#	KEY=VALUE		for the rest
. /lib/zj/lib.sh

check_rows() {
	for mode in wal delete; do
		set -- $(sqlload check /mnt/$mode.db /share/rows.$mode | awk '/^checked/ {print $2, $4}')
		[ $# = 2 ] || set -- "$(wc -l </share/rows.$mode)" "$(wc -l </share/rows.$mode)"
		echo "there rows.$mode $1 $2"
		sqlite3 /mnt/$mode.db 'pragma integrity_check' >/tmp/sqlite.out 2>&1
		[ "$(cat /tmp/sqlite.out)" = ok ] || echo "broken=/mnt/$mode.db: $(head -n 1 /tmp/sqlite.out)"
	done
}

check_commits() {
	n=0 bad=0
	for id in $(cat /share/commits); do
		n=$((n + 1))
		git -C /mnt/git merge-base --is-ancestor "$id" HEAD || bad=$((bad + 1))
	done
	echo "there commits $n $bad"
	git -C /mnt/git fsck --strict --no-dangling --no-progress >/tmp/git.out 2>&1 ||
		echo "broken=/mnt/git: $(head -n 1 /tmp/git.out)"
}

check_mails() {
	n=0 bad=0
	for mail in $(cat /share/mails); do
		n=$((n + 1))
		seq $mail $((mail + 200)) | cmp -s - /mnt/mail/$mail || bad=$((bad + 1))
	done
	echo "there mails $n $bad"
}

check_trees() {
	n=0 bad=0
	for name in $(cat /share/trees); do
		n=$((n + $(wc -l </share/$name.md5)))
		bad=$((bad + $(cd /mnt/$name && md5sum -c /share/$name.md5 2>/dev/null | grep -vc ': OK$')))
	done
	echo "there trees $n $bad"
}

modprobe ext4
modprobe "$FS" || die "modprobe $FS"
if [ "$FS" != ext4 ]; then
	mount -t ext4 /dev/vda /mnt 2>/dev/null && die "stock ext4 mounted a live zext4 log"
	echo "stock=$(dmesg | grep 'EXT4-fs (vda)' | tail -n 1 | sed 's/.*EXT4-fs (vda): //')"
fi
mark recovery
mnt /dev/vda
echo "recovered=$(dmesg | sed -n "/$_mark/,\$p" | sed -n 's/.* \([0-9]* transactions in [0-9]* components\).*/\1/p')"
check_rows
check_commits
check_mails
check_trees
unmnt
e2fsck -fn /dev/vda >/tmp/fsck.out 2>&1
echo "e2fsck=$?"
[ "$FS" = ext4 ] || mount -t ext4 /dev/vda /mnt || die "stock ext4 does not mount the clean file system"
[ "$FS" = ext4 ] || unmnt
