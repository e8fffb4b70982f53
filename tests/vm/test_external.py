# SPDX-License-Identifier: GPL-2.0-only
"""A journal on a device of its own: mounts, crashes of both devices or of one, stock's tools, refusals."""

import random
import subprocess

import pytest

import conftest
import nbd
import vm as vmlib

pytestmark = pytest.mark.zext4

# The file system on vdc, its journal on vdb; vda is free for another journal.
TWO = """
    J=/dev/vdb; F=/dev/vdc
    # journal DEV [mke2fs options]: an empty journal device
    journal() { _j=$1; shift; mke2fs -q -F -O journal_dev -b 4096 "$@" $_j 8192 || die "journal device"; }
    two() { journal $J; mk $F -J device=$J; }
    sums() { head -c 33M /dev/vda | digest; head -c 33M $J | digest; digest $F; }
    # refused TEXT [options]: the mount fails, says this, and has written to neither device
    refused() {
        _text=$1; _opts=$2; _sums=$(sums); mark refused
        no_mnt $FS $F $_opts
        said "$_text"
        [ "$(sums)" = "$_sums" ] || die "the refused mount has written"
    }
    stock() { mount -t ext4 $F /mnt || die "stock mount"; check_tree; umount /mnt; fsck $F; }
    lanes() { grep -c '^lane ' /proc/fs/zjournal/*/info; }
"""


def test_round_trip(guest):
    """Lanes and stock's format, stock ext4 and its tools, one after the other."""
    guest(TWO + """
        two
        for opts in lanes=2 lanes=1 log=zj,lanes=1,data=journal; do
            mnt $F $opts; [ $opts = lanes=1 ] && { grep -q '^log: jbd2' /proc/fs/zjournal/*/info || die "not stock's format"; }
            [ $opts = lanes=2 ] && { [ "$(lanes)" = 2 ] || die "$(lanes) lanes"; }
            rm -rf /mnt/tree; known_tree; stress -p 2 -n 100 /mnt >/dev/null || die "stress"; unmnt
            fsck $F; stock
        done
        mnt $F journal_path=$J; check_tree; unmnt
        mnt $F journal_dev=$(($(stat -c 0x%t $J) << 8 | $(stat -c 0x%T $J))); check_tree; unmnt
    """, timeout=240)


def test_tune2fs_removes_and_adds_it(guest):
    guest(TWO + """
        two; mnt $F; known_tree; unmnt
        tune2fs -O ^has_journal $F || die "tune2fs -O ^has_journal"
        mnt $F; check_tree; unmnt
        tune2fs -j $F || die "tune2fs -j"
        mnt $F lanes=2; check_tree; unmnt
        tune2fs -O ^has_journal $F || die "tune2fs -O ^has_journal"
        journal $J; tune2fs -J device=$J $F || die "tune2fs -J device"
        mnt $F lanes=2; check_tree; stress -p 2 -n 50 /mnt >/dev/null || die "stress"; fsctl syncfs /mnt; crash
        mnt $F lanes=2; check_tree; unmnt; stock
    """, timeout=240)


@pytest.mark.parametrize("before,after", [("lanes=2", "lanes=2"), ("lanes=2", "lanes=1"),
                                          ("lanes=1", "lanes=2"), ("lanes=2,data=journal", "lanes=1")])
def test_recovered_at_mount(guest, before, after):
    guest(TWO + f"""
        two; mnt $F {before}; known_tree; fsctl syncfs /mnt
        mkdir /mnt/fsynced && fsctl fsync /mnt/fsynced || die "fsync"; crash
        mark recovery; mnt $F {after}; said 'recovered [0-9]* transactions'
        check_tree; [ -d /mnt/fsynced ] || die "what was fsynced is gone"
        unmnt; fsck $F; stock
    """, timeout=240)


def test_stock_recovers_stocks_format(guest):
    guest(TWO + """
        two; mnt $F lanes=1; known_tree; fsctl syncfs /mnt
        mkdir /mnt/fsynced && fsctl fsync /mnt/fsynced; crash
        mark stock; mount -t ext4 $F /mnt || die "stock mount"; said 'recovery complete'
        check_tree; [ -d /mnt/fsynced ] || die "what was fsynced is gone"; umount /mnt; fsck $F
        # And the other way round.
        mount -t ext4 $F /mnt || die "stock mount"; mkdir /mnt/by-stock; fsctl fsync /mnt/by-stock; crash
        mark ours; mnt $F lanes=2; said 'recovered [0-9]* transactions'
        [ -d /mnt/by-stock ] || die "what stock has fsynced is gone"; unmnt; fsck $F
    """, timeout=240)


