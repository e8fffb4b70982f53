# SPDX-License-Identifier: GPL-2.0-only
"""data=ordered: an fsync of little data logs it (decision 48, rules F1 to F4)."""

import os

import conftest
import pytest
import uml
from log_data import LIB, with_each_log

pytestmark = pytest.mark.zext4

run_fixture = with_each_log(LIB)


def test_what_is_logged(run):
    """New files, appends, overwrites, holes, mappings, synchronous files: yes; much data, or fsync_data:before: no."""
    run("""
        begin
        expect() { [ $(($(logged) - was)) = $1 ] && [ $(($(saved) - saves)) = $2 ] || die "$3: $(($(logged) - was)) blocks, $(($(saved) - saves)) rounds"; was=$(logged) saves=$(saved); }
        was=$(logged) saves=$(saved)
        sync_put /mnt/f a 1; expect 1 1 "new file"
        sync_put /mnt/f b 1 1; expect 1 1 append
        sync_put /mnt/f c 1; expect 1 1 overwrite
        wait_until '[ $(merged) -ge 1 ] || { sync_put /mnt/f c 1; false; }'; was=$(logged) saves=$(saved)
        sync_put /mnt/f d 1 100; expect 1 1 "behind a hole"
        sync_put /mnt/f e 1 50; expect 1 1 "into a hole"
        fallocate -l 65536 /mnt/g; fsctl fsync /mnt/g; was=$(logged) saves=$(saved)
        sync_put /mnt/g f 1 3; expect 1 1 "unwritten extent"
        chattr +S /mnt/f; put /mnt/f h 1 7; chattr -S /mnt/f; expect 1 1 "synchronous file"
        printf x >>/mnt/f; fsctl fdatasync /mnt/f; expect 1 1 fdatasync
        sync_put /mnt/h i 100; expect 0 0 "much data"
        put /mnt/f j 1 8 oflag=direct; expect 0 0 O_DIRECT
        way() { mount -o remount,tune=fsync_data:$1 /mnt || die remount; }
        way before; sync_put /mnt/i k 1; expect 0 0 before
        # While an older image is in the log, for up to 30 s, it cannot be written in place.
        twice() { way auto; sync_put /mnt/f d 1; way before; was=$(logged) saves=$(saved); sync_put /mnt/f l 1; [ $(logged) -gt $was ]; }
        wait_until twice; expect 1 0 "in the log already"
        is /mnt/i k 0 1; is /mnt/f l 0 1; is /mnt/f b 1 1; is /mnt/f e 50 1; is /mnt/f d 100 1; is /mnt/g f 3 1
        again
        is /mnt/i k 0 1; is /mnt/f l 0 1; is /mnt/f b 1 1; is /mnt/f h 7 1; is /mnt/f j 8 1; is /mnt/f e 50 1; is /mnt/f d 100 1; is /mnt/g f 3 1; is /mnt/h i 0 100
        end
    """)


def test_overwrites_in_place(run):
    """What has no commit to wait for, and is one request, is written in place."""
    run("""
        begin
        expect() { [ $(($(logged) - was)) = $1 ] || die "$2: $(($(logged) - was)) blocks"; was=$(logged); }
        for f in f g h; do put /mnt/$f a 16; done; sync; was=$(logged)
        # One block would always be logged otherwise; how many more depends on the disk.
        put /mnt/f b 1 3; fsctl fdatasync /mnt/f; expect 0 "fdatasync of a block"
        put /mnt/f b 2 3; fsctl fdatasync /mnt/f; expect 0 "fdatasync of neighbours"
        # Of a file that is not known as one that is overwritten, or a fast disk would have it in place.
        fallocate -o 65536 -l 4096 /mnt/g; fsctl fsync /mnt/g; was=$(logged)
        sync_put /mnt/g d 1 16; expect 1 "unwritten block"
        sync_put /mnt/g e 1; expect 1 "fsync with a commit"
        put /mnt/g d 1; fsctl fdatasync /mnt/g; expect 1 "in the log already"
        put /mnt/h i 1 20; fsctl fdatasync /mnt/h; expect 1 "fdatasync of a new size"
        again
        is /mnt/f b 3 2; is /mnt/g d 0 1; is /mnt/h i 20 1; is /mnt/h a 0 4
        end
    """)


