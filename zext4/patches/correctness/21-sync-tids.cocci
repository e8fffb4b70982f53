// SPDX-License-Identifier: GPL-2.0-only
// Rules: R8, E2.
//
// R8 (E2): a sync tid is handed over, so that fsync does not miss the transaction that it
// named before. An inode that is read in gets the newest uncommitted transaction of its block
// in the inode table. And fdatasync waits for changes of the contents without a change of the
// size: data in the inode, and extents that change places (stock ext4 misses these).
//
// expect: ext4_jbd2.h: ext4_update_inode_fsync_trans=2
// expect: extents.c: ext4_swap_extents=2
// expect: inline.c: ext4_write_inline_data_end=1
// expect: ioctl.c: swap_inode_boot_loader=2
// expect: inode.c: ext4_journalled_write_end=1 ext4_journal_folio_buffers=1 __ext4_iget=13
//
// Newer kernels zero a part of a block in a handle of its own, before the one that hands over. If that
// one fails, the file shows the zeros all the same.
//
// expect: inode.c: | ext4_block_journalled_zero_range=1

@@
expression ei;
@@
ext4_update_inode_fsync_trans(...)
{
<...
(
- ei->i_sync_tid = handle->h_transaction->t_tid;
+ zj_journal_sync_tid(handle, &ei->i_sync_tid);
|
- ei->i_datasync_tid = handle->h_transaction->t_tid;
+ zj_journal_sync_tid(handle, &ei->i_datasync_tid);
)
...>
}

@@
expression inode, h;
@@
- EXT4_I(inode)->i_datasync_tid = h->h_transaction->t_tid;
+ ext4_update_inode_fsync_trans(h, inode, 1);

@@
identifier handle, inode, err;
@@
ext4_block_journalled_zero_range(struct inode *inode, ...)
{
 ...
 handle_t *handle;
 ...
 err = ext4_dirty_journalled_data(...);
 if (err)
	goto out;
+ ext4_update_inode_fsync_trans(handle, inode, 1);
 ...
}

@@
identifier transaction, tid;
@@
__ext4_iget(...)
{
<...
- transaction_t *transaction;
- tid_t tid;
+ tid_t tid = zj_journal_buffer_tid(journal, iloc.bh);
- read_lock(&journal->j_state_lock);
- if (journal->j_running_transaction)
-	transaction = journal->j_running_transaction;
- else
-	transaction = journal->j_committing_transaction;
- if (transaction)
-	tid = transaction->t_tid;
- else
-	tid = journal->j_commit_sequence;
- read_unlock(&journal->j_state_lock);
 ei->i_sync_tid = tid;
 ei->i_datasync_tid = tid;
+ ei->i_zj_claim = tid;
...>
}

@@
identifier handle, inode1, inode2, path1, erp;
typedef handle_t;
symbol errout;
@@
ext4_swap_extents(handle_t *handle, struct inode *inode1, struct inode *inode2, ...)
{
<...
 *erp = ext4_ext_dirty(handle, inode1, path1 + path1->p_depth);
 if (...)
	goto errout;
+ ext4_update_inode_fsync_trans(handle, inode1, 1);
+ ext4_update_inode_fsync_trans(handle, inode2, 1);
...>
}

@@
identifier file, handle;
expression current;
@@
ext4_write_inline_data_end(struct inode *file, ...)
{
 handle_t *handle = current;
<...
 ext4_write_inline_data(file, ...);
+ ext4_update_inode_fsync_trans(handle, file, 1);
...>
}

@@
identifier file, loader, handle, err;
@@
swap_inode_boot_loader(..., struct inode *file)
{
<...
 loader->i_bytes = file->i_bytes;
 err = ext4_mark_inode_dirty(handle, loader);
 if (err < 0) {...}
+ ext4_update_inode_fsync_trans(handle, file, 1);
+ ext4_update_inode_fsync_trans(handle, loader, 1);
...>
}
