# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Sourced by every script of a soak in the guest, after lib.sh. Notes of what is durable lie
# in $ACK, on the host. Settings: CYCLE (a number of its own for each cycle), DEV, STRICT
# (whatever is older than a surviving change must be there).
ACK=${ACK:-/share/ack}
SOAK=/share/soak
CG=/sys/fs/cgroup

soak_boot() {
	echo 240 >/proc/sys/kernel/hung_task_timeout_secs
	mkdir -p $CG && mount -t cgroup2 none $CG || die "no cgroups"
	! grep -q memory $CG/cgroup.controllers || echo +memory >$CG/cgroup.subtree_control
	# The first group makes the kernel patch its code, which QEMU 7.2 can break under load (vm.py).
	mkdir $CG/first && rmdir $CG/first
	grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534:nobody:/tmp:/bin/sh >>/etc/passwd
	chmod 1777 /tmp
	# Memory that is taken away, without filling /tmp, which applications use
	mkdir -p /hog && mount -t tmpfs -o size=90% hog /hog || die "no memory to take"
	cat >/tmp/gitconfig <<-END
	[user]
		name = soak
		email = soak
	[gc]
		auto = 0
	[core]
		fsync = all
	[safe]
		directory = *
	END
	modprobe overlay 2>/dev/null
	modprobe ext4 && modprobe zext4 || die "cannot load the modules"
}
export GIT_CONFIG_GLOBAL=/tmp/gitconfig

# in_group NAME: this shell and what it starts, in a cgroup of their own
in_group() {
	mkdir -p "$CG/$1" && echo $$ >"$CG/$1/cgroup.procs" || die "cgroup $1"
}

kill_groups() {
	for app in "$CG"/app-*; do
		[ -e "$app" ] || continue
		echo 1 >"$app/cgroup.kill"
		while grep -q 'populated 1' "$app/cgroup.events"; do sleep 0.1; done
	done
}

# soak_umount: what a freeze or an overlay has left of it must not hold it up.
soak_umount() {
	for at in $(awk '$2 ~ "^/tmp/overlay" { print $2 }' /proc/mounts); do umount "$at"; done
	for try in 1 2 3 4 5 6 7 8 9 10; do
		umount /mnt 2>/dev/null && return
		sleep 1
	done
	die "umount, try $try: $(grep /mnt /proc/mounts)"
}

soak_fsck() {
	e2fsck -fn "$DEV" >/tmp/fsck.out 2>&1 || die "e2fsck -fn: $(cat /tmp/fsck.out)"
}

# Each lane's counters of this mount, for the sums
soak_counts() {
	cat /proc/fs/zjournal/*/info >/share/info.new 2>/dev/null && mv /share/info.new /share/info
}

. $SOAK/soak-apps.sh
. $SOAK/soak-databases.sh
. $SOAK/soak-events.sh
