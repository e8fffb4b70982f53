// SPDX-License-Identifier: GPL-2.0-only
// Rules: F1, F2, F3, F4.
//
// With data=ordered an fsync of little data logs the blocks (log_data.c).  As long as recovery
// may replay such an image, the block is written in place by the checkpoint only (F1):
// write-back leaves it dirty and logs it again, or writes it if it has gone home meanwhile.  What
// writes it past the page cache first has it go home and be revoked.  What drops pages of blocks
// that stay allocated, and who asks where the data of a file is and has it synced, first has it go
// home; a direct read finds it in the page cache until then.
//
// The donor of an exchange of blocks loses its pages, which would go on to show what the file
// had before, as with stock ext4.
//
// Logging a block of an unwritten extent makes it a written one at once, and stock ext4 may then
// zero the rest of a small extent in place.  With dioread_nolock blocks of it may be under
// write-back, whose data the zeros would replace.  So the extent is split.
//
// The inode's block gets the file's new size along with the blocks that an fsync maps.
//
// expect: ext4.h: -=2
// expect: page-io.c: ext4_io_submit_init=2 ext4_bio_write_folio=1
// expect: inode.c: ext4_writepages=4 ext4_iomap_begin=4
// expect: inode.c: __ext4_block_zero_page_range=1 ext4_iomap_overwrite_begin=1 | ext4_block_zero_eof=6 ext4_invalidate_folio=1
// expect: inode.c: ext4_fill_raw_inode=1
// expect: inode.c: ext4_release_folio=2 ext4_change_inode_journal_flag=4
// expect: inode.c: ext4_iomap_swap_activate=4
// expect: mballoc.c: ext4_free_blocks=1
// expect: ext4_jbd2.h: ext4_free_data_revoke_credits=1
// expect: extents.c: ext4_collapse_range=6 ext4_insert_range=6
// expect: extents.c: ext4_ext_convert_to_initialized=1 | ext4_ext_convert_to_initialized=1 ext4_split_convert_extents=1
// expect: extents.c: ext4_fiemap=2 ext4_zero_range=2
// expect: ioctl.c: swap_inode_boot_loader=4 ext4_ioctl_checkpoint=1
// expect: ioctl.c: ext4_ioctl_group_add=1 __ext4_ioctl=2
// expect: file.c: ext4_dio_read_iter=2 ext4_dio_write_iter=1 ext4_file_open=3
// expect: super.c: ext4_drop_inode=2
// expect: inode.c: ext4_truncate_page_cache_block_range=5 mpage_release_unused_pages=2
// expect: migrate.c: ext4_ind_migrate=3
// expect: move_extent.c: move_extent_per_page=8 | mext_move_extent=4 ext4_move_extents=1
// expect: inode.c: -=2

@@
@@
struct ext4_io_submit {
 ...
 sector_t io_next_block;
+ pgoff_t zj_left_first;
+ pgoff_t zj_left_end;
 ...
};

@@
identifier io;
@@
ext4_io_submit_init(...)
{
 ...
 io->io_end = NULL;
+ io->zj_left_first = ULONG_MAX;
+ io->zj_left_end = 0;
 ...
}

@@
expression bh;
@@
ext4_bio_write_folio(...)
{
<...
 !buffer_dirty(bh) || buffer_delay(bh) || !buffer_mapped(bh) ||
- buffer_unwritten(bh)
+ zext4_must_leave(io, inode, bh)
...>
}

@@
identifier ret, mpd, wbc, mapping;
@@
ext4_writepages(struct address_space *mapping, struct writeback_control *wbc)
{
 ...
 if (!ret && mpd.journalled_more_data)
	ret = ext4_do_writepages(&mpd);
+ if (!ret && mpd.io_submit.zj_left_end) {
+	ret = zext4_write_logged(mapping, wbc, &mpd.io_submit);
+	if (!ret && wbc->sync_mode == WB_SYNC_ALL)
+		ret = ext4_do_writepages(&mpd);
+ }
 ...
}

