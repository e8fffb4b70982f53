# SPDX-License-Identifier: GPL-2.0-only
"""Journaled quota: who shares a dquot is tied, others are not, and no power cut makes usage wrong."""

import os
import re

import pytest

import conftest
from test_sharing import counted

CUTS = int(os.environ.get("ZJ_CUTS", "8"))
PROJECTS = "-O quota,project -E quotatype=prjquota"
# A disk of a busy host is as slow as one with a head, which would get one lane.
LANES = "" if conftest.FSTYPE == "ext4" else ",lanes=2"

# Two files in different blocks of the inode table; four projects have an entry in the quota file.
FILES = """
    modprobe -q quota_v2
    for n in $(seq 40); do echo $n >/mnt/f$n; done
    for n in 10 11 20 21; do : >/mnt/of$n; chattr -p $n /mnt/of$n || die chattr; done
    chattr -p 10 /mnt/f1; chattr -p 11 /mnt/f39
"""


@pytest.mark.zext4
def test_projects_are_not_tied(guest):
    """Usage moves from one project to another, in each lane between its own two."""
    ties, _ = counted(guest, 'both "chattr -p 2\\$n /mnt/f\\$((1 + 38 * n))"', setup=FILES, mkfs=PROJECTS)
    assert ties == {}


@pytest.mark.zext4
def test_one_project_ties(guest):
    ties, _ = counted(guest, 'both "chattr -p 20 /mnt/f\\$((1 + 38 * n))"', setup=FILES, mkfs=PROJECTS)
    assert ties == {"quota": 1}


@pytest.mark.zext4
def test_what_charges_nothing_is_not_tied(guest):
    """All files are the same user's."""
    ties, _ = counted(guest, 'both "chmod 600 /mnt/f\\$((1 + 38 * n))"', setup=FILES, mkfs="-O quota,project")
    assert ties == {}


@pytest.mark.zext4
def test_boot_loaders_file_is_swapped(guest):
    """One handle has two inodes, and charges the file's three users. Stock's is too small: tests/stock."""
    guest("""
        modprobe -q quota_v2
        mk /dev/vda -O quota,project -E quotatype=usrquota:grpquota:prjquota -J size=8
        mnt /dev/vda
        seq 3000 >/mnt/f; chown 1000:1001 /mnt/f; chattr -p 7 /mnt/f; sync
        fsctl swap-boot /mnt/f || die swap
        seq 9000 >/mnt/f; sync
        fsctl swap-boot /mnt/f || die "swap back"
        umount /mnt
        e2fsck -fn /dev/vda || die e2fsck
    """)


def test_charge_that_is_half_done(guest):
    """A file's project is charged in core, while its user's entry is still to be read; another user's file of the
    project is fsynced meanwhile, with the entry of the project.
    """
    guest("""
        needs_stacks
        modprobe -q quota_v2
        modprobe zjdisk ndev=1 || die zjdisk
        mk /dev/zjd0 -O quota,project -E quotatype=usrquota:prjquota -J size=8
        mnt /dev/zjd0 noatime,commit=300
        for n in $(seq 40); do : >/mnt/f$n; done
        for n in 1 39; do chattr -p 10 /mnt/f$n && chown $((1000 + n)) /mnt/f$n || die chown; done
        umount /mnt; mnt /dev/zjd0 noatime,commit=300
        exec 3>>/mnt/f1
        echo 1 >/proc/sys/vm/drop_caches
        touch /mnt/f1
        fallocate -l 4096 /mnt/f39 || die fallocate
        fsctl syncfs /mnt || die syncfs

        echo 0 latency 3000000 0 0 >/dev/zjdctl
        taskset 1 fallocate -l 65536 /mnt/f1 & first=$!
        until grep -q dquot_commit /proc/$first/stack; do kill -0 $first || die "the entry is in core"; done
        echo 0 latency 0 0 0 >/dev/zjdctl
        taskset 2 fallocate -l 65536 /mnt/f39 || die fallocate
        fsctl fsync /mnt/f39 || die fsync
        fsctl shutdown 2 /mnt || die shutdown
        wait $first; exec 3>&-
        umount /mnt || die umount
        mnt /dev/zjd0
        unmnt; fsck /dev/zjd0; rmmod zjdisk
    """)


