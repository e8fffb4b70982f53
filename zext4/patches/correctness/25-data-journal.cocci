// SPDX-License-Identifier: GPL-2.0-only
// Rules: E11, H1, E29.
//
// data=journal: the write-protecting callback asks the journal whether the committing
// transaction is the newest one that changed the buffer (E11). And before a new change
// zext4_before_access() waits for a home write of the page in flight, which would write
// the change home uncommitted (H1), and write-protects the page in its mappings.
//
// expect: super.c: ext4_journalled_writepage_callback=1 | ext4_journalled_writepage_needs_redirty=1
//
// The task must not wait for a bio of its own that it has not sent yet: write-back sends
// the bio before it journals a folio again, or restarts its handle.
//
// expect: inode.c: do_journal_get_write_access=1
// expect: inode.c: __ext4_block_zero_page_range=1 | ext4_block_journalled_zero_range=1
// expect: inode.c: mpage_prepare_extent_to_map=3
//
// The options at the mount decide whether chattr +j has an effect (E29).
//
// expect: ext4_jbd2.c: ext4_inode_journal_mode=1

@@
identifier f = {ext4_journalled_writepage_callback, ext4_journalled_writepage_needs_redirty};
identifier jh, transaction;
@@
f(...)
{
<...
 jh &&
- (jh->b_transaction != transaction || jh->b_next_transaction)
+ !zj_journal_newest_is(bh, transaction)
...>
}

@@
@@
do_journal_get_write_access(...)
{
<...
+ zext4_before_access(bh->b_folio);
 return ext4_journal_get_write_access(...);
...>
}

@@
identifier err;
@@
__ext4_block_zero_page_range(...)
{
<...
 if (ext4_should_journal_data(inode)) {
+ zext4_before_access(folio);
 ...
 err = ext4_journal_get_write_access(...);
 ...
 }
...>
}

@@
identifier err;
@@
ext4_block_journalled_zero_range(...)
{
<...
+ zext4_before_access(folio);
 err = ext4_journal_get_write_access(...);
...>
}

@@
identifier err;
expression e;
@@
mpage_prepare_extent_to_map(...)
{
<...
 if (handle) {
+	if (mpd->journalled_more_data)
+		ext4_io_submit(&mpd->io_submit);
	err = ext4_journal_ensure_credits(handle, e, 0);
	...
 }
...>
}

@@
identifier err;
@@
mpage_prepare_extent_to_map(...)
{
<...
 if (folio_test_checked(folio)) {
+	ext4_io_submit(&mpd->io_submit);
	err = mpage_journal_page_buffers(...);
	...
 }
...>
}

@@
identifier inode;
@@
ext4_inode_journal_mode(struct inode *inode)
{
<...
- test_opt(inode->i_sb, DELALLOC)
+ EXT4_SB(inode->i_sb)->s_zj_delalloc
...>
}
