# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What happens to a file system beside its applications. "at SECONDS NAME ARGUMENT..." runs
# event_NAME at that time after the start and notes it in /share/events.

soak_start=$(cut -d. -f1 /proc/uptime)

at() {
	when=$1 name=$2
	shift 2
	while [ $(($(cut -d. -f1 /proc/uptime) - soak_start)) -lt "$when" ]; do sleep 0.2; done
	echo "soak: $name $*" >/dev/kmsg
	if "event_$name" "$@"; then echo "$name" >>/share/events; else echo "$name-refused" >>/share/events; fi
	soak_counts
}

event_hotplug() {
	echo 0 >"/sys/devices/system/cpu/cpu$1/online" || return
	sleep "$2"
	echo 1 >"/sys/devices/system/cpu/cpu$1/online"
}

event_freeze() {
	fsfreeze --freeze /mnt || die "freeze"
	sleep "$1"
	fsfreeze --unfreeze /mnt || die "thaw"
}

event_remount() {
	mount -o "remount,$1" /mnt
}

# Take so much percent of what is free; a tmpfs keeps it in memory.
event_pressure() {
	hog=$(awk -v p="$1" '/^MemFree|^Cached/ { n += $2 } END { print int(n * p / 100 / 1024) }' /proc/meminfo)
	free=$(awk '/^MemAvailable/ { print int($2 / 1024) - 48 }' /proc/meminfo)
	[ "$hog" -lt "$free" ] || hog=$free
	[ "$hog" -gt 0 ] || return 1
	dd if=/dev/zero of=/hog/file bs=1M count="$hog" 2>/dev/null
	sleep 1
	rm -f /hog/file
}

# The groups of all applications may not hold more than so much percent of their memory for a while.
event_cgroup() {
	for app in "$CG"/app-*; do
		[ -e "$app/memory.high" ] || return 1
		used=$(cat "$app/memory.current")
		echo $((used / 100 * $1)) >"$app/memory.high"
	done
	sleep "$2"
	for app in "$CG"/app-*; do echo max >"$app/memory.high"; done
}

event_drop() { echo 3 >/proc/sys/vm/drop_caches; }

event_sync() { sync; }

event_quota() {
	fsctl quota-off "$DEV" && sleep 1
	fsctl quota-on "$DEV" /mnt
}

# Trees change over to another project, with a limit that they do not reach.
event_project() {
	limit "$DEV" "$1" $((1 << 30)) && chattr -R -p "$1" /mnt/trees /mnt/stress 2>/dev/null
	return 0
}

event_grow() {
	blocks=$(dumpe2fs -h "$DEV" 2>/dev/null | awk '/^Block count:/ { n = $3 } /^Block size:/ { b = $3 }
		END { printf "%d", n * b / 1048576 }')
	most=$(($(blockdev --getsz "$DEV") / 2048))
	new=$((blocks + $1))
	[ $new -le $most ] || return 1
	grow_mounted "$DEV" ${new}M
}

event_trim() { fstrim /mnt; }

event_defrag() {
	[ -d "/mnt/$1" ] || return 1
	sh $SOAK/as-ext4 e4defrag "/mnt/$1" >/dev/null 2>&1
	return 0
}
