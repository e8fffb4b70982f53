# SPDX-License-Identifier: GPL-2.0-only
"""Stacks of block devices over disks with volatile caches, all of which lose their power at one moment.

The VM is killed under load; each disk loses at random what it was not told to flush (nbd.py).  After that
the layers are put together again, zext4 recovers, and all that was fsynced is there.
"""

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

import conftest
import nbd
import vm as vmlib
from stack_sets import MIB, STACKS

pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")]

RESULTS = vmlib.BUILD / "results" / "stacks.json"
# Unpacked by tools/deps stacks: their packages would start services here.
PROGRAMS = ["mdadm/sbin/mdadm", "cryptsetup-bin/sbin/cryptsetup", "nbd-client/sbin/nbd-client"]

NAMES = {"virtio": "/dev/vd{letter}", "scsi": "/dev/sd{letter}", "nvme": "/dev/nvme{n}n1", "nbd": "/dev/nbd{n}"}

BEGIN = """
. /lib/zj/stacks.sh
modprobe virtio_scsi 2>/dev/null; modprobe sd_mod 2>/dev/null; modprobe nvme
if [ -n "$PORTS" ]; then
    modprobe nbd; modprobe virtio_net; until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
    ip addr add 10.0.2.15/24 dev eth0; ip link set eth0 up
    n=0
    for port in $PORTS; do
        nbd-client -nonetlink -N d 10.0.2.2 $port /dev/nbd$n || die "nbd-client $port"; n=$((n + 1))
    done
fi
until [ -b $LAST ]; do sleep 0.1; done
modprobe dm_mod
mkdir -p /sbin; ln -sf /bin/modprobe /sbin/modprobe    # where LVM looks for it
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

# nvme_target DISK: the disk becomes an NVMe drive, which knows FUA
nvme_target() {
    modprobe nvme-loop || die "nvme-loop"
    mount -t configfs config /sys/kernel/config 2>/dev/null
    t=/sys/kernel/config/nvmet
    mkdir $t/subsystems/zj && echo 1 >$t/subsystems/zj/attr_allow_any_host &&
        mkdir $t/subsystems/zj/namespaces/1 && echo -n $1 >$t/subsystems/zj/namespaces/1/device_path &&
        echo 1 >$t/subsystems/zj/namespaces/1/enable && mkdir $t/ports/1 && echo loop >$t/ports/1/addr_trtype &&
        ln -s $t/subsystems/zj $t/ports/1/subsystems/zj && echo transport=loop,nqn=zj >/dev/nvme-fabrics ||
        die "nvme_target $1"
    DEV=/dev/nvme0n1
    until [ -b $DEV ]; do sleep 0.1; done
}

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
    note; lvm lvcreate -q -s -L 80M -n snap vg/lv $DISK1 || die "snapshot"
    touch /share/snapshot; wait $load
}
check_snapshot() {
    verify /share/noted /mnt
    mkdir -p /mnt3; mount -t $FS /dev/mapper/vg-snap /mnt3 || die "snapshot"
    verify /share/before /mnt3; umount /mnt3; fsck /dev/mapper/vg-snap
}
load_moved() {
    stress_on /mnt & load=$!
    note; lvm pvmove -q -i 1 $DISK0 $DISK1 || die "pvmove"
    lvm pvs --noheadings -o pv_used $DISK0 | grep -q '^ *0 *$' || die "not moved: $(lvm pvs)"
    touch /share/moved; wait $load
}
check_moved() { check_stress; }
load_thin_snapshot() {
    stress_on /mnt & load=$!
    note; lvm lvcreate -q -s -kn -n snap vg/lv || die "snapshot"
    touch /share/snapshot; wait $load
}
check_thin_snapshot() { check_snapshot; }
"""

LOAD = """
mk $DEV; mnt $DEV $MOUNT; sync
[ "$(queue $DISK0 write_cache)" = "$CACHE" ] || die "the disk has: $(queue $DISK0 write_cache)"
[ "$(queue $DISK0 fua)" = $FUA ] || die "FUA: $(queue $DISK0 fua)"
for d in $DISKS; do fsctl fsync $d || die "flush of $d"; done
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


def script(stack, layers, rest, seed, ports=""):
    paths = [NAMES[stack.iface].format(n=n, letter="abc"[n]) for n in range(stack.disks)]
    names = " ".join(f"DISK{n}={path}" for n, path in enumerate(paths))
    return f"""{names} DISKS="{' '.join(paths)}" LAST={paths[-1]} SEED={seed} PORTS="{ports}"
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


