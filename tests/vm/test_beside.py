# SPDX-License-Identifier: GPL-2.0-only
"""log=jbd2: an fsync's data beside the log, few log blocks with FUA (decision 19)."""

import re

import pytest

import conftest

FSYNCS = 40
BESIDE = 6      # as in test_fsync.py


@pytest.fixture(scope="module")
def machine():
    with conftest.new_vm(cpus=2, memory="2G") as vm:
        assert vm.sh("modprobe zjdisk ndev=1 && modprobe $FS")
        yield vm


def appends(machine, options, fua=1):
    """Flushes of the device and handles of the journal, for so many appends with fsync."""
    out = machine.sh(f"""
        echo 0 cache 1 {fua} >/dev/zjdctl || die cache
        # Write-back has a clock of its own.
        echo 360000 >/proc/sys/vm/dirty_writeback_centisecs
        mk /dev/zjd0
        mnt /dev/zjd0 data=ordered,commit=300,lanes=1,log=jbd2{options}
        touch /mnt/file; fsctl syncfs /mnt || die syncfs
        count() {{
            sed -n 's/^zjd0 .*flushes=\\([0-9]*\\).*/flushes \\1/p' /dev/zjdctl
            sed -n 's/^lane .* \\([0-9]*\\) handles.*/handles \\1/p' /proc/fs/zjournal/*/info
        }}
        count
        for n in $(seq {FSYNCS}); do
            # An append in the same tick as the last one needs no handle for the time.
            sleep 0.01
            dd if=/dev/zero of=/mnt/file bs=4k count=1 seek=$n conv=notrunc,fsync 2>/dev/null || die "append $n"
        done
        count
        grep -o "tune=[^, ]*" /proc/mounts
        unmnt; fsck /dev/zjd0
    """, timeout=120)
    machine.check_console()
    assert out, out.out
    for option in filter(None, options.split(",")):
        assert option in out.out
    flushes, handles = [list(map(int, re.findall(rf"^{what} (\d+)$", out.out, re.M))) for what in ("flushes", "handles")]
    return flushes[1] - flushes[0], handles[1] - handles[0]


@pytest.mark.zext4
def test_flushes_and_handles(machine):
    """With FUA there is no flush, and written extents need no handle for a conversion."""
    flushes, handles = appends(machine, "")
    assert flushes <= BESIDE
    flushes_never, handles_never = appends(machine, ",tune=log_fua:never")
    assert FSYNCS <= flushes_never <= 2 * FSYNCS + BESIDE
    flushes_before, handles_before = appends(machine, ",tune=fsync_data:before")
    assert flushes_before <= BESIDE
    assert abs(handles - handles_never) <= BESIDE
    assert handles_before >= handles + FSYNCS - BESIDE


@pytest.mark.zext4
def test_no_fua(machine):
    """A device without FUA: flushes before and after the record."""
    flushes, _ = appends(machine, "", fua=0)
    assert FSYNCS <= flushes <= 2 * FSYNCS + BESIDE


@pytest.mark.zext4
def test_fsync_of_preallocated_blocks(machine):
    """Their extents are converted once the data is written, so nothing is committed before that: one commit is enough."""
    out = machine.sh(f"""
        mk /dev/zjd0
        mnt /dev/zjd0 data=ordered,commit=300,lanes=1,log=jbd2,tune=fsync_data:beside
        fallocate -l {FSYNCS * 8192} /mnt/file; fsctl syncfs /mnt || die syncfs
        # A commit would begin, and be past new handles, long before the data is there.
        echo 0 latency 10000 0 0 >/dev/zjdctl || die latency
        commits() {{ sed -n 's/^lane .* \\([0-9]*\\) txns.*/commits \\1/p' /proc/fs/zjournal/*/info; }}
        commits
        for n in $(seq {FSYNCS}); do
            # The write itself has to change the inode, by its time.
            sleep 0.01
            dd if=/dev/zero of=/mnt/file bs=4k count=1 seek=$((n * 2 - 1)) conv=notrunc,fsync 2>/dev/null || die "write $n"
        done
        commits
        echo 0 latency 0 0 0 >/dev/zjdctl
        unmnt; fsck /dev/zjd0
    """)
    machine.check_console()
    assert out, out.out
    before, after = map(int, re.findall(r"^commits (\d+)$", out.out, re.M))
    assert FSYNCS <= after - before <= FSYNCS + BESIDE


