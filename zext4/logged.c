// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of file data that are in the log (log_data.c), and who has to leave them alone: as
 * long as recovery may replay an image, nothing else writes the block in place (F1), the
 * folio stays in the page cache until the block is home (F2), and freeing it revokes it (F3).
 */
#include <linux/fiemap.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include "ext4.h"
#include "ext4_jbd2.h"
#include "ext4_extents.h"

/* ---- which blocks are in the log ---- */

/**
 * zext4_ordered_journal() - the journal of a file whose data may be in it with data=ordered
 * @inode: the file
 *
 * Return: the journal; NULL if the file's data is not ordered, or there is none.
 */
journal_t *zext4_ordered_journal(struct inode *inode)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	return journal && S_ISREG(inode->i_mode) && ext4_should_order_data(inode) ?
	       journal : NULL;
}

/**
 * zext4_block_logged() - may recovery replay an image of this block of a file's data?
 * @inode: the file
 * @bh: a mapped buffer of its folio
 *
 * Return: true if the block must not be written in place (F1).
 */
bool zext4_block_logged(struct inode *inode, const struct buffer_head *bh)
{
	journal_t *journal = zext4_ordered_journal(inode);

	return journal && zj_journal_file_blocks_logged(journal, bh->b_blocknr, 1);
}

/**
 * zext4_must_leave() - must write-back leave this block dirty?
 * @io: notes it for zext4_write_logged()
 * @inode: the file
 * @bh: a dirty buffer of its folio, with a block
 *
 * It must if the block is in an unwritten extent or in the log.
 */
bool zext4_must_leave(struct ext4_io_submit *io, struct inode *inode,
		      const struct buffer_head *bh)
{
	pgoff_t index;

	if (buffer_unwritten(bh))
		return true;
	if (!zext4_block_logged(inode, bh))
		return false;
	index = bh->b_folio->index;
	io->zj_left_first = min(io->zj_left_first, index);
	io->zj_left_end = max(io->zj_left_end, index + 1);
	return true;
}

/**
 * zext4_settle() - empty the log before a range of a file is read or written directly
 * @inode: the file
 * @map: its blocks
 * @nowait: do not sleep
 *
 * Context: no handle open.
 * Return: 0, -EAGAIN if it would have to wait, or a negative error.
 */
int zext4_settle(struct inode *inode, const struct ext4_map_blocks *map, bool nowait)
{
	journal_t *journal = zext4_ordered_journal(inode);

	if (!journal || !(map->m_flags & EXT4_MAP_MAPPED) ||
	    !zj_journal_file_blocks_logged(journal, map->m_pblk, map->m_len))
		return 0;
	return nowait ? -EAGAIN : zext4_empty_log(inode->i_sb);
}

/**
 * zext4_settle_range() - empty the log if it holds data of a range of a file
 * @inode: the file
 * @start: offset
 * @end: offset after the range
 *
 * For what drops pages whose blocks stay allocated: the device must have what the pages had. A
 * page that is there may be logged again meanwhile. So such a caller asks once before it drops the
 * pages, which stay if this fails, and once after that.
 *
 * Context: no handle open. Who drops pages holds i_rwsem and the mapping's invalidate_lock.
 * Return: 0 or a negative error.
 */
int zext4_settle_range(struct inode *inode, loff_t start, loff_t end)
{
	journal_t *journal = zext4_ordered_journal(inode);
	ext4_lblk_t last = (min(end, i_size_read(inode)) - 1) >> inode->i_blkbits;
	struct ext4_map_blocks map = { .m_lblk = start >> inode->i_blkbits };
	int err;

	if (!journal || start >= min(end, i_size_read(inode)))
		return 0;
	for (; map.m_lblk <= last; map.m_lblk += map.m_len) {
		if (!zj_journal_max_file_blocks(journal))
			return 0;
		map.m_len = last - map.m_lblk + 1;
		err = ext4_map_blocks(NULL, inode, &map, 0);
		if (err >= 0)
			err = zext4_settle(inode, &map, false);
		if (err)
			return err;
		map.m_len = max(map.m_len, 1U);
	}
	return 0;
}

/**
 * zext4_settle_fiemap() - write home the data whose place on the device is asked for
 * @inode: the file
 * @info: the request
 * @start: offset
 * @len: bytes
 *
 * With FIEMAP_FLAG_SYNC the caller may go on to read the device, as boot loaders do.
 *
 * Context: no handle open.
 * Return: 0 or a negative error.
 */
int zext4_settle_fiemap(struct inode *inode, const struct fiemap_extent_info *info, u64 start,
			u64 len)
{
	int err;

	if (!(info->fi_flags & FIEMAP_FLAG_SYNC))
		return 0;
	err = filemap_write_and_wait_range(inode->i_mapping, start, start + len - 1);
	return err ?: zext4_settle_range(inode, start, start + len);
}

