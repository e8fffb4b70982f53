# SPDX-License-Identifier: GPL-2.0-only
"""Two machines: DRBD, whose primary dies under load, and an NFS server that loses its power.

Each VM has one network card; the two are joined by a socket.  The one that survives listens on it, so that
the other one can come back.
"""

import os
import random
import subprocess

import pytest

import conftest
import nbd
import vm as vmlib

pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")]

# Unpacked by tools/deps stacks; its package would start a service here.
DRBD = [vmlib.BUILD / "debian/drbd-utils" / p for p in ("lib/drbd/drbdsetup-84", "sbin/drbdmeta")]

NETWORK = """
. /lib/zj/stacks.sh
modprobe virtio_net
until [ -e /sys/class/net/eth0 ]; do sleep 0.1; done
ip link set lo up; ip addr add 10.9.0.{me}/24 dev eth0; ip link set eth0 up
"""


def network(wire, survivor):
    """QEMU's arguments for the card of one of the two."""
    return ["-netdev", f"stream,id=net,server={'on' if survivor else 'off'},addr.type=unix,addr.path={wire}",
            "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:09:00:0{2 - survivor}"]


def start(machine, me):
    machine.prelude = f"FS={conftest.FSTYPE}\n"
    machine.start()
    done(machine, NETWORK.format(me=me))


def done(machine, script, timeout=120):
    result = machine.sh(script, timeout=timeout)
    assert result, f"{result.out}\n{machine.console_tail()}"
    return result.out


def give(machine, files):
    """Let a machine read what another one has noted, but for a last line that is not complete."""
    for name, data in files.items():
        (machine.share / name).write_bytes(data[:data.rfind(b"\n") + 1])


# ---- DRBD ----

DRBD_UP = """
modprobe drbd usermode_helper=/bin/true || die "drbd"
mkdir -p /var/lib/drbd /var/run/drbd /var/lock
until [ -b /dev/vda ]; do sleep 0.1; done
{create}
drbdsetup-84 new-resource r0 && drbdsetup-84 new-minor r0 0 0 &&
    drbdsetup-84 attach 0 /dev/vda /dev/vda internal || die "attach"
drbdsetup-84 connect r0 ipv4:10.9.0.{me}:7788 ipv4:10.9.0.{peer}:7788 --protocol=C --ping-int=1 \\
    --ping-timeout=20 --timeout=30 || die "connect"
# is WHAT VALUE: what the resource says of itself
is() {{
    _try=0
    until [ "$(drbdsetup-84 $1 0)" = "$2" ]; do
        _try=$((_try + 1)); [ $_try -lt 600 ] || die "$1 is $(drbdsetup-84 $1 0), not $2"; sleep 0.2
    done
}}
"""
CREATE = 'drbdmeta --force 0 v08 /dev/vda internal create-md || die "create-md"'
# What was in flight when the primary died is compared again.
AGAIN = 'drbdmeta 0 v08 /dev/vda internal apply-al || die "apply-al"'
DRBD_IS = "is()" + DRBD_UP.partition("is()")[2].replace("{{", "{").replace("}}", "}")


def drbd_up(me, create):
    return DRBD_UP.format(me=me, peer=3 - me, create=CREATE if create else AGAIN)


