# SPDX-License-Identifier: GPL-2.0-only
"""Load: a full journal, a full disk, many mounts, and what is left behind."""

import os

import pytest

import conftest

# 1000 is the number to reach; software emulation makes that too slow for every run.
CYCLES = int(os.environ.get("ZJ_CYCLES", "100"))


@pytest.mark.parametrize("mode", ["ordered", "journal"])
def test_journal_full(guest, mode):
    """Far more is logged than a 4 MiB journal holds."""
    guest(f"""
        mk /dev/vda -J size=4
        mnt /dev/vda data={mode}
        known_tree
        stress -p 4 -n 1500 -s 11 /mnt || die "stress"
        check_tree; unmnt; fsck /dev/vda
        mnt /dev/vda; check_tree; unmnt
    """, timeout=240)


def test_disk_full(guest):
    guest("""
        mk /dev/vdc
        mnt /dev/vdc
        stress -p 3 -t 8 /mnt & load=$!
        dd if=/dev/zero of=/mnt/big bs=1M 2>/dev/null
        dd if=/dev/zero of=/mnt/big2 bs=4k 2>/dev/null
        wait $load || die "stress"
        rm /mnt/big; touch /mnt/more || die "touch after rm"
        fsctl syncfs /mnt || die syncfs
        unmnt; fsck /dev/vdc
    """, timeout=240)


def test_many_processes(guest):
    guest("""
        mk /dev/vda
        mnt /dev/vda
        stress -p 16 -n 250 -s 5 /mnt || die "stress"
        unmnt; fsck /dev/vda
    """, timeout=240)


def test_big_directory_tree_removed(guest):
    guest("""
        mk /dev/vda -J size=8
        mnt /dev/vda
        for d in 1 2 3 4; do
            ( mkdir /mnt/d$d; for n in $(seq 500); do echo $n >/mnt/d$d/$n; done ) &
        done
        wait
        for d in 1 2 3 4; do rm -r /mnt/d$d & done
        wait
        [ -z "$(ls /mnt | grep '^d')" ] || die "directories are left"
        unmnt; fsck /dev/vda
    """, timeout=240)


def test_orphans_at_unmount_and_crash(guest):
    """Files deleted while open are gone after a crash, and their space is free."""
    guest("""
        mk /dev/vda; mnt /dev/vda; fsctl syncfs /mnt
        free=$(stat -f -c %f /mnt)
        ( exec 5>/mnt/open; rm /mnt/open; dd if=/dev/zero bs=1M count=20 >&5 2>/dev/null
          fsctl syncfs /mnt; fsctl shutdown 2 /mnt )
        unmnt; mnt /dev/vda
        [ ! -e /mnt/open ] || die "the deleted file is back"
        [ $(($(stat -f -c %f /mnt) - free)) -lt 64 ] && [ $((free - $(stat -f -c %f /mnt))) -lt 64 ] ||
            die "blocks are lost: $free free before, $(stat -f -c %f /mnt) now"
        unmnt; fsck /dev/vda
    """)


def test_mount_cycles(guest):
    """After many mounts and unmounts no slab objects and no memory are lost."""
    out = guest(f"""
        mk /dev/vdc -J size=4
        cycle() {{
            mnt /dev/vdc; echo $1 >/mnt/f$(($1 % 7)); mkdir -p /mnt/d; rm -rf /mnt/d; unmnt
        }}
        used() {{
            echo 3 >/proc/sys/vm/drop_caches; sleep 0.2; echo 3 >/proc/sys/vm/drop_caches
            awk '/^(Slab|VmallocUsed|Percpu):/ {{n += $2}} END {{print n}}' /proc/meminfo
        }}
        for n in $(seq 10); do cycle $n; done
        before=$(used)
        for n in $(seq {CYCLES}); do cycle $n; done
        after=$(used)
        echo "{CYCLES} cycles: $before KiB before, $after KiB after"
        [ $((after - before)) -lt 2048 ] || die "memory grew by $((after - before)) KiB"
        fsck /dev/vdc
        # A cache that goes with objects in it is a complaint of the kernel's.
        if [ $FS = zext4 ]; then
            rmmod zext4 && rmmod zjournal || die "rmmod"
            ! grep -E '^(zj_|zext4_)' /proc/slabinfo || die "slabs are left"
            modprobe zext4
        fi
    """, timeout=120 + 3 * CYCLES)
    print(out)


HUNG = os.environ.get("ZJ_HUNG")


@pytest.mark.skipif(not HUNG, reason="only with ZJ_HUNG=SECONDS")
def test_nobody_is_reported_as_hung():
    """The smallest log, a slow disk, many writers in four lanes, and the kernel's detector set to ZJ_HUNG seconds.

    The machine's time is counted in instructions, so it does not matter how busy the host is.
    """
    counted = ["-accel", "tcg,thread=single", "-cpu", "max,-cx16", "-icount", "shift=3,sleep=off"]
    with conftest.new_vm(cpus=2, accel=counted) as machine:
        out = machine.sh(f"""
            cd /proc/sys/kernel
            echo -1 >hung_task_warnings; echo 1 >hung_task_check_interval_secs; echo {HUNG} >hung_task_timeout_secs
            modprobe zjdisk ndev=1 size_mb=64 || die zjdisk
            mk /dev/zjd0 -b 1024 -J size=1
            case $FS in zext4) mnt /dev/zjd0 lanes=4 ;; *) mnt /dev/zjd0 ;; esac
            echo 0 latency 20000 10000 40000 >/dev/zjdctl
            stress -p 16 -t 60 /mnt || die stress
            unmnt; fsck /dev/zjd0
            echo "$(cut -d ' ' -f 1 /proc/uptime) seconds"
        """, timeout=300)
        machine.check_console()
    print(out.out)
    assert out, out.out
