# SPDX-License-Identifier: GPL-2.0-only
"""lanes=auto and alloc=auto: what a disk gets that says that it rotates and serves one request after the other."""

import pytest

import conftest
import nbd
import vm as vmlib

pytestmark = pytest.mark.zext4

CPUS = 3
GUEST = """
dev=/dev/zjd0
# disk SEEK_US ROTATES: made again
disk() {
    mk $dev -g 8192    # a group for each lane
    echo 0 head $1 $(($1 ? 150 : 0)) >/dev/zjdctl || die head
    echo $2 >/sys/block/zjd0/queue/rotational || die rotational
}
# lanes N [OPTIONS]: mounted, there are so many
lanes() {
    mark; mnt $dev ${2:-lanes=auto}
    n=$(grep -c '^lane ' /proc/fs/zjournal/*/info)
    said "in force: lanes=$n "
    [ $n = $1 ] || die "$n lanes with ${2:-lanes=auto}, not $1: $(dmesg | grep 'in force' | tail -n 1)"
}
# at_load COMMAND: once as the machine is, and then with all CPUs busy
at_load() {
    "$@"
    loads=
    for cpu in $(seq $CPUS); do
        sh -c 'while :; do :; done' &
        loads="$loads $!"
    done
    "$@"; "$@"
    kill $loads; wait $loads || :    # the status is that of the signal
}
# chosen N: at a mount that asks for nothing
chosen() { lanes $1; unmnt; }
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture(tmp_path_factory):
    """
    vda is far away, and vdb is served one request after the other; both say that they rotate.

    vda takes several times as long as a CPU that is emulated on a busy host may take to answer.
    """
    where, disks = tmp_path_factory.mktemp("disks"), []
    for name, how in ("far", {"read_s": 0.040}), ("head", {"read_s": 0.010, "one_head": True}):
        vmlib.make_image(where / name, "128M")
        disks.append(nbd.VolatileDisk(where / name, where / f"{name}.sock", **how))
    with conftest.new_vm(cpus=CPUS, memory="1G",
                         disks=[vmlib.Disk(disk.sock_path, nbd=True) for disk in disks]) as vm:
        vm.prelude += f"CPUS={CPUS}\n"
        assert vm.sh("modprobe zjdisk ndev=1 size_mb=256 && modprobe zext4 && modprobe dm_delay")
        yield vm
    for disk in disks:
        disk.close()


def run(machine, script):
    result = machine.sh(GUEST + script, timeout=120)
    machine.check_console()
    if not result:    # the next test begins anew
        machine.sh("umount /mnt; dmsetup remove_all --force; echo 0 head 0 0 >/dev/zjdctl")
    assert result, result.out


def test_one_lane_on_one_head(machine):
    run(machine, f"""
        disk 8000 1; lanes 1; said 'the disk has one head: four reads took .* ms in turn, .* ms together'
        said 'in force: .*alloc=stock'
        grep ' /mnt .*lanes=1,log=zj' /proc/mounts || die "not shown"
        known_tree; check_tree; unmnt; fsck $dev
        lanes {CPUS} lanes={CPUS}; said 'in force: lanes={CPUS} .*alloc=stock'; check_tree; unmnt
        lanes {CPUS} lane_by=dir,alloc=core; said 'in force: .*alloc=core'
        mount -o remount,alloc=auto /mnt || die remount
        grep ' /mnt .*alloc=stock' /proc/mounts || die "alloc=auto is not asked of the disk"
        check_tree; unmnt
        lanes 1; check_tree; unmnt; fsck $dev
    """)


def test_the_same_at_each_mount(machine):
    """One head, in the order of the requests or sorted (four places known), whatever the CPUs do."""
    run(machine, """
        disk 8000 1; at_load chosen 1
        echo 0 head 8000 150 4 >/dev/zjdctl || die "a head that sorts"
        at_load chosen 1
        echo 0 head 8000 150 0 >/dev/zjdctl || die "a head that does not"
    """)


@pytest.mark.parametrize("seek, rotates", [(0, 1), (8000, 0)])
def test_a_lane_for_each_cpu(machine, seek, rotates):
    """A virtual disk that only says that it rotates, and a slow one that does not say so."""
    run(machine, f"""
        disk {seek} {rotates}; lanes {CPUS}; said 'in force: .*alloc=core'
        unmnt; lanes {CPUS} lanes={CPUS}; said 'in force: .*alloc=core'
        known_tree; check_tree; unmnt; fsck $dev
    """)


@pytest.mark.parametrize("ms", [1, 40])
def test_a_delay_is_no_seek(machine, ms):
    """A volume that is far away: each request takes long, several take no longer."""
    run(machine, f"""
        disk 0 1
        echo "0 $(blockdev --getsz $dev) delay $dev 0 {ms}" | dmsetup create far || die dmsetup
        [ -e /dev/mapper/far ] || dmsetup mknodes far
        dev=/dev/mapper/far
        [ "$(cat /sys/block/dm-*/queue/rotational)" = 1 ] || die "it does not say that it rotates"
        # Not at load: dm-delay counts jiffies, which a CPU that is emulated and starved gets in jumps.
        chosen {CPUS}; chosen {CPUS}
        dmsetup remove far || die "dmsetup remove"
    """)


@pytest.mark.parametrize("disk, lanes", [("vda", CPUS), ("vdb", 1)])
def test_a_server_of_requests(machine, disk, lanes):
    """A virtio disk says that it rotates, whatever serves it."""
    run(machine, f"""
        dev=/dev/{disk}; mk $dev -J size=16
        [ "$(cat /sys/block/{disk}/queue/rotational)" = 1 ] || die "it does not say that it rotates"
        at_load chosen {lanes}
    """)


def test_recovers_what_several_lanes_left(machine):
    """The number of lanes depends on this mount, not on the log that the last mount left."""
    run(machine, f"""
        disk 8000 1; lanes {CPUS} lanes={CPUS}; known_tree; fsctl syncfs /mnt
        for w in $(seq 0 {CPUS - 1}); do
            taskset $((1 << w)) sh -c "echo $w >/mnt/of$w"; fsctl fsync /mnt/of$w || die fsync
        done
        crash; lanes 1; check_tree
        for w in $(seq 0 {CPUS - 1}); do [ $(cat /mnt/of$w) = $w ] || die "of$w is lost"; done
        unmnt; fsck $dev
    """)