def test_files_that_are_overwritten(run):
    """After some overwrites of a file nothing looks for new blocks or for blocks in the log, and both may be there."""
    run("""
        begin
        expect() { [ $(($(logged) - was)) = $1 ] || die "$2: $(($(logged) - was)) blocks"; was=$(logged); }
        # A file whose writes are synchronous, each with an fdatasync.
        overwrites() { chattr +S /mnt/f; put /mnt/f $1 20; chattr -S /mnt/f; expect 0 "overwrites ($1)"; }
        put /mnt/f a 24; sync; was=$(logged)
        overwrites b
        put /mnt/f c 1 24; fsctl fdatasync /mnt/f; expect 1 append
        put /mnt/f d 1 24; fsctl fdatasync /mnt/f; expect 1 "block that is in the log"
        overwrites e
        fallocate -o 204800 -l 65536 /mnt/f; fsctl fsync /mnt/f; was=$(logged)
        put /mnt/f g 1 55; fsctl fdatasync /mnt/f; expect 0 "unwritten block, not expected"
        put /mnt/f h 1 56; fsctl fdatasync /mnt/f; expect 1 "unwritten block"
        overwrites i
        truncate -s 1M /mnt/f; fsctl fsync /mnt/f; was=$(logged)
        put /mnt/f j 1 200; fsctl fdatasync /mnt/f; expect 1 hole
        again
        is /mnt/f i 0 20; is /mnt/f a 20 4; is /mnt/f d 24 1; is /mnt/f g 55 1; is /mnt/f h 56 1; is /mnt/f j 200 1
        end
    """)


@pytest.mark.skipif("ZJ_KIMAGE" in os.environ, reason="a debug kernel's log writes take longer than those of a fast disk")
def test_overwrites_on_a_fast_disk():
    """On a disk as fast as the CPU, few fsyncs of a file have anything to commit, and it leaves the log.

    The guest's clock counts instructions, so that it does not depend on the host how fast the disk is.
    """
    icount = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-cpu", "max,-cx16"]
    with conftest.new_vm(cpus=1, accel=icount) as machine:
        result = machine.sh(LIB + """
            modprobe zext4; modprobe zjdisk ndev=1 size_mb=256 || die zjdisk
            DEV=/dev/zjd0; begin; mkdir /mnt/d /mnt/e
            sync_put /mnt/d/created a 1; [ $(logged) = 1 ] || die "a new file: $(logged) blocks are logged"
            overwrite() { loadgen -t fsync-overwrite -f 1 -a 4096 -w 1 -d $1 $2 || die loadgen; }
            overwrite /mnt/d -p; sync; overwrite /mnt/d "-r -n 1000"
            [ $(logged) -gt 1 ] && [ $(logged) -lt 40 ] || die "$(logged) blocks of a file are logged that was in no log"
            overwrite /mnt/e -p; file=$(find /mnt/e -type f); was=$(logged)
            truncate -s 0 $file; sync_put $file a 1
            overwrite /mnt/e "-r -n 1000"; was=$(($(logged) - was))
            [ $was -gt 10 ] && [ $was -lt 40 ] || die "$was blocks of a file are logged that was in the log"
            end
        """, timeout=300)
        assert result, result.out
        machine.check_console()


def test_not_logged(guest):
    """Files for which a copy in the log would be wrong or unreadable."""
    guest(LIB + """
        begin -O encrypt,inline_data -I 256
        mkdir /mnt/secret; fsctl encrypt /mnt/secret || die encrypt
        was=$(logged)
        sync_put /mnt/secret/f a 1
        printf x >/mnt/inline; fsctl fsync /mnt/inline
        [ $(logged) = $was ] || die "encrypted or inline data is logged"
        again
        fsctl add-key /mnt || die add-key
        is /mnt/secret/f a 0 1
        end
        mk $DEV; mnt $DEV data=writeback
        sync_put /mnt/f a 1
        [ $(logged) = 0 ] || die "logged with data=writeback"
        end
        begin -O bigalloc
        sync_put /mnt/f a 1
        [ $(logged) = 0 ] || die "logged with bigalloc"
        again; is /mnt/f a 0 1
        end
    """)


def test_f1_written_back_in_place(run):
    """What is written back later, as bulk, is not undone by the replay of the older image."""
    run("""
        begin
        log_put /mnt/f a 4
        sync_put /mnt/f b 100
        log_put /mnt/g a 4
        put /mnt/g b 4; fsctl write-back /mnt/g; fsctl fsync /mnt/g
        again
        is /mnt/f b 0 100; is /mnt/g b 0 4
        end
    """)


def test_f1_direct(run):
    """Direct writes are not undone, direct reads find the newest data."""
    run("""
        begin
        log_put /mnt/f a 8
        is /mnt/f a 0 8 iflag=direct
        put /mnt/f b 4 2 oflag=direct; fsctl fdatasync /mnt/f
        log_put /mnt/f c 1
        is /mnt/f c 0 1 iflag=direct; is /mnt/f b 2 4 iflag=direct
        again
        is /mnt/f c 0 1; is /mnt/f a 1 1; is /mnt/f b 2 4; is /mnt/f a 6 2
        end
    """)