@@
expression handle, inode, from, length;
identifier err;
@@
__ext4_block_zero_page_range(...)
{
<...
- err = ext4_jbd2_inode_add_write(handle, inode, from, length);
+ err = zext4_order_zeroed(handle, inode, bh, from, length);
...>
}

// Here the handle comes after the folio was let go, whose lock nobody must wait for then (N10).
@@
identifier handle, inode, from, length, err;
@@
ext4_block_zero_eof(...)
{
<...
-	handle_t *handle;
-	handle = ext4_journal_start(inode, EXT4_HT_MISC, 1);
-	if (IS_ERR(handle))
-		return PTR_ERR(handle);
-	err = ext4_jbd2_inode_add_write(handle, inode, from, length);
-	ext4_journal_stop(handle);
+	err = zext4_order_tail(inode, from, length);
	if (err)
		return err;
...>
}

// A large folio of which a part is dropped.
@large@
identifier inode;
@@
ext4_set_inode_mapping_order(struct inode *inode)
{ ... }

@depends on large@
expression folio, offset, length;
@@
ext4_invalidate_folio(...)
{
 ...
 block_invalidate_folio(folio, offset, length);
+ zext4_keep_rest(folio, length);
}

@@
identifier ret;
@@
ext4_iomap_begin(...)
{
 ...
 if (ret < 0)
	return ret;
 out:
+ ret = zext4_settle(inode, &map, flags);
+ if (ret)
+	return ret;
 ...
}

@@
identifier ret, iomap;
@@
ext4_iomap_overwrite_begin(struct inode *inode, loff_t offset, loff_t length, unsigned flags, struct iomap *iomap, struct iomap *srcmap)
{
 ...
 ret = ext4_iomap_begin(...);
+ ret = zext4_settle_overwrite(inode, iomap, flags, ret);
 ...
}

@@
identifier iocb, to, ret;
@@
ext4_dio_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
 ...
+ zext4_wont_poll(iocb);
 ret = iomap_dio_rw(...);
+ ret = zext4_read_cached(iocb, to, ret);
 inode_unlock_shared(inode);
 ...
}

@@
identifier iocb, to, ret;
@@
ext4_dio_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
 ...
+ zext4_wont_poll(iocb);
 ret = iomap_dio_read_simple(...);
 if (ret == -ENOTBLK)
	ret = iomap_dio_rw(...);
+ ret = zext4_read_cached(iocb, to, ret);
 inode_unlock_shared(inode);
 ...
}

@@
identifier iocb, from, ret;
@@
ext4_dio_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
 ...
+ zext4_before_direct_write(iocb, from);
 ret = iomap_dio_rw(...);
 ...
}

@@
identifier inode, opened, ret;
@@
ext4_file_open(struct inode *inode, struct file *opened)
{
 ...
 ret = fsverity_file_open(inode, opened);
 if (ret)
	return ret;
+ ret = zext4_settle_open(inode);
+ if (ret)
+	return ret;
 ...
}

@@
identifier inode, drop;
@@
ext4_drop_inode(struct inode *inode)
{
 ...
 if (!drop)
	drop = fscrypt_drop_inode(inode);
+ if (!drop)
+	zext4_keep_cached(inode);
 ...
}

@@
expression journal;
@@
ext4_change_inode_journal_flag(struct inode *inode, int val)
{
<...
+ if (!val)
+	zj_journal_write_home(journal);
 jbd2_journal_lock_updates(journal);
...>
}

@@
expression journal;
identifier f = {ext4_ioctl_checkpoint, ext4_ioctl_group_add, __ext4_ioctl};
@@
f(...)
{
<...
+ zj_journal_write_home(journal);
 jbd2_journal_lock_updates(journal);
...>
}

