# SPDX-License-Identifier: GPL-2.0-only
"""lanes=auto: one lane on a disk with one head, which says that it rotates and takes seeks."""

import pytest

import conftest

pytestmark = pytest.mark.zext4

CPUS = 3
GUEST = """
dev=/dev/zjd0
# disk SEEK_US ROTATES: made again
disk() {
    mk $dev
    echo 0 head $1 $(($1 ? 150 : 0)) >/dev/zjdctl || die head
    echo $2 >/sys/block/zjd0/queue/rotational || die rotational
}
# lanes N [OPTIONS]: mounted, there are so many
lanes() {
    mark; mnt $dev ${2:-lanes=auto}
    n=$(grep -c '^lane ' /proc/fs/zjournal/*/info)
    [ $n = $1 ] || die "$n lanes with ${2:-lanes=auto}, not $1"
}
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    with conftest.new_vm(cpus=CPUS, memory="1G") as vm:
        assert vm.sh("modprobe zjdisk ndev=1 size_mb=256 && modprobe zext4")
        yield vm


def run(machine, script):
    result = machine.sh(GUEST + script, timeout=120)
    machine.check_console()
    assert result, result.out


def test_one_lane_on_one_head(machine):
    run(machine, f"""
        disk 4000 1; lanes 1; said 'the disk has one head'
        known_tree; check_tree; unmnt; fsck $dev
        lanes {CPUS} lanes={CPUS}; check_tree; unmnt
        lanes {CPUS} lane_by=dir; check_tree; unmnt
        lanes 1; check_tree; unmnt; fsck $dev
    """)


@pytest.mark.parametrize("seek, rotates", [(0, 1), (4000, 0)])
def test_a_lane_for_each_cpu(machine, seek, rotates):
    """A virtual disk that only says that it rotates, and a slow one that does not say so."""
    run(machine, f"""
        disk {seek} {rotates}; lanes {CPUS}
        known_tree; check_tree; unmnt; fsck $dev
    """)


def test_recovers_what_several_lanes_left(machine):
    """The number of lanes depends on this mount, not on the log that the last mount left."""
    run(machine, f"""
        disk 4000 1; lanes {CPUS} lanes={CPUS}; known_tree; fsctl syncfs /mnt
        for w in $(seq 0 {CPUS - 1}); do
            taskset $((1 << w)) sh -c "echo $w >/mnt/of$w"; fsctl fsync /mnt/of$w || die fsync
        done
        crash; lanes 1; check_tree
        for w in $(seq 0 {CPUS - 1}); do [ $(cat /mnt/of$w) = $w ] || die "of$w is lost"; done
        unmnt; fsck $dev
    """)
