# SPDX-License-Identifier: GPL-2.0-only
"""zext4 on layers of block devices that change or fail under it while it is busy."""

import pytest

import conftest

pytestmark = pytest.mark.zext4

STOCK = ["dm_snapshot", "dm_raid", "raid1", "raid456", "dm_crypt", "scsi_debug", "sd_mod"]


@pytest.fixture(name="shared_guest", scope="module")
def shared_guest_fixture():
    """In place of the VM that all tests share: this one has the modules of more layers."""
    machine = conftest.Guest(cpus=2, memory="1500M", stock=STOCK)
    yield machine
    machine.close()


BEGIN = ". /lib/zj/stacks.sh\n"


@pytest.mark.parametrize("how", ["frozen", "not-frozen"])
def test_snapshot_while_busy(guest, how):
    """What LVM does for a snapshot: frozen first, as it does by default, or as after a power cut."""
    guest(BEGIN + f"""
        modprobe dm_snapshot
        linear real /dev/vda
        linear volume /dev/mapper/real
        mk /dev/mapper/volume; mnt /dev/mapper/volume lanes=2
        start_load 8
        dmsetup suspend {'--nolockfs' if how == 'not-frozen' else ''} volume || die suspend
        keep
        echo "0 $(sectors /dev/vda) snapshot-origin /dev/mapper/real" | dmsetup load volume || die load
        dd if=/dev/zero of=/dev/vdb bs=4k count=1 conv=fsync 2>/dev/null    # no older snapshot
        dm snap "0 $(sectors /dev/vda) snapshot /dev/mapper/real /dev/vdb P 8"
        dmsetup resume volume || die resume
        kill -0 $load || die "the load has ended"
        mkdir -p /mnt2
        mark snapshot
        mount -t $FS /dev/mapper/snap /mnt2 || die "mount of the snapshot"
        {"said 'recovered [0-9]* transactions'" if how == 'not-frozen' else ''}
        kept /mnt2; umount /mnt2; fsck /dev/mapper/snap
        command fsck.zext4 -f -p /dev/mapper/snap || die "fsck.zext4: $?"
        mount -t ext4 /dev/mapper/snap /mnt2 || die "stock mount of the snapshot"
        kept /mnt2; umount /mnt2
        end_load; keep
        unmnt; well /dev/mapper/volume
        dmsetup status snap
        for d in snap volume real; do dmsetup remove $d || die "remove $d"; done
    """)


REMOVE = """
    mnt $SCSI lanes=2{options}
    start_load 20
    echo 1 >$SCSI_DEVICE/delete
    load_fails
    keep
    read_only
    unmnt
    echo '- - -' >/sys/class/scsi_host/host${{SCSI_DEVICE##*/}}/scan 2>/dev/null ||
        for h in /sys/class/scsi_host/*; do echo '- - -' >$h/scan; done
    scsi_found
    mark again; mnt $SCSI; said 'recovered [0-9]* transactions'; kept /mnt; unmnt
    well $SCSI
    scsi_end
"""


def test_removed_under_load(guest):
    guest(BEGIN + "scsi_debug; mk $SCSI\n" + REMOVE.format(options=""))


def test_flush_fails(guest):
    """A SCSI disk refuses to write its cache out: that may have lost anything, so the journal is aborted."""
    guest(BEGIN + """
        scsi_debug; mk $SCSI
        [ "$(queue $SCSI write_cache)" = "write back" ] || die "no cache"
        mnt $SCSI lanes=2
        start_load 20
        for op in 0x35 0x91; do
            echo "2 -1 $op 0 0 2 4 0x44 0" >/sys/kernel/debug/scsi_debug/${SCSI_DEVICE##*/}/error || die inject
        done
        load_fails; keep
        read_only; unmnt
        for op in 0x35 0x91; do echo "- 2 $op" >/sys/kernel/debug/scsi_debug/${SCSI_DEVICE##*/}/error || die clear; done
        well $SCSI
        scsi_end
    """)