@@
identifier wait;
@@
ext4_release_folio(struct folio *folio, gfp_t wait)
{
 ...
 if (folio_test_checked(folio))
	return false;
+ if (!zext4_may_release(inode, folio, wait))
+	return false;
 ...
}

@@
identifier ops = {ext4_aops, ext4_da_aops};
@@
 const struct address_space_operations ops = {
- .error_remove_folio = generic_error_remove_folio,
+ .error_remove_folio = zext4_error_remove_folio,
 };

@@
identifier err;
@@
ext4_change_inode_journal_flag(...)
{
<...
 err = filemap_write_and_wait(inode->i_mapping);
+ if (!err)
+	err = zext4_settle_write(inode, 0, LLONG_MAX);
...>
}

@@
@@
ext4_iomap_swap_activate(struct swap_info_struct *sis, struct file *file, sector_t *span)
{
+ int err = zext4_settle_swap(file);
+
+ if (err)
+	return err;
 return iomap_swapfile_activate(...);
}

@@
@@
ext4_free_blocks(...)
{
<...
+ zext4_revoke_logged(handle, inode, block, count);
 ext4_mb_clear_bb(handle, inode, block, count, flags);
...>
}

@@
@@
ext4_free_data_revoke_credits(...)
{
 ...
- if (!ext4_should_journal_data(inode))
-	return 0;
+ if (!ext4_should_journal_data(inode))
+	return zext4_logged_revoke_credits(inode, blocks);
 ...
}

@@
identifier f = {ext4_collapse_range, ext4_insert_range};
expression start;
@@
f(...)
{
 ...
- truncate_pagecache(inode, start);
+ /* If what is in the log cannot go home, the pages must stay. */
+ ret = zext4_settle_read(inode, start, LLONG_MAX);
+ if (ret)
+	return ret;
+ truncate_pagecache(inode, start);
+ ret = zext4_settle_dropped(inode, start, LLONG_MAX);
+ if (ret)
+	return ret;
 ...
}

@@
expression start, end;
identifier ret;
@@
ext4_truncate_page_cache_block_range(struct inode *inode, ...)
{
 ...
 int ret;
 ...
- truncate_pagecache_range(inode, start, end - 1);
- return 0;
+ /* If what is in the log cannot go home, the pages must stay. */
+ ret = zext4_settle_read(inode, start, end);
+ if (ret)
+	return ret;
+ truncate_pagecache_range(inode, start, end - 1);
+ return zext4_settle_dropped(inode, start, end);
}

@@
expression offset, end;
identifier ret;
@@
ext4_zero_range(...)
{
<...
 ret = ext4_truncate_page_cache_block_range(inode, offset, end);
+ if (!ret)
+	ret = zext4_settle_write(inode, offset, end);
...>
}

@@
expression folio, from, to;
identifier orig_inode, donor_inode, err;
@@
move_extent_per_page(struct file *o_filp, struct inode *donor_inode, pgoff_t orig_page_offset, pgoff_t donor_page_offset, ..., int *err)
{
 ...
 struct inode *orig_inode = file_inode(o_filp);
<...
(
- *err = mext_page_mkuptodate(folio, from, to);
+ *err = zext4_check_move(orig_inode, orig_blk_offset, donor_inode,
+			  donor_blk_offset, block_len_in_page);
+ if (!*err)
+	*err = mext_page_mkuptodate(folio, from, to);
|
- jbd2_journal_force_commit_nested(EXT4_SB(sb)->s_journal)
+ zext4_move_again(orig_inode, orig_page_offset, donor_inode, donor_page_offset)
)
...>
}

@@
identifier folio;
@@
move_extent_per_page(...)
{
 ...
 struct folio *folio[2] = {NULL, NULL};
<...
 ext4_double_up_write_data_sem(...);
+ zext4_moved(folio[1]);
...>
}

