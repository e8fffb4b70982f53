# SPDX-License-Identifier: GPL-2.0-only
"""What the simulated disk of benches and crash tests does with data that it keeps in place (tests/vm/zjdisk)."""

import pytest

import conftest

FILL = """
# put BYTE SECTOR COUNT: so many sectors of this byte, past the page cache, here and in what is expected
put() {
    head -c $(($3 * 512)) /dev/zero | tr '\\0' "$1" >/tmp/piece
    dd if=/tmp/piece of=/dev/zjd0 bs=512 seek=$2 oflag=direct conv=notrunc status=none || die "write at $2"
    dd if=/tmp/piece of=/tmp/expected bs=512 seek=$2 conv=notrunc status=none
}
# same: the disk has that
same() {
    dd if=/dev/zjd0 of=/tmp/got bs=512 count=$SECTORS iflag=direct status=none || die read
    cmp /tmp/expected /tmp/got || die "the disk has something else"
}
SECTORS=64
head -c $((SECTORS * 512)) /dev/zero >/tmp/expected
"""


@pytest.fixture(scope="module", name="machine")
def machine_fixture():
    with conftest.new_vm(cpus=1, memory="512M") as vm:
        vm.prelude += FILL
        assert vm.sh("modprobe zjdisk ndev=2 size_mb=1")
        yield vm


def test_a_plain_disk_has_what_was_written(machine):
    """Parts of pages, new ones beyond those in reserve, pages of a copy, and a page that is written twice"""
    assert machine.sh("""
        put a 0 16
        echo 0 plain 2 >/dev/zjdctl || die plain
        put b 4 8; same
        put c 17 1; put d 24 16; put e 50 3; same
        put f 4 2; put g 30 8; same
        echo 1 copy 0 >/dev/zjdctl || die copy
        cp /tmp/expected /tmp/copied
        put h 0 $SECTORS; same
        dd if=/dev/zjd1 of=/tmp/got bs=512 count=$SECTORS iflag=direct status=none
        cmp /tmp/copied /tmp/got || die "the copy has changed with its original" """)


def test_a_plain_disk_is_not_recorded(machine):
    assert machine.sh("""
        echo 0 plain 0 >/dev/zjdctl 2>/dev/null || :
        ! echo 0 record on >/dev/zjdctl 2>/dev/null || die recorded
        echo 1 record on >/dev/zjdctl || die record
        ! echo 1 plain 0 >/dev/zjdctl 2>/dev/null || die "plain, though recorded"
        echo 1 record clear >/dev/zjdctl""")