def test_f1_direct_in_one_request(run):
    """A direct read or write of many blocks, some of which are in the log."""
    run("""
        begin
        sync_put /mnt/f a 64; log_put /mnt/f b 2 20; log_put /mnt/f b 1 63
        [ "$(dd if=/mnt/f bs=256k count=1 iflag=direct 2>/dev/null | tr -d a | wc -c)" = 12288 ] || die "a direct read finds older data"
        was=$(logged)
        tr '\\0' c </dev/zero | dd of=/mnt/f bs=128k count=1 seek=1 iflag=fullblock oflag=direct conv=notrunc 2>/dev/null || die write
        log_put /mnt/f d 1 40; put /mnt/f e 1 40 oflag=direct; put /mnt/f e 1 40 oflag=direct
        fsctl fdatasync /mnt/f
        is /mnt/f a 0 20; is /mnt/f b 20 2; is /mnt/f c 32 8; is /mnt/f e 40 1; is /mnt/f c 41 23
        again
        is /mnt/f a 0 20; is /mnt/f b 20 2; is /mnt/f c 32 8; is /mnt/f e 40 1; is /mnt/f c 41 23
        # Beside a page that is not home it goes through the page cache. When that is gone, the blocks leave the log.
        log_put /mnt/f g 2 20; filefrag -s /mnt/f >/dev/null || die filefrag
        echo 3 >/proc/sys/vm/drop_caches
        put /mnt/f h 2 20 oflag=direct
        was=$(logged); put /mnt/f i 1 20; fsctl fdatasync /mnt/f
        [ $(logged) = $was ] || die "a block that was written directly is still in the log"
        again
        is /mnt/f i 20 1; is /mnt/f h 21 1
        end
    """)


def test_what_settles_a_file_leaves_others_alone(run):
    """The blocks of one file go home, or leave the log; the data of others stays there, and so nobody waits for it."""
    run("""
        # Only the checkpoint thread has written all home, as it does with what is old. That is logged again then.
        wrote_home() { grep 'reason home' /tmp/tracing/trace; }
        stays() { ! wrote_home | grep -v '^ *zj/[a-z0-9-]*:ckpt-' || die "$3"; ! home $1 $2 || { wait_until "wrote_home >/dev/null"; log_put $1 $2 1; }; }
        alone() { stays /mnt/other O "$1 has the log emptied"; }
        # Nothing there looks as if it had gone home.
        dd if=/dev/zero of=$DEV bs=1M count=64 oflag=direct 2>/dev/null
        begin
        mkdir -p /tmp/tracing; [ -e /tmp/tracing/trace ] || mount -t tracefs tracefs /tmp/tracing || die tracefs
        echo >/tmp/tracing/trace; echo 1 >/tmp/tracing/events/zjournal/zj_wait/enable || die "trace event"
        log_put /mnt/read R 3; log_put /mnt/fiemap F 3; log_put /mnt/other O 1
        for f in write punch zero collapse insert moved donor later evicted; do log_put /mnt/$f a 3; done
        is /mnt/read R 0 3 iflag=direct; stays /mnt/read R "a direct read waits"; alone "a direct read"
        filefrag -s /mnt/fiemap >/dev/null || die filefrag
        alone FIEMAP; home /mnt/fiemap F || die "FIEMAP does not write home"
        put /mnt/write b 1 0 oflag=direct; put /mnt/write b 1 0 oflag=direct; alone "a direct write"
        fsctl punch /mnt/punch || die punch; alone punch
        fsctl zero-first /mnt/zero || die zero; put /mnt/zero z 1; fsctl write-back /mnt/zero; alone zero
        fsctl collapse-first /mnt/collapse || die collapse; alone collapse
        fsctl insert-first /mnt/insert || die insert; alone insert
        log_put /mnt/donor d 1; fsctl move-first /mnt/donor /mnt/moved || die move; alone "an exchange"
        chattr +j /mnt/later || die "chattr +j"; log_put /mnt/later j 1; alone "chattr +j"
        chattr +x /mnt/evicted || die "chattr +x"; is /mnt/evicted a 0 3; alone "an inode that leaves the cache"
        fsctl fsync /mnt/write /mnt/zero /mnt/collapse /mnt/insert /mnt/moved /mnt/donor /mnt
        alone fsync
        again
        is /mnt/other O 0 1; is /mnt/fiemap F 0 3; is /mnt/read R 0 3; is /mnt/write b 0 1; is /mnt/write a 1 2; is /mnt/zero z 0 1; is /mnt/zero a 1 2
        is /mnt/collapse a 0 2; is /mnt/insert a 1 3; is /mnt/moved a 0 3; is /mnt/later j 0 1; is /mnt/later a 1 2; is /mnt/evicted a 0 3
        echo 0 >/tmp/tracing/events/zjournal/zj_wait/enable
        end
    """)


def test_donor_shows_what_it_got(run):
    """An exchange leaves the donor an unwritten extent, and its pages do not go on to show what the file had before."""
    run("""
        begin
        log_put /mnt/f a 3
        zeros() { [ "$(dd if=/mnt/donor bs=4k count=1 2>/dev/null | tr -d '\\0' | wc -c)" = 0 ] || die "$how: the donor has old data $1"; is /mnt/donor d 1 2; is /mnt/f a 0 3; }
        for how in logged home; do
            put /mnt/donor d 3; fsctl fsync /mnt/donor
            [ $how = logged ] || empty
            seen=$(fsctl mapped-run /mnt/donor 'fsctl move-first /mnt/donor /mnt/f || echo failed')
            [ "$seen" = 0 ] || die "$how: the donor's mapping shows $seen"
            zeros "in the cache"
            echo 3 >/proc/sys/vm/drop_caches
            zeros "on the disk"
        done
        put /mnt/donor e 1; fsctl fsync /mnt/f /mnt/donor
        again; is /mnt/donor e 0 1; is /mnt/f a 0 3
        end
    """)