def test_stock_refuses_a_log_of_lanes(guest):
    guest(TWO + """
        two; mnt $F lanes=2; known_tree; fsctl syncfs /mnt; mkdir /mnt/fsynced; fsctl fsync /mnt/fsynced; crash
        before=$(sums)
        mount -t ext4 $F /mnt 2>/dev/null && die "stock mount"
        [ "$(sums)" = "$before" ] || die "stock ext4 has written"
        e2fsck -fy $F >/dev/null 2>&1 && die "e2fsck"
        mnt $F lanes=2; check_tree; [ -d /mnt/fsynced ] || die "what was fsynced is gone"; unmnt
        e2fsck -fp $F; fsck $F; stock
    """, timeout=240)


def test_refusals(guest):
    """A device that is missing, of another file system, shared, damaged or cut off."""
    guest(TWO + r"""
        two; mnt $F lanes=2; known_tree; fsctl syncfs /mnt; mkdir /mnt/fsynced; fsctl fsync /mnt/fsynced; crash
        journal /dev/vda
        uuid=$(dumpe2fs -h $F 2>/dev/null | sed -n 's/^Journal UUID: *//p')
        refused "UUID $uuid" journal_path=/dev/vda
        refused "UUID $uuid" journal_dev=$((0xfff00))
        refused "journal_nvm= needs" journal_nvm=/dev/vda
        # zeroed: the super block of the device; block 0 of the journal
        for at in 0 1; do
            dd if=$J of=/tmp/saved bs=4k skip=$at count=1 2>/dev/null
            dd if=/dev/zero of=$J bs=4k seek=$at count=1 conv=fsync 2>/dev/null
            [ $at = 0 ] && refused "UUID $uuid" || refused 'not a journal superblock'
            dd if=/tmp/saved of=$J bs=4k seek=$at count=1 conv=fsync 2>/dev/null
        done
        # a damaged log super block
        dd if=$J of=/tmp/saved bs=4k skip=2 count=1 2>/dev/null
        dd if=/dev/zero of=$J bs=4k seek=2 count=1 conv=fsync 2>/dev/null
        refused 'recovery'
        dd if=/tmp/saved of=$J bs=4k seek=2 count=1 conv=fsync 2>/dev/null
        # noload looks at the device as well
        refused 'recovery suppressed' noload
        debugfs -w -R 'feature -needs_recovery' $F >/dev/null 2>&1 || die "debugfs"
        refused 'holds a log to be recovered' noload
        mnt $F ro,noload; mount -o remount,rw /mnt 2>/dev/null && die "remounted over a live log"; unmnt
        mnt $F; check_tree; [ -d /mnt/fsynced ] || die "what was fsynced is gone"; unmnt; stock
        mnt $F noload; check_tree; unmnt
    """, timeout=240)


def test_shared_device_is_refused(guest):
    guest(TWO + """
        two; known=$(sums)
        # the journal's list of users, as a second mke2fs -J device= would make it
        printf '\\000\\000\\000\\002' | dd of=$J bs=1 seek=$((4096 + 0x40)) conv=notrunc,fsync 2>/dev/null
        refused 'has 2 file systems in its list of users'
        mount -t ext4 $F /mnt 2>/dev/null && die "stock mounts it"
        printf '\\000\\000\\000\\001' | dd of=$J bs=1 seek=$((4096 + 0x40)) conv=notrunc,fsync 2>/dev/null
        [ "$(sums)" = "$known" ] || die "not as it was"
        mnt $F; unmnt
    """)


def test_short_device_is_refused(guest):
    guest(TWO + """
        . /lib/zj/dm.sh
        journal $J; mk $F -J device=$J
        echo "0 32768 linear $J 0" | dmsetup create short || die "dmsetup"
        [ -e /dev/mapper/short ] || dmsetup mknodes short
        refused 'longer than the device' journal_path=/dev/mapper/short
        dmsetup remove short
        mnt $F; unmnt
    """)


LOAD = """
mnt /dev/vda {options}
touch /share/mounted
stress -p 4 -t 60 -s {seed} -l /share/noted /mnt
"""

