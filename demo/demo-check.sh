# SPDX-License-Identifier: GPL-2.0-only
# Guest part 2: what is left after the power cut.  Lines "KEY=VALUE" are for the host.
. /lib/zj/lib.sh

step() {
	echo "  guest: $*"
}

checked=0 lost=0
count() {
	checked=$((checked + $1))
	lost=$((lost + $2))
}

check_rows() {
	for mode in wal delete; do
		set -- $(sqlload check /mnt/$mode.db /share/rows.$mode | awk '/^checked/ {print $2, $4}')
		[ $# = 2 ] || { step "/mnt/$mode.db cannot be read"; set -- 0 1; }
		step "SQLite, journal mode $mode: $1 committed rows noted, $2 lost," \
			"integrity: $(sqlite3 /mnt/$mode.db 'pragma integrity_check')"
		[ "$(sqlite3 /mnt/$mode.db 'pragma integrity_check')" = ok ] || count 0 1
		count "$1" "$2"
	done
}

check_commits() {
	n=0 bad=0
	for id in $(cat /share/commits); do
		n=$((n + 1))
		git -C /mnt/git merge-base --is-ancestor "$id" HEAD || bad=$((bad + 1))
	done
	git -C /mnt/git fsck --strict --no-dangling --no-progress >/tmp/git.out 2>&1 ||
		{ bad=$((bad + 1)); cat /tmp/git.out; }
	step "git: $n commits noted, $bad lost; git fsck: $([ $bad = 0 ] && echo clean)"
	count $n $bad
}

check_trees() {
	for name in $(cat /share/trees); do
		n=$(wc -l </share/$name.md5)
		bad=$(cd /mnt/$name && md5sum -c /share/$name.md5 2>/dev/null | grep -vc ': OK$')
		step "$name: $n synced files, $bad lost or changed"
		count "$n" "$bad"
	done
}

modprobe ext4
modprobe "$FS" || die "modprobe $FS"
if [ "$FS" != ext4 ]; then
	mount -t ext4 /dev/vda /mnt 2>/dev/null && die "stock ext4 mounted a live zext4 log"
	step "stock ext4 refuses it: $(dmesg | grep 'EXT4-fs (vda)' | tail -n 1)"
fi
mark recovery
mnt /dev/vda
step "recovery:"
dmesg | sed -n "/$_mark/,\$p" | sed '1d; s/^/    /'
dmesg | sed -n "/$_mark/,\$p" | sed -n 's/.* \([0-9]*\) transactions in .*replay.*/recovered_transactions=\1/p'
for info in /proc/fs/zjournal/*/info; do
	[ -e "$info" ] && echo "lanes=$(grep -cE '^ *lane *[0-9]+' "$info")"
done
check_rows
check_commits
check_trees
unmnt
e2fsck -fn /dev/vda >/tmp/fsck.out 2>&1
rc=$?
step "e2fsck -fn: exit $rc"
[ $rc = 0 ] || cat /tmp/fsck.out
echo "e2fsck_exit=$rc"
mount -t ext4 /dev/vda /mnt || die "stock ext4 does not mount the clean file system"
step "mounted by stock ext4: $(git -C /mnt/git log --oneline | wc -l) commits in the git log"
unmnt
echo "fsynced_checked=$checked"
echo "fsynced_lost=$lost"
