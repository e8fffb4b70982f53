// SPDX-License-Identifier: GPL-2.0-only
// fsync waits for the inode's own transaction (E18), also for directories, whose changes
// are all in the transaction that marked them dirty.  With data in the journal nothing has to
// be written home first, and no commit needs a flush before its record; then blocks that are
// zeroed in place are flushed right there.  An encrypted file's data is never in the journal,
// so with that feature commits flush the data that was reported.  Flushes are shared with those
// of the journal.
//
// expect: fsync.c: ext4_fsync_journal=5 ext4_sync_file=2
// expect: inode.c: ext4_journalled_dirty_folio=1
// expect: ialloc.c: ext4_init_inode_table=1
// expect: resize.c: ext4_flex_group_add=2

@@
expression sync_tid, datasync_tid;
@@
ext4_fsync_journal(...)
{
<...
- datasync ? datasync_tid : sync_tid
+ datasync && S_ISREG(inode->i_mode) ? datasync_tid : sync_tid
...>
}

@@
expression journal, tid;
@@
ext4_fsync_journal(...)
{
 ...
- if (!S_ISREG(inode->i_mode))
-	return ext4_force_commit(...);
- if (journal->j_flags & JBD2_BARRIER && !jbd2_trans_will_send_data_barrier(...))
+ if (S_ISREG(inode->i_mode) && journal->j_flags & JBD2_BARRIER &&
+    !zext4_commit_flushes(inode, tid))
	*needs_barrier = true;
- return ext4_fc_commit(journal, tid);
+ return zext4_fsync_commit(inode, tid);
}

@@
identifier file, start, end, datasync;
@@
ext4_sync_file(struct file *file, loff_t start, loff_t end, int datasync)
{
<...
- file_write_and_wait_range(file, start, end)
+ zext4_write_and_wait(file, start, end, datasync)
...>
}

@@
expression inode;
@@
ext4_sync_file(...)
{
<...
- blkdev_issue_flush(inode->i_sb->s_bdev)
+ zext4_flush_file(inode)
...>
}

// Stores of a device into pinned pages are journaled when the page is written.
@@
@@
ext4_journalled_dirty_folio(...)
{
 ...
- if (folio_maybe_dma_pinned(folio))
+ if (folio_maybe_dma_pinned(folio)) {
+	EXT4_I(mapping->host)->i_zj_pinned = true;
	folio_set_checked(folio);
+ }
 ...
}

@@
@@
ext4_init_inode_table(...)
{
<...
- if (barrier)
+ if (barrier || test_opt(sb, DATA_FLAGS) == EXT4_MOUNT_JOURNAL_DATA)
	blkdev_issue_flush(...);
...>
}

@@
identifier err;
expression flex;
@@
ext4_flex_group_add(...)
{
 ...
 err = setup_new_flex_group_blocks(sb, flex);
+ if (!err)
+	err = zext4_flush_data(sb);
 if (err) goto exit;
 ...
}
