# SPDX-License-Identifier: GPL-2.0-only
# Sourced before each script of this folder, behind tests/vm/guest/lib.sh.
# A script ends with one of these; anything else is a script that is broken.

# shown WHAT: the fault was seen
shown() {
	printf "shown: %s\n" "$*"
	exit 0
}

# not_shown WHY
not_shown() {
	printf "not shown: %s\n" "$*"
	exit 0
}

# first_bytes FILE: what it begins with, on one line
first_bytes() {
	head -c 8 "$1" | od -An -c | tr -s ' ' | cut -c2-
}

# complaints DEV: what e2fsck finds, on one line; nothing if nothing
complaints() {
	e2fsck -fn "$1" >/tmp/complaints 2>&1 </dev/null && return
	grep -Ev '^(e2fsck |Pass |$|Fix|[^ ]*: \*+ WARNING|[^ ]*: [0-9]+/)|^/dev/[^:]*: [0-9]' /tmp/complaints |
		sed 's/ *Fix? no//; s/ *Clear? no//; s/ *Connect to.*//' | grep -v '^$' | tr -s '\n' ';' | cut -c1-160
}

# fill_up: preallocated files have all that is free
fill_up() {
	for size in 1048576 65536 4096 1024; do
		while fallocate -l $size /mnt/rest$((_rest += 1)) 2>/dev/null; do :; done
	done
}

# zjd COMMAND: to the disks /dev/zjdN
zjd() {
	echo "$*" >/dev/zjdctl || die "zjdctl: $*"
}

# disks NUMBER [SIZE_MB]: makes them
disks() {
	modprobe -r zjdisk 2>/dev/null
	modprobe zjdisk ndev=$1 ${2:+size_mb=$2} || die zjdisk
}

# moments N: the number that the recording of /dev/zjdN has reached
moments() {
	sed -n "s/^zjd$1 .* seq=\([0-9]*\).*/\1/p" /dev/zjdctl
}
