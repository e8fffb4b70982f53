# SPDX-License-Identifier: GPL-2.0-only
"""Stacks of block devices over disks with volatile caches, all of which lose their power at one moment.

The VM is killed under load; each disk loses at random what it was not told to flush (nbd.py).  After that
the layers are put together again, zext4 recovers, and all that was fsynced is there.
"""

import json
import random
from pathlib import Path

import pytest

import conftest
import nbd
import vm as vmlib
from stack_sets import MIB, STACKS

pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(vmlib.os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")]

RESULTS = vmlib.BUILD / "results" / "stacks.json"
# Unpacked by tools/deps stacks: their packages would start services here.
PROGRAMS = ["mdadm/sbin/mdadm", "cryptsetup-bin/sbin/cryptsetup"]

NAMES = {"virtio": "/dev/vd{letter}", "scsi": "/dev/sd{letter}", "nvme": "/dev/nvme{n}n1"}

BEGIN = """
. /lib/zj/stacks.sh
modprobe virtio_scsi 2>/dev/null; modprobe sd_mod 2>/dev/null; modprobe nvme
until [ -b $LAST ]; do sleep 0.1; done
modprobe dm_mod
# Nobody runs udev here.
lvm() {
    command lvm "$@" --config 'activation { udev_sync=0 udev_rules=0 monitoring=0 verify_udev_operations=1 }
        devices { obtain_device_list_from_udev=0 } global { thin_check_executable="" }' 2>/tmp/lvm.out ||
        { cat /tmp/lvm.out; return 1; }
}
stress_on() { stress -p 4 -t 300 -s $SEED -l /share/noted $1; }
# Copies of what is noted by now: the snapshot has to have it.
note() { for n in 0 1 2 3; do until [ -s /share/noted.$n ]; do sleep 0.1; done; cp /share/noted.$n /share/before.$n; done; }
verify() { stress -v $1 $2 || die "fsynced data is lost: $1 $2"; }

load_stress() { stress_on /mnt; }
check_stress() { verify /share/noted /mnt; }

# Files are removed without a sync.  One that is back after the cut is whole: its blocks had not been given back.
load_unlink() {
    n=0
    while :; do
        n=$((n + 1)); seq $n $((n + 4000)) >/mnt/f$n; fsctl fsync /mnt/f$n || die fsync
        echo $n >>/share/noted; [ $n -le 8 ] || rm /mnt/f$((n - 8))
    done
}
check_unlink() {
    last=$(tail -n 1 /share/noted); there=0
    for f in /mnt/f*; do
        n=${f#/mnt/f}; [ $n -le $last ] || continue
        seq $n $((n + 4000)) | cmp - $f || die "$f is not whole, of $last"
        [ $((n + 8)) -le $last ] || there=$((there + 1))
    done
    [ $there = $((last < 8 ? last : 8)) ] || die "$there files of $last"
}

load_snapshot() {
    stress_on /mnt & load=$!
    note; lvm lvcreate -q -s -L 80M -n snap vg/lv || die "snapshot"
    touch /share/snapshot; wait $load
}
check_snapshot() {
    verify /share/noted /mnt
    mkdir -p /mnt3; mount -t $FS /dev/mapper/vg-snap /mnt3 || die "snapshot"
    verify /share/before /mnt3; umount /mnt3; fsck /dev/mapper/vg-snap
}
load_thin_snapshot() {
    stress_on /mnt & load=$!
    note; lvm lvcreate -q -s -kn -n snap vg/lv || die "snapshot"
    touch /share/snapshot; wait $load
}
check_thin_snapshot() { check_snapshot; }
"""

LOAD = """
mk $DEV; mnt $DEV $MOUNT; sync
[ "$(queue $D0 write_cache)" = "$CACHE" ] || die "the disk has: $(queue $D0 write_cache)"
[ "$(queue $D0 fua)" = $FUA ] || die "FUA: $(queue $D0 fua)"
touch /share/mounted
load_$LOAD
"""

CHECK = """
mark again; mnt $DEV; said 'recovered [0-9]* transactions'
check_$LOAD
unmnt; fsck $DEV
mount -t ext4 $DEV /mnt || die "stock mount"
check_$LOAD
unmnt; fsck $DEV
"""


def script(stack, layers, rest, seed):
    paths = [NAMES[stack.iface].format(n=n, letter="abc"[n]) for n in range(stack.disks)]
    names = " ".join(f"D{n}={path}" for n, path in enumerate(paths))
    return f"""{names} DISKS="{' '.join(paths)}" LAST={paths[-1]} SEED={seed}
        MOUNT={stack.mount} CACHE='{stack.cache}' FUA={stack.fua} LOAD={stack.load}
        {BEGIN}
        {layers}
        {rest}"""


def new_vm(stack, disks, **options):
    programs = [vmlib.BUILD / "debian" / p for p in PROGRAMS] + [Path("/usr/sbin/lvm")]
    missing = [str(p) for p in programs if not p.exists()]
    assert not missing, f"run tools/deps stacks: no {missing}"
    machine = vmlib.VM(programs=[*conftest.PROGRAMS, *programs], disks=disks,
                       stock=["virtio_scsi", "sd_mod", *stack.modules], **options)
    machine.prelude = f"FS={conftest.FSTYPE}\n"
    return machine


def note_result(name, row):
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[name] = row
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


@pytest.mark.parametrize("name", STACKS)
def test_power_cut(tmp_path, name):
    stack, seed = STACKS[name], random.randrange(1 << 30)
    print(f"seed {seed}")
    images = [tmp_path / f"disk{n}.img" for n in range(stack.disks)]
    socks = [tmp_path / f"s{n}" for n in range(stack.disks)]
    for image in images:
        vmlib.make_image(image, f"{MIB}M")
    disks = [nbd.VolatileDisk(image, sock, trim=stack.trim) for image, sock in zip(images, socks)]
    machine = new_vm(stack, [vmlib.Disk(str(s), nbd=True, iface=stack.iface, options=stack.options) for s in socks],
                     cpus=3)
    try:
        machine.start()
        job = machine.spawn(script(stack, stack.make, LOAD, seed))
        for file in ("mounted", *(["snapshot"] if "snapshot" in stack.load else [])):
            machine._wait(lambda file=file: (machine.share / file).exists() or job.name in machine.finished, 90, file)
            assert job.name not in machine.finished, f"{job.output()}\n{machine.console_tail()}"
        machine.idle(3)
        before = [(d.writes, d.flushes, d.fua_writes) for d in disks]
        # Any of the disks may be the first that does not answer.
        first = seed % len(disks)
        disks[first].stop_after(1 + seed % 300)
        assert disks[first].stopped.wait(60), "the load does not write"
        for disk in disks:
            disk.stopped.set()
        machine.check_console()
    finally:
        machine.kill()
        lost = [disk.power_cut(seed) for disk in disks]
    for disk, (seen, gone) in zip(disks, lost):
        print(f"{disk.writes} writes, {disk.fua_writes} FUA, {disk.flushes} flushes, {disk.trims} trims; "
              f"{gone} of {seen} unflushed sectors lost")
    kept = {p.name: p.read_bytes() for p in machine.share.iterdir() if p.name.split(".")[0] in ("noted", "before")}
    machine.cleanup()
    assert kept and before
    if stack.cache == "write back":
        assert min(disk.flushes for disk in disks) > 3
    else:
        assert disks[0].fua_writes == disks[0].writes, "a disk without a cache has got a write that it may lose"
    if stack.trim:
        assert disks[0].trims > 3
    with new_vm(stack, [vmlib.Disk(str(i), iface=stack.iface, options=stack.options) for i in images]) as after:
        for file, data in kept.items():
            (after.share / file).write_bytes(data[:data.rfind(b"\n") + 1])
        result = after.sh(script(stack, stack.open or stack.make, CHECK, seed), timeout=240)
        assert result, f"seed {seed}: {result.out}\n{after.console_tail()}"
        print(result.out)
        after.check_console()
    note_result(name, {"seed": seed, "disks": [
        dict(writes=d.writes, flushes=d.flushes, fua=d.fua_writes, trims=d.trims, lost=gone)
        for d, (_, gone) in zip(disks, lost)]})