def load_and_cut(tmp_path, stack, seed, lie=False):
    """The images after the cut, what was noted before it, and what each disk has counted"""
    images = [tmp_path / f"disk{n}.img" for n in range(stack.disks)]
    for image in images:
        vmlib.make_image(image, f"{MIB}M")
    over_tcp = stack.iface == "nbd"
    disks = [nbd.VolatileDisk(image, None if over_tcp else image.with_suffix(".sock"), trim=stack.trim, lie=lie)
             for image in images]
    machine = new_vm(
        stack, [] if over_tcp else [vmlib.Disk(d.sock_path, nbd=True, iface=stack.iface, options=stack.options)
                                    for d in disks],
        cpus=3, qemu_args=["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"] if over_tcp else [])
    try:
        machine.start()
        job = machine.spawn(script(stack, stack.make, LOAD, seed, " ".join(str(d.port) for d in disks if d.port)))
        steps = {"snapshot": ["snapshot"], "thin_snapshot": ["snapshot"], "moved": ["moved"]}
        for file in ("mounted", *steps.get(stack.load, ())):
            machine._wait(lambda file=file: (machine.share / file).exists() or job.name in machine.finished, 150, file)
            assert job.name not in machine.finished, f"{job.output()}\n{machine.console_tail()}"
        machine.idle(2)
        # Any of the disks that are busy may be the first that does not answer.
        then = [disk.writes for disk in disks]
        machine.idle(1)
        new = [disk.writes - n for disk, n in zip(disks, then)]
        busy = [disk for disk, n in zip(disks, new) if n and 4 * n >= max(new)]
        assert busy, "the load does not write"
        first = busy[seed % len(busy)]
        first.stop_after(1 + seed % 300)
        assert first.stopped.wait(60), "the load does not write"
        for disk in disks:
            disk.stopped.set()
        machine.check_console()
    finally:
        machine.kill()
        lost = [disk.power_cut(seed) for disk in disks]
    counted = [dict(writes=d.writes, flushes=d.flushes, fua=d.fua_writes, trims=d.trims, unflushed=seen, lost=gone)
               for d, (seen, gone) in zip(disks, lost)]
    print(*counted, sep="\n")
    kept = {p.name: p.read_bytes() for p in machine.share.iterdir() if p.name.split(".")[0] in ("noted", "before")}
    machine.cleanup()
    assert kept and all(kept.values())
    return images, kept, counted


def recover(stack, images, kept, seed):
    iface = "virtio" if stack.iface == "nbd" else stack.iface
    after = replace(stack, iface=iface)
    with new_vm(after, [vmlib.Disk(str(i), iface=iface, options=stack.options) for i in images]) as machine:
        for file, data in kept.items():
            (machine.share / file).write_bytes(data[:data.rfind(b"\n") + 1])
        result = machine.sh(script(after, stack.open or stack.make, CHECK, seed), timeout=240)
        print(result.out)
        machine.check_console()
        return result, machine.console_tail()


@pytest.mark.parametrize("name", STACKS)
def test_power_cut(tmp_path, name):
    stack, seed = STACKS[name], random.randrange(1 << 30)
    print(f"seed {seed}")
    images, kept, counted = load_and_cut(tmp_path, stack, seed)
    if stack.cache == "write back":
        assert max(disk["flushes"] for disk in counted) > 3
    else:
        assert counted[0]["fua"] == counted[0]["writes"], "a disk without a cache has got a write that it may lose"
    assert not stack.trim or counted[0]["trims"] > 3
    result, console = recover(stack, images, kept, seed)
    assert result, f"seed {seed}: {result.out}\n{console}"
    note_result(name, {"seed": seed, "disks": counted})


def test_disk_that_lies_is_noticed(tmp_path):
    """A disk that has flushed nothing loses what was fsynced, or more: the check says so."""
    stack, seed = STACKS["virtio"], random.randrange(1 << 30)
    images, kept, _ = load_and_cut(tmp_path, stack, seed, lie=True)
    result, _ = recover(stack, images, kept, seed)
    assert result.rc == 1 and "FAILED" in result.out, f"seed {seed}: {result.out}"