def test_f2_dropped_pages(run):
    """The page cache is emptied while images are not home: reads find what was synced."""
    run("""
        begin
        for n in 1 2 3 4; do
            log_put /mnt/f a 3; echo 3 >/proc/sys/vm/drop_caches; is /mnt/f a 0 3
            log_put /mnt/f b 3; echo 3 >/proc/sys/vm/drop_caches; is /mnt/f b 0 3
        done
        fsctl syncfs /mnt; mount -o remount,ro /mnt; echo 3 >/proc/sys/vm/drop_caches
        is /mnt/f b 0 3; is /mnt/f b 0 3 iflag=direct
        mount -o remount,rw /mnt
        end
        [ "$(debugfs -R 'cat /f' /dev/vda 2>/dev/null | tr -d b | wc -c)" = 0 ] || die "not home after the unmount"
    """)


# cgroup NAME MAX: a new one of the memory controller
CGROUPS = """
    mkdir -p /cg; grep -q ' /cg ' /proc/mounts || mount -t cgroup2 none /cg || die "no cgroup2"
    echo +memory >/cg/cgroup.subtree_control || die "no memory controller"
    cgroup() { mkdir /cg/$1; echo $2 >/cg/$1/memory.max; }
    nobody_killed() { [ "$(sed -n 's/^oom_kill //p' /cg/$1/memory.events)" = 0 ] || die "killed: $(cat /cg/$1/memory.stat)"; }
"""


def test_f2_memory_limit(run):
    """A cgroup whose limit is far below the size of the log: reclaim has images written home."""
    run(CGROUPS + """
        begin -J size=64
        cgroup small 5M
        : >/mnt/f; chattr +S /mnt/f; was=$(logged)
        # 4 MiB, which the file and the images in the log both keep in memory.
        sh -c 'echo $$ >/cg/small/cgroup.procs && tr "\\0" m </dev/zero | dd of=/mnt/f bs=4k count=1000 iflag=fullblock conv=notrunc' 2>/dev/null
        nobody_killed small; rmdir /cg/small
        [ $(logged) -ge $((was + 1000)) ] || die "$(($(logged) - was)) blocks are logged"
        is /mnt/f m 0 1000
        again
        is /mnt/f m 0 1000
        end
    """, timeout=240)


# On a disk as slow as this, overwrites are always logged.
SLOW = CGROUPS + """
    modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
    DEV=/dev/zjd0; begin -J size=16
    echo 0 latency 5000 0 0 >/dev/zjdctl
"""


def test_f2_memory_of_the_file(guest):
    """An image is memory of the cgroup that has the file's page, which can have it written home, not of who syncs."""
    guest(LIB + CGROUPS + """
        begin -J size=64
        cgroup syncs 2M; was=$(logged)
        othersync others /cg/syncs /mnt/f 600 || die "$(cat /cg/syncs/memory.events)"
        nobody_killed syncs; rmdir /cg/syncs
        [ $(logged) -ge $((was + 600)) ] || die "$(($(logged) - was)) blocks are logged"
        again; is /mnt/f o 0 600
        end
    """, timeout=240)


def test_f2_memory_of_a_former_user(guest):
    """The device's cache still has pages that count as memory of somebody else, who needs it for other things."""
    guest(LIB + SLOW + """
        cgroup former max; was=$(logged)
        othersync former /cg/former /mnt/f 300 || die othersync
        # Where the host is slow, an overwrite may fall into the tick of the one before, and goes in place.
        [ $(logged) -ge $((was + 450)) ] || die "$(($(logged) - was)) blocks are logged"
        echo 64M >/cg/former/memory.reclaim 2>/dev/null
        left=$(sed -n 's/^file //p' /cg/former/memory.stat)
        [ $left -lt 300000 ] || die "$left bytes of 300 pages cannot be had back"
        rmdir /cg/former; again; is /mnt/f f 0 300
        end; rmmod zjdisk
    """)


def test_f2_locked_pages(guest):
    """Reclaim does not look at pages that are locked in memory, so their images could not be brought home."""
    guest(LIB + SLOW + """
        # Enough for 300 pages, but not twice.
        cgroup small 2M; was=$(logged)
        othersync locked /cg/small /mnt/f 300 || die "$(cat /cg/small/memory.events)"
        nobody_killed small; rmdir /cg/small
        [ $(logged) = $was ] || die "$(($(logged) - was)) blocks are logged"
        again; is /mnt/f b 0 300
        end; rmmod zjdisk
    """)


def test_f2_failed_memory(run):
    """The memory of a page fails whose blocks are not home yet: what was synced is read from the device."""
    run("""
        [ -e /proc/sys/vm/memory_failure_early_kill ] || lacks "failures of memory"
        begin
        put /mnt/f o 3; fsctl syncfs /mnt
        log_put /mnt/f a 3
        fsctl fail-memory /mnt/f || die "memory does not fail"
        is /mnt/f a 0 3
        fsctl fsync /mnt/f || die "an error although nothing is lost"
        end
    """)


