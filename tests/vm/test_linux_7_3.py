# SPDX-License-Identifier: GPL-2.0-only
"""What ext4 of Linux 7.3 has brought: large folios, uncached and atomic writes, ranges of zeros.

tools/run-uml runs them. What 7.3 has changed without the compiler's notice, and which test is for it:

  caching of extents around a range (EXT4_EX_NOCACHE)    test_log_data, by the kernel's warning
  folios of many pages: credits, runs, what is left      tests/uml test_sizes_of_folios
  a part of a large folio is released as a whole         test_a_part_of_a_large_folio_is_moved
  files exchange blocks in mext_move_extent()            test_log_data test_blocks_at_home_change_places
  ranges of ordered data, asked for in bytes             test_log_data test_commit_writes_the_data_of_new_blocks
                                                         test_data_journal test_stores_after_a_commit_are_journaled
  a mapped, dirty folio's cgroup may go away             test_log_data memory tests, with lockdep
  ends of unfinished extents are not counted (i_unwritten)  test_beside test_fsync_of_preallocated_blocks
  direct overwrites ask ext4_iomap_begin()               test_log_data test_f1_direct
  direct reads have a short way (iomap_dio_read_simple)  test_log_data test_f1_direct
  atomic writes never go through the page cache          test_atomic_writes
  the zeroed tail is ordered by a handle of its own      test_log_data test_zeroed_tail; tests/zext4/test_waits.py
  ranges are zeroed in place on request                  test_ranges_of_zeros
  written folios are dropped at once (RWF_DONTCACHE)     test_log_data test_f2_dropped_pages
  tune2fs on a mounted file system                       tests/uml test_what_is_tuned_while_mounted
  who maps blocks holds i_rwsem or invalidate_lock       test_features inline data, by the kernel's warning
  data_err=abort is what the end of a write does         test_errors test_data_err_abort
  a part of a journaled block is zeroed in a handle of its own (patch 21)  none: only an error shows it
  an inode may be read in again while it is evicted (remove_inode_hash)  none: what counts is taken before
  inodes of attributes are evicted by a worker           test_feature_sets ea_inode
  overwrites past the cache may end in an interrupt      none: what zext4 does there was always called from one
  blocks larger than a page                              test_blocks_larger_than_a_page
  a bit marks handles without a journal (h_invalid)      tests/unit/core what_ext4_reads_of_a_new_handle_is_set
  threads are placed again at their first wake-up        test_lane_by test_threads_run_on_the_cpus_of_their_lanes
  handles without a journal, the order of an fsync, EMERGENCY_RO: the VM tests as a whole
"""

import re

import conftest
import pytest
import vm as vmlib
from log_data import LIB, with_each_log

VERSION = [int(n) for n in re.match(r"(\d+)\.(\d+)", vmlib.Kernel.find().version).groups()]
pytestmark = [pytest.mark.zext4, pytest.mark.skipif(VERSION < [7, 3], reason="for Linux 7.3 and later")]

run_fixture = with_each_log(LIB + r"""
    . /lib/zj/stacks.sh
    # large FILE CHARACTER KIB: written at once and in place, in folios as large as can be
    large() { tr '\0' $2 </dev/zero | dd of=$1 bs=$3k count=1 iflag=fullblock 2>/dev/null || die "write of $1"; fsctl write-back $1; fsctl fsync $1; }
    # A disk that writes atomically and zeroes by unmapping.
    scsi() { scsi_debug lbpu=1 lbpws=1 lbprz=1 atomic_wr=1; DEV=$SCSI; }
""")


@pytest.fixture(name="shared_guest", scope="module")
def shared_guest_fixture():
    guest = conftest.Guest(cpus=2, stock=["sd_mod", "scsi_debug"])
    yield guest
    guest.close()


