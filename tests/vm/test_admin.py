# SPDX-License-Identifier: GPL-2.0-only
"""What an administrator meets: who may read the statistics, what the kernel says, tools that know ext4 by name."""

import pytest

pytestmark = pytest.mark.zext4


def test_statistics_are_roots(guest):
    """They tell what other tenants do. Root may let a group read them, until the unmount."""
    guest("""
        mk /dev/vda; mnt /dev/vda
        info=$(echo /proc/fs/zjournal/*/info)
        [ "$(stat -c %a:%u $info)" = 400:0 ] || die "$(ls -l $info)"
        zjctl stats --prometheus | grep -qx "zjournal_up{journal=\\"$(kernel_name /dev/vda)-8\\"} 1" || die "no metrics"
        chmod 440 $info && chgrp 1234 $info || die "chmod or chgrp"
        [ "$(stat -c %a:%g $info)" = 440:1234 ] || die "$(ls -l $info)"
        unmnt; mnt /dev/vda
        [ "$(stat -c %a:%g $info)" = 400:0 ] || die "$(ls -l $info)"
        unmnt
    """)


def test_shutdown_is_not_called_an_error(guest):
    guest("""
        mk /dev/vda; mnt /dev/vda
        touch /mnt/x; dmesg -c >/dev/null
        fsctl shutdown 2 /mnt || die "shutdown ioctl"
        touch /mnt/y 2>/dev/null
        unmnt
        dmesg | grep -q "stopped, because the file system was shut down on request" || die "$(dmesg)"
        ! dmesg | grep "aborted: error" || die "a shutdown is reported as an error"
        mnt /dev/vda; unmnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("held", ["", "exec 9</mnt/f; rm /mnt/f"], ids=["no orphan", "an orphan"])
def test_boot_after_a_crash_checks_everything_only_for_orphans(guest, held):
    """A mount marks the orphan file as in use, which makes e2fsck check the whole file system."""
    guest(f"""
        mk /dev/vda -O orphan_file; mnt /dev/vda
        echo text >/mnt/f; mkdir /mnt/kept; {held}
        fsctl syncfs /mnt || die "syncfs"
        mkdir /mnt/lost; fsctl shutdown 2 /mnt || die "shutdown ioctl"
        exec 9<&-; unmnt
        dumpe2fs -h /dev/vda 2>/dev/null | grep -q orphan_present || die "not as after a crash"
        fsck.zext4 -a /dev/vda >/tmp/out 2>&1; [ $? -le 1 ] || die "fsck.zext4: $(cat /tmp/out)"
        grep -q replayed /tmp/out || die "no log: $(cat /tmp/out)"
        [ "{'yes' if held else 'no'}" = "$(grep -q 'e2fsck -fp finishes' /tmp/out && echo yes || echo no)" ] ||
            die "$(cat /tmp/out)"
        fsck /dev/vda
        mnt /dev/vda; [ -d /mnt/kept ] || die "what was synced is gone"; unmnt
        mount -t ext4 /dev/vda /mnt && umount /mnt || die "stock mount"
    """)


@pytest.mark.parametrize("feature", ["orphan_file", "^orphan_file"])
def test_sysrq_with_a_deleted_file_open(guest, feature):
    """SysRq s, u, and a reset: what is deleted stays an orphan, and nothing is called an error."""
    guest(f"""
        mkdir -p /mnt2; mke2fs -q -F -t ext4 -b 4096 -O {feature} /dev/vda 60M || die mke2fs; mnt /dev/vda
        dd if=/dev/zero of=/mnt/open bs=64k count=20 2>/dev/null; sync
        exec 9</mnt/open; rm /mnt/open; echo new >/mnt/new
        echo s >/proc/sysrq-trigger; sleep 1; echo u >/proc/sysrq-trigger
        n=0; until grep -q ' /mnt .* ro' /proc/mounts; do
            sleep 0.2; n=$((n + 1)); [ $n -lt 100 ] || die "still read-write"
        done
        state() {{ dumpe2fs -h $1 2>/dev/null | grep -E '^Filesystem state|^FS Error|^Filesystem features'; }}
        whole() {{
            [ "$(cat /mnt/new)" = new ] && [ ! -e /mnt/open ] || die "$(ls -l /mnt)"
        }}
        # What a reset leaves, for each that may come next.
        for next in $FS ext4 fsck.zext4; do
            dd if=/dev/vda of=/dev/vdc bs=1M count=60 2>/dev/null
            state /dev/vdc >/tmp/out
            grep -q 'state: *clean$' /tmp/out && ! grep -q 'FS Error' /tmp/out && ! grep -q needs_recovery /tmp/out ||
                die "$(cat /tmp/out)"
            case $next in
            # Not e2fsck -p, which up to 1.47.0 leaves the entry of an orphan that it has finished.
            fsck.zext4) fsck.zext4 -p /dev/vdc >/tmp/out 2>&1; [ $? -le 1 ] || die "fsck.zext4 -p: $(cat /tmp/out)" ;;
            *) mount -t $next /dev/vdc /mnt2 || die "mount -t $next"; umount /mnt2 || die umount ;;
            esac
            fsck /dev/vdc
            ! state /dev/vdc | grep -q 'FS Error' || die "an error was recorded"
        done
        # It goes on: the last close, an unmount, a mount.
        exec 9<&-
        unmnt; mnt /dev/vda; whole; echo more >/mnt/more; unmnt; fsck /dev/vda
    """)


def test_clone_beside_the_original(guest):
    """The same UUID twice, one of them as a crash would have left it: nothing of one is the other's."""
    guest("""
        mkdir -p /mnt2
        mke2fs -q -F -t ext4 -b 4096 /dev/vda 60M || die mke2fs
        mnt /dev/vda lanes=2; echo one >/mnt/f; fsctl fsync /mnt/f || die fsync
        dd if=/dev/vda of=/dev/vdc bs=1M count=60 2>/dev/null
        mount -t $FS -o lanes=2 /dev/vdc /mnt2 || die "the clone: $(dmesg | tail -n 3)"
        [ "$(cat /mnt2/f)" = one ] || die "the clone lacks what was synced"
        for dir in /proc/fs/zjournal /sys/kernel/debug/zjournal; do
            [ $dir = /proc/fs/zjournal ] || grep -q debugfs /proc/mounts || mount -t debugfs debugfs /sys/kernel/debug
            [ "$(ls $dir | tr '\\n' ' ')" = "$(kernel_name /dev/vda)-8 $(kernel_name /dev/vdc)-8 " ] || die "$dir: $(ls $dir)"
        done
        echo two >/mnt/f; echo three >/mnt2/f; fsctl fsync /mnt/f /mnt2/f || die fsync
        zjctl info /mnt2 | grep -q '^/dev/vdc' || die "zjctl info of the clone: $(zjctl info /mnt2)"
        fsctl shutdown 2 /mnt; fsctl shutdown 2 /mnt2; umount /mnt /mnt2 || die umount
        zjctl recover /dev/vdc >/tmp/out 2>&1; [ $? -le 1 ] || die "zjctl recover: $(cat /tmp/out)"
        mnt /dev/vda lanes=2; mount -t $FS /dev/vdc /mnt2 || die "the clone again"
        [ "$(cat /mnt/f) $(cat /mnt2/f)" = "two three" ] || die "$(cat /mnt/f /mnt2/f)"
        umount /mnt /mnt2; fsck /dev/vda; fsck /dev/vdc
    """)


