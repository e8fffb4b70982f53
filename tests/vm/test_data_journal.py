# SPDX-License-Identifier: GPL-2.0-only
"""data=journal: what the log holds of file data, against what ext4 writes past the log."""

import pytest


@pytest.mark.zext4
def test_zeroed_blocks_stay_zero(guest):
    """Blocks go from one file to another, where stock ext4 would zero them in place: recovery must
    not bring back what the log still holds of the first file."""
    out = guest("""
        mk /dev/vdc -m 0
        mnt /dev/vdc data=journal
        blocks() {
            filefrag -v -b4096 "$@" | awk '/^ *[0-9]+:/ { sub("[.][.].*", "", $4); print $4, $6 + 0 }'
        }
        tr '\\0' x </dev/zero | dd of=/mnt/first bs=64k count=16 iflag=fullblock 2>/dev/null
        fsctl syncfs /mnt || die syncfs
        blocks /mnt/first >/tmp/first
        # Nothing else is free for the second files.
        for size in 1048576 65536 4096; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
        done
        rm /mnt/first
        fsctl syncfs /mnt || die syncfs
        for n in $(seq 40); do
            fallocate -l 16384 /mnt/second$n || die fallocate
        done
        blocks /mnt/second* | awk '
            NR == FNR { from[NR] = $1; to[NR] = $1 + $2; next }
            { for (i in from) if ($1 >= from[i] && $1 < to[i]) { n++; break } }
            END { print n + 0, "extents of the second files lie in the first one" }' /tmp/first -
        for n in $(seq 40); do
            echo written | dd of=/mnt/second$n conv=notrunc 2>/dev/null
        done
        fsctl syncfs /mnt || die syncfs
        crash
        mnt /dev/vdc data=journal
        for n in $(seq 40); do
            [ "$(tr -d '\\0' </mnt/second$n)" = written ] || die "second$n shows what it never held"
        done
        unmnt; fsck /dev/vdc
    """)
    assert int(out.split()[0]) >= 10, out