def test_usage_that_was_read(guest):
    """Nothing else ties the reader to the lane that has moved a file to another project."""
    guest(f"""
        mk /dev/vda {PROJECTS}
        mnt /dev/vda noatime,commit=300{LANES}
        {FILES}
        dd if=/dev/zero of=/mnt/f1 bs=64k count=1 2>/dev/null; : >/mnt/other
        fsctl syncfs /mnt || die syncfs
        taskset 1 chattr -p 20 /mnt/f1 || die chattr
        seen=$(taskset 2 fsctl usage /dev/vda p20) || die usage
        [ $seen -ge 65536 ] || die "a file of 64 KiB is not counted: $seen"
        taskset 2 dd if=/dev/zero of=/mnt/other bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        crash
        mnt /dev/vda
        [ $(fsctl usage /dev/vda p20) = $seen ] || die "usage was $seen, and is $(fsctl usage /dev/vda p20)"
        unmnt; fsck /dev/vda
    """)


def test_entry_that_is_not_listed(guest):
    """A project whose last file is gone has no entry in a list of all, nor has it after a crash.

    The entry is removed in the lane that has inserted it, and the reader is in the other one.
    """
    guest(f"""
        mk /dev/vda {PROJECTS}
        mnt /dev/vda noatime,commit=300{LANES}
        {FILES}
        taskset 1 chattr -p 30 /mnt/f20; dd if=/dev/zero of=/mnt/other bs=4k count=1 2>/dev/null
        listed() {{ taskset 2 fsctl usages /dev/vda >/tmp/usages || die usages; grep -q "^$1 " /tmp/usages; }}
        listed 30 || die "project 30 is not listed"
        fsctl syncfs /mnt || die syncfs
        taskset 1 rm /mnt/f20 || die rm
        while listed 30; do :; done
        taskset 2 dd if=/dev/zero of=/mnt/other bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        crash
        mnt /dev/vda
        ! listed 30 || die "project 30 is listed again"
        unmnt; fsck /dev/vda
    """)


# Empty files of user quota in the two formats that stock ext4 journals.
OLDER = r"""
    printf '\021\037\300\331\000\0\0\0\200\072\011\0\200\072\011\0\0\0\0\0\002\0\0\0' >/mnt/aquota.user
    dd if=/dev/zero of=/mnt/aquota.user bs=1 seek=2047 count=1 conv=notrunc 2>/dev/null
    fsctl quota-on /dev/vda /mnt/aquota.user || die quota-on
"""
NEWER = OLDER.replace(r"\331\000", r"\331\001")


def test_entry_that_is_not_listed_in_the_older_format(guest):
    """As above. Quota is switched on anew after the crash, as at a boot."""
    options = f"noatime,commit=300{LANES},usrjquota=aquota.user,jqfmt=vfsv0"
    guest(f"""
        modprobe -q quota_v2
        mk /dev/vda
        mnt /dev/vda {options}
        {OLDER}
        for n in $(seq 40); do echo $n >/mnt/f$n; done; : >/mnt/other
        taskset 1 chown 30 /mnt/f20; dd if=/dev/zero of=/mnt/other bs=4k count=1 2>/dev/null
        listed() {{ taskset 2 fsctl usages /dev/vda u >/tmp/usages || die usages; grep -q "^$1 " /tmp/usages; }}
        listed 30 || die "user 30 is not listed"
        fsctl syncfs /mnt || die syncfs
        taskset 1 rm /mnt/f20 || die rm
        while listed 30; do :; done
        taskset 2 dd if=/dev/zero of=/mnt/other bs=4k count=1 conv=notrunc,fsync 2>/dev/null || die fsync
        crash
        mnt /dev/vda {options}
        fsctl quota-on /dev/vda /mnt/aquota.user || die quota-on
        ! listed 30 || die "user 30 is listed again"
        fsctl quota-off /dev/vda || die quota-off
        unmnt; fsck /dev/vda
    """)