def test_clone_of_one_with_a_journal_of_its_own(guest):
    """Both name the same journal, which has one user only; it is refused to the clone, and the original goes on."""
    guest("""
        mke2fs -q -F -O journal_dev -b 4096 /dev/vdb 16M || die mke2fs
        mke2fs -q -F -t ext4 -b 4096 -J device=/dev/vdb /dev/vda 60M || die mke2fs
        mnt /dev/vda lanes=2; echo one >/mnt/f; fsctl fsync /mnt/f || die fsync
        dd if=/dev/vda of=/dev/vdc bs=1M count=60 2>/dev/null
        mkdir -p /mnt2
        ! mount -t $FS /dev/vdc /mnt2 2>/dev/null || die "two file systems use one journal"
        zjctl recover /dev/vdc >/tmp/out 2>&1; [ $? = 8 ] || die "zjctl recover: $(cat /tmp/out)"
        echo two >/mnt/f; fsctl fsync /mnt/f || die fsync
        fsctl shutdown 2 /mnt; unmnt; mnt /dev/vda
        [ "$(cat /mnt/f)" = two ] || die "$(cat /mnt/f)"
        unmnt; fsck /dev/vda
    """)


def test_zjctl_beside_a_mount(guest):
    """Whoever comes first has the device; the other one is refused, and neither harms the other."""
    guest("""
        mke2fs -q -F -t ext4 -b 4096 /dev/vdc 60M || die mke2fs
        rm -f /tmp/stop; mounts=0; writes=0
        while [ ! -e /tmp/stop ]; do
            for words in "recover" "convert --to-ext4" "resize-journal --size 5" "resize-journal --size 6"; do
                zjctl $words /dev/vdc >/tmp/said 2>&1; rc=$?
                case $rc in
                0 | 1) writes=$((writes + 1)) ;;
                4 | 8) grep -Eq 'mounted|in use|needs_recovery|not empty|crashed|not clean|partly deleted' /tmp/said ||
                    { echo "$words: $rc $(cat /tmp/said)" >>/tmp/wrong; } ;;
                *) echo "$words: $rc $(cat /tmp/said)" >>/tmp/wrong ;;
                esac
            done
        done & tool=$!
        rm -f /tmp/wrong
        for n in $(seq 15); do
            mount -t $FS /dev/vdc /mnt 2>/dev/null || continue
            mounts=$((mounts + 1)); echo $n >>/mnt/f; fsctl fsync /mnt/f || die fsync
            [ $((n % 3)) != 0 ] || fsctl shutdown 2 /mnt
            umount /mnt || die umount
        done
        : >/tmp/stop; wait $tool
        [ ! -e /tmp/wrong ] || die "$(cat /tmp/wrong)"
        [ $mounts -gt 0 ] || die "no mount"
        zjctl recover /dev/vdc >/tmp/said 2>&1; [ $? -le 1 ] || die "$(cat /tmp/said)"
        mnt /dev/vdc; [ $(wc -l </mnt/f) = $mounts ] || die "$mounts mounts: $(cat /mnt/f)"; unmnt; fsck /dev/vdc
    """, timeout=300)


