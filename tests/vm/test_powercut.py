# SPDX-License-Identifier: GPL-2.0-only
"""The VM is killed under load; its disk loses what was not flushed."""

import random

import pytest

import conftest
import nbd
import vm as vmlib

LOAD = """
mnt /dev/vda data={mode}
touch /share/mounted
stress -p 4 -t 60 -s {seed} -l /share/noted /mnt
"""

CHECK = """
mnt /dev/vda
stress -v /share/noted /mnt || die "fsynced data is lost"
unmnt
fsck /dev/vda
mount -t ext4 /dev/vda /mnt && umount /mnt || die "stock mount"
fsck /dev/vda
"""


@pytest.mark.parametrize("mode", ["ordered", "journal"])
def test_vm_killed_under_load(tmp_path, mode):
    import subprocess
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    image = tmp_path / "disk.img"
    vmlib.make_image(image, "256M")
    subprocess.run(["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", str(image)], check=True)
    modules = [] if conftest.FSTYPE == "ext4" else None
    machine = conftest.new_vm(modules=modules, cpus=4,
                              disks=[vmlib.Disk(str(tmp_path / "s"), nbd=True)])
    disk = nbd.VolatileDisk(image, tmp_path / "s")
    try:
        machine.start()
        machine.spawn(LOAD.format(mode=mode, seed=seed))
        machine.wait_file("mounted")
        machine.idle(2)
        disk.stop_after(1 + seed % 500)
        assert disk.stopped.wait(60), "the load does not write"
        machine.check_console()
    finally:
        machine.kill()
        seen, lost = disk.power_cut(seed)
    print(f"{disk.writes} writes, {disk.flushes} flushes; {lost} of {seen} unflushed sectors lost")
    noted = {p.name: p.read_bytes() for p in machine.share.glob("noted.*")}
    machine.cleanup()
    assert disk.flushes > 3 and len(noted) == 4
    after = conftest.new_vm(modules=modules, disks=[vmlib.Disk(str(image))])
    with after:
        for name, data in noted.items():
            (after.share / name).write_bytes(whole_lines(data))
        result = after.sh(CHECK)
        assert result, f"seed {seed}: {result.out}\n{after.console_tail()}"
        print(result.out)
        after.check_console()


def whole_lines(data):
    return data[:data.rfind(b"\n") + 1]
