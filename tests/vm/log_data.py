# SPDX-License-Identifier: GPL-2.0-only
"""Shell functions of the tests whose fsyncs log data (data=ordered)."""

import pytest

# Write-back by time comes after the test, so that only what a test does writes data. (With
# 0 the flusher would run at once, and on a new disk it finds its threshold of 0 exceeded.)
LIB = """
    echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
    # begin [mke2fs options]: a new file system
    OPTS=noatime,commit=300
    DEV=/dev/vda
    begin() { mk $DEV "$@"; mnt $DEV $OPTS; }
    # again: what a power cut would leave, mounted
    again() { crash; mnt $DEV $OPTS; }
    end() { unmnt; fsck $DEV; }
    # A disk that soon is full.
    small() { modprobe zjdisk ndev=1 size_mb=16 || die zjdisk; DEV=/dev/zjd0; }
    # put FILE CHARACTER BLOCKS [FIRST [dd options]]: overwrites without truncating
    put() {
        _f=$1 _c=$2 _n=$3 _at=${4:-0}; shift 3; [ $# = 0 ] || shift
        tr '\\0' $_c </dev/zero | dd of=$_f bs=4k count=$_n seek=$_at iflag=fullblock conv=notrunc$CONV "$@" 2>/tmp/dd.out || die "write of $_f: $(cat /tmp/dd.out)"
    }
    sync_put() { CONV=,fsync; put "$@"; CONV=; }
    # log_put FILE CHARACTER BLOCKS [FIRST]: a sync for each block, which is logged: one always is
    log_put() {
        _first=${4:-0} _left=$3
        while [ $_left -gt 0 ]; do
            _left=$((_left - 1)) _was=$(logged)
            sync_put $1 $2 1 $((_first + _left))
            [ $(logged) = $((_was + 1)) ] || die "block $((_first + _left)) of $1 is not logged: $_was, $(logged)"
        done
    }
    # is FILE CHARACTER FIRST BLOCKS: all bytes of the blocks are this
    is() {
        _got=$(dd if=$1 bs=4k skip=$3 count=$4 $5 2>/dev/null | tr -d $2 | wc -c)
        _len=$(dd if=$1 bs=4k skip=$3 count=$4 2>/dev/null | wc -c)
        [ $_got = 0 ] && [ $_len -gt 0 ] || die "$1: $_got of $_len bytes are not $2 (from block $3): $(dd if=$1 bs=4k skip=$3 count=$4 2>/dev/null | tr -d $2 | head -c 40 | od -c | head -n 2)"
    }
    logged() { sed -n 's/^file data:.* \\([0-9]*\\) blocks logged.*/\\1/p' /proc/fs/zjournal/*/info; }
    saved() { sed -n 's/^file data: \\([0-9]*\\) rounds.*/\\1/p' /proc/fs/zjournal/*/info; }
    merged() { sed -n 's/^file data:.* \\([0-9]*\\) home writes.*/\\1/p' /proc/fs/zjournal/*/info; }
    # empty: all that is in the log goes home
    empty() { fsfreeze --freeze /mnt && fsfreeze --unfreeze /mnt || die fsfreeze; }
    # home FILE CHARACTER: the file's first block has gone home
    home() { (is $DEV $2 $(block_of $1) 1 iflag=direct) >/dev/null 2>&1; }
    block_of() { filefrag -b4096 -v $1 | awk '$1 == "0:" { print $4 + 0 }'; }
    # wait_until COMMAND: for up to a minute; what happens meanwhile decides, not how long it takes
    wait_until() {
        _tries=600
        until eval "$1"; do
            _tries=$((_tries - 1))
            [ $_tries -gt 0 ] || die "never: $1"
            sleep 0.1
        done
    }
"""

LOGS = ["lanes=2", "lanes=1,log=jbd2"]


def with_each_log(lib):
    """The fixture "run", which runs a script after these functions, with each format of the log."""
    @pytest.fixture(name="run", params=LOGS)
    def run(guest, request):
        return lambda script, **more: guest(lib + f"OPTS=$OPTS,{request.param}\n" + script, **more)
    return run