CHECK = """
mnt /dev/vda journal_path=/dev/vdb
stress -v /share/noted /mnt || die "fsynced data is lost"
unmnt
fsck /dev/vda
mount -t ext4 /dev/vda /mnt && umount /mnt || die "stock mount"
fsck /dev/vda
"""


def make_two(tmp_path):
    images = [tmp_path / "fs.img", tmp_path / "journal.img"]
    vmlib.make_image(images[0], "128M")
    vmlib.make_image(images[1], "32M")
    subprocess.run(["/usr/sbin/mke2fs", "-q", "-F", "-O", "journal_dev", "-b", "4096", str(images[1])], check=True)
    return images


@pytest.mark.parametrize("keeps,options", [
    (None, "lanes=3"), (None, "lanes=1"), (0, "lanes=3"), (1, "lanes=3"), (1, "lanes=1")])
def test_power_cut(tmp_path, keeps, options):
    """Both devices lose what is in their caches at one moment, or one of them, and the other nothing."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    images = make_two(tmp_path)
    socks = [tmp_path / "s0", tmp_path / "s1"]
    machine = conftest.new_vm(cpus=4, disks=[vmlib.Disk(str(s), nbd=True) for s in socks])
    disks = [nbd.VolatileDisk(image, sock) for image, sock in zip(images, socks)]
    try:
        machine.start()
        made = machine.sh("mk /dev/vda -J device=/dev/vdb; sync")
        assert made, made.out
        machine.spawn(LOAD.format(options=options, seed=seed))
        machine.wait_file("mounted")
        machine.idle(2)
        # Sometimes the log is what stops, sometimes the file system.
        disks[seed & 1].stop_after(1 + seed % 300)
        assert disks[seed & 1].stopped.wait(60), "the load does not write"
        disks[~seed & 1].stopped.set()
        machine.check_console()
    finally:
        machine.kill()
        lost = [disk.power_cut(seed, 1 if n == keeps else 0.5) for n, disk in enumerate(disks)]
    for disk, (seen, gone) in zip(disks, lost):
        print(f"{disk.writes} writes, {disk.flushes} flushes; {gone} of {seen} unflushed sectors lost")
        assert disk.flushes > 3
    noted = {p.name: p.read_bytes() for p in machine.share.glob("noted.*")}
    machine.cleanup()
    assert len(noted) == 4
    after = conftest.new_vm(disks=[vmlib.Disk(str(image)) for image in images])
    with after:
        for name, data in noted.items():
            (after.share / name).write_bytes(data[:data.rfind(b"\n") + 1])
        result = after.sh(CHECK, timeout=240)
        assert result, f"seed {seed}: {result.out}\n{after.console_tail()}"
        print(result.out)
        after.check_console()


def test_zjctl_and_fsck_find_the_device(guest):
    """By number, and by UUID if the number is another device's; --journal where it cannot be found."""
    guest(TWO + r"""
        crashed() {
            two; mnt $F $1; known_tree; fsctl syncfs /mnt; mkdir /mnt/fsynced; fsctl fsync /mnt/fsynced
            [ -d /proc/fs/zjournal/vdc-vdb ] || die "no statistics: $(ls /proc/fs/zjournal)"
            zjctl stats --json $F | grep -q '"journals"' || die "zjctl stats"
            crash
        }
        recovered() { mount -t ext4 $F /mnt || die "stock mount"; check_tree; [ -d /mnt/fsynced ] || die "lost"; umount /mnt; fsck $F; }
        for opts in lanes=2 lanes=1; do
            crashed $opts
            zjctl info $F | grep -q "journal device *$J" || die "$(zjctl info $F)"
            zjctl recover --no-fsck $F; [ $? = 1 ] || die "zjctl recover"
            recovered
            crashed $opts
            command fsck.zext4 -p $F; [ $? -le 1 ] || die "fsck.zext4: $?"
            recovered
            crashed $opts
            command fsck.zext4 -p -j $J $F; [ $? -le 1 ] || die "fsck.zext4 -j: $?"
            recovered
        done
        # mounted, neither of them is written
        mnt $F lanes=2; zjctl recover $F 2>&1 | grep -q 'is mounted' || die "recovers what is mounted"; unmnt
        # the number of another device
        debugfs -w -R 'ssv journal_dev 0xfe00' $F >/dev/null 2>&1; crashed_by_number=$(zjctl info --json $F)
        case $crashed_by_number in *"\"device\":\"$J\""*) ;; *) die "not found by UUID: $crashed_by_number" ;; esac
    """, timeout=240)