def load(give):
    """A shell's text: two lanes charge owners whose entries come and go, until stop."""
    return f"""
        rm -f /tmp/stop; load=
        for lane in 1 2; do
            n=0
            while [ ! -e /tmp/stop ]; do
                n=$((n + 1)); file=/mnt/f$lane.$((n % 5))
                taskset $lane dd if=/dev/zero of=$file bs=4k count=2 2>/dev/null || die "write $file"
                taskset $lane {give} $((1000 + n % 7)) $file || die "{give} $file"
                [ $((n % 3)) != 0 ] || taskset $lane rm $file || die "rm $file"
            done & load="$load $!"
        done
        stop() {{
            : >/tmp/stop
            for task in $load; do wait $task || die "the load in a lane"; done
            fsctl syncfs /mnt || die syncfs
        }}
    """


@pytest.mark.parametrize("older", [False, True])
def test_switched_off_and_on_under_load(guest, older):
    options = f"noatime,commit=300{LANES},usrjquota=aquota.user,jqfmt=vfsv{0 if older else 1}"
    guest(f"""
        modprobe -q quota_v2
        mk /dev/vda
        mnt /dev/vda {options}
        {OLDER if older else NEWER}
        {load("chown")}
        for n in 1 2 3 4 5; do
            fsctl usages /dev/vda u >/dev/null || die "usages while it is on"
            fsctl quota-off /dev/vda || die quota-off
            fsctl quota-on /dev/vda /mnt/aquota.user || die quota-on
        done
        stop
        fsctl usages /dev/vda u >/tmp/before || die "usages in the end"
        crash
        mnt /dev/vda {options}
        fsctl quota-on /dev/vda /mnt/aquota.user || die "quota-on after the crash"
        fsctl usages /dev/vda u >/tmp/after || die "usages after the crash"
        cmp /tmp/before /tmp/after || die "before: $(cat /tmp/before); after: $(cat /tmp/after)"
        unmnt; fsck /dev/vda
    """)


def test_grown_under_load(guest):
    """The quota file is packed as long as the disk is small, and blocks of 1 KiB have one block of it each."""
    guest(f"""
        modprobe -q quota_v2
        mke2fs -q -F -t ext4 -b 1024 -J size=8 {PROJECTS} /dev/vda 65536k || die mke2fs
        mnt /dev/vda noatime,commit=300{LANES}
        {load("chattr -p")}
        for size in 96 144 256; do grow_mounted /dev/vda ${{size}}M; done
        stop
        fsctl usages /dev/vda >/tmp/before || die "usages in the end"
        crash
        mnt /dev/vda
        fsctl usages /dev/vda >/tmp/after || die "usages after the crash"
        cmp /tmp/before /tmp/after || die "before: $(cat /tmp/before); after: $(cat /tmp/after)"
        [ $(wc -l </tmp/after) -gt 1 ] || die "nothing was charged: $(cat /tmp/after)"
        unmnt; fsck /dev/vda
    """)


@pytest.mark.zext4
def test_list_of_usage_that_nobody_changes(guest):
    """It waits for no commits: each would be one that the reader has caused itself."""
    guest(f"""
        modprobe -q quota_v2
        mk /dev/vda {PROJECTS}
        mnt /dev/vda noatime,commit=300{LANES}
        for n in $(seq 20); do : >/mnt/$n; chattr -p $((1000 * n)) /mnt/$n || die chattr; done
        unmnt; mnt /dev/vda noatime,commit=300{LANES}
        sealed() {{ sed -n 's/^components: \\([0-9]*\\) closed.*/\\1/p' /proc/fs/zjournal/*/info; }}
        before=$(sealed)
        [ $(fsctl usages /dev/vda | wc -l) = 21 ] || die usages
        [ $(($(sealed) - before)) -le 2 ] || die "$(($(sealed) - before)) components for 21 entries"
        unmnt
    """)