@@
identifier ret, from, length, move_type, handle;
@@
mext_move_extent(struct mext_data *mext, u64 *m_len)
{
 ...
 struct folio *folio[2] = {NULL, NULL};
 ...
 if (move_type == MEXT_COPY_DATA) {
	...
-	ret = mext_folio_mkuptodate(folio[0], from, from + length);
+	ret = zext4_check_move(orig_inode, orig_map->m_lblk, donor_inode,
+			       mext->donor_lblk, orig_map->m_len);
+	if (!ret)
+		ret = mext_folio_mkuptodate(folio[0], from, from + length);
	if (ret)
		goto unlock;
 }
<...
 ext4_double_up_write_data_sem(...);
+ zext4_moved(folio[1]);
...>
}

@@
identifier sbi;
@@
ext4_move_extents(...)
{
<...
- jbd2_journal_force_commit_nested(sbi->s_journal)
+ zext4_move_again_at(orig_inode, EXT4_LBLK_TO_B(orig_inode, orig_blk), donor_inode,
+		       EXT4_LBLK_TO_B(donor_inode, donor_blk),
+		       EXT4_LBLK_TO_B(orig_inode, mext.orig_map.m_len))
...>
}

@@
identifier err;
@@
swap_inode_boot_loader(...)
{
<...
 err = filemap_write_and_wait(inode_bl->i_mapping);
+ if (!err)
+	err = zext4_settle_write(inode, 0, LLONG_MAX);
+ if (!err)
+	err = zext4_settle_write(inode_bl, 0, LLONG_MAX);
...>
}

@@
@@
ext4_ind_migrate(...)
{
 ...
 if (test_opt(inode->i_sb, DELALLOC))
	ext4_alloc_da_blocks(inode);
+ ret = zext4_settle_write(inode, 0, LLONG_MAX);
+ if (ret)
+	return ret;
 ...
}

@@
identifier folio, inode, mpd;
@@
mpage_release_unused_pages(struct mpage_da_data *mpd, ...)
{
 ...
 struct inode *inode = mpd->inode;
<...
- block_invalidate_folio(folio, 0, folio_size(folio));
- folio_clear_uptodate(folio);
+ zext4_give_up(inode, folio);
...>
}

@@
expression inside;
@@
ext4_ext_convert_to_initialized(...)
{
<...
- split_flag |= inside ? EXT4_EXT_MAY_ZEROOUT : 0;
+ split_flag |= inside && !ext4_should_dioread_nolock(inode) ?
+	EXT4_EXT_MAY_ZEROOUT : 0;
...>
}

@@
expression end, eof, most;
identifier max_zeroout;
@@
ext4_ext_convert_to_initialized(...)
{
 ...
 unsigned int max_zeroout = 0;
<...
- if (end <= eof && !ext4_should_journal_data(inode))
+ if (end <= eof && !ext4_should_journal_data(inode) &&
+     !ext4_should_dioread_nolock(inode))
	max_zeroout = most;
...>
}

// There it calls this one, which also converts what was written as an unwritten extent.
@@
expression inside;
identifier flags;
@@
ext4_split_convert_extents(..., int flags, ...)
{
 ...
 bool did_zeroout = false;
<...
- split_flag |= inside ? EXT4_EXT_MAY_ZEROOUT : 0;
+ split_flag |= inside && (flags & EXT4_GET_BLOCKS_UNWRIT_EXT ||
+			  !ext4_should_dioread_nolock(inode)) ?
+	EXT4_EXT_MAY_ZEROOUT : 0;
...>
}

@@
identifier inode, info, start, len, error;
@@
ext4_fiemap(struct inode *inode, struct fiemap_extent_info *info, u64 start, u64 len)
{
<...
 error = ext4_fiemap_check_ranges(inode, start, &len);
+ if (!error)
+	error = zext4_settle_fiemap(inode, info, start, len);
...>
}

@@
expression raw;
symbol inode, ei;
@@
ext4_fill_raw_inode(...)
{
<...
- ext4_isize_set(raw, ei->i_disksize);
+ ext4_isize_set(raw, zext4_size_to_show(inode));
...>
}
