# SPDX-License-Identifier: GPL-2.0-only
"""lane_by=: whose lane a handle starts in.  The guest has two CPUs and the journal four lanes,
so that handles in lanes 2 and 3 cannot be there by CPU."""

import re

import pytest

pytestmark = pytest.mark.zext4

# Other writers take the CPUs' lanes first: c0 and c1, d0 and d1.
PRELUDE = """
    handles() {
        fsctl syncfs /mnt || die syncfs
        sed -n 's/^lane *\\([0-9]*\\):.* \\([0-9]*\\) handles.*/\\2/p' /proc/fs/zjournal/*/info |
            tr '\\n' ' '
    }
    # counted WHAT: runs the function of that name, prints what each lane had of it
    counted() {
        before=$(handles)
        $1
        echo "$1: $before: $(handles)"
    }
    # fill CPUS DIR: 40 files by somebody on one of these CPUs, and write-back on any
    fill() {
        mkdir -p $2
        taskset $1 sh -c 'for n in $(seq 40); do echo $n >$0/$$.$n || exit 1; done' $2 || die "fill $2"
    }
    # dirs CPUS DIR: 40 directories, so nothing for write-back
    dirs() { taskset $1 sh -c 'for n in $(seq 40); do mkdir $0/$$.$n || exit 1; done' $2 || die "dirs $2"; }
"""

DIRS = PRELUDE + """
    mk /dev/vda; mkdir -p /mnt
    start() {
        mnt /dev/vda lanes=4,commit=300,$1
        mkdir -p /mnt/d0 /mnt/d1 /mnt/a /mnt/b
        for d in d0 d1 a b; do echo $d >>/mnt/$d/first; done
        fsctl syncfs /mnt
    }
"""

CGROUPS = PRELUDE + """
    mkdir -p /cg
    grep -q ' /cg ' /proc/mounts || mount -t cgroup2 none /cg || die "no cgroup2"
    # in_group NAME COMMAND...
    in_group() {
        mkdir -p /cg/$1
        sh -c 'echo $$ >/cg/$0/cgroup.procs && exec "$@"' "$@" || die "$*"
    }
    start() {
        mk /dev/vda
        mnt /dev/vda lanes=4,commit=300,lane_by=cgroup
        mkdir /mnt/c0 /mnt/c1 /mnt/c2 /mnt/c3
        for c in c0 c1 c2 c3; do in_group $c touch /mnt/$c/first; done
        fsctl syncfs /mnt
    }
"""


def lanes(out, what):
    """Handles that each lane started in a counted step."""
    found = re.search(rf"^{what}: ([\d ]+): ([\d ]+)$", out, re.M)
    assert found, out
    before, after = [list(map(int, part.split())) for part in found.groups()]
    assert len(before) == len(after) == 4, out
    return [b - a for a, b in zip(before, after)]


def only(used, *mine):
    """Whether these lanes have the handles; any lane may change the super block."""
    return all(n >= 40 if lane in mine else n <= 4 for lane, n in enumerate(used))


def test_two_directories_on_one_cpu(guest):
    out = guest(DIRS + """
        start lane_by=dir
        both() { fill 1 /mnt/a; fill 1 /mnt/b; }
        deep() { fill 1 /mnt/a/x/y/z; }
        counted both; counted deep
        grep -o "lane_by=[a-z]*" /proc/mounts
        unmnt; fsck /dev/vda
    """)
    assert "lane_by=dir" in out
    assert only(lanes(out, "both"), 2, 3)
    assert only(lanes(out, "deep"), 2)


def test_one_directory_on_two_cpus(guest):
    out = guest(DIRS + """
        start lane_by=dir
        both() { fill 1 /mnt/b & fill 2 /mnt/b; wait; }
        counted both
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "both"), 3)


def test_root_directory_goes_by_cpu(guest):
    out = guest(DIRS + """
        start lane_by=dir
        first() { dirs 1 /mnt; }
        second() { dirs 2 /mnt; }
        counted first; counted second
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "first"), 0)
    assert only(lanes(out, "second"), 1)