def test_drbd_primary_killed(tmp_path):
    """The secondary is promoted and has all that was fsynced; the other one comes back and gets the rest."""
    missing = [str(p) for p in DRBD if not p.exists()]
    assert not missing, f"run tools/deps stacks: no {missing}"
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    wire = tmp_path / "wire"

    def node(survivor):
        disk = vmlib.Disk(str(tmp_path / f"disk{survivor:d}.img"), size="200M")
        return vmlib.VM(programs=[*conftest.PROGRAMS, *DRBD], stock=["drbd", "virtio_net"], disks=[disk],
                        qemu_args=network(wire, survivor))

    first, second = node(False), node(True)
    try:
        start(second, 1)
        start(first, 2)
        for machine, me in ((second, 1), (first, 2)):
            done(machine, drbd_up(me, True))
        done(first, DRBD_IS + """
            is cstate Connected
            drbdsetup-84 new-current-uuid 0 --clear-bitmap=yes || die "both are empty"
            is dstate UpToDate/UpToDate
            drbdsetup-84 primary 0 || die "primary"
            mk /dev/drbd0; mnt /dev/drbd0 lanes=2
        """)
        first.spawn(f"stress -p 4 -t 300 -s {seed} -l /share/noted /mnt")
        first.wait_file("noted.3")
        first.idle(3 + seed % 8 / 2)
        first.check_console()
        first.kill()
        noted = {p.name: p.read_bytes() for p in first.share.glob("noted.*")}
        first.cleanup()
        assert len(noted) == 4 and all(noted.values())
        give(second, noted)
        out = done(second, DRBD_IS + """
            is cstate WFConnection
            is dstate UpToDate/DUnknown
            drbdsetup-84 primary 0 || die "not promoted"
            mark again; mnt /dev/drbd0; said 'recovered [0-9]* transactions'
            stress -v /share/noted /mnt || die "what was fsynced on the primary is lost"
            unmnt; fsck /dev/drbd0
            mnt /dev/drbd0 lanes=2; known_tree; fsctl syncfs /mnt
        """, timeout=240)
        print(out)
        # The dead one is back, and gets what it has missed.
        first = node(False)
        start(first, 2)
        done(first, drbd_up(2, False) + "is cstate Connected; is dstate UpToDate/UpToDate", timeout=240)
        done(second, DRBD_IS + "is dstate UpToDate/UpToDate; check_tree; unmnt; drbdsetup-84 secondary 0 || die secondary")
        give(first, noted)
        done(first, """
            drbdsetup-84 primary 0 || die "primary"
            mnt /dev/drbd0; check_tree; stress -v /share/noted /mnt || die "lost"; unmnt; fsck /dev/drbd0
            mount -t ext4 /dev/drbd0 /mnt || die "stock mount"; check_tree; unmnt
        """, timeout=240)
        for machine in (first, second):
            machine.check_console()
    finally:
        for machine in (first, second):
            machine.kill()
            machine.cleanup()


# ---- NFS ----

# Without mountd: what it would answer is written into the kernel's caches.
SERVER = """
modprobe nfsd; mkdir -p /export
mount -t $FS -o lanes=2 /dev/vda /export || die "mount"
mount -t nfsd nfsd /proc/fs/nfsd
serve() {
    for c in auth.unix.ip nfsd.export nfsd.fh; do date +%s >/proc/net/rpc/$c/flush; done; sleep 1
    echo "nfsd 10.9.0.1 2147483647 clients" >/proc/net/rpc/auth.unix.ip/channel || die "auth.unix.ip"
    echo "0 2147483647 1 0" >/proc/net/rpc/auth.unix.gid/channel || die "auth.unix.gid"
    # sync, no_subtree_check, insecure, no_root_squash, fsid=0
    echo "clients /export 2147483647 $((0x2402)) 65534 65534 0" >/proc/net/rpc/nfsd.export/channel || die "nfsd.export"
    printf 'clients 1 \\\\x00000000 2147483647 /export\\n' >/proc/net/rpc/nfsd.fh/channel || die "nfsd.fh"
    echo 10 >/proc/fs/nfsd/nfsv4gracetime; echo 10 >/proc/fs/nfsd/nfsv4leasetime
    echo "-2 -3 +4 +4.2" >/proc/fs/nfsd/versions
    echo "tcp 2049" >/proc/fs/nfsd/portlist || die "portlist"
    echo 4 >/proc/fs/nfsd/threads || die "threads"
}
"""

# Each operation is done on the server's disk when it returns; what was done last is noted then.  After
# the server is back the client repeats the one that was under way, and it may have been done before.
CLIENT = """
cd /mnt/work || die cd
n=$(tail -n 1 /share/done 2>/dev/null); n=${n:-0}
while [ ! -e /share/stop ]; do
    n=$((n + 1))
    mkdir d$n || [ -d d$n ] || die "mkdir d$n"
    seq $n $((n + 2000)) >d$n/new || die "write $n"
    fsctl fsync d$n/new || die "fsync $n"
    mv d$n/new d$n/numbers || [ -e d$n/numbers ] || die "mv $n"
    ln d$n/numbers d$n/link || [ -e d$n/link ] || die "ln $n"
    chmod 640 d$n/numbers || die "chmod $n"
    [ $n -le 5 ] || { rm d$((n - 5))/link || [ ! -e d$((n - 5))/link ] || die "rm $n"; }
    echo $n >>/share/done
done
"""

