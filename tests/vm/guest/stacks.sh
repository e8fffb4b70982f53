# SPDX-License-Identifier: GPL-2.0-only
# Block devices in layers, for test_stacks*.py.

LOG=/tmp/stack.log
KEPT=/tmp/stack.kept

# dm NAME TABLE: make or change the device /dev/mapper/NAME
dm() {
	if dmsetup info "$1" >/dev/null 2>&1; then
		dmsetup suspend --nolockfs --noflush "$1" && echo "$2" | dmsetup load "$1" &&
			dmsetup resume "$1" || die "dmsetup $1: $2"
	else
		echo "$2" | dmsetup create "$1" || die "dmsetup create $1: $2"
	fi
	[ -e "/dev/mapper/$1" ] || dmsetup mknodes "$1"
}
sectors() { blockdev --getsz "$1"; }
linear() { dm "$1" "0 ${3:-$(sectors "$2")} linear $2 ${4:-0}"; }
broken() { dm "$1" "0 $(sectors "/dev/mapper/$1") error"; }

# start_load SECONDS: it notes in $LOG.* what it has fsynced
start_load() {
	rm -f $LOG.* $KEPT.*
	mkdir -p /mnt/load
	stress -p 3 -t "$1" -s "${SEED:-1}" -l $LOG /mnt/load >/tmp/stress.out 2>&1 &
	load=$!
	for _n in 0 1 2; do
		until [ -s $LOG.$_n ]; do kill -0 $load || die "stress: $(cat /tmp/stress.out)"; sleep 0.1; done
	done
}
# keep: remember what is noted by now; an unfinished line is none
keep() {
	for _n in 0 1 2; do awk 'NR > 1 { print last } { last = $0 }' $LOG.$_n >$KEPT.$_n; done
}
end_load() { wait $load || die "stress: $(cat /tmp/stress.out)"; }
# stop_load: before its time is over
stop_load() {
	kill -0 $load || die "the load has ended: $(cat /tmp/stress.out)"
	kill $(cat /proc/$load/task/$load/children) || die "the load has no processes"
	wait $load	# it waits for them
	keep
}
# load_fails: the load ends with an error before its time is over
load_fails() { ! wait $load || die "the load has seen no error"; }
# kept DIR: what was remembered is there
kept() { stress -v $KEPT "$1/load" || die "fsynced data is lost in $1"; }

# well DEV: it is sound and can be mounted by zext4 and by stock ext4
well() {
	mnt "$1"; kept /mnt; unmnt; fsck "$1"
	mount -t ext4 "$1" /mnt || die "stock mount of $1"
	kept /mnt; unmnt; fsck "$1"
}

# queue DEV NAME: a property of its queue
queue() { cat "/sys/block/$(basename "$(readlink -f "$1")")/queue/$2"; }

# read_only: after an error nothing can be written any more
read_only() {
	touch /mnt/x 2>/dev/null; fsctl syncfs /mnt 2>/dev/null
	! touch /mnt/y 2>/dev/null || die "still writable after the error"
}

# scsi_debug OPTION...: a SCSI disk of 128 MiB as $SCSI
scsi_debug() {
	modprobe sd_mod
	modprobe scsi_debug dev_size_mb=128 ndelay=20000 "$@" || die "scsi_debug"
	scsi_found
}
scsi_found() {
	_try=0
	until SCSI=$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/sd* 2>/dev/null); do
		_try=$((_try + 1)); [ $_try -lt 100 ] || die "no disk of scsi_debug"
		sleep 0.1
	done
	SCSI=/dev/$(basename "$SCSI")
	until [ -b "$SCSI" ]; do sleep 0.1; done
	SCSI_DEVICE=$(readlink -f "/sys/block/$(basename "$SCSI")/device")
}
# scsi_again: the disk that was removed comes back
scsi_again() {
	for _host in /sys/class/scsi_host/*; do echo '- - -' >"$_host/scan"; done
	scsi_found
}
scsi_end() { rmmod scsi_debug || die "rmmod scsi_debug"; }