def test_memory_of_unmounted(guest):
    """Mounts leave nothing behind. What is allocated for quota has four pages."""
    guest(f"""
        modprobe -q quota_v2
        mk /dev/vda {PROJECTS}
        pages() {{ awk '$1 == "nr_slab_unreclaimable" {{ print $2 }}' /proc/vmstat; }}
        for n in $(seq 10); do mnt /dev/vda; unmnt; done
        before=$(pages)
        for n in $(seq 100); do mnt /dev/vda; unmnt; done
        echo "$before pages before, $(pages) after"
        [ $(($(pages) - before)) -lt 200 ] || die "pages were not freed"
    """)


def test_entry_on_a_full_disk(guest):
    """An entry of a new project fits in a block that others have, where no block is free."""
    guest(f"""
        modprobe -q quota_v2
        mk /dev/vda {PROJECTS} -O ^extents,^64bit -m 0
        mnt /dev/vda
        for n in $(seq 5); do : >/mnt/f$n; done
        chattr -p 10 /mnt/f1 || die chattr
        dd if=/dev/zero of=/mnt/fill bs=1M 2>/dev/null
        dd if=/dev/zero of=/mnt/fill2 bs=4k 2>/dev/null
        fsctl syncfs /mnt || die syncfs
        dd if=/dev/zero of=/mnt/fill3 bs=4k 2>/dev/null
        mark
        for n in 2 3 4 5; do
            chattr -p $((10 + n)) /mnt/f$n || die "chattr: $(df /mnt | tail -n 1; dmesg | tail -n 3)"
            [ "$(fsctl usage /dev/vda p$((10 + n)))" = 0 ] || die usage
        done
        unmnt; fsck /dev/vda
    """)


def test_file_that_was_shared_with_stock(guest):
    """Entries that each of both has inserted and removed are in a tree that the other and e2fsck can use."""
    guest(f"""
        mk /dev/vda {PROJECTS}
        for type in $FS ext4 $FS ext4; do
            modprobe -q quota_v2
            mount -t $type -o prjquota /dev/vda /mnt || die "mount -t $type"
            for n in $(seq 40); do
                : >/mnt/$n; chattr -p $((1000 * n)) /mnt/$n || die chattr
                fallocate -l 8192 /mnt/$n || die fallocate
            done
            fsctl syncfs /mnt || die syncfs
            rm /mnt/*[13579] || die rm
            for n in $(seq 2 2 40); do
                [ $(fsctl usage /dev/vda p${{n}}000) = 8192 ] || die "$type: $n has $(fsctl usage /dev/vda p${{n}}000)"
            done
            unmnt; fsck /dev/vda
        done
    """)


# A quota that limits a user who may write to the files.
LIMITED = f"""
    mk /dev/vda {PROJECTS}
    mnt /dev/vda noatime,commit=300,prjquota{LANES}
    {FILES}
    chmod 666 /mnt/f*
"""


@pytest.mark.parametrize("freed", ["rm", "truncate"])
def test_space_that_was_given_back(guest, freed):
    """One lane gives back what another one needs below the limit; what was fsynced there keeps to the limit."""
    give = {"rm": "rm /mnt/f1", "truncate": "truncate -s 0 /mnt/f1"}[freed]
    guest(f"""
        {LIMITED}
        limit /dev/vda 10 131072 || die limit
        as_user "dd if=/dev/zero of=/mnt/f1 bs=64k count=2" 2>/dev/null || die "below the limit"
        chattr -p 10 /mnt/f39; fsctl syncfs /mnt || die syncfs
        ! as_user "dd if=/dev/zero of=/mnt/f39 bs=8k count=1 conv=notrunc,fsync" 2>/dev/null || die "above the limit"
        taskset 1 {give} || die give
        as_user "taskset 2 dd if=/dev/zero of=/mnt/f39 bs=64k count=2 conv=fsync" 2>/dev/null ||
            die "below the limit again"
        crash
        mnt /dev/vda prjquota
        set -- $(limit /dev/vda 10)
        [ "$1 $2" = "131072 131072" ] || die "$1 of $2 bytes in use"
        [ "$(stat -c %s /mnt/f39)" = 131072 ] && [ ! -s /mnt/f1 ] || die "the files: $(ls -l /mnt/f1 /mnt/f39)"
        unmnt; fsck /dev/vda
    """)