VERIFY = """
n=$(tail -n 1 /share/done); cd $DIR || die cd
for i in $(seq $n); do
    seq $i $((i + 2000)) | cmp - d$i/numbers || die "d$i of $n"
    [ "$(stat -c %a d$i/numbers)" = 640 ] || die "mode of d$i"
    [ ! -e d$i/new ] || die "d$i/new is back"
    if [ $((i + 5)) -gt $n ]; then [ -e d$i/link ] || die "d$i/link is gone"
    else [ ! -e d$i/link ] || die "d$i/link is back"; fi
done
echo "checked $n"
"""


def test_nfs_server_loses_power(tmp_path):
    """Nothing that was acknowledged is lost, and the client goes on with the handles that it has."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    wire, image, sock = tmp_path / "wire", tmp_path / "disk.img", tmp_path / "s"
    vmlib.make_image(image, "256M")
    subprocess.run(["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", str(image)], check=True)

    def server_vm():
        return vmlib.VM(programs=conftest.PROGRAMS, stock=["nfsd", "virtio_net"],
                        disks=[vmlib.Disk(str(sock), nbd=True)], qemu_args=network(wire, False))

    client = vmlib.VM(programs=conftest.PROGRAMS, stock=["nfsv4", "virtio_net"], qemu_args=network(wire, True))
    disk, server = nbd.VolatileDisk(image, sock), None
    try:
        start(client, 1)
        server = server_vm()
        start(server, 2)
        done(server, SERVER + "serve")
        done(client, """
            modprobe nfsv4
            mount -t nfs4 -o vers=4.2,addr=10.9.0.2,clientaddr=10.9.0.1,hard,timeo=20 10.9.0.2:/ /mnt || die "mount"
            mkdir /mnt/work
        """)
        loop = client.spawn(CLIENT)
        client.wait_file("done")
        client.idle(5)
        # The file system is mounted again under the client's handles.
        done(server, SERVER.partition("serve()")[2].join(["serve()", """
            echo 0 >/proc/fs/nfsd/threads; umount /export || die "umount"; fsck /dev/vda
            mount -t $FS -o lanes=2 /dev/vda /export || die "mount"; serve
        """]))
        before = (client.share / "done").read_text().count("\n")
        goes_on(client, loop, before + 3)
        disk.stop_after(1 + seed % 100)
        assert disk.stopped.wait(60), "the load does not write"
        server.check_console()
        server.kill()
        server.cleanup()
        lost = disk.power_cut(seed)
        before = (client.share / "done").read_text().count("\n")
        print(f"{disk.writes} writes, {disk.flushes} flushes; {lost[1]} of {lost[0]} unflushed sectors lost; "
              f"{before} rounds")
        disk = nbd.VolatileDisk(image, sock)
        server = server_vm()
        start(server, 2)
        give(server, {"done": (client.share / "done").read_bytes()})
        # Before a client comes: what the disk has.
        done(server, "mkdir -p /export; mark again; mount -t $FS /dev/vda /export || die mount\n"
                     "said 'recovered [0-9]* transactions'\nDIR=/export/work" + PROMISED + "cd /; umount /export")
        done(server, SERVER + "serve")
        goes_on(client, loop, before + 3)
        (client.share / "stop").touch()
        result = loop.wait()
        assert result, result.out
        done(client, "echo 3 >/proc/sys/vm/drop_caches; DIR=/mnt/work" + VERIFY, timeout=240)
        done(client, "umount /mnt")
        give(server, {"done": (client.share / "done").read_bytes()})
        print(done(server, "echo 0 >/proc/fs/nfsd/threads; DIR=/export/work" + VERIFY +
                   "cd /; umount /export || die umount; fsck /dev/vda", timeout=240))
        for machine in (client, server):
            machine.check_console()
    finally:
        for machine in (client, server):
            if machine:
                machine.kill()
                machine.cleanup()
        disk.close()


# After the cut one round may have begun that is not noted: it may have removed one more link.
PROMISED = VERIFY.replace('[ -e d$i/link ] || die "d$i/link is gone"',
                          '[ -e d$i/link ] || [ $((i + 4)) = $n ] || die "d$i/link is gone"')


def goes_on(client, loop, rounds):
    """Wait until the client's load has done so many rounds."""
    client._wait(lambda: loop.name in client.finished or
                 (client.share / "done").read_text().count("\n") >= rounds, 180, "the client's load")
    assert loop.name not in client.finished, f"{loop.output()}\n{client.console_tail()}"