@pytest.mark.parametrize("how", ["", "-m"])
def test_direct_read_finds_no_stale_block(guest, how):
    """New blocks on a slow disk that is full of x, written by write() or through a mapping; and a write() is one step."""
    guest(f"""
        tr '\\0' x </dev/zero | dd of=/dev/vdc bs=1M iflag=fullblock 2>/dev/null
        mk /dev/vdc -E lazy_itable_init=0,lazy_journal_init=0,nodiscard
        modprobe -q dm_mod; modprobe dm_delay || die dm_delay
        echo "0 $(blockdev --getsz /dev/vdc) delay /dev/vdc 0 0 /dev/vdc 0 8" | dmsetup create slow || die create
        [ -e /dev/mapper/slow ] || dmsetup mknodes slow
        case $FS in
        zext4) mnt /dev/mapper/slow lanes=1,log=jbd2 ;;
        *) mnt /dev/mapper/slow ;;
        esac
        staleread {how} /mnt || die "staleread {how}"
        unmnt; fsck /dev/mapper/slow
        dmsetup remove slow
    """, timeout=300)


@pytest.mark.parametrize("options", ["lanes=2", "lanes=1,log=jbd2"])
def test_polled_io_of_blocks_in_the_log(guest, options):
    """Nobody polls for the part of a request that is on its way while another part has to go through the page cache."""
    guest(f"""
        modprobe configfs 2>/dev/null; mount -t configfs none /sys/kernel/config 2>/dev/null
        modprobe null_blk nr_devices=0 || die null_blk
        mkdir /sys/kernel/config/nullb/n; cd /sys/kernel/config/nullb/n
        echo 128 >size; echo 1 >memory_backed; echo 1 >poll_queues; echo 1 >power
        DEV=/dev/nullb$(cat index); [ -b $DEV ] || DEV=/dev/n
        [ "$(cat /sys/block/${{DEV#/dev/}}/queue/io_poll)" = 1 ] || die "the device does not poll"
        mk $DEV -J size=16
        case $FS in
        zext4) mnt $DEV {options} ;;
        *) mnt $DEV ;;
        esac
        polled /mnt/f 10 || die polled
        unmnt; fsck $DEV
        cd /; echo 0 >/sys/kernel/config/nullb/n/power
        rmdir /sys/kernel/config/nullb/n; rmmod null_blk
    """)


@pytest.mark.zext4
@pytest.mark.parametrize("how", ["truncate", "collapse", "read"])
def test_what_was_given_back_stays_unmapped(guest, how):
    """A truncation that has to restart beside FIEMAP and an fsync; a readahead while the file gets shorter."""
    guest(f"""
        modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
        mk /dev/zjd0 -b 1024 -J size=4
        # The bitmap is not in memory.
        mnt /dev/zjd0; stalemap prepare /mnt/file /mnt/other 1024 || die prepare; unmnt
        mnt /dev/zjd0 lanes=1,log=zj,no_prefetch_block_bitmaps
        stalemap {how} /mnt/file /mnt/other 1024 || die "{how}: stale"
        unmnt; fsck /dev/zjd0; rmmod zjdisk
    """)


@pytest.mark.zext4
def test_data_error_reaches_fsync(guest):
    """The log blocks are written, but the data that is written in parallel is not."""
    guest("""
        . /lib/zj/dm.sh
        dm_good
        mk $DM -J size=16
        mnt $DM lanes=1,log=jbd2
        echo old >/mnt/old; fsctl fsync /mnt/old || die "fsync on a good device"
        dm_part home error_writes
        dd if=/dev/zero of=/mnt/new bs=4k count=1 conv=fsync 2>/dev/null && die "fsync reported success"
        # Some of "old" may be home, the rest is in the log: nothing for e2fsck to look at yet.
        dm_good
        unmnt; mnt $DM lanes=1,log=jbd2
        [ "$(cat /mnt/old)" = old ] || die "old is lost"
        unmnt; fsck $DM
    """)