def test_who_asks_for_the_place_finds_the_data(run):
    """FIEMAP with a sync: what the device has at that place is what the file has, as a boot loader expects."""
    run("""
        begin
        log_put /mnt/f a 1; log_put /mnt/g a 1
        empty
        log_put /mnt/f b 1; log_put /mnt/g b 1
        put /mnt/g c 1
        (is $DEV a $(block_of /mnt/f) 1 iflag=direct) || die "it has gone home by itself"
        filefrag -s /mnt/f /mnt/g || die filefrag
        is $DEV b $(block_of /mnt/f) 1 iflag=direct; is $DEV c $(block_of /mnt/g) 1 iflag=direct
        end
    """)


def test_device_does_not_show_old_images(run):
    """Who reads the block device, for a backup of a frozen file system, finds what was written in place."""
    run("""
        small; begin -m 0 -J size=4
        log_put /mnt/f a 3; log_put /mnt/gone a 4
        f=$(block_of /mnt/f) gone=$(block_of /mnt/gone)
        rm /mnt/gone; fsctl syncfs /mnt
        empty
        mount -o remount,tune=fsync_data:before /mnt || die remount
        was=$(logged)
        put /mnt/f b 3; fsctl fsync /mnt/f || die fsync
        tr '\\0' b </dev/zero | dd of=/mnt/g bs=64k 2>/dev/null
        fsctl fsync /mnt/g
        [ $(logged) = $was ] || die "$(($(logged) - was)) blocks were not written in place"
        fsfreeze --freeze /mnt || die freeze
        for at in $f $gone; do (is $DEV b $at 1) || bad=1; done
        fsfreeze --unfreeze /mnt || die unfreeze
        [ -z "$bad" ] || die "the block device has old data"
        # What recovery has written through the device's cache.
        mount -o remount,tune=fsync_data:auto /mnt || die remount
        log_put /mnt/f c 3; again
        mount -o remount,tune=fsync_data:before /mnt || die remount
        put /mnt/f d 3; fsctl fsync /mnt/f || die fsync
        fsfreeze --freeze /mnt || die freeze
        (is $DEV d $f 1) || bad=1
        fsfreeze --unfreeze /mnt || die unfreeze
        [ -z "$bad" ] || die "the block device has what recovery has written"
        end; rmmod zjdisk
    """)


def test_two_syncs(run):
    """Data that another process's fsync has just logged is durable when a sync returns that finds it clean."""
    run("""
        begin
        log_put /mnt/f z 1
        for n in $(seq 24); do
            c=$(echo abcdefgh | cut -c $((n % 8 + 1)))
            twosyncs /mnt/f $c $n || die twosyncs
            umount /mnt || die umount
            mnt $DEV $OPTS
            is /mnt/f $c 0 1
        done
        end
    """)


def test_f3_freed(run):
    """The blocks of a file that was removed get another file's data in place, which stays."""
    run("""
        small; begin -m 0 -J size=4
        log_put /mnt/f a 4
        at=$(block_of /mnt/f)
        rm /mnt/f; fsctl syncfs /mnt
        # From here on only what is in the log already is logged.
        mount -o remount,tune=fsync_data:before /mnt || die remount
        was=$(logged)
        tr '\\0' b </dev/zero | dd of=/mnt/g bs=64k 2>/dev/null
        fsctl fsync /mnt/g || die fsync
        # Without revokes they would be taken for blocks in the log, and be logged.
        [ $(logged) = $was ] || die "$(($(logged) - was)) blocks count as logged after they were freed"
        filefrag -b4096 -v /mnt/g | awk -v at=$at '$1 ~ /^[0-9]+:$/ && $4 + 0 <= at && at <= $5 + 0 { found = 1 } END { exit !found }' || die "block $at is in no extent of g"
        size=$(stat -c %s /mnt/g)
        again
        [ $(stat -c %s /mnt/g) = $size ] || die size
        is /mnt/g b 0 $((size / 4096))
        end; rmmod zjdisk
    """)


def test_zeroed_tail(run):
    """A file that was shortened within a logged block and is extended again shows zeros."""
    run("""
        # One CPU and its lane, so that an fsync of another file commits the truncation.
        taskset -p 1 $$ >/dev/null || die taskset
        begin
        log_put /mnt/f a 1
        truncate -s 1000 /mnt/f; truncate -s 4096 /mnt/f
        : >/mnt/other; fsctl fsync /mnt/other
        again
        [ "$(tr -d '\\0' </mnt/f | wc -c)" = 1000 ] || die "old data is back: $(tr -d '\\0' </mnt/f | wc -c)"
        [ $(stat -c %s /mnt/f) = 4096 ] || die "size of f"
        log_put /mnt/h a 3;
        fsctl punch /mnt/h || die punch
        fsctl fsync /mnt/h
        again
        [ "$(tr -d '\\0' </mnt/h | wc -c)" -lt 12288 ] || die "the hole is filled again"
        end
    """)


