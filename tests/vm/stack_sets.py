# SPDX-License-Identifier: GPL-2.0-only
"""The stacks of block devices that test_stacks_cut.py cuts, for docs/compatibility.md, too."""

from dataclasses import dataclass

MIB = 256    # of each disk


@dataclass
class Stack:
    """A file system on layers over disks that lose what they have not flushed.

    disks: how many
    iface: what the guest takes them for; nbd: it is the client itself
    options: of QEMU's device
    make: shell script that makes the layers of $DISK0, $DISK1, ... and sets DEV
    open: the same after the cut; what make does if it is empty
    cache, fua: what the disks say of themselves, so that the row is what it says
    mount: options
    load: function of the test's script that writes; its check is check_LOAD
    trim: the disks take TRIM
    modules: what the kernel needs for it
    """
    disks: int = 1
    iface: str = "virtio"
    options: str = ""
    make: str = "DEV=$DISK0"
    open: str = ""
    cache: str = "write back"
    fua: str = "0"
    mount: str = "lanes=3"
    load: str = "stress"
    trim: bool = False
    modules: tuple = ()


LVM = """
    vg() { lvm pvcreate -q $DISK0 $DISK1 && lvm vgcreate -q vg $DISK0 $DISK1 || die "vgcreate"; }
    volume() { lvm lvcreate -q -Zn -Wn -n lv "$@" vg $PLACE || die "lvcreate"; dmsetup mknodes; DEV=/dev/mapper/vg-lv; }
    again() { lvm vgchange -q -ay vg || die "vgchange"; dmsetup mknodes; DEV=/dev/mapper/vg-lv; }
"""
NO_CACHE = dict(options="write-cache=off", cache="write through")
MD = "--run --metadata=1.2 --assume-clean --bitmap=internal"
ASSEMBLE = "mdadm --assemble --run /dev/md0 $DISKS || die mdadm; DEV=/dev/md0"
MODULES_MD = ("md_mod", "raid1", "raid456", "raid10")
MODULES_CRYPT = ("dm_crypt", "algif_skcipher", "aesni_intel", "aes_generic", "sha256_generic")
KEY = "echo password >/tmp/key"

