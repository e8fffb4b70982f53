# SPDX-License-Identifier: GPL-2.0-only
"""A copy of a machine's /proc, /sys, /etc and /lib, for zjctl status and zjctl kernels --root."""

INFO = """12 transactions in 2 lanes, 3584 credits each at most
log: zj
segments: 63 of 256 blocks, 60 free
state: live
recovered: 3 transactions, 8 blocks
lane   0:        7 txns  5 fsyncs
lane   1:        5 txns  2 fsyncs
"""
# What is mounted: number, directory, type, device, statistics (None: there is no journal), errors.
MOUNTS = [
    ("8:1", "/srv", "zext4", "/dev/sda1", INFO, 0),
    ("8:1", "/mnt/again", "zext4", "/dev/sda1", INFO, 0),
    ("8:2", "/plain", "ext4", "/dev/sda2", None, 0),
    ("8:3", "/a\\040b", "zext4", "/dev/sda3", None, 0),
    ("8:4", "/root-as-ext4", "ext4", "/dev/sda4", INFO.replace("zj", "jbd2").replace("3 tr", "1 tr"), 0),
]


def put(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def kernel(root, name, modules=(), release=None):
    put(root / "lib/modules" / name / "kernel/x")
    put(root / "lib/modules" / name / "modules.dep",
        "".join(f"updates/dkms/{module}.ko.xz: kernel/x.ko\n" for module in modules))
    if release:
        headers = root / "usr/src" / f"linux-headers-{name}" / "Makefile"
        put(root / "lib/modules" / name / "build/Makefile", f"include /usr/src/linux-headers-{name}/Makefile\n")
        version, patch, sub = release.split(".")
        put(headers, f"# x\nVERSION = {version}\nPATCHLEVEL = {patch}\nSUBLEVEL = {sub}\n")


def machine(root, mounts=MOUNTS, fstab="/dev/sda9 /gone zext4 nofail 0 2\n/dev/sdb /later zext4 noauto 0 0\n"):
    lines = []
    for number, at, kind, device, info, errors in mounts:
        disk = device.removeprefix("/dev/")
        lines.append(f"30 1 {number} / {at} rw,relatime shared:1 - {kind} {device} rw,lanes=2\n")
        link = root / "sys/dev/block" / number
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(f"../../devices/x/{disk}")
        if info:
            put(root / f"proc/fs/zjournal/{disk}-8/info", info)
        put(root / f"sys/fs/zext4/{disk}/errors_count", f"{errors}\n")
    put(root / "proc/self/mountinfo", "".join(lines))
    put(root / "etc/fstab", "/dev/sda1 /srv zext4 defaults 0 2\n" + fstab)
    put(root / "usr/lib/zjournal/source/zext4/series", "6.12\n")
    kernel(root, "6.1.0-47-amd64")
    kernel(root, "6.12.9-a", ("zext4", "zjournal"), "6.12.116")
    kernel(root, "6.12.10-b", release="6.12.117")
    kernel(root, "6.12.11-c")
    kernel(root, "6.12.12-d", ("zext4",), "6.12.118")
    (root / "var/lib/zjournal/linux-6.12.118").mkdir(parents=True)
    return root