def test_inodes_are_found_again(guest):
    """The lookup after another mount decides; a renamed directory counts by its new place."""
    out = guest(DIRS + """
        start lane_by=dir
        mkdir /mnt/a/sub; fill 1 /mnt/a/sub; fill 1 /mnt/b
        unmnt; start lane_by=dir
        again() { for f in /mnt/a/sub/*; do echo more >>$f; done; }
        move() { mkdir /mnt/b/moved; mv /mnt/a/sub/* /mnt/b/moved; }
        moved() { for f in /mnt/b/moved/*; do echo more >>$f; done; }
        counted again; move; counted moved
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "again"), 2)
    assert only(lanes(out, "moved"), 3)


def test_each_cgroup_its_lane(guest):
    out = guest(CGROUPS + """
        start
        first() { in_group c2 taskset 1 sh -c 'for n in $(seq 40); do echo >/mnt/c2/$n; done'; }
        second() {
            in_group c3 taskset 1 sh -c 'for n in $(seq 40); do echo >/mnt/c3/$n; done'
            in_group c3 taskset 2 sh -c 'for n in $(seq 40); do echo >>/mnt/c3/$n; done'
        }
        counted first; counted second
        grep -o "lane_by=[a-z]*" /proc/mounts
        unmnt; fsck /dev/vda
    """)
    assert "lane_by=cgroup" in out
    assert only(lanes(out, "first"), 2)
    assert only(lanes(out, "second"), 3)


def test_write_back_stays_in_the_writers_lane(guest):
    """A kernel thread that writes data allocates its blocks in the lane of the task that dirtied it."""
    out = guest(CGROUPS + """
        start
        in_group c2 sh -c 'for n in $(seq 40); do truncate -s 1M /mnt/c2/$n; done'
        fsctl syncfs /mnt
        write() {
            in_group c2 sh -c 'for n in $(seq 40); do
                dd if=/dev/zero of=/mnt/c2/$n bs=64k count=2 seek=4 conv=notrunc 2>/dev/null
            done'
            sync
        }
        counted write
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "write"), 2)


@pytest.mark.parametrize("by", ["dir", "cgroup"])
def test_fsync_leaves_the_neighbour_alone(guest, by):
    """On one CPU, where lanes by CPU would put both into one transaction."""
    out = guest(CGROUPS + f"""
        start; mount -o remount,lane_by={by} /mnt || die remount
        # Inodes in different blocks of the inode table.
        for c in c0 c1 c2 c3; do
            in_group $c sh -c 'for n in $(seq 20); do echo $n >/mnt/$0/$n; done' $c
        done
        fsctl syncfs /mnt
        txns() {{ sed -n "s/^lane *$1: *\\([0-9]*\\) txns.*/\\1/p" /proc/fs/zjournal/*/info; }}
        others=$(txns 2) own=$(txns 3)
        for n in $(seq 10); do
            in_group c2 taskset 1 dd if=/dev/zero of=/mnt/c2/1 bs=64 count=1 conv=notrunc 2>/dev/null
            in_group c3 taskset 1 dd if=/dev/zero of=/mnt/c3/20 bs=64 count=1 conv=notrunc,fsync 2>/dev/null
        done
        echo others $(($(txns 2) - others)) own $(($(txns 3) - own))
        unmnt; fsck /dev/vda
    """)
    others, own = map(int, re.search(r"others (\d+) own (\d+)", out).groups())
    assert own >= 10 and others == 0