def test_magic_number(run):
    """Data that begins as the log's own blocks do."""
    run("""
        begin
        printf '\\300\\073\\071\\230\\0\\0\\0\\1' >/tmp/magic
        for n in 1 2 3; do cat /tmp/magic /bin/busybox | head -c 4096 >/mnt/m$n; fsctl fsync /mnt/m$n; done
        again
        for n in 1 2 3; do cat /tmp/magic /bin/busybox | head -c 4096 | cmp - /mnt/m$n || die "m$n"; done
        end
    """)


def test_exchanged_blocks(run):
    """Defragmentation of logged data: the file keeps its data, and the donor's images go to nobody."""
    run("""
        begin
        log_put /mnt/f a 1; log_put /mnt/donor d 1
        fsctl move-first /mnt/donor /mnt/f || die "move"
        : >/mnt/other; fsctl fsync /mnt/other
        again
        is /mnt/f a 0 1
        log_put /mnt/boot b 3
        fsctl swap-boot /mnt/boot || die swap-boot
        fsctl swap-boot /mnt/boot || die swap-boot
        again
        is /mnt/boot b 0 3
        end
    """)


@pytest.mark.parametrize("where", ["file", "donor"])
def test_blocks_at_home_change_places(run, where):
    """Their images are home, but still in the log (F1): recovery may put none over what the blocks hold then."""
    run(f"where={where}" + """
        begin
        put /mnt/f a 3 0 oflag=direct; put /mnt/donor d 3 0 oflag=direct; fsctl fsync /mnt/f /mnt/donor
        [ $where = donor ] && log_put /mnt/donor e 1 || log_put /mnt/f a 1
        # Home, but not revoked.
        filefrag -s /mnt/f /mnt/donor >/dev/null || die filefrag
        fsctl move-first /mnt/donor /mnt/f || die move
        # The donor's block is one of an unwritten extent now.
        put /mnt/donor n 1 0 oflag=direct; fsctl fsync /mnt/donor
        again
        is /mnt/f a 0 3; is /mnt/donor n 0 1; is /mnt/donor d 1 2
        end
    """)


def test_commit_writes_the_data_of_new_blocks(run):
    """Without delayed allocation it is ordered data of a handle, in place before another file's fsync returns (R6)."""
    run("""
        # One CPU and its lane, so that an fsync of another file commits the new blocks.
        taskset -p 1 $$ >/dev/null || die taskset
        OPTS=$OPTS,nodelalloc,nodioread_nolock
        begin
        put /mnt/f a 16 100
        : >/mnt/other; fsctl fsync /mnt/other
        again
        [ $(stat -c %s /mnt/f) = $((116 * 4096)) ] || die "f has $(stat -c %s /mnt/f) bytes"
        is /mnt/f a 100 16
        end
    """)


def test_f4_part_of_a_page(run):
    """A commit is to write one block of a page in place: a block that changed places with the donor's."""
    run("""
        begin -b 1024
        put /mnt/f a 1; put /mnt/donor d 1; fsctl fsync /mnt/f /mnt/donor
        fsctl move-last /mnt/donor /mnt/f || die move
        was=$(logged)
        fsctl fsync /mnt/f
        [ $(logged) = $was ] || die "$(($(logged) - was)) blocks are logged that a commit was to write in place"
        again; is /mnt/f a 0 1
        end
    """)


def test_swap_file(guest):
    """Nothing is written to a swap file's blocks once it is swap space."""
    guest(LIB + """
        begin
        sync_put /mnt/swap 0 64
        mkswap /mnt/swap >/dev/null || die mkswap
        log_put /mnt/swap s 1 9
        log_put /mnt/f a 1
        at=$(block_of /mnt/swap)
        swapon /mnt/swap || die swapon
        at=$at fsctl swapped-run 60 '
            swapped() { dd if=/dev/vda bs=4k skip=$at count=64 iflag=direct 2>/dev/null | tr -d -c w | wc -c; }
            for tries in $(seq 100); do [ $(swapped) -ge 245760 ] && break; sleep 0.1; done
            was=$(swapped)
            fsfreeze --freeze /mnt && fsfreeze --unfreeze /mnt || exit 1
            echo "$was bytes are swapped out, then $(swapped)"
            [ $was -ge 245760 ] || { echo "not all is swapped out"; exit 1; }
            [ $(swapped) = $was ]
        ' || die "swapped pages were overwritten"
        swapoff /mnt/swap || die swapoff
        end
    """)


def test_inode_evicted(run):
    """An inode that is not cached any more, for which it needs chattr +x, leaves the cache with its pages."""
    run("""
        begin
        log_put /mnt/f a 3
        fsctl syncfs /mnt
        chattr +x /mnt/f || die "chattr +x"
        # The last reference is gone with the directory's entry in the cache.
        is /mnt/f a 0 3; is /mnt/f a 0 3
        end
    """)


