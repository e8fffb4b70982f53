# SPDX-License-Identifier: GPL-2.0-only
"""Living beside the stock tools: what they may do between two zext4 mounts, and what they must refuse."""

import pytest

import conftest
import vm

pytestmark = pytest.mark.zext4

CRASHED = """
    mk /dev/vdc -J size=8
    mnt /dev/vdc; known_tree; sync
    mkdir /mnt/fsynced && fsctl fsync /mnt/fsynced || die "fsync"
    crash
    before=$(digest /dev/vdc)
"""

# A file system smaller than its disk.
SIZED = """
    mk_sized() { mke2fs -q -F -t ext4 -b 4096 /dev/vda "$1" || die "mke2fs"; }
"""

RECOVERS = """
    mnt /dev/vdc; check_tree; [ -d /mnt/fsynced ] || die "what was fsynced is gone"
    unmnt; fsck /dev/vdc
    mount -t ext4 /dev/vdc /mnt || die "stock mount afterwards"
    check_tree; umount /mnt; fsck /dev/vdc
"""


def test_round_trip(guest):
    """Clean zext4, every stock tool, zext4 again."""
    guest(SIZED + """
        mk_sized 128M; mnt /dev/vda; known_tree; stress -p 2 -n 200 /mnt; unmnt
        e2fsck -fp /dev/vda || die "e2fsck -fp"
        tune2fs -L renamed -c 20 -i 1m /dev/vda || die "tune2fs"
        debugfs -w -R 'mkdir by-debugfs' /dev/vda || die "debugfs"
        dumpe2fs /dev/vda >/dev/null || die "dumpe2fs"
        mnt /dev/vda; check_tree; [ -d /mnt/by-debugfs ] || die "debugfs's directory"
        stress -p 2 -n 100 /mnt; unmnt
        e2fsck -fp /dev/vda || die "e2fsck -fp"
        resize2fs /dev/vda 256M || die "grow"
        mnt /dev/vda; check_tree; stress -p 2 -n 100 /mnt; unmnt
        e2fsck -fp /dev/vda || die "e2fsck -fp"
        resize2fs /dev/vda 200M || die "shrink"
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
        mount -t ext4 /dev/vda /mnt || die "stock mount"
        check_tree; grow_mounted /dev/vda
        umount /mnt
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
        [ "$(e2label /dev/vda 2>/dev/null || dumpe2fs -h /dev/vda 2>/dev/null | sed -n 's/^Filesystem volume name: *//p')" = renamed ] ||
            die "the label is gone"
    """)


def test_online_growth(guest):
    """resize2fs on a mounted zext4, under load, and a crash right after it."""
    guest(SIZED + """
        mk_sized 64M; mnt /dev/vda; known_tree; sync
        stress -p 2 -t 6 /mnt >/dev/null 2>&1 & load=$!
        sleep 1
        grow_mounted /dev/vda 192M
        wait $load || die "stress"
        check_tree; fsctl syncfs /mnt
        grow_mounted /dev/vda
        fsctl syncfs /mnt; crash
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
        dumpe2fs -h /dev/vda 2>/dev/null | grep -q '^Block count: *65536$' || die "not grown to the end"
    """)


@pytest.mark.parametrize("options", ["-J size=4", "-J size=32", "-J size=16,fast_commit_size=1024"])
def test_journal_made_anew(guest, options):
    guest(f"""
        mk /dev/vda -J size=16; mnt /dev/vda; known_tree; stress -p 2 -n 100 /mnt; unmnt
        tune2fs -O ^has_journal /dev/vda || die "tune2fs -O ^has_journal"
        mnt /dev/vda; check_tree; unmnt
        tune2fs {options} /dev/vda || die "tune2fs -J"
        mnt /dev/vda; check_tree; stress -p 3 -n 200 /mnt; fsctl syncfs /mnt; crash
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("tool", ["mount -t ext4 /dev/vdc /mnt", "mount -t ext4 -o ro /dev/vdc /mnt",
                                  "e2fsck -n /dev/vdc", "e2fsck -fy /dev/vdc",
                                  "resize2fs /dev/vdc 100M"])
def test_crashed_is_refused(guest, tool):
    """A log that only zjournal can read: the tool fails and changes no byte."""
    guest(CRASHED + f"""
        {tool} >/tmp/out 2>&1 && die "succeeded on a crashed zext4: $(cat /tmp/out)"
        [ "$(digest /dev/vdc)" = "$before" ] || die "it wrote: $(cat /tmp/out)"
    """ + RECOVERS)


@pytest.mark.parametrize("tool", ["e2fsck -p /dev/vdc", "tune2fs -O ^has_journal /dev/vdc",
                                  "tune2fs -f -O ^has_journal /dev/vdc"])
def test_some_leave_their_mark(guest, tool):
    """These fail as well, but not before they wrote: e2fsck the error flag in the super block,
    tune2fs an empty log in the journal's.  Nothing is lost by either."""
    guest(CRASHED + f"""
        dd if=/dev/vdc of=/tmp/before bs=64k 2>/dev/null
        {tool} >/tmp/out 2>&1 && die "succeeded on a crashed zext4"
        cmp -l /tmp/before /dev/vdc >/tmp/diff
        # s_state, or s_start and s_sequence; times and checksums.
        [ "$(wc -l </tmp/diff)" -le 24 ] || die "it wrote: $(cat /tmp/out /tmp/diff)"
    """ + RECOVERS.replace("unmnt; fsck /dev/vdc", "unmnt; e2fsck -fp /dev/vdc; fsck /dev/vdc"))


BOOT = """
    modprobe zext4
    echo "/dev/vda /data zext4 defaults 0 2" >/etc/fstab
    mkdir -p /data
    command fsck -A -a -T; [ $? -le 1 ] || die "fsck at boot: $?"
    mount -a || die "mount -a"
    grep -q " /data zext4" /proc/mounts || die "not mounted: $(cat /proc/mounts)"
"""


def test_fstab_and_fsck_over_a_power_cut(tmp):
    """A boot as an administrator sets it up: fsck.zext4 replays, e2fsck checks, fstab mounts."""
    disk = vm.Disk(str(tmp / "disk.img"), size="256M")
    with conftest.new_vm(disks=[disk]) as machine:
        assert machine.sh("mk /dev/vda; e2fsck -fn /dev/vda"), "mkfs"
        job = machine.sh(BOOT + """
            mkdir /data/kept; echo text >/data/kept/file; fsctl fsync /data/kept/file /data/kept
            stress -p 2 -t 60 /data >/dev/null 2>&1 &
            sleep 2; fsctl fsync /data/kept; echo done
        """)
        assert job, job.out
        machine.kill()
    with conftest.new_vm(disks=[vm.Disk(str(tmp / "disk.img"))]) as machine:
        for option, status in (("-n", 4), ("-a", None), ("-n", 0)):
            result = machine.sh(f"fsck.zext4 {option} /dev/vda; rc=$?; echo rc=$rc; [ $rc = {status or 0} ] || [ -z '{status or ''}' -a $rc -le 1 ]")
            assert result, f"fsck.zext4 {option}: {result.out}"
        result = machine.sh(BOOT + """
            [ "$(cat /data/kept/file)" = text ] || die "what was fsynced is gone"
            umount /data; fsck.zext4 -f -n /dev/vda || die "e2fsck: $?"
        """)
        assert result, result.out
        machine.check_console()
