# SPDX-License-Identifier: GPL-2.0-only
"""Every wait in zext4/*.[ch]: none of them is for I/O that is not the journal's own, with a handle open (N10)."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]

# What may sleep until some I/O, a commit or another task has come to its end.
WAITS = re.compile(r"\b(zj_complete_transaction|zj_journal_(wait|flush|lock|force_commit|write_home|bring_home)\w*|"
                   r"ext4_force_commit|\w+_and_wait\w*|\w+_fdata(wait|write)\w*|vfs_fsync\w*|filemap_read|filemap_lock_folio|folio_lock|"
                   r"folio_wait_\w+|lock_buffer|wait_(on|event|for_completion)\w*|submit_bio_wait|\w*sb_bread\w*|blkdev_issue_flush|"
                   r"mutex_lock\w*|down_\w+|ext4_writepages_down_\w+|msleep|schedule(?!_work)\w*)\(")

# Functions that wait and do not ask, and why they need not.
MOUNT = "at mount, when there is no journal yet"
OWN = "the journal's own I/O"
STOCK = "as in stock ext4: metadata and its locks"
NO_LONG = "who has the lock does no I/O but reads of the quota file, as with dqio_sem of stock"
ALLOWED = {
    "read_block": MOUNT,
    "reads_take": MOUNT,
    "describe_inode": MOUNT,
    "settle": "it refuses, with a warning, if a handle is open",
    "zext4_log_block": OWN + ": a home write of the block has the buffer's lock",
    "image_home": OWN + ", which memory reclaim waits for",
    "zext4_flush_file": "a flush, by an fsync, which has no handle",
    "zext4_flush_data": "the same",
    "zext4_salt_is_unset": STOCK,
    "zext4_quieten": "data=journal: as do_get_write_access() of stock; the pages go home by a checkpoint",
    "raise_size": STOCK,
    "update_disk_size": STOCK,
    "leave_block": STOCK,
    "commit_dqblk": NO_LONG,
    "release_dqblk": NO_LONG,
    "take_layout": NO_LONG,
    "wait_removed": NO_LONG,
    "write_and_commit": "part of zext4_write_and_wait()",
    "zext4_log_data": "part of zext4_write_and_wait(); the lock is for changes of the data mode",
    "zext4_read_cached": "a read, with no handle and no lock, as generic_file_read_iter()",
}


def functions(path):
    """Name and text of each function, without its comments."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S)
    for found in re.finditer(r"^(\w[^;{}]*?\b(\w+)\([^;{}]*?\))\n\{\n(.*?)^\}", text, flags=re.S | re.M):
        yield found[2], found[3]


def test_no_wait_under_a_handle():
    unasked, seen = [], set()
    for path in sorted((TOP / "zext4").glob("*.[ch]")):
        for name, body in functions(path):
            wait = WAITS.search(body)
            if not wait:
                continue
            seen.add(name)
            if "zext4_may_wait();" not in body[:wait.start()] and name not in ALLOWED:
                unasked.append(f"{path.name}: {name}(): {wait[0]}")
    assert not unasked, "zext4_may_wait() is missing, or a reason why the wait may be under a handle:\n" + "\n".join(unasked)
    assert not set(ALLOWED) - seen, "these wait for nothing any more"