@pytest.mark.zext4
@pytest.mark.parametrize("options", ["lanes=1,log=jbd2", "lanes=2"])
def test_page_of_which_a_part_finds_no_block(guest, options):
    """The commit that is to free blocks for the rest makes no block reachable that was not written: whenever the power
    fails, the file shows none of what its blocks held before."""
    guest(f"""
        modprobe zjdisk ndev=2 size_mb=64 || die zjdisk
        mk /dev/zjd0 -b 1024 -m 0 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard
        mnt /dev/zjd0 noatime,commit=300,{options}
        echo 0 >/sys/fs/$FS/zjd0/reserved_clusters || die reserved
        truncate -s 8192 /mnt/file
        tr '\\0' x </dev/zero | head -c 1024 >/mnt/one
        tr '\\0' x </dev/zero | head -c 2000000 >/mnt/many
        fsctl syncfs /mnt || die syncfs
        for size in 1048576 65536 4096 1024; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
        done
        rm /mnt/one
        fsctl syncfs /mnt || die syncfs
        [ "$(stat -f -c %f /mnt)" = 1 ] || die "free blocks: $(stat -f -c %f /mnt)"

        # Blocks of "many" are free when this is committed.
        rm /mnt/many
        echo 0 record on >/dev/zjdctl
        tr '\\0' n </dev/zero | dd of=/mnt/file bs=4k count=1 conv=notrunc,fsync iflag=fullblock 2>/dev/null || die dd
        end=$(sed -n 's/^zjd0 .* seq=\\([0-9]*\\).*/\\1/p' /dev/zjdctl)
        echo 0 record off >/dev/zjdctl
        [ "$(filefrag /mnt/file)" = "/mnt/file: 2 extents found" ] || die "the first block was enough for all"
        unmnt

        for cut in $(seq 0 $end); do
            echo 1 rebuild 0 $cut 1 >/dev/zjdctl || die rebuild
            mnt /dev/zjd1 noatime
            ! grep -q x /mnt/file || die "cut $cut of $end: the file shows what another one held"
            [ $cut != $end ] || [ "$(tr -d '\\0' </mnt/file | wc -c)" = 4096 ] || die "synced data is gone"
            unmnt; fsck /dev/zjd1
        done
        rmmod zjdisk
    """, timeout=300)


@pytest.mark.zext4
def test_page_of_which_a_part_is_given_up(guest):
    """There is no block for the rest of a page, and no commit frees one: its blocks do not show old contents."""
    guest("""
        mk /dev/vdc -b 1024 -m 0 -J size=4 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard
        mnt /dev/vdc noatime
        echo 0 >/sys/fs/$FS/$(kernel_name /dev/vdc)/reserved_clusters || die reserved
        truncate -s 8192 /mnt/file
        tr '\\0' x </dev/zero | head -c 1024 >/mnt/one
        fsctl syncfs /mnt || die syncfs
        for size in 1048576 65536 4096 1024; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
        done
        # Those of one extent, in the last group.
        last() {
            filefrag -v -b1024 "$@" | awk '/^File size of / { file = $4; all = 1 }
                /^ *[0-9]+:/ && int($4) < 7 * 8192 { all = 0 }
                / 1 extent found$/ && all { print file }'
        }
        [ "$(last /mnt/one)" = "" ] || die "all that is free is in the last group"
        rm $(last /mnt/rest* | head -1) || die "nothing is in the last group"
        rm /mnt/one
        unmnt

        # What is free, but one block, is in a group whose bitmap is damaged.
        bitmap=$(debugfs -R stats /dev/vdc 2>/dev/null | sed -n 's/^ *Group *7: block bitmap at \\([0-9]*\\).*/\\1/p')
        dd if=/dev/zero of=/dev/vdc bs=1k count=1 seek=${bitmap:?} conv=notrunc 2>/dev/null
        # That is found out between the write and the fsync, when all bitmaps are read.
        mnt /dev/vdc noatime,errors=continue,no_prefetch_block_bitmaps
        echo 0 >/sys/fs/$FS/$(kernel_name /dev/vdc)/reserved_clusters || die reserved
        tr '\\0' n </dev/zero | dd of=/mnt/file bs=4k count=1 conv=notrunc iflag=fullblock 2>/dev/null || die "the write"
        cat /proc/fs/$FS/$(kernel_name /dev/vdc)/mb_groups >/dev/null || die mb_groups
        # It is lost; whether fsync says so is the error's business.
        fsctl fsync /mnt/file 2>/dev/null
        dmesg | grep -q "Data will be lost" || die "there was a block for all: $(filefrag -v /mnt/file)"
        ! grep -q x /mnt/file || die "the file shows what another one held"
        umount /mnt; mnt /dev/vdc noatime
        [ "$(filefrag /mnt/file)" != "/mnt/file: 0 extents found" ] || die "there was a block for none"
        [ "$(tr -d '\\0' </mnt/file)" = "$(head -c 1024 /dev/zero | tr '\\0' n)" ] || die "it shows: $(od -c /mnt/file | head -5)"
        umount /mnt
    """)
