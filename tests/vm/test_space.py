# SPDX-License-Identifier: GPL-2.0-only
"""Log space: eight lanes go round the log many times."""

import re

import pytest

import conftest


@pytest.fixture(scope="module")
def machine():
    with conftest.new_vm(cpus=8, memory="4G") as vm:
        assert vm.sh("""
            modprobe $FS && modprobe null_blk nr_devices=0
            mount -t configfs none /sys/kernel/config 2>/dev/null
            cd /sys/kernel/config/nullb && mkdir big && cd big || die configfs
            put() { echo $2 >$1 || die "null_blk does not take $1=$2"; }
            put size 4096; put blocksize 512; put memory_backed 1; put queue_mode 2
            put submit_queues 8; put hw_queue_depth 128; put irqmode 0
            put cache_size 1024; put fua 1; put power 1
            name=nullb$(cat index); [ -b /dev/$name ] || name=big
            ln -s /dev/$name /tmp/disk
        """)
        yield vm


@pytest.mark.zext4
@pytest.mark.parametrize("fsync", [0, 16])
def test_writers_go_round_the_log(machine, fsync):
    """
    Eight writers overwrite data=journal files, more than four times what the log holds.

    How long starts wait for space is measured by "make bench-bulk", beside stock ext4: here
    it would depend on the host.
    """
    result = machine.sh(f"""
        mk /tmp/disk -J size=128 -E nodiscard
        mnt /tmp/disk data=journal
        overwrite -p 8 -m 72 -f 32 -s {fsync} /mnt || die overwrite
        cat /proc/fs/zjournal/*/info
        unmnt; fsck /tmp/disk
    """, timeout=300)
    machine.check_console()
    assert result, result.out
    lanes = [{name: int(n) for n, name in re.findall(r"(\d+) (\w+)", line)}
             for line in result.out.splitlines() if line.startswith("lane")]
    assert len(lanes) == 8
    segments, size = map(int, re.search(r"segments: (\d+) of (\d+) blocks", result.out).groups())
    assert sum(lane["blocks"] for lane in lanes) > 4 * segments * size
    assert all(lane["txns"] > 1 for lane in lanes)