def test_journaled_later(run):
    """chattr +j, and back."""
    run("""
        begin
        log_put /mnt/f a 3
        chattr +j /mnt/f || die "chattr +j"
        log_put /mnt/f b 1
        again; is /mnt/f b 0 1; is /mnt/f a 1 2
        chattr -j /mnt/f || die "chattr -j"
        log_put /mnt/f c 1 1
        again; is /mnt/f b 0 1; is /mnt/f c 1 1; is /mnt/f a 2 1
        end
    """)


def test_stock_replays(guest):
    """log=jbd2: the images are blocks like others to e2fsck and to stock ext4."""
    guest(LIB + """
        OPTS=$OPTS,lanes=1,log=jbd2
        for by in e2fsck ext4; do
            begin
            log_put /mnt/f a 3; log_put /mnt/f b 1 1; log_put /mnt/gone c 2; rm /mnt/gone; fsctl fsync /mnt
            crash
            case $by in
            e2fsck) e2fsck -fy /dev/vda >/tmp/out 2>&1; [ $? -le 1 ] || die "e2fsck: $(cat /tmp/out)" ;;
            esac
            mount -t ext4 /dev/vda /mnt || die "mount as ext4"
            is /mnt/f a 0 1; is /mnt/f b 1 1; is /mnt/f a 2 1
            end
        done
    """)


def test_home_write_fails(guest):
    """A later fsync reports it, and the data is there when the device is well again."""
    guest(LIB + """
        modprobe configfs 2>/dev/null; mount -t configfs none /sys/kernel/config 2>/dev/null
        modprobe null_blk nr_devices=0 || die null_blk
        mkdir /sys/kernel/config/nullb/n; cd /sys/kernel/config/nullb/n
        echo 128 >size; echo 1 >memory_backed; echo 1 >power
        DEV=/dev/nullb$(cat index); [ -b $DEV ] || DEV=/dev/n
        OPTS=$OPTS,lanes=1
        begin -J size=4
        log_put /mnt/f a 3
        first=$(($(block_of /mnt/f) * 8))
        echo "+$first-$((first + 7))" >badblocks || die badblocks
        log_put /mnt/f b 1
        is /mnt/f b 0 1 iflag=direct
        ! filefrag -s /mnt/f >/dev/null 2>&1 || die "it says where the data is, but there is older data"
        ! dd if=/dev/zero of=/mnt/f bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die "fsync reports success although the image cannot go home"
        umount /mnt
        echo "-$first-$((first + 7))" >badblocks || die badblocks
        mnt $DEV $OPTS
        is /mnt/f b 0 1; is /mnt/f a 1 2
        end
        cd /; echo 0 >/sys/kernel/config/nullb/n/power
        rmdir /sys/kernel/config/nullb/n; rmmod null_blk
    """)


def test_full(run):
    """ENOSPC and EDQUOT reach the fsync as ever, and what was synced before stays."""
    run("""
        small; begin -m 0 -J size=4
        sync_put /mnt/f a 3
        tr '\\0' b </dev/zero | dd of=/mnt/g bs=64k 2>/dev/null
        fsctl syncfs /mnt
        if CONV=,fsync; ! tr '\\0' c </dev/zero | dd of=/mnt/h bs=4k count=4 iflag=fullblock conv=fsync 2>/dev/null; then :; else die "no space, but fsync is content"; fi
        sync_put /mnt/f d 1
        again
        is /mnt/f d 0 1; is /mnt/f a 1 2
        end; rmmod zjdisk
    """)


@pytest.mark.parametrize("rounds", [400])
def test_image_that_goes_home_meanwhile(run, rounds):
    """Write-back leaves a dirty block whose image is in the log, and finds that it is not there any more."""
    run(f"""
        begin -J size=4
        writelogged /mnt/f {rounds} || die "writelogged"
        end
    """)


def test_unwritten_neighbour_under_write_back(run):
    """A block of a preallocated file is logged while one near it is on its way to the disk."""
    run("""
        modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
        DEV=/dev/zjd0; begin -J size=8
        fallocate -l 16k /mnt/f; fsctl fsync /mnt/f
        echo 0 latency 2000000 0 0 >/dev/zjdctl
        put /mnt/f c 1 3; fsctl begin-write-back /mnt/f
        # The new blocks make one unwritten extent of all that are unwritten yet.
        fallocate -o 16k -l 8k /mnt/f || die fallocate
        put /mnt/f a 1; was=$(logged)
        fsctl fsync /mnt/f || die fsync
        echo 0 latency 0 0 0 >/dev/zjdctl
        [ $(logged) = $((was + 1)) ] || die "$(($(logged) - was)) blocks are logged"
        again
        is /mnt/f a 0 1; is /mnt/f c 3 1
        end; rmmod zjdisk
    """)