def test_limit_in_all_lanes(guest):
    """Four writers of one project, in two lanes, fill it to its limit, no further, and stock has the same usage."""
    guest(f"""
        {LIMITED}
        limit /dev/vda 10 4194304 || die limit
        for n in 2 3 4 5; do chattr -p 10 /mnt/f$n; done
        for n in 0 1 2 3; do
            as_user "while taskset $((1 + n % 2)) dd if=/dev/zero of=/mnt/f$((n + 2)) bs=16k count=4 \\
                oflag=append conv=notrunc,fsync; do :; done" 2>/tmp/said$n &
        done
        wait
        for n in 0 1 2 3; do
            grep -qi "quota exceeded" /tmp/said$n || die "writer $n ended with: $(cat /tmp/said$n)"
        done
        fsctl syncfs /mnt || die syncfs
        # ext4 charges the blocks of a file's extent tree where the data is allocated, whatever the limit.
        trees=0
        for n in 2 3 4 5; do
            trees=$((trees + $(stat -c "%b * 512 - (%s + 4095) / 4096 * 4096" /mnt/f$n)))
        done
        [ $trees -ge 0 ] && [ $trees -le $((4 * 2 * 4096)) ] || die "$trees bytes of extent trees"
        set -- $(limit /dev/vda 10)
        [ $1 -le $((4194304 + trees)) ] && [ $1 -gt $((4194304 - 4096)) ] || die "$1 bytes in use, $trees of trees"
        crash
        mnt /dev/vda prjquota
        [ "$(limit /dev/vda 10)" = "$*" ] || die "was $*, and is $(limit /dev/vda 10)"
        unmnt; fsck /dev/vda
        mount -t ext4 -o prjquota /dev/vda /mnt || die "stock ext4"
        [ "$(limit /dev/vda 10)" = "$*" ] || die "was $*, and is $(limit /dev/vda 10) on stock ext4"
        umount /mnt
    """)


def test_time_of_grace(guest):
    """It begins above the soft limit, survives a crash, ends writes when it is over, and is gone below the limit."""
    guest(f"""
        {LIMITED}
        limit /dev/vda 10 1048576 65536 || die limit
        chattr -p 10 /mnt/f39; fsctl syncfs /mnt || die syncfs
        grace() {{ set -- $(limit /dev/vda 10); echo $4; }}
        [ $(grace) = 0 ] || die "a time of grace below the limit: $(grace)"
        as_user "taskset 1 dd if=/dev/zero of=/mnt/f1 bs=64k count=2 conv=fsync" 2>/dev/null ||
            die "below the hard limit"
        until=$(grace)
        [ $until -gt $(date +%s) ] || die "no time of grace: $until"
        crash
        mnt /dev/vda prjquota
        [ $(grace) = $until ] || die "the time of grace was $until, and is $(grace)"
        limit /dev/vda 10 grace 1 || die "set the time"
        ! as_user "taskset 2 dd if=/dev/zero of=/mnt/f39 bs=4k seek=3 count=1 conv=notrunc,fsync" 2>/tmp/said ||
            die "a write after the time of grace"
        grep -qi "quota exceeded" /tmp/said || die "$(cat /tmp/said)"
        taskset 1 truncate -s 4096 /mnt/f1 || die truncate
        as_user "taskset 2 dd if=/dev/zero of=/mnt/f39 bs=4k seek=3 count=1 conv=notrunc,fsync" 2>/tmp/said ||
            die "$(cat /tmp/said)"
        [ $(grace) = 0 ] || die "a time of grace below the limit: $(grace)"
        crash
        mnt /dev/vda prjquota
        [ $(grace) = 0 ] && [ ! -s /mnt/f1 -o "$(stat -c %s /mnt/f1)" = 4096 ] ||
            die "after the crash: $(limit /dev/vda 10) $(ls -l /mnt/f1)"
        unmnt; fsck /dev/vda
    """)


