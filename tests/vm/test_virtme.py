# SPDX-License-Identifier: GPL-2.0-only
"""The stock kernel over this host's whole user land, by virtme-ng."""

import os
import shlex
import subprocess

import conftest
import patience
import vm as vmlib

SCRIPT = r"""
set -e
for m in {modules}; do insmod $m; done
mkdir -p /tmp/mnt
mount -t {fs} /dev/vda /tmp/mnt
cd /tmp/mnt
git init -q tree && cd tree
cp -r {root}/tests/vm/guest .
git add -A && git -c user.name=t -c user.email=t@example.org commit -q -m one
cd ..
sqlite3 rows.db 'create table t(n integer); insert into t values (1),(2),(3);'
tar cf tree.tar tree
cd /
umount /tmp/mnt
mount -t {fs} /dev/vda /tmp/mnt
git -C /tmp/mnt/tree fsck --strict
test "$(sqlite3 /tmp/mnt/rows.db 'select sum(n) from t')" = 6
tar tf /tmp/mnt/tree.tar >/dev/null
if [ {fs} = zext4 ]; then
	# If the first one works, e4defrag knows zext4, and as-ext4 is no longer needed for it.
	! e4defrag -c /tmp/mnt/tree.tar
	{root}/user/as-ext4 e4defrag -c /tmp/mnt/tree.tar
	{root}/user/as-ext4 e4defrag /tmp/mnt/tree.tar
	grep ' /tmp/mnt zext4 ' /proc/mounts
fi
umount /tmp/mnt
dmesg | grep -E 'BUG:|WARNING:|Oops' && exit 1
echo virtme-all-well
"""


def test_whole_user_land(tmp_path):
    kernel = vmlib.Kernel.find()
    image = tmp_path / "disk.img"
    vmlib.make_image(image, "256M")
    subprocess.run(["/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", str(image)], check=True)
    if conftest.FSTYPE == "ext4":
        load = []
    else:
        load = kernel.own_modules()[:2]
    script = tmp_path / "script"
    stock = "modprobe -a virtio_blk crc32c_generic crc32c_intel mbcache crc16 libcrc32c ext4\n"
    script.write_text(stock + SCRIPT.format(modules=" ".join(map(str, load)), fs=conftest.FSTYPE,
                                            root=vmlib.ROOT))
    vng = [str(vmlib.BUILD / "venv/bin/vng"), "-r", str(kernel.image), "--cpus", "2", "--memory", "1G",
           "--disable-microvm", f"--qemu-opts=-drive if=virtio,format=raw,cache=unsafe,file={image}",
           "--rwdir", str(tmp_path)]
    if "kvm" not in vmlib.accel():
        vng.append("--disable-kvm")
    vng += ["--", f"sh {script}"]
    # vng wants a terminal; script(1) gives it one.
    with subprocess.Popen(["script", "-qec", shlex.join(vng), "/dev/null"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "PATH": f"{vmlib.BUILD}/venv/bin:{os.environ['PATH']}"}) as run:
        said = patience.communicate(run, 240)
        if said is None:
            patience.kill(run.pid)
            said = run.communicate()
    assert "virtme-all-well" in said[0], said[0][-6000:]
    subprocess.run(["/usr/sbin/e2fsck", "-fn", str(image)], check=True, capture_output=True)
