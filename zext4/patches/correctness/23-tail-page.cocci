// SPDX-License-Identifier: GPL-2.0-only
// Rules: E12.
//
// A truncation with data=journal waits for the transaction that owns the buffer, not for
// "the" committing one (E12), and stops waiting when the journal is aborted.
//
// expect: inode.c: ext4_wait_for_tail_page_commit=11

@@
identifier commit_tid, has_transaction, ret;
@@
ext4_wait_for_tail_page_commit(...)
{
 ...
- tid_t commit_tid;
+ struct buffer_head *bh;
 int ret;
- bool has_transaction;
 ...
 while (1) {
 ...
 ret = __ext4_journalled_invalidate_folio(...);
+ bh = ret == -EBUSY ? zext4_tail_buffer(folio, offset) : NULL;
 folio_unlock(folio);
 folio_put(folio);
 if (ret != -EBUSY)
	return;
- has_transaction = false;
- read_lock(&journal->j_state_lock);
- if (journal->j_committing_transaction) {
-	commit_tid = journal->j_committing_transaction->t_tid;
-	has_transaction = true;
- }
- read_unlock(&journal->j_state_lock);
- if (has_transaction)
-	jbd2_log_wait_commit(journal, commit_tid);
+ if (zext4_wait_buffer(journal, bh))
+	return;
 }
}
