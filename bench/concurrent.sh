#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What eight clients that fsync get from each of TYPES in turn, in one boot, on null_blk
# devices whose requests all take LATENCY_MS.  For a guest, as root.  Prints for each run
#   run CASE TYPE ROUND  OPERATIONS SECONDS  TRANSACTIONS WRITES FLUSHES
# and, before that, the lines of the journal's statistics, each after "info"; with CONFLICTS=1 and
# stock ext4 also how often a handle waited for a block that was being written to the log.
# OPERATIONS: fsyncs; with database committed inserts.  TRANSACTIONS: of the journal,
# during all that the programs did, which is more than SECONDS with dbench.
# CASE: varmail-shared (one directory), varmail-split (private ones), dbench, database.
set -u
. "${0%/*}/device.sh"
ROUNDS=5
LATENCY_MS=20
SIZE_MB=65536
KIND=fua		# the device's cache: none, fua, nofua
MODE=ordered
CASES="varmail-shared varmail-split dbench database"
TYPES=			# TYPE:MOUNT_OPTIONS, separated by blanks
MAILS=16		# of a client; two fsyncs each
DBENCH_SECONDS=8	# a fifth of it to warm up
INSERTS=20		# of a client
CLIENTS=8
CONFLICTS=0		# 1: count those of stock ext4, whose journal does not
settings "$@"
fs=/tmp/fs
probes=/sys/kernel/tracing

# Fsyncs by mail clients; arguments: where, further arguments of loadgen
varmail() {
	where=$1
	shift
	loadgen -d "$where" -w $CLIENTS -n $MAILS -t mail -r -u "$@" | fsynced >/tmp/out || die "loadgen failed"
	awk '{ print $3, "us mean,", $4, "us p50,", $5, "us p99 of an fsync" }' /tmp/out >/tmp/latency
	awk '{ print $1, $2 }' /tmp/out
}

# Its fsyncs: of files, and of directories after a rename or unlink.
dbench_fsyncs() {
	dbench --sync-dir -t "$DBENCH_SECONDS" -D $fs/near -c /tmp/client.txt $CLIENTS >/tmp/out 2>&1 ||
		die "dbench failed: $(tail -n 5 /tmp/out)"
	grep -q ^Throughput /tmp/out || die "dbench did not come to its end: $(tail -n 5 /tmp/out)"
	awk '/ execute / { for (i = 2; i <= NF; i++) if ($i == "execute") seconds = $(i + 1) }
	     $1 == "Flush" || $1 == "Rename" || $1 == "Unlink" { fsyncs += $2 }
	     END { if (!seconds || !fsyncs) exit 1; print fsyncs, seconds }' /tmp/out ||
		die "dbench did no fsync: $(tail -n 25 /tmp/out)"
}

as_nobody() { su -s /bin/sh nobody -c "exec $*"; }

database_start() {
	tar -x -C $fs/near -f /share/database.tar || die "cannot unpack the database"
	: >/tmp/postgres.log	# the last run's says that it is ready
	as_nobody postgres -D $fs/near/database >/tmp/postgres.log 2>&1 &
	server=$!
	tries=0
	until grep -q "ready to accept" /tmp/postgres.log; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] && [ -d /proc/$server ] ||
			die "PostgreSQL did not start: $(tail -n 5 /tmp/postgres.log)"
		sleep 0.2
	done
	sync
}

database_stop() {
	kill -INT "$(head -n 1 $fs/near/database/postmaster.pid)"	# $server is the shell that waits for it
	wait $server || die "PostgreSQL failed: $(tail -n 5 /tmp/postgres.log)"
}

inserts() {
	as_nobody pgbench -h /tmp -U postgres -n -c $CLIENTS -j $CLIENTS -t "$INSERTS" -f /share/insert.sql postgres \
		>/tmp/out 2>&1 || die "pgbench failed: $(tail -n 5 /tmp/out) $(tail -n 5 /tmp/postgres.log)"
	awk -F '[ :/]+' -v wanted=$((CLIENTS * INSERTS)) '
		/^number of transactions actually/ { done = $(NF - 1) }
		/^tps/ { tps = $3 }
		END { if (done != wanted || !tps) exit 1; print done, done / tps }' /tmp/out ||
		die "pgbench lost inserts: $(cat /tmp/out)"
}

info() { cat /proc/fs/jbd2/$name-*/info /proc/fs/zjournal/*/info 2>/dev/null; }

# Transactions, writes, flushes until now
counted() {
	txns=$(info | awk 'NR == 1 { print $1 }')
	[ -n "$txns" ] || die "the journal shows no statistics"
	echo "$txns $(counters)"
}

# A handle of jbd2 that finds the block on its way to the log waits for the block's bit 23 (BH_Shadow).
conflicts_on() {
	[ -e $probes/kprobe_events ] || mount -t tracefs none $probes || die "no tracefs"
	if [ ! -d $probes/events/zj/shadow ]; then
		echo 'p:zj/shadow out_of_line_wait_on_bit bit=$arg2:s32' >$probes/kprobe_events ||
			die "no probe of waits"
	fi
	echo 'hist:keys=bit if bit == 23' >$probes/events/zj/shadow/trigger || die "no counter of waits"
}

# Prints how many it has counted.
conflicts_off() {
	sed -n 's/^ *Hits: \([0-9]*\)/\1 waits for blocks on their way to the log/p' $probes/events/zj/shadow/hist
	echo '!hist:keys=bit if bit == 23' >$probes/events/zj/shadow/trigger
}

# run CASE TYPE ROUND
run() {
	fresh "$KIND" "$MODE" "$2"
	[ "$1" != database ] || database_start
	rm -f /tmp/latency
	count=$CONFLICTS
	[ "${2%%:*}" = ext4 ] || count=0
	[ $count = 0 ] || conflicts_on
	before=$(counted) || exit
	case $1 in
	varmail-shared) got=$(varmail $fs/near -s) ;;
	# Orlov puts directories of the top level far apart.
	varmail-split) got=$(varmail $fs) ;;
	dbench) got=$(dbench_fsyncs) ;;
	database) got=$(inserts) ;;
	*) die "$1 is no case" ;;
	esac || exit
	after=$(counted) || exit
	{
		info
		[ $count = 0 ] || conflicts_off
		[ ! -s /tmp/latency ] || cat /tmp/latency
	} | sed 's/^/info /'
	[ "$1" != database ] || database_stop
	umount $fs || die umount
	echo "$*" "$got" "$before" "$after" |
		awk '$9 <= $6 { exit 1 }
		     { print "run", $1, $2, $3, $4, $5, $9 - $6, $10 - $7, $11 - $8 }' ||
		die "the journal counted no transaction: $got, before $before, after $after"
}

[ -n "$TYPES" ] || die "TYPES is empty"
cp /share/client.txt /tmp/client.txt || die "no client.txt of dbench"
mkdir -p /usr/share /usr/lib	# PostgreSQL looks into both when it starts
cp -r /share/postgresql /usr/share/ || die "no files of PostgreSQL"
grep -q ^nobody: /etc/passwd || echo nobody:x:65534:65534:nobody:/tmp:/bin/sh >>/etc/passwd
chmod 1777 /tmp
run_all
device_off