def test_zjctl_looks_at_mounts(guest):
    """status, report and top of what is really mounted: well, aborted, without a journal, and with a stock log."""
    said = guest("""
        mkdir -p /mnt2 /mnt3
        mk /dev/vda; mnt /dev/vda lanes=2
        mke2fs -q -F -t ext4 -O ^has_journal /dev/vdc 60M || die mke2fs
        mount -t $FS /dev/vdc /mnt2 || die "no journal"
        mke2fs -q -F -t ext4 -L topsecret /dev/vdb 60M || die mke2fs
        mount -t $FS -o log=jbd2 /dev/vdb /mnt3 || die "stock log"
        mkdir /mnt/folder-topsecret; echo contents-topsecret >/mnt/folder-topsecret/f
        fsctl fsync /mnt/folder-topsecret/f || die fsync
        row() { zjctl status -d 0 >/tmp/out 2>/tmp/err; echo "status $?: $(grep "^/dev/$1 " /tmp/out | tr -s ' ')"; }
        row vda; row vdb; row vdc
        zjctl report /dev/vda /dev/vdb >/tmp/report || die "report: $?"
        ! grep -a topsecret /tmp/report || die "a name, a label or contents"
        for part in status mounts "kernel log" "zjctl info /dev/vda" "zjctl check /dev/vdb"; do
            grep -q "^== .*$part" /tmp/report || die "no $part: $(grep ^== /tmp/report)"
        done
        zjctl top -n 1 -d 0.2 >/tmp/out || die "top: $?"
        tr -s ' ' </tmp/out | sed 's/^/top: /'
        zjctl top -n 1 -d 0.2 /mnt2 >/tmp/out 2>&1; echo "top $?: $(cat /tmp/out)"
        fsctl shutdown 2 /mnt || die "shutdown ioctl"
        row vda; cat /tmp/err
        umount /mnt /mnt2 /mnt3 || die umount
        zjctl status; echo "status $?"
    """)
    for line in (
            "status 0: /dev/vda /mnt 2 zj well nothing -", "status 0: /dev/vdb /mnt3 1 jbd2 well nothing -",
            "status 0: /dev/vdc /mnt2 - - no journal - -", "status 1: /dev/vda /mnt 2 zj aborted nothing -",
            "top: /dev/vda on /mnt: live, 2 lanes, log=zj", "top: /dev/vdb on /mnt3: ",
            "top 8: zjctl: /mnt2: has no journal", "zjctl: warning: /mnt: the journal is aborted",
            "no zext4 is mounted, and /etc/fstab names none\nstatus 0"):
        assert f"\n{line}" in f"\n{said}", said
