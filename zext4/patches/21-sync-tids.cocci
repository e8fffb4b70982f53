// SPDX-License-Identifier: GPL-2.0-only
// R8 (E2): a sync tid is handed over, so
// that the transaction it named before is not lost to fsync; an inode read
// anew gets the newest transaction of its inode-table block that is not valid.
//
// expect: ext4_jbd2.h: ext4_update_inode_fsync_trans=2
// expect: inode.c: ext4_journalled_write_end=1 ext4_journal_folio_buffers=1 __ext4_iget=2

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
