# SPDX-License-Identifier: GPL-2.0-only
# Sourced before every guest script.  FS is the file system type under test.
export GIT_EXEC_PATH=/usr/bin GIT_CONFIG_NOSYSTEM=1

die() {
	echo "FAILED: $*"
	exit 1
}

# lacks WHAT: the kernel has none, so the test is skipped
lacks() {
	echo "the kernel has no $1"
	exit 77
}
# In User Mode Linux they are empty.
needs_stacks() { grep -q . /proc/1/stack || lacks "stacks of tasks"; }

# mk DEV [mke2fs options]: a new ext4, as the stock tool makes it
mk() {
	_dev=$1
	shift
	mke2fs -q -F -t ext4 -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "$@" "$_dev" || die "mke2fs $_dev"
}

# mnt DEV [options]: mount the file system under test on /mnt
mnt() {
	mount -t "$FS" ${2:+-o "$2"} "$1" /mnt || die "mount -t $FS ${2:+-o $2} $1: $(dmesg | tail -n 5)"
}

# no_mnt TYPE DEV [options]: this mount must be refused
no_mnt() {
	if mount -t "$1" ${3:+-o "$3"} "$2" /mnt 2>/dev/null; then
		umount /mnt
		die "mount -t $1 ${3:+-o $3} $2 succeeded"
	fi
}

# kernel_name DEV: what the kernel calls it, which is another name in User Mode Linux
kernel_name() {
	# shellcheck disable=SC2046 # two numbers
	basename "$(readlink -f "/sys/dev/block/$(printf '%d:%d' $(stat -c '0x%t 0x%T' "$1"))")"
}

unmnt() {
	umount /mnt || die "umount: $(grep /mnt /proc/mounts)"
}

# digest [FILE]: of its contents, or of standard input; SHA-256 takes seconds for a disk under emulation
digest() {
	# Two digests that could not be made must differ.
	_digest=$(xxhsum -q -H1 ${1:+"$1"}) || _digest=$(cat /proc/sys/kernel/random/uuid)
	echo "${_digest%% *}"
}

# fsck DEV: nothing to repair
fsck() {
	e2fsck -fn "$1" >/tmp/fsck.out 2>&1 || die "e2fsck -fn $1: $(cat /tmp/fsck.out)"
}

# grow_mounted DEV [SIZE]: resize2fs before 1.47.1 reads the super block through the
# page cache, and may do so while the kernel changes it; that is not what we look for.
grow_mounted() {
	until resize2fs "$@" >/tmp/resize.out 2>&1; do
		grep -q 'Superblock checksum does not match' /tmp/resize.out ||
			die "resize2fs $*: $(cat /tmp/resize.out)"
	done
}

# said PATTERN: the kernel has logged it since mark was called
mark() {
	echo "zj-mark $$ $1" >/dev/kmsg
	_mark="zj-mark $$ $1"
}
said() {
	dmesg | sed -n "/$_mark/,\$p" | grep -Eqi -e "$1" ||
		die "no log line matches '$1': $(dmesg | sed -n "/$_mark/,\$p")"
}

# Fills /mnt with a known tree and checks it.
known_tree() {
	mkdir -p /mnt/tree
	for i in 1 2 3 4 5 6 7 8; do
		mkdir -p /mnt/tree/d$i
		seq $((i * 100)) $((i * 400)) >/mnt/tree/d$i/numbers || die "write"
		ln -s numbers /mnt/tree/d$i/link
	done
}
check_tree() {
	for i in 1 2 3 4 5 6 7 8; do
		seq $((i * 100)) $((i * 400)) | cmp - /mnt/tree/d$i/link || die "tree differs in d$i"
	done
}

# crash: stop the mounted file system with its log live, and unmount it
# as_user COMMAND: by one whom quota limits
as_user() {
	grep -q ^user: /etc/passwd || echo "user:x:1000:1000::/:/bin/sh" >>/etc/passwd
	su -s /bin/sh user -c "$1"
}

crash() {
	fsctl shutdown 2 /mnt || die "shutdown ioctl"
	umount /mnt || die "umount after shutdown"
}
