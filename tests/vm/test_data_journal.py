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
        # Hardly anything else is free for the second files, which take all that there is.
        for size in 1048576 65536 4096 65536 4096; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
            fsctl syncfs /mnt || die syncfs
        done
        rm /mnt/first
        fsctl syncfs /mnt || die syncfs
        seconds=0
        while fallocate -l 16384 /mnt/second$((seconds + 1)) 2>/dev/null; do seconds=$((seconds + 1)); done
        rm -f /mnt/second$((seconds + 1))
        blocks /mnt/second* | awk '
            NR == FNR { from[NR] = $1; to[NR] = $1 + $2; next }
            { for (i in from) if ($1 >= from[i] && $1 < to[i]) { n++; break } }
            END { print n + 0, "extents of the second files lie in the first one" }' /tmp/first -
        for n in $(seq $seconds); do
            echo written | dd of=/mnt/second$n conv=notrunc 2>/dev/null
        done
        fsctl syncfs /mnt || die syncfs
        crash
        mnt /dev/vdc data=journal
        for n in $(seq $seconds); do
            [ "$(tr -d '\\0' </mnt/second$n)" = written ] || die "second$n shows what it never held"
        done
        unmnt; fsck /dev/vdc
    """)
    assert int(out.split()[0]) >= 10, out


ENCRYPTED = """
    for m in cts xts; do modprobe -q $m; done
    blocks() {
        filefrag -v -b4096 "$@" | awk '/^ *[0-9]+:/ { sub("[.][.].*", "", $4); print $4, $6 + 0 }'
    }
    # Blocks of extents $1 that lie in extents $2.
    common() {
        awk 'NR == FNR { for (i = 0; i < $2; i++) was[$1 + i]; next }
             { for (i = 0; i < $2; i++) n += $1 + i in was }
             END { print n + 0 }' $2 $1
    }
"""


@pytest.mark.zext4
@pytest.mark.parametrize("what", ("directory", "file"))
def test_encrypted_file_in_blocks_that_the_log_holds(guest, what):
    """Its data is written in place even here, and recovery must not write older images over it."""
    make = {"directory": "mkdir /mnt/first; for n in $(seq 1200); do : >/mnt/first/$(printf %0250d $n); done",
            "file": "tr '\\0' x </dev/zero | dd of=/mnt/first bs=64k count=12 iflag=fullblock 2>/dev/null"}[what]
    out = guest(ENCRYPTED + f"""
        mk /dev/vdc -m 0 -N 4096 -O encrypt
        mnt /dev/vdc data=journal,commit=300
        mkdir /mnt/secret; fsctl encrypt /mnt/secret || die encrypt
        : >/mnt/secret/file
        {make}
        fsctl syncfs /mnt || die syncfs
        blocks /mnt/first >/tmp/first
        # Little else is free for the second file, which gets all of it.
        for size in 1048576 65536 4096; do
            while fallocate -l $size /mnt/rest$((n += 1)) 2>/dev/null; do :; done
        done
        rm -r /mnt/first
        fsctl syncfs /mnt || die syncfs
        seq 1000000 2>/dev/null >/mnt/secret/file; fsctl fsync /mnt/secret/file || die fsync
        blocks /mnt/secret/file >/tmp/second
        common /tmp/second /tmp/first
        crash
        mnt /dev/vdc data=journal
        fsctl add-key /mnt || die add-key
        seq 1000000 | head -c $(stat -c %s /mnt/secret/file) | cmp - /mnt/secret/file || die "synced data is gone"
        unmnt; fsck /dev/vdc
    """)
    assert int(out.split()[0]) >= 10, out


@pytest.mark.zext4
def test_encrypt_switched_on_while_mounted(guest):
    """Blocks were freed without revokes, and commits flush no data, so policies are refused until the next mount."""
    guest(ENCRYPTED + """
        mk /dev/vdc
        mnt /dev/vdc data=journal
        mkdir /mnt/secret
        tune2fs -O encrypt /dev/vdc >/dev/null || die tune2fs
        ! fsctl encrypt /mnt/secret 2>/tmp/err || die "encrypted in data=journal without revokes"
        grep -q 'not supported' /tmp/err || die "$(cat /tmp/err)"
        unmnt
        mnt /dev/vdc data=journal
        fsctl encrypt /mnt/secret || die "encrypt after a mount with the feature"
        unmnt; fsck /dev/vdc
    """)


@pytest.mark.zext4
@pytest.mark.parametrize("first,then", (("delalloc", "nodelalloc"), ("nodelalloc", "delalloc")))
def test_journaled_file_over_a_remount(guest, first, then):
    """chattr +j counts without delayed allocation only, as it was at the mount: what is fsynced after a remount
    that switches it is there after a crash. Stock ext4 brings back what the log holds of the file, or in newer
    kernels does not switch it off."""
    guest(f"""
        remount() {{
            mark remount
            mount -o remount,{then} /mnt 2>/dev/null || {{ [ {then} = nodelalloc ] && said "can't disable delalloc"; }} || die remount
        }}
        mk /dev/vdc -J size=8
        mnt /dev/vdc {first},commit=300
        printf old >/mnt/f; chattr +j /mnt/f || die chattr
        printf mid | dd of=/mnt/f conv=notrunc,fsync 2>/dev/null || die write
        printf new | dd of=/mnt/f conv=notrunc 2>/dev/null
        printf new >/mnt/g; chattr +j /mnt/g || die chattr
        remount
        for n in 1 2; do
            fsctl fsync /mnt/f /mnt/g || die fsync
            crash; mnt /dev/vdc {first},commit=300
            [ "$(cat /mnt/f /mnt/g)" = newnew ] || die "synced data is gone: $(cat /mnt/f /mnt/g)"
            [ $n = 2 ] && break
            printf mid | dd of=/mnt/f conv=notrunc,fsync 2>/dev/null || die write
            remount
            printf new | dd of=/mnt/f conv=notrunc 2>/dev/null
        done
        unmnt; fsck /dev/vdc
    """)


def test_block_under_a_failed_copy_gets_home(guest):
    """A write that copies nothing has touched a block that is fsynced and not home: its folio is not to be
    taken for clean, or a collapse drops it without a wait."""
    out = guest("""
        mk /dev/vdc
        mnt /dev/vdc data=journal
        shortcopy -n 200 /mnt/f || die shortcopy
        unmnt; fsck /dev/vdc
    """, timeout=300)
    assert int(out.split()[0]) > 20, out


def test_stores_after_a_commit_are_journaled(guest):
    """A commit write-protects all pages of a mapping that it copies, so that the next store is noticed (E11)."""
    guest("""
        mk /dev/vda; mnt /dev/vda data=journal,commit=300
        fsctl store-twice /mnt/f || die store-twice
        crash; mnt /dev/vda
        [ "$(tr -d b </mnt/f | wc -c)" = 0 ] && [ $(stat -c %s /mnt/f) = 16384 ] || die "$(od -c /mnt/f | head -n 9)"
        unmnt; fsck /dev/vda
    """)