/**
 * zext4_check_move() - may the blocks of two files be swapped?
 * @inode: one file
 * @lblk: its first block
 * @donor: the other file
 * @donor_lblk: its first block
 * @count: number of blocks
 *
 * The swap is committed after the data is written to the blocks in place (F1).
 *
 * Context: the folios of both ranges are locked, a handle is open.
 * Return: 0; -EBUSY if recovery may replay an image of one of the blocks, and
 * zext4_move_again() helps; or a negative error.
 */
int zext4_check_move(struct inode *inode, ext4_lblk_t lblk, struct inode *donor,
		     ext4_lblk_t donor_lblk, unsigned int count)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	struct ext4_map_blocks map;
	unsigned int i;
	int n;

	for (i = 0; journal && i < 2 * count; i++) {
		map.m_lblk = i < count ? lblk + i : donor_lblk + i - count;
		map.m_len = 1;
		n = ext4_map_blocks(NULL, i < count ? inode : donor, &map, 0);
		if (n < 0)
			return n;
		if (n && zj_journal_file_blocks_logged(journal, map.m_pblk, 1))
			return -EBUSY;
	}
	return 0;
}

/**
 * zext4_move_again() - write home what kept blocks from being swapped
 * @sb: mounted
 *
 * Return: true if another try may succeed.
 */
bool zext4_move_again(struct super_block *sb)
{
	bool committed = zj_journal_force_commit_nested(EXT4_SB(sb)->s_journal);

	return zj_journal_max_file_blocks(EXT4_SB(sb)->s_journal) ?
	       !zext4_settle_all(sb) : committed;
}

/**
 * zext4_settle_swap() - write home what a file holds that becomes swap space
 * @file: about to be activated
 *
 * From here on nothing may write to its blocks but the swapping. What is dirty would be
 * logged by the fsync that activation begins with, and would go home later.
 */
int zext4_settle_swap(struct file *file)
{
	int err = vfs_fsync(file, 1);

	return err ?: zext4_settle_all(file_inode(file)->i_sb);
}

/**
 * zext4_settle_all() - write home all file data that is in the log
 * @sb: mounted
 *
 * Context: no handle open. Nothing dirties the pages in question meanwhile.
 * Return: 0 or a negative error.
 */
int zext4_settle_all(struct super_block *sb)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	return journal && zj_journal_max_file_blocks(journal) ? zext4_empty_log(sb) : 0;
}

/**
 * zext4_evict_logged() - write home the data of an inode that is evicted with its pages
 * @inode: with links
 *
 * Memory reclaim evicts no inode that has pages, and an unmount empties the log before
 * anybody reads the file again. So this is for an inode that is not to be cached.
 */
void zext4_evict_logged(struct inode *inode)
{
	if (inode->i_data.nrpages && inode->i_sb->s_flags & SB_ACTIVE &&
	    zext4_ordered_journal(inode) && !WARN_ON_ONCE(journal_current_handle()))
		zext4_settle_all(inode->i_sb);
}

/* ---- freed blocks ---- */

/**
 * zext4_logged_revoke_credits() - revokes that a handle may need for the data of a file
 * @inode: the file
 * @blocks: the data blocks that the handle frees
 */
int zext4_logged_revoke_credits(struct inode *inode, int blocks)
{
	journal_t *journal = zext4_ordered_journal(inode);

	return journal ? min_t(u32, blocks, zj_journal_max_file_blocks(journal)) : 0;
}

/**
 * zext4_revoke_logged() - revoke blocks that are freed and whose data is in the log (F3)
 * @handle: the handle that frees them
 * @inode: the file that they belong to
 * @block: the first one
 * @count: their number
 */
void zext4_revoke_logged(handle_t *handle, struct inode *inode, ext4_fsblk_t block,
			 unsigned long count)
{
	journal_t *journal = zext4_ordered_journal(inode);
	int err = 0;

	if (!journal || !zj_journal_max_file_blocks(journal))
		return;
	for (; count && !err; count--, block++)
		if (zj_journal_file_blocks_logged(journal, block, 1))
			err = zj_journal_revoke(handle, block, NULL);
	if (err && err != -EROFS)
		ext4_error_inode_err(inode, __func__, __LINE__, block, -err,
				     "cannot revoke a block of file data");
}

/* ---- the page cache ---- */

/* Has the device's page cache a page with buffers where this block is? */
static bool has_buffers(struct super_block *sb, sector_t block)
{
	pgoff_t index = block >> (PAGE_SHIFT - sb->s_blocksize_bits);
	struct folio *folio = filemap_get_folio(sb->s_bdev->bd_mapping, index);
	bool has;

	if (IS_ERR(folio))
		return false;
	has = folio_buffers(folio);
	folio_put(folio);
	return has;
}

