#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A zext4 with something to see, for bench/dashboard.py. For a guest, as root. Each EVERY seconds it
# prints "sample SECONDS" and then what zjctl stats --prometheus says.
set -u
. "${0%/*}/device.sh"
KIND=fua
MODE=ordered
TYPE=zext4:lanes=4
LATENCY_MS=5
PHASE=40	# seconds of each load
EVERY=2
settings "$@"

fresh "$KIND" "$MODE" "$TYPE"
mkdir /tmp/fs/own /tmp/fs/shared /tmp/fs/bulk
{
	sleep 10
	loadgen -d /tmp/fs/own -w 4 -t varmail -f 100 -b 16384 -a 8192 -g -T $((PHASE * 1000))
	sleep 10
	loadgen -d /tmp/fs/shared -w 4 -t varmail -s -f 100 -b 16384 -a 8192 -g -T $((PHASE * 1000))
	sleep 10
	loadgen -d /tmp/fs/bulk -w 4 -t fileserver -f 200 -b 131072 -a 8192 -g -T $((PHASE * 1000))
} >/tmp/load 2>&1 &
load=$!
while kill -0 $load 2>/dev/null; do
	echo "sample $(cut -d' ' -f1 /proc/uptime)"
	zjctl stats --prometheus || die "zjctl failed"
	sleep "$EVERY"
done
cat /tmp/load
device_off 2>/dev/null || :