STACKS = {
    "virtio": Stack(),
    "virtio, no cache": Stack(**NO_CACHE),
    "virtio, sectors of 4096 bytes": Stack(options="logical_block_size=4096,physical_block_size=4096"),
    "virtio, discard": Stack(mount="lanes=3,discard", load="unlink", trim=True),
    "SCSI": Stack(iface="scsi"),
    "SCSI, FUA": Stack(iface="scsi", options="dpofua=on", fua="1"),
    "SCSI, no cache": Stack(iface="scsi", **NO_CACHE),
    "SCSI, FUA, sectors of 4096 bytes": Stack(
        iface="scsi", options="dpofua=on,logical_block_size=4096,physical_block_size=4096", fua="1"),
    # The NVMe of QEMU 7.2 ignores FUA; a target of the kernel keeps it.
    "NVMe, FUA": Stack(
        modules=("nvme_loop",), make="nvme_target $DISK0; [ $(queue $DEV fua) = 1 ] || die 'no FUA'", open="DEV=$DISK0"),
    "NVMe, no cache": Stack(
        iface="nvme", **NO_CACHE, fua="1", make="echo 'write through' >/sys/block/nvme0n1/queue/write_cache; DEV=$DISK0"),
    "NBD, a client in the guest": Stack(
        iface="nbd", fua="1", modules=("nbd", "virtio_net"),
        open="DEV=/dev/vda"),
    "loop, a file on zext4": Stack(
        make="mk $DISK0; mkdir -p /mnt2; mount -t $FS -o lanes=2 $DISK0 /mnt2 || die outer; truncate -s 200M /mnt2/image; "
             "modprobe loop; losetup /dev/loop0 /mnt2/image || die losetup; DEV=/dev/loop0",
        open="mkdir -p /mnt2; mount -t $FS $DISK0 /mnt2 || die outer; modprobe loop; "
             "losetup /dev/loop0 /mnt2/image || die losetup; DEV=/dev/loop0"),
    "loop, a file on ext4": Stack(
        make="mk $DISK0; mkdir -p /mnt2; mount -t ext4 $DISK0 /mnt2 || die outer; truncate -s 200M /mnt2/image; "
             "modprobe loop; losetup /dev/loop0 /mnt2/image || die losetup; DEV=/dev/loop0",
        open="mkdir -p /mnt2; mount -t ext4 $DISK0 /mnt2 || die outer; modprobe loop; "
             "losetup /dev/loop0 /mnt2/image || die losetup; DEV=/dev/loop0"),
    "dm-linear, two disks": Stack(
        disks=2,
        make="echo \"0 262144 linear $DISK0 0\n262144 262144 linear $DISK1 0\" >/tmp/table; "
             "dmsetup create volume </tmp/table || die dmsetup; dmsetup mknodes; DEV=/dev/mapper/volume"),
    "dm-crypt (LUKS) on SCSI with FUA": Stack(
        iface="scsi", options="dpofua=on", fua="1", modules=MODULES_CRYPT,
        make=f"{KEY}; modprobe dm_crypt; cryptsetup -q luksFormat --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "
             "--disable-keyring $DISK0 /tmp/key && cryptsetup open --disable-keyring --key-file /tmp/key $DISK0 secret "
             "|| die cryptsetup; dmsetup mknodes; DEV=/dev/mapper/secret",
        open=f"{KEY}; modprobe dm_crypt; cryptsetup open --disable-keyring --key-file /tmp/key $DISK0 secret "
             "|| die cryptsetup; dmsetup mknodes; DEV=/dev/mapper/secret"),
    "md RAID1": Stack(
        disks=2, modules=MODULES_MD, make=f"mdadm --create /dev/md0 {MD} --level=1 --raid-devices=2 $DISKS || die mdadm; "
                                          "DEV=/dev/md0", open=ASSEMBLE),
    "md RAID1 on SCSI with FUA": Stack(
        disks=2, iface="scsi", options="dpofua=on", fua="1", modules=MODULES_MD,
        make=f"mdadm --create /dev/md0 {MD} --level=1 --raid-devices=2 $DISKS || die mdadm; DEV=/dev/md0", open=ASSEMBLE),
    "md RAID5": Stack(
        disks=3, modules=MODULES_MD, make=f"mdadm --create /dev/md0 {MD} --level=5 --raid-devices=3 $DISKS || die mdadm; "
                                          "DEV=/dev/md0", open=ASSEMBLE),
    "LVM, striped": Stack(
        disks=2, make=LVM + "vg; volume -L 160M -i 2 -I 64", open=LVM + "again"),
    "LVM, snapshot while busy": Stack(
        disks=2, modules=("dm_snapshot",), load="snapshot",
        make=LVM + "vg; PLACE=$DISK0; volume -L 160M", open=LVM + "again"),
    "LVM, moved to another disk while busy": Stack(
        disks=2, modules=("dm_mirror",), load="moved",
        make=LVM + "vg; PLACE=$DISK0; volume -L 100M", open=LVM + "again"),
    "LVM, moved to an NBD with FUA while busy": Stack(
        disks=2, iface="nbd", fua="1", modules=("dm_mirror", "nbd", "virtio_net"), load="moved",
        make=LVM + "vg; PLACE=$DISK0; volume -L 100M", open=LVM + "again"),
    "LVM, thin pool": Stack(
        disks=2, modules=("dm_thin_pool", "dm_snapshot"), load="thin_snapshot",
        make=LVM + "vg; lvm lvcreate -q -Zn --type thin-pool -L 200M -n pool vg || die pool; "
                   "lvm lvcreate -q -V 300M --thinpool pool -n lv vg || die lvcreate; dmsetup mknodes; DEV=/dev/mapper/vg-lv",
        open=LVM + "again"),
}
