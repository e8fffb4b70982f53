// SPDX-License-Identifier: GPL-2.0-only
// Rules: E31, C2.
//
// A file's data moves from its inode to a block in one transaction. Stock ext4 takes it
// out of the inode first and leaves the block, or its conversion, to later transactions: after
// a crash between them, fsynced data reads as zeros. And stock ext4 sends the block of a page
// fault through the log, from where it is written home over later contents of the page.
// A truncation asks for write access before it changes the inode's block, not after: with an
// orphan file no other access has been taken by then, and the block may be on its way to the
// log. If no block can be had, the data goes back into the inode. The inode's checksum is made
// after that, as it covers the data and nothing else marks the inode dirty.
//
// expect: inline.c: -=1 ext4_inline_data_truncate=1 ext4_restore_inline_data=1 ext4_convert_inline_data=2
// expect: inline.c: ext4_convert_inline_data_to_extent=20
// expect: inode.c: ext4_do_writepages=7

@@
identifier mapping, inode;
typedef handle_t;
@@
+ static void ext4_restore_inline_data(handle_t *handle, struct inode *inode,
+				      struct ext4_iloc *iloc, void *buf,
+				      int inline_size);
+
-static
int ext4_convert_inline_data_to_extent(struct address_space *mapping,
				       struct inode *inode)
{
 ...
}

@@
identifier credits = {ext4_writepage_trans_blocks, ext4_chunk_trans_extent};
identifier inode, needed_blocks, ret, iloc;
@@
+ ret = ext4_inode_attach_jinode(inode);
+ if (ret)
+	return ret;
 needed_blocks = credits(inode, ...);
 ret = ext4_get_inode_loc(inode, &iloc);

@@
identifier inode, folio, handle, from, to, no_expand, sem_held, ret;
@@
- if (ext4_should_dioread_nolock(inode)) {
-	ret = ext4_block_write_begin(handle, folio, from, to,
-				     ext4_get_block_unwritten);
- } else
-	ret = ext4_block_write_begin(handle, folio, from, to,
-				     ext4_get_block);
- clear_buffer_new(folio_buffers(folio));
- if (!ret && ext4_should_journal_data(inode)) {
-	ret = ext4_walk_page_buffers(...);
- }
+ ret = zext4_inline_to_block(handle, inode, folio);
 if (ret) {
+	void *data = kmap_local_folio(folio, 0);
+
+	ext4_restore_inline_data(handle, inode, &iloc, data, to);
+	kunmap_local(data);
	folio_unlock(folio);
	folio_put(folio);
	folio = NULL;
-	ext4_orphan_add(handle, inode);
	ext4_write_unlock_xattr(inode, &no_expand);
	sem_held = 0;
	ext4_journal_stop(handle);
	handle = NULL;
-	ext4_truncate_failed_write(inode);
-	if (inode->i_nlink)
-		ext4_orphan_del(NULL, inode);
 }

@@
expression folio, where, from, to;
@@
- if (folio)
-	block_commit_write(where, from, to);

@@
identifier credits = {ext4_writepage_trans_blocks, ext4_chunk_trans_extent};
identifier inode, needed_blocks;
@@
ext4_convert_inline_data(struct inode *inode)
{
 ... when any
+ if (S_ISREG(inode->i_mode))
+	return ext4_convert_inline_data_to_extent(inode->i_mapping, inode);
 needed_blocks = credits(inode, ...);
 ... when any
}

@@
identifier handle, inode, ret;
symbol mpd;
@@
 if (ext4_has_inline_data(inode)) {
-	handle = ext4_journal_start(inode, EXT4_HT_INODE, 1);
-	if (IS_ERR(handle)) {
-		ret = PTR_ERR(handle);
-		goto out_writepages;
-	}
-	BUG_ON(...);
-	ext4_destroy_inline_data(handle, inode);
-	ext4_journal_stop(handle);
+	/* No page of it has a block yet, so a commit has none to write. */
+	if (!mpd->can_map)
+		goto out_writepages;
+	ret = ext4_convert_inline_data_to_extent(inode->i_mapping, inode);
+	if (ret) {
+		/* Its pages are still to be written. */
+		ext4_clear_inode_state(inode,
+				       EXT4_STATE_MAY_INLINE_DATA);
+		goto out_writepages;
+	}
 }

@@
identifier inode, is, err;
symbol handle;
@@
ext4_inline_data_truncate(struct inode *inode, ...)
{
<...
- if ((err = ext4_get_inode_loc(inode, &is.iloc)) != 0)
+ if ((err = ext4_reserve_inode_write(handle, inode, &is.iloc)) != 0)
	goto out;
...>
}

@@
identifier handle, inode, iloc, buf, inline_size;
typedef handle_t;
@@
ext4_restore_inline_data(handle_t *handle, struct inode *inode, struct ext4_iloc *iloc, void *buf, int inline_size)
{
<...
 ext4_write_inline_data(inode, iloc, buf, 0, inline_size);
+ /* Reports its own error. */
+ ext4_mark_inode_dirty(handle, inode);
...>
}
