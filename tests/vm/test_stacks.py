# SPDX-License-Identifier: GPL-2.0-only
"""zext4 on layers of block devices that change or fail under it while it is busy."""

import os

import pytest

import conftest
import vm as vmlib

pytestmark = pytest.mark.zext4

everything = pytest.mark.skipif(os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")

STOCK = ["dm_snapshot", "dm_raid", "raid1", "raid456", "dm_crypt", "scsi_debug", "sd_mod"]


@pytest.fixture(name="shared_guest", scope="module")
def shared_guest_fixture():
    """In place of the VM that all tests share: this one has the modules of more layers."""
    machine = conftest.Guest(cpus=2, memory="1500M", stock=STOCK)
    yield machine
    machine.close()


END = """
    for d in $(dmsetup ls | awk '/^(raid|snap|volume)/ { print $1 }'); do dmsetup remove $d || die "remove $d"; done
"""
BEGIN = ". /lib/zj/stacks.sh\n"


@pytest.mark.parametrize("how", [pytest.param("frozen", marks=everything), "not-frozen"])
def test_snapshot_while_busy(guest, how):
    """What LVM does for a snapshot: frozen first, as it does by default, or as after a power cut."""
    guest(BEGIN + f"""
        modprobe dm_snapshot
        linear real /dev/vda
        linear volume /dev/mapper/real
        mk /dev/mapper/volume; mnt /dev/mapper/volume lanes=2
        start_load 100; sleep 1
        dmsetup suspend {'--nolockfs' if how == 'not-frozen' else ''} volume || die suspend
        keep
        echo "0 $(sectors /dev/vda) snapshot-origin /dev/mapper/real" | dmsetup load volume || die load
        dd if=/dev/zero of=/dev/vdb bs=4k count=1 conv=fsync 2>/dev/null    # no older snapshot
        dm snap "0 $(sectors /dev/vda) snapshot /dev/mapper/real /dev/vdb P 8"
        dmsetup resume volume || die resume
        mkdir -p /mnt2
        {"! dumpe2fs -h /dev/mapper/snap 2>/dev/null | grep -q needs_recovery || die 'a log'" if how == 'frozen' else ''}
        mark snapshot
        mount -t $FS /dev/mapper/snap /mnt2 || die "mount of the snapshot"
        {"said 'recovered [0-9]* transactions'" if how == 'not-frozen' else ''}
        kept /mnt2; umount /mnt2
        mkdir /tmp/first; mv $KEPT.* /tmp/first; stop_load; mkdir /tmp/last; mv $KEPT.* /tmp/last; mv /tmp/first/* /tmp
        fsck /dev/mapper/snap
        command fsck.zext4 -f -p /dev/mapper/snap || die "fsck.zext4: $?"
        mount -t ext4 /dev/mapper/snap /mnt2 || die "stock mount of the snapshot"
        kept /mnt2; umount /mnt2
        mv /tmp/last/* /tmp; unmnt; well /dev/mapper/volume
        rmdir /tmp/first /tmp/last
        for d in snap volume real; do dmsetup remove $d || die "remove $d"; done
    """)


REMOVE = """
    mnt $DEV lanes=2
    start_load 100
    echo 1 >$SCSI_DEVICE/delete
    load_fails
    keep
    read_only
    unmnt
    scsi_again
    {after}
    mark again; mnt $DEV; said 'recovered [0-9]* transactions'; kept /mnt; unmnt
    well $DEV
    scsi_end
"""


def test_removed_under_load(guest):
    guest(BEGIN + "scsi_debug; DEV=$SCSI; mk $DEV\n" + REMOVE.format(after="DEV=$SCSI"))


@everything
def test_external_journal_is_removed(guest):
    """Without its journal the file system stops, and its own device is left as it is."""
    guest(BEGIN + """
        scsi_debug; DEV=/dev/vda
        mke2fs -q -F -O journal_dev -b 4096 $SCSI 8192 && mk $DEV -J device=$SCSI
    """ + REMOVE.format(after=""))


@everything
def test_device_of_external_journal_remains(guest):
    """The file system is removed, its journal stays."""
    guest(BEGIN + """
        scsi_debug; DEV=$SCSI
        mke2fs -q -F -O journal_dev -b 4096 /dev/vdb 8192 && mk $DEV -J device=/dev/vdb
    """ + REMOVE.format(after="DEV=$SCSI"))


@pytest.mark.parametrize("options", [
    "lanes=2", pytest.param("lanes=1", marks=everything), pytest.param("lanes=2,data=journal", marks=everything)])
def test_flush_fails_once(guest, options):
    """A SCSI disk fails to write its cache out: that may have lost anything, so the journal is aborted."""
    guest(BEGIN + f"""
        scsi_debug; mk $SCSI
        [ "$(queue $SCSI write_cache)" = "write back" ] || die "no cache"
        mnt $SCSI {options}
        start_load 100
        ERRORS=/sys/kernel/debug/scsi_debug/$(basename $SCSI_DEVICE)/error
        for op in 0x35 0x91; do
            # once: hardware error, internal target failure
            echo "2 -1 $op 0 0 2 4 0x44 0" >$ERRORS || die inject
        done
        load_fails; keep
        read_only; unmnt
        for op in 0x35 0x91; do echo "- 2 $op" >$ERRORS || die clear; done
        mnt $SCSI; kept /mnt; unmnt
        # As in stock ext4: a file that was being deleted stays, as a mount with errors drops the list of orphans.
        e2fsck -fp $SCSI >/dev/null || [ $? = 1 ] || die "e2fsck -p"
        well $SCSI
        scsi_end
    """)


@everything
def test_large_sectors(guest):
    """A disk that can write 4096 bytes or nothing; smaller blocks are refused, as by stock ext4."""
    guest(BEGIN + """
        scsi_debug sector_size=4096; DEV=$SCSI
        [ "$(queue $DEV logical_block_size)" = 4096 ] || die "sectors of $(queue $DEV logical_block_size)"
        mk $DEV; mnt $DEV lanes=2; start_load 3; end_load; keep; crash
        mark again; mnt $DEV; said 'recovered [0-9]* transactions'; kept /mnt; unmnt; well $DEV
        mnt $DEV lanes=1; start_load 3; end_load; keep; crash
        e2fsck -E journal_only -fy $DEV >/dev/null || [ $? = 1 ] || die "e2fsck"
        well $DEV
        mnt $DEV lanes=2; start_load 3; end_load; keep; crash
        zjctl recover --no-fsck $DEV >/dev/null || [ $? = 1 ] || die "zjctl recover"
        well $DEV
        dd if=/dev/zero of=/tmp/small bs=1M count=32 2>/dev/null
        mke2fs -q -F -t ext4 -b 1024 /tmp/small && dd if=/tmp/small of=$DEV bs=1M conv=fsync 2>/dev/null
        no_mnt ext4 $DEV; no_mnt $FS $DEV
        rm /tmp/small; scsi_end
    """)


@everything
def test_read_only_device(guest):
    """A clean one is mounted, for reading; one with a log to be recovered is refused, and not written."""
    guest(BEGIN + """
        DEV=/dev/vdc; mk $DEV; mnt $DEV lanes=2; mkdir /mnt/load; start_load 1; end_load; keep; unmnt
        blockdev --setro $DEV; sum=$(digest $DEV)
        mnt $DEV; kept /mnt; ! touch /mnt/x 2>/dev/null || die "written"
        ! mount -o remount,rw /mnt 2>/dev/null || die "remounted rw"
        unmnt; mnt $DEV ro; kept /mnt; unmnt
        [ "$(digest $DEV)" = "$sum" ] || die "the device is changed"
        blockdev --setrw $DEV; mnt $DEV lanes=2; start_load 1; end_load; keep; crash
        blockdev --setro $DEV; sum=$(digest $DEV)
        no_mnt $FS $DEV; no_mnt $FS $DEV ro
        zjctl recover $DEV >/dev/null 2>&1; [ $? -ge 4 ] || die "zjctl recover: $?"
        [ "$(digest $DEV)" = "$sum" ] || die "the device is changed"
        blockdev --setrw $DEV; well $DEV
    """)


@everything
def test_discard(guest):
    """Freed blocks are given back to the disk, which then reads as zeros there; nothing else is."""
    guest(BEGIN + """
        scsi_debug lbpu=1 lbprz=1; DEV=$SCSI
        discards() { set -- $(cat /sys/block/${SCSI##*/}/stat); echo ${12}; }
        mk $DEV; mnt $DEV lanes=2,discard
        head -c 20M /dev/urandom >/mnt/big; fsctl fsync /mnt/big; fsctl syncfs /mnt
        before=$(discards); rm /mnt/big; fsctl syncfs /mnt; sleep 1
        start_load 3; end_load; keep
        [ "$(discards)" -gt "$before" ] || die "no discards"
        crash; mark again; mnt $DEV; said 'recovered [0-9]* transactions'; kept /mnt; unmnt
        mnt $DEV lanes=2; before=$(discards)
        start_load 5; fstrim /mnt || die "fstrim"; end_load; keep
        [ "$(discards)" -gt "$before" ] || die "no discards"
        crash; well $DEV
        scsi_end
    """)


RAID = """
    # legs DEVICE@SECTOR...: each is a device meta-N and a device leg-N behind it
    legs() {
        devs=; count=0
        for place; do
            linear meta-$count ${place%@*} 8192 ${place#*@}
            linear leg-$count ${place%@*} 196608 $((${place#*@} + 8192))
            dd if=/dev/zero of=/dev/mapper/meta-$count bs=4k count=1 conv=fsync 2>/dev/null
            devs="$devs /dev/mapper/meta-$count /dev/mapper/leg-$count"; count=$((count + 1))
        done
    }
    # until_health TEXT: what the array says of its legs, when it has nothing more to do
    until_health() {
        _try=0
        until dmsetup status raid | awk -v h=$1 '{ split($7, a, "/"); exit !($6 == h && a[1] == a[2] && $8 == "idle") }'; do
            _try=$((_try + 1)); [ $_try -lt 300 ] || die "not $1: $(dmsetup status raid)"; sleep 0.2
        done
    }
    # fail N: under load; returns when the array has noticed it and gone on for a while
    fail() {
        broken meta-$1; broken leg-$1
        until dmsetup status raid | awk '{ print $6 }' | grep -q D; do
            kill -0 $load || die "no leg has failed: $(dmsetup status raid)"; sleep 0.2
        done
        sleep 1
    }
    # revive N DEVICE@SECTOR: the leg works again, with what it had when it failed
    revive() {
        linear meta-$1 ${2%@*} 8192 ${2#*@}; linear leg-$1 ${2%@*} 196608 $((${2#*@} + 8192))
        dmsetup suspend --nolockfs raid && dmsetup resume raid || die "revive"
    }
"""


@everything
def test_raid1_leg_fails_under_load(guest):
    """One leg fails, comes back and is brought up to date; then the other one fails: nobody notices."""
    guest(BEGIN + RAID + """
        modprobe dm_raid; modprobe raid1
        legs /dev/vda@0 /dev/vdb@0
        dm raid "0 196608 raid raid1 3 0 region_size 1024 2 $devs"; until_health AA
        DEV=/dev/mapper/raid; mk $DEV; mnt $DEV lanes=2
        start_load 100; fail 1; stop_load
        revive 1 /dev/vdb@0; until_health AA
        start_load 100; fail 0; stop_load; crash
        mark again; mnt $DEV; said 'recovered [0-9]* transactions'; kept /mnt; unmnt
        well $DEV
    """ + END)


@everything
def test_raid5_leg_fails_under_load(guest):
    """Without one leg everything is still there; without two the file system stops."""
    guest(BEGIN + RAID + """
        modprobe dm_raid; modprobe raid456
        legs /dev/vda@0 /dev/vdb@0 /dev/vda@262144
        dm raid "0 393216 raid raid5_ls 3 128 region_size 1024 3 $devs"; until_health AAA
        DEV=/dev/mapper/raid; mk $DEV; mnt $DEV lanes=2
        start_load 100; fail 1; stop_load
        revive 1 /dev/vdb@0; until_health AAA
        start_load 100; fail 2; stop_load; crash
        mark again; mnt $DEV; said 'recovered [0-9]* transactions'; kept /mnt; unmnt; well $DEV
        mnt $DEV lanes=2; start_load 100; broken meta-0; broken leg-0; load_fails; read_only; unmnt
    """ + END)


@everything
@pytest.mark.parametrize("options", ["lanes=2", "lanes=1", "lanes=2,data=journal"])
def test_raid5_parity_is_that_of_the_data(guest, options):
    """Nothing changes what is being written, so the array finds each stripe's parity right."""
    guest(BEGIN + RAID + f"""
        modprobe dm_raid; modprobe raid456
        legs /dev/vda@0 /dev/vdb@0 /dev/vda@262144
        for leg in 0 1 2; do dd if=/dev/zero of=/dev/mapper/leg-$leg bs=1M 2>/dev/null; done
        dm raid "0 393216 raid raid5_ls 3 128 region_size 1024 3 $devs"; until_health AAA
        mismatches() {{
            dmsetup message raid 0 check || die check; until_health AAA; dmsetup status raid | awk '{{ print $9 }}'
        }}
        [ "$(mismatches)" = 0 ] || die "the array is wrong from the beginning"
        DEV=/dev/mapper/raid; mk $DEV; mnt $DEV {options}
        for n in 1 2 4 16; do mapstores /mnt/m$n $n 60 & jobs="$jobs $!"; done
        stress -p 2 -n 300 /mnt >/dev/null || die "stress"
        for job in $jobs; do wait $job || die "mapstores"; done
        unmnt; fsck $DEV
        found=$(mismatches); [ "$found" = 0 ] || die "$found sectors differ"
        # It does look:
        dd if=/dev/urandom of=/dev/mapper/leg-1 bs=4k count=1 seek=1000 conv=notrunc,fsync 2>/dev/null
        [ "$(mismatches)" != 0 ] || die "a wrong block is not noticed"
    """ + END, timeout=240)


@everything
@pytest.mark.parametrize("iface,name,card", [
    ("virtio", "vda", "device/.."), ("nvme", "nvme0n1", "device/device"), ("scsi", "sda", "device/../../../..")])
def test_pci_card_is_removed(tmp_path, iface, name, card):
    """The disk goes with its card, under load, and comes back."""
    disk = vmlib.Disk(str(tmp_path / "disk"), size="128M", iface=iface)
    with conftest.new_vm(disks=[disk], stock=["virtio_scsi", "sd_mod"]) as machine:
        result = machine.sh(BEGIN + f"""
            modprobe nvme; modprobe virtio_scsi; modprobe sd_mod
            there() {{ until [ -b /dev/{name} ]; do sleep 0.1; done; }}
            DEV=/dev/{name}; there; mk $DEV; mnt $DEV lanes=2
            card=$(readlink -f /sys/block/{name}/{card}); [ -e $card/vendor ] || die "no card: $card"
            start_load 100; echo 1 >$card/remove; load_fails; keep; read_only; unmnt
            [ ! -e /sys/block/{name} ] || die "still there"
            echo 1 >/sys/bus/pci/rescan; there
            # The kernel syncs first, so there may be nothing to replay.
            mark again; mnt $DEV; said 'recovery complete'; kept /mnt; unmnt; well $DEV
        """, timeout=240)
        assert result, f"{result.out}\n{machine.console_tail()}"
        machine.check_console()