def test_a_part_of_a_large_folio_is_moved(run):
    """Defragmentation of one block, while another one of the same folio is in the log and not home."""
    run("""
        begin
        for where in file donor; do
            rm -f /mnt/f /mnt/donor; large /mnt/f a 256; large /mnt/donor d 256
            [ $where = donor ] || log_put /mnt/f b 1
            [ $where = file ] || log_put /mnt/donor b 1
            fsctl move-last /mnt/donor /mnt/f || die "$where: move"
            is /mnt/f a 1 63
            fsctl fsync /mnt/f /mnt/donor
            again
            [ $where = donor ] || is /mnt/f b 0 1
            [ $where = file ] || is /mnt/donor b 0 1
            is /mnt/f a 1 63; is /mnt/donor d 1 62
        done
        end
    """)


def test_uncached_writes(run):
    """What is written so goes through the log, and is read by all (that folios stay is test_f2_dropped_pages)."""
    run("""
        begin
        large /mnt/f a 256
        for c in b c d; do
            was=$(logged)
            fsctl uncached /mnt/f $c || die uncached
            [ $(logged) = $((was + 1)) ] || die "$(($(logged) - was)) blocks are logged"
            is /mnt/f $c 0 1; is /mnt/f $c 0 1 iflag=direct; is /mnt/f a 1 63
        done
        again
        is /mnt/f d 0 1; is /mnt/f a 1 63
        end
    """)


def test_ranges_of_zeros(run):
    """FALLOC_FL_WRITE_ZEROES zeroes in place: recovery does not undo it (F1), and data=journal refuses it (E30)."""
    run("""
        scsi
        begin
        log_put /mnt/f a 3
        fsctl write-zeroes /mnt/f || die write-zeroes
        zeros() { [ "$(head -c 4096 /mnt/f | tr -d '\\0' | wc -c)" = 0 ] || die "$1: old data"; is /mnt/f a 1 2; }
        zeros "in the cache"
        fsctl fsync /mnt/f
        again
        zeros "after recovery"
        unmnt; mnt $DEV $OPTS,data=journal
        for n in 1 2 3; do sync_put /mnt/f $n 1; done
        ! fsctl write-zeroes /mnt/f 2>/tmp/why && grep -q 'not supported' /tmp/why || die "data=journal: $(cat /tmp/why)"
        again
        is /mnt/f 3 0 1
        end; scsi_end
    """)


def test_atomic_writes(run):
    """Of a block that is in the log, and of a cluster whose parts are written, unwritten and a hole."""
    run("""
        scsi
        begin
        log_put /mnt/f a 3
        fsctl atomic /mnt/f x || die atomic
        is /mnt/f x 0 1; is /mnt/f x 0 1 iflag=direct
        fsctl fsync /mnt/f
        again
        is /mnt/f x 0 1; is /mnt/f a 1 2
        end
        begin -O bigalloc -C 16384
        put /mnt/f a 1; fsctl fsync /mnt/f; put /mnt/f a 4 4; fsctl fsync /mnt/f
        fsctl atomic-4 /mnt/f x || die atomic-4
        is /mnt/f x 0 4; is /mnt/f a 4 4
        again
        is /mnt/f x 0 4; is /mnt/f a 4 4
        end; scsi_end
    """)


@pytest.mark.parametrize("size", [8192, 65536])
def test_blocks_larger_than_a_page(guest, size):
    """Stock ext4 serves them by now; zext4 says that it does not, and leaves the file system as it is."""
    guest(f"""
        yes | mke2fs -q -F -t ext4 -b {size} /dev/vda 2>/dev/null || die mke2fs
        mount -t ext4 /dev/vda /mnt || die "not even stock: $(dmesg | tail -n 2)"
        echo kept >/mnt/f; unmnt
        mark blocks
        no_mnt zext4 /dev/vda
        said "does not support the file system's blocks of {size} bytes"
        fsck /dev/vda
        mount -t ext4 /dev/vda /mnt && grep -q kept /mnt/f || die "no longer stock's"
        unmnt
    """)