# A disk that keeps writes of a block back until it is told to let them go.
HOLD = """
    # One CPU and its lane.
    taskset -p 1 $$ >/dev/null || die taskset
    modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
    DEV=/dev/zjd0
    die() { echo 0 release >/dev/zjdctl; echo "FAILED: $*"; exit 1; }
    say() { echo "0 $*" >/dev/zjdctl || die "$*"; }
    held() { [ $(sed -n 's/.* held=\\([0-9]*\\).*/\\1/p' /dev/zjdctl) = $1 ]; }
    # hold FILE BLOCK SIZE: the block, and nothing else
    hold() { _s=$(($3 / 512 * ($(filefrag -b$3 -v $1 | awk '$1 == "0:" { print $4 + 0 }') + $2))); say hold $_s $((_s + $3 / 512 - 1)); }
    sleeps() { grep -q '^State:.D' /proc/$1/status; }
    ended() { ! kill -0 $1 2>/dev/null; }
"""


def test_n10_fsync_waits_without_a_handle(run):
    """An fsync of a page that is under write-back holds up nobody else."""
    run(HOLD + """
        begin -J size=8
        put /mnt/f a 1; fsctl syncfs /mnt
        hold /mnt/f 0 4096; put /mnt/f b 1; fsctl begin-write-back /mnt/f; wait_until "held 1"
        put /mnt/f c 1; was=$(logged)
        fsctl fsync /mnt/f & sync=$!
        wait_until "sleeps $sync"
        { echo other >/mnt/other && fsctl fsync /mnt/other && mkdir /mnt/d && fsctl fsync /mnt/d; } & others=$!
        wait_until "ended $others"; wait $others || die "another task's fsync or mkdir"
        [ -d /mnt/d ] && held 1 && ! ended $sync || die "the write was not held back until now"
        others=$(($(logged) - was))
        put /mnt/f d 100 1
        say release
        wait $sync || die fsync
        [ $(logged) = $((was + others + 1)) ] || die "$(($(logged) - was - others)) blocks are logged, and one was dirty"
        fsctl fsync /mnt/f
        again
        is /mnt/f c 0 1; is /mnt/f d 1 100
        end; rmmod zjdisk
    """)


def test_n10_write_back_waits_without_a_handle(guest):
    """The same for write-back that logs again the block of a page whose other block is on its way to the disk."""
    guest(LIB + HOLD + """
        begin -b 1024 -J size=8
        byte() { printf $1 | dd of=/mnt/f bs=1 seek=$(($2 * 4096 + ${4:-0})) conv=notrunc$3 2>/dev/null; }
        put /mnt/f a 20; truncate -s 256k /mnt/f; fsctl syncfs /mnt
        # More than write-back looks at in one step.
        for n in 0 $(seq 20 51); do byte b $n ,fsync; done
        hold /mnt/f 3 1024; was=$(logged)
        for n in 0 $(seq 20 51); do byte c $n; done; byte c 0 "" 4095
        fsctl write-back /mnt/f & back=$!
        wait_until "held 1"; wait_until "sleeps $back"
        # These are dirty and in the log, too, but write-back has not seen them.
        for n in 55 56 57 58; do
            chattr +S /mnt/f; byte d $n & wait_until "ended $!"
            chattr -S /mnt/f; byte e $n
        done
        others=$(($(logged) - was))
        [ $others = 4 ] && held 1 || die "$others blocks are logged meanwhile"
        say release
        wait $back || die "write-back"
        [ $(logged) = $((was + others + 33)) ] || die "of 33 blocks that write-back has left, $(($(logged) - was - others)) are logged"
        fsctl fsync /mnt/f
        again
        [ "$(tr -dc c </mnt/f | wc -c)" = 34 ] && [ "$(tr -dc e </mnt/f)" = eeee ] || die contents
        end; rmmod zjdisk
    """)


def test_page_that_stays_busy(run):
    """A block that is in the log, of a page that is under write-back whenever its turn comes, leaves the log."""
    run("""
        modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
        DEV=/dev/zjd0; begin -b 1024 -J size=8
        echo 0 latency 2000 0 0 >/dev/zjdctl
        busypage /mnt 8 || die busypage
        echo 0 latency 0 0 0 >/dev/zjdctl
        umount /mnt || die umount; mnt $DEV $OPTS
        for n in $(seq 0 7); do
            [ "$(head -c 1024 /mnt/busy$n | tr -d c | wc -c)" = 0 ] || die "busy$n: what was synced is lost"
        done
        end; rmmod zjdisk
    """)


def test_store_right_after_a_sync(guest):
    """Another process logs the page, or writes it back, while the one that stores does not enter the kernel."""
    if uml.cpus(2) == 1:
        pytest.skip("User Mode Linux loses such stores")
    guest(LIB + """
        begin
        latestore /mnt/f 8 || die "stores are lost"
        again
        end
    """)


def test_store_behind_the_old_end(guest):
    """A file grows while the page of its end is synced, and a store through a mapping follows."""
    guest(LIB + """
        begin
        ulimit -l unlimited 2>/dev/null
        tailstore /mnt/f 3 || die tailstore
        fsctl fsync /mnt/f
        again
        [ "$(tail -c +6097 /mnt/f | head -c 1)" = X ] || die "the store is not on the disk"
        end
    """)