def test_root_cgroup_goes_by_cpu(guest):
    out = guest(CGROUPS + """
        start
        first() { dirs 1 /mnt/c3; }
        second() { dirs 2 /mnt/c3; }
        counted first; counted second
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "first"), 0)
    assert only(lanes(out, "second"), 1)


def test_threads_run_on_the_cpus_of_their_lanes(guest):
    """With lane_by=cpu alone, and after the option has changed, too; a CPU may go away and come back."""
    guest("""
        # wait_for WHAT LANE CPUS...: the lanes' threads, also those that flush, run there, once they have started
        wait_for() {
            _what=$1; shift
            _tries=100
            until [ "$(where)" = "$*" ]; do
                _tries=$((_tries - 1)); [ $_tries -gt 0 ] || die "$_what: '$(where)', not '$*'"
                sleep 0.1
            done
        }
        where() {
            cat /proc/[0-9]*/status 2>/dev/null | awk -v ORS=' ' '/^Name:/ { lane = "" }
                /^Name:.zj.*:[0-9]+f?$/ { sub(".*:", ""); lane = $0 }
                /^Cpus_allowed_list:/ && lane != "" { print lane, $2 }' | xargs -n2 echo | sort | xargs echo
        }
        any=$(cat /sys/devices/system/cpu/possible)
        put_all() { for c in 1 2; do taskset $c dd if=/dev/zero of=/mnt/$c bs=4k count=1 conv=fsync 2>/dev/null || die "$1"; done; }
        mk /dev/vda; mkdir -p /mnt
        mnt /dev/vda lanes=2,tune=pipeline:on
        wait_for mount 0 0 0f 0 1 1 1f 1
        mount -o remount,lane_by=dir /mnt
        wait_for lane_by=dir 0 $any 0f $any 1 $any 1f $any
        mount -o remount,lane_by=cpu /mnt
        wait_for lane_by=cpu 0 0 0f 0 1 1 1f 1
        put_all "two CPUs"
        cpu=/sys/devices/system/cpu/cpu1/online
        if [ -e $cpu ]; then
            echo 0 >$cpu || die "CPU 1 cannot be taken away"
            taskset 1 sh -c 'for n in 1 2 3; do echo $n >/mnt/one && fsctl syncfs /mnt || exit 1; done' || die "one CPU"
            unmnt
            mnt /dev/vda lanes=2
            wait_for "one CPU" 0 0 1 $any
            echo 1 >$cpu || die "CPU 1 does not come back"
            put_all "it is back"
            mount -o remount,lane_by=dir /mnt; mount -o remount,lane_by=cpu /mnt
            wait_for "two CPUs again" 0 0 1 1
        fi
        unmnt
        mnt /dev/vda lanes=2,lane_by=cgroup
        wait_for lane_by=cgroup 0 $any 1 $any
        unmnt; fsck /dev/vda
    """)


def test_remount_changes_it(guest):
    out = guest(DIRS + """
        start lane_by=cpu
        one() { dirs 1 /mnt/b; }
        two() { fill 1 /mnt/b; }
        three() { dirs 1 /mnt/b; }
        counted one
        mount -o remount,lane_by=dir /mnt || die remount
        grep -o "lane_by=[a-z]*" /proc/mounts
        for d in d0 d1 a b; do echo $d >>/mnt/$d/first; done
        counted two
        mount -o remount,ro /mnt && mount -o remount,rw /mnt || die "remount ro, rw"
        counted two
        mark bad
        ! mount -o remount,lane_by=some /mnt 2>/dev/null || die "lane_by=some"
        said 'lane_by= must be cpu or cgroup'
        grep -q lane_by=dir /proc/mounts || die "a refused remount changed it"
        mount -o remount,lane_by=cpu /mnt || die remount
        counted three
        unmnt; fsck /dev/vda
    """)
    assert only(lanes(out, "one"), 0)
    assert only(lanes(out, "two"), 3)
    assert only(lanes(out, "three"), 0)
    assert "lane_by=dir" in out


@pytest.mark.parametrize("value", ["some", "", "cpus", "cpu0"])
def test_bad_option(guest, value):
    guest(f"""
        mk /dev/vda; mark bad
        no_mnt $FS /dev/vda lane_by={value}
        said 'lane_by= must be cpu or cgroup'
    """)


@pytest.mark.parametrize("by", ["dir", "cgroup"])
@pytest.mark.parametrize("mode", ["ordered", "journal"])
def test_stress(guest, by, mode):
    guest(CGROUPS + f"""
        mk /dev/vda; mnt /dev/vda data={mode},lanes=4,lane_by={by}
        known_tree
        for n in 1 2 3; do
            mkdir /mnt/top$n
            in_group s$n stress -p 2 -n 300 -s $n /mnt/top$n & jobs="$jobs $!"
        done
        sleep 1
        mount -o remount,lane_by=cpu /mnt && mount -o remount,lane_by={by} /mnt || die remount
        for job in $jobs; do wait $job || die stress; done
        check_tree; unmnt; fsck /dev/vda
        mnt /dev/vda; check_tree; unmnt
    """, timeout=240)