# What is done with the load's directory before and beside it.
BESIDE = {
    "names": "",
    "fsx": "'AFTER=sh /lib/zj/projects.sh'",
    "grow": "'AFTER=sh /lib/zj/projects.sh' 'WITH=sh /lib/zj/projects.sh grow'",
}


@pytest.fixture(name="machine", scope="module")
def machine_fixture():
    """One VM for all power cuts."""
    guest = conftest.Guest(cpus=4, memory="4G")
    yield guest
    guest.close()


@pytest.mark.parametrize("how", BESIDE)
def test_power_cuts(how, machine):
    """e2fsck compares the usage after each cut with the files.

    With fsx each file that is changed has its own project; with grow entries are inserted and removed beside it.
    """
    load = "names" if how == "names" else "fsx"
    with machine.recording() as guest:
        result = guest.sh(f"""
            for m in quota_v2 $FS "zjdisk ndev=5"; do modprobe $m || die $m; done
            sh /lib/zj/crash.sh FSTYPE=$FS LOAD={load} CUTS={CUTS} JOBS=2 NESTED=4 SEED=$(date +%s) TIME=3 \\
                BIN=/usr/bin 'MKFS_OPTS=-b 4096 -J size=16 {PROJECTS}' {BESIDE[how]}
        """, timeout=300)
        cuts = re.findall(r"^ok cut=", result.out, re.M)
        assert result.rc == 0 and len(cuts) >= CUTS, result.out[-4000:]


IDS = os.environ.get("ZJ_IDS")
ALL_TYPES = "-O quota,project -E quotatype=usrquota:grpquota:prjquota"

# A disk of 128 MiB, whose quota files are packed at once; several kinds of logs, and who recovers them.
MANY = {
    "lanes": "MOUNT_OPTS=usrquota,grpquota,prjquota NESTED=4",
    "blocks-1k": "MOUNT_OPTS=usrquota,grpquota,prjquota NESTED=4 'MKFS_OPTS=-b 1024 -J size=16 {types}'",
    "apart": "NESTED=0 'MKFS_OPTS=-b 4096 -J size=16 {types}'",
    "fsck": "NESTED=0 'RECOVER=fsck.zext4 -p'",
    "jbd2": "MOUNT_OPTS=lanes=1,log=jbd2 OTHERS=1 NESTED=0",
}


@pytest.mark.parametrize("how", list(MANY) if IDS else ["lanes"])
def test_many_ids(how, machine):
    """Users, groups and projects come and go in all lanes; after a cut the quota is what the files take.

    ZJ_IDS=2000 has so many of them, and every way to recover; then stock ext4 or zext4 charges on.
    """
    cuts = CUTS if IDS else 3
    with machine.recording() as guest:
        result = guest.sh(f"""
            for m in quota_v2 $FS "zjdisk ndev=9 size_mb=128"; do modprobe $m || die $m; done
            sh /lib/zj/crash.sh FSTYPE=$FS LOAD=ids IDS={IDS or 150} CUTS={cuts} JOBS=2 SEED=$(date +%s) \\
                TIME={10 if IDS else 2} BIN=/usr/bin 'MKFS_OPTS=-b 4096 -J size=16 {ALL_TYPES}' \\
                {MANY[how].format(types=ALL_TYPES)}
        """, timeout=1200 if IDS else 120)
        print(result.out)
        found = [int(n) for n in re.findall(r"^ok cut=.* ids=(\d+)", result.out, re.M)]
        assert result.rc == 0 and len(found) >= cuts, result.out[-4000:]
    assert min(found) >= int(IDS or 150) // 2, "what was synced before the load is gone"