/*
 * May the buffer of a block that the index knows hold an image that is not home? An image has a
 * journal head until then, and keeps its page in the cache. The search may miss the buffer while
 * the page is looked at for migration; one that waits for that would need the lock of the page,
 * which whoever is reclaiming memory may hold.
 */
static bool is_image(struct super_block *sb, sector_t block, struct buffer_head *bh)
{
	return bh ? buffer_jbd(bh) : has_buffers(sb, block);
}

/**
 * zext4_holds_folio() - is a block of the folio not home yet?
 * @inode: the file
 * @folio: a locked folio of it
 *
 * Then the folio must stay in the page cache, because the device has older data (F2).
 */
bool zext4_holds_folio(struct inode *inode, struct folio *folio)
{
	struct buffer_head *bh, *head = folio_buffers(folio), *image;
	bool held = false;

	if (!head || !zext4_ordered_journal(inode))
		return false;
	bh = head;
	do {
		if (!buffer_mapped(bh) || !zext4_block_logged(inode, bh))
			continue;
		image = sb_find_get_block(inode->i_sb, bh->b_blocknr);
		held = is_image(inode->i_sb, bh->b_blocknr, image);
		brelse(image);
	} while (!held && (bh = bh->b_this_page) != head);
	return held;
}

/* Has the image of a block gone home? If not, it is sent on its way. */
static bool image_home(struct super_block *sb, sector_t block, bool wait)
{
	struct buffer_head *image = sb_find_get_block(sb, block);
	bool home = !is_image(sb, block, image);

	if (!home && image)
		home = zj_journal_bring_home(image, wait);
	brelse(image);
	return home;
}

/**
 * zext4_may_release() - may memory reclaim have a folio?
 * @inode: the file
 * @folio: a locked folio of it, clean
 * @gfp: what reclaim may do
 *
 * What keeps the folio (F2) is in no account of dirty memory, so nobody who writes is
 * stopped in time, and write-back does not know of it. Hence reclaim has to write it home:
 * a cgroup whose limit is smaller than the log would find no memory otherwise.
 *
 * Return: false if a block of it is not home yet. It is on its way then, if it is committed.
 */
bool zext4_may_release(struct inode *inode, struct folio *folio, gfp_t gfp)
{
	bool wait = gfpflags_allow_blocking(gfp) && !current_is_kswapd();
	struct buffer_head *bh, *head = folio_buffers(folio);
	bool may = true;

	if (!zext4_holds_folio(inode, folio))
		return true;
	if (!(gfp & __GFP_IO))
		return false;
	bh = head;
	do {
		if (buffer_mapped(bh))
			may &= image_home(inode->i_sb, bh->b_blocknr, wait);
	} while ((bh = bh->b_this_page) != head);
	return may;
}

/**
 * zext4_error_remove_folio() - drop a folio whose memory has failed
 * @mapping: of the file
 * @folio: a locked folio of it
 *
 * The image in the block device's buffer is in other memory, so it still can go home, where
 * reads of the file look from now on (F2). If it is not committed yet, no sync has returned
 * for the data, which is lost like that of a dirty folio.
 *
 * Context: process; the folio is mapped nowhere.
 * Return: 0 or a negative error.
 */
int zext4_error_remove_folio(struct address_space *mapping, struct folio *folio)
{
	struct inode *inode = mapping->host;

	/* The second call waits for what the first one has sent. */
	if (!zext4_may_release(inode, folio, GFP_KERNEL) &&
	    !zext4_may_release(inode, folio, GFP_KERNEL))
		mapping_set_error(mapping, -EIO);
	return generic_error_remove_folio(mapping, folio);
}

/**
 * zext4_give_up() - drop data for which there is no block
 * @inode: the file
 * @folio: a locked folio of it
 *
 * A folio that has to stay (F2) shows zeros where there is no block, as the device would.
 */
void zext4_give_up(struct inode *inode, struct folio *folio)
{
	struct buffer_head *bh, *head = folio_buffers(folio);
	bool dirty = false;

	if (!zext4_holds_folio(inode, folio)) {
		block_invalidate_folio(folio, 0, folio_size(folio));
		folio_clear_uptodate(folio);
		return;
	}
	bh = head;
	do {
		if (zext4_needs_mapping(bh)) {
			folio_zero_range(folio, bh_offset(bh), bh->b_size);
			clear_buffer_dirty(bh);
			clear_buffer_delay(bh);
			clear_buffer_unwritten(bh);
			clear_buffer_mapped(bh);
		}
		dirty |= buffer_dirty(bh);
	} while ((bh = bh->b_this_page) != head);
	if (!dirty)
		folio_cancel_dirty(folio);
}
