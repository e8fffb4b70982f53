// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small synchronous writes with data=ordered: file data in the log (rules F1 to F4).
 *
 * An fsync that finds little dirty data logs it together with the metadata, so that it
 * waits for one write to the device instead of two. The image is one of the block
 * device's buffer, which gets a copy of the block. To the journal it is metadata: the
 * checkpoint writes it home, and recovery replays it. The folio of the file is clean then,
 * but it is kept in the page cache until the block is home, because a read from the device
 * would find older contents.
 *
 * As long as recovery may replay the image, nothing else writes the block in place. So
 * write-back logs it again if it is dirty, who writes it past the page cache has it go home and
 * be revoked first, and freeing the block revokes it.
 */
#include <linux/pagemap.h>
#include "ext4.h"
#include "ext4_jbd2.h"
#include "ext4_extents.h"

/* ---- folios ---- */

/* What one call logs: folios, which it locks once it has the handle. */
struct log_data {
	struct inode	*inode;
	handle_t	*handle;
	struct folio_batch folios;
	unsigned int	room;		/* blocks that may still be logged */
	unsigned int	credits;	/* blocks that the handle has credits for */
	unsigned int	counted;	/* blocks of the folios that are locked for the handle */
	loff_t		size;		/* of the file, when the folios were looked at */
	loff_t		end;		/* end of the last folio that was logged, or 0 */
	loff_t		early;		/* size that the inode's block gets before, or 0 */
	bool		mapped;		/* blocks were allocated, or extents converted */
	bool		again;		/* only blocks that are in the log already */
	bool		waits;		/* for folios that are under write-back */
	bool		left_out;	/* a folio was busy again after that */
};

/* Bytes of a folio up to the end of a file of this size. */
static size_t bytes_in_file(loff_t size, struct folio *folio)
{
	loff_t pos = folio_pos(folio);

	return size <= pos ? 0 : min_t(loff_t, size - pos, folio_size(folio));
}

/*
 * A direct read could find a block allocated before its data is in the log: see
 * zext4_map_written(). A block that a transaction has allocated whose commit will write
 * it in place must not be logged by a later transaction instead. The commit writes all of
 * a folio that it has a byte of, and ext4_move_extents() counts on that. Of a page that is
 * locked in memory reclaim could not bring an image home.
 */
static bool may_log_block(struct inode *inode, struct folio *folio,
			  struct buffer_head *bh)
{
	loff_t from = folio_pos(folio);
	bool new = zext4_needs_mapping(bh);

	if (!new && zext4_block_logged(inode, bh))
		return true;
	if (folio_test_mlocked(folio) || folio_test_unevictable(folio))
		return false;
	return new ? !READ_ONCE(EXT4_I(inode)->i_zj_mapped) :
		     !zj_journal_inode_orders(EXT4_I(inode)->jinode, from,
					      from + folio_size(folio));
}

/* Can all dirty blocks of a folio be logged? */
static bool may_log_folio(struct inode *inode, struct folio *folio, size_t len)
{
	struct buffer_head *bh, *head = folio_buffers(folio);

	bh = head;
	do {
		if (bh_offset(bh) < len && buffer_dirty(bh) &&
		    !may_log_block(inode, folio, bh))
			return false;
	} while ((bh = bh->b_this_page) != head);
	return true;
}

/* Has write-back left a dirty block of the folio because it is in the log? */
static bool holds_logged(struct inode *inode, struct folio *folio, size_t len)
{
	struct buffer_head *bh, *head = folio_buffers(folio);

	bh = head;
	do {
		if (bh_offset(bh) < len && buffer_dirty(bh) && !zext4_needs_mapping(bh) &&
		    zext4_block_logged(inode, bh))
			return true;
	} while ((bh = bh->b_this_page) != head);
	return false;
}

/* Is a locked folio one of those that are to be logged? */
static bool wanted(struct log_data *log, struct folio *folio)
{
	struct inode *inode = log->inode;
	size_t len = bytes_in_file(log->size, folio);

	if (folio->mapping != inode->i_mapping || !folio_test_dirty(folio) ||
	    !folio_buffers(folio) || !len)
		return false;
	return log->again ? holds_logged(inode, folio, len) :
			    may_log_folio(inode, folio, len);
}

/* The number of blocks from this one on that are next to each other and need mapping. */
static unsigned int run_length(struct log_data *log, unsigned int nr,
			       struct buffer_head *bh)
{
	pgoff_t index = log->folios.folios[nr]->index;
	unsigned int run = 0;

	for (; nr < folio_batch_count(&log->folios); nr++) {
		struct folio *folio = log->folios.folios[nr];
		size_t len = bytes_in_file(log->size, folio);
		struct buffer_head *head = folio_buffers(folio);

		if (folio->index != index)
			break;
		index = folio_next_index(folio);
		if (!bh)
			bh = head;
		do {
			if (bh_offset(bh) >= len || !buffer_dirty(bh) ||
			    !zext4_needs_mapping(bh))
				return run;
			run++;
		} while ((bh = bh->b_this_page) != head);
		bh = NULL;
	}
	return run;
}

/* Allocates blocks, which delayed allocation has reserved, or converts unwritten ones. */
static int map_run(struct log_data *log, struct ext4_map_blocks *map)
{
	int credits = ext4_chunk_trans_blocks(log->inode, map->m_len);
	int err;

	if (log->mapped && ext4_journal_extend(log->handle, credits, 0))
		return -ENOSPC;
	err = ext4_map_blocks(log->handle, log->inode, map,
			      EXT4_GET_BLOCKS_CREATE |
				      EXT4_GET_BLOCKS_METADATA_NOFAIL |
				      ZEXT4_GET_BLOCKS_SUBMIT);
	if (err > 0)
		log->mapped = true;
	return err > 0 ? 0 : err ?: -EIO;
}

/* ---- how much ---- */

static unsigned int blocks_per_page(struct inode *inode)
{
	return 1U << (PAGE_SHIFT - inode->i_blkbits);
}

/* Is a dirty block one of those that the call is about? */
static bool concerns(struct log_data *log, const struct buffer_head *bh)
{
	return !log->again || (!zext4_needs_mapping(bh) && zext4_block_logged(log->inode, bh));
}

/*
 * How many blocks of a locked folio may have to be logged? Of a page all count, as they always
 * fit. A large folio may be much larger than what is logged of it; but while it is mapped, a store
 * to it may make all of its blocks dirty without its lock.
 */
static unsigned int blocks_of(struct log_data *log, struct folio *folio)
{
	size_t len = bytes_in_file(log->size, folio);
	struct buffer_head *bh, *head = folio_buffers(folio);
	unsigned int n = 0;

	if (!folio_test_large(folio) || folio_mapped(folio))
		return folio_nr_pages(folio) * blocks_per_page(log->inode);
	bh = head;
	do {
		n += bh_offset(bh) < len && buffer_dirty(bh) && concerns(log, bh);
	} while ((bh = bh->b_this_page) != head);
	return n;
}

/*
 * Takes the room for a locked folio. Blocks that are to be mapped are logged with the others or
 * not at all; of blocks that are in the log already, as many as there is room for.
 */
static bool take_room(struct log_data *log, struct folio *folio)
{
	unsigned int n = blocks_of(log, folio);

	if (n > log->room) {
		log->left_out = true;
		n = log->again ? log->room : 0;
	}
	log->room -= n;
	log->credits += n;
	return n;
}

/* Does a folio that take_room() has counted still fit, with what has become dirty since then? */
static bool still_fits(struct log_data *log, struct folio *folio)
{
	unsigned int n = blocks_of(log, folio);

	if (!log->again && n > log->credits - log->counted) {
		log->left_out = true;
		return false;
	}
	log->counted += log->again ? 0 : n;
	return true;
}

/* Maps all dirty blocks of a folio; @map is what was mapped last. */
static int map_folio(struct log_data *log, unsigned int nr, struct ext4_map_blocks *map)
{
	struct folio *folio = log->folios.folios[nr];
	struct buffer_head *bh, *head = folio_buffers(folio);
	size_t len = bytes_in_file(log->size, folio);
	ext4_lblk_t lblk;
	int err;

	bh = head;
	lblk = folio_pos(folio) >> log->inode->i_blkbits;
	for (; bh_offset(bh) < len; lblk++) {
		if (buffer_dirty(bh) && zext4_needs_mapping(bh)) {
			if (lblk - map->m_lblk >= map->m_len) {
				map->m_lblk = lblk;
				map->m_len = run_length(log, nr, bh);
				map->m_flags = 0;
				err = map_run(log, map);
				if (err) {
					map->m_len = 0;
					return err;
				}
			}
			clear_buffer_delay(bh);
			clear_buffer_unwritten(bh);
			map_bh(bh, log->inode->i_sb, map->m_pblk + lblk - map->m_lblk);
		}
		bh = bh->b_this_page;
		if (bh == head)
			break;
	}
	return 0;
}

/*
 * Logs those dirty blocks of a folio that may be logged. Returns whether any is left. @len: the
 * bytes of the folio that are inside the file by now; blocks by which the file has grown since
 * @log->size was read are left for the next call.
 */
static bool log_blocks(struct log_data *log, struct folio *folio, size_t len, int *err)
{
	struct buffer_head *bh, *head = folio_buffers(folio);
	size_t looked_at = bytes_in_file(log->size, folio);
	bool left = false;

	bh = head;
	do {
		if (bh_offset(bh) >= len) {
			clear_buffer_dirty(bh);
			set_buffer_uptodate(bh);
			continue;
		}
		if (!buffer_dirty(bh))
			continue;
		if (*err || zext4_needs_mapping(bh) || bh_offset(bh) >= looked_at ||
		    !concerns(log, bh)) {
			left = true;
			continue;
		}
		if (!log->credits) {
			log->left_out = true;
			left = true;
			continue;
		}
		log->credits--;
		*err = zext4_log_block(log->handle, log->inode, folio, bh);
		left |= *err != 0;
		if (!*err) {
			clear_buffer_new(bh);
			clear_buffer_dirty(bh);
		}
	} while ((bh = bh->b_this_page) != head);
	return left;
}

/*
 * Takes a folio that is clean without having been under write-back off the mapping's tags. To pass
 * it through write-back would do that as well, for twice the instructions of all of this.
 */
static void clear_tags(struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	unsigned long flags;

	xa_lock_irqsave(&mapping->i_pages, flags);
	/* Who makes it dirty meanwhile sets the flag before the tag, and a sync may look for that. */
	if (!folio_test_dirty(folio)) {
		__xa_clear_mark(&mapping->i_pages, folio->index, PAGECACHE_TAG_DIRTY);
		__xa_clear_mark(&mapping->i_pages, folio->index, PAGECACHE_TAG_TOWRITE);
	}
	xa_unlock_irqrestore(&mapping->i_pages, flags);
}

/* Logs a folio, which is clean then. */
static int log_folio(struct log_data *log, struct folio *folio)
{
	size_t len;
	bool left;
	int err = 0;

	/*
	 * This write-protects the folio in its mappings, so the next store faults. Up to here
	 * one may have come that lies within the file because that has just grown.
	 */
	folio_clear_dirty_for_io(folio);
	len = bytes_in_file(i_size_read(log->inode), folio);
	if (len < folio_size(folio))
		folio_zero_segment(folio, len, folio_size(folio));
	left = log_blocks(log, folio, len, &err);
	if (left)
		filemap_dirty_folio(folio->mapping, folio);
	else
		log->end = folio_pos(folio) + len;
	if (!left)
		clear_tags(folio);
	return err;
}

/* Keeps those folios in the batch for which @keeps is true, and puts the others. */
static void filter_folios(struct log_data *log,
			  bool (*keeps)(struct log_data *log, struct folio *folio))
{
	unsigned int i, n = folio_batch_count(&log->folios);

	folio_batch_reinit(&log->folios);
	for (i = 0; i < n; i++) {
		struct folio *folio = log->folios.folios[i];

		if (keeps(log, folio))
			folio_batch_add(&log->folios, folio);
		else
			folio_put(folio);
	}
}

/* Waits until a folio is neither locked nor on its way to the disk: so not under a handle (N10). */
static bool wait_for_folio(struct log_data *log, struct folio *folio)
{
	bool keep;

	zext4_may_wait();
	folio_lock(folio);
	if (log->waits)
		folio_wait_writeback(folio);
	log->size = i_size_read(log->inode);
	keep = !folio_test_writeback(folio) && wanted(log, folio) && take_room(log, folio);
	folio_unlock(folio);
	return keep;
}

/* Who has the lock may wait for the disk. */
static bool lock_idle(struct log_data *log, struct folio *folio)
{
	if (folio_trylock(folio)) {
		if (!folio_test_writeback(folio))
			return true;
		folio_unlock(folio);
	}
	log->left_out = true;
	return false;
}

static bool keep_wanted(struct log_data *log, struct folio *folio)
{
	bool keep = wanted(log, folio) && still_fits(log, folio);

	if (!keep)
		folio_unlock(folio);
	return keep;
}

/* Locks the folios that are to be logged, and drops the others from the batch. */
static void lock_folios(struct log_data *log)
{
	filter_folios(log, lock_idle);
	log->size = i_size_read(log->inode);
	filter_folios(log, keep_wanted);
}

static void unlock_folios(struct log_data *log)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(&log->folios); i++)
		folio_unlock(log->folios.folios[i]);
	folios_put(&log->folios);
}

/*
 * Blocks are allocated for all folios at first, so that they are next to each other. If that
 * fails, the blocks that are mapped are logged nevertheless: they would hold somebody's
 * old data otherwise.
 */
static int log_folios(struct log_data *log)
{
	unsigned int i, n = folio_batch_count(&log->folios);
	struct ext4_map_blocks map = {};
	int err = 0, err2;

	for (i = 0; i < n && !err && !log->again; i++)
		err = map_folio(log, i, &map);
	for (i = 0; i < n; i++) {
		err2 = log_folio(log, log->folios.folios[i]);
		err = err ?: err2;
	}
	return err;
}

/*
 * Has the inode's block get the new size before blocks are mapped: what marks the inode dirty
 * because of these takes it along. No commit sees it before the handle ends, as all who mark the
 * inode dirty are tied to the handle (R10). i_disksize is not raised before the data is logged: who
 * finds it high enough counts on that, and leaves it as it is. A size that may need the feature
 * large_file is not early.
 */
static void show_size_early(struct log_data *log)
{
	struct folio *last = log->folios.folios[folio_batch_count(&log->folios) - 1];
	struct ext4_inode_info *ei = EXT4_I(log->inode);
	loff_t end = folio_pos(last) + bytes_in_file(log->size, last);

	log->early = 0;
	if (log->again || end > MAX_NON_LFS || end <= READ_ONCE(ei->i_disksize))
		return;
	log->early = end;
	WRITE_ONCE(ei->i_zj_early_size, end);
}

/* Returns whether the inode's block may have got a size that the file on disk does not have. */
static bool end_early_size(struct log_data *log)
{
	struct ext4_inode_info *ei = EXT4_I(log->inode);

	if (!log->early)
		return false;
	/* Who has taken it has put it into the block when this lock is free. */
	spin_lock(&ei->i_raw_lock);
	WRITE_ONCE(ei->i_zj_early_size, 0);
	spin_unlock(&ei->i_raw_lock);
	return READ_ONCE(ei->i_disksize) < log->early;
}

/* Raises the size on disk to the end of what was logged. Returns whether that was necessary. */
static bool raise_size(struct log_data *log)
{
	struct ext4_inode_info *ei = EXT4_I(log->inode);
	loff_t end = log->end;
	bool grows;

	if (end <= READ_ONCE(ei->i_disksize))
		return false;
	down_write(&ei->i_data_sem);
	end = min(end, i_size_read(log->inode));
	grows = end > ei->i_disksize;
	if (grows)
		ei->i_disksize = end;
	up_write(&ei->i_data_sem);
	return grows;
}

/* Sets the size on disk, and marks the inode dirty if its block does not show that yet. */
static int note_inode(struct log_data *log)
{
	bool changed = raise_size(log) || log->mapped;

	if (!end_early_size(log) &&
	    (!changed || zext4_size_is_shown(log->handle, log->inode)))
		return 0;
	return ext4_mark_inode_dirty(log->handle, log->inode);
}

/* Logs those folios of a batch that it may, and drops the references of all. */
static int log_batch(struct log_data *log)
{
	int err = 0, err2;

	log->end = 0;
	log->mapped = false;
	log->credits = 0;
	log->counted = 0;
	filter_folios(log, wait_for_folio);
	if (!log->credits)
		return 0;
	log->handle = ext4_journal_start(log->inode, EXT4_HT_WRITE_PAGE, log->credits + 1 +
					 ext4_chunk_trans_blocks(log->inode, log->credits));
	if (IS_ERR(log->handle)) {
		folios_put(&log->folios);
		return PTR_ERR(log->handle);
	}
	lock_folios(log);
	if (folio_batch_count(&log->folios)) {
		show_size_early(log);
		err = log_folios(log);
		unlock_folios(log);
		err2 = note_inode(log);
		/* The folios are clean, so write-back would not find this error again. */
		if (err2)
			mapping_set_error(log->inode->i_mapping, err2);
		err = err ?: err2;
	}
	err2 = ext4_journal_stop(log->handle);
	return err ?: err2;
}

/* ---- fsync ---- */

static bool logs_data(struct inode *inode)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);

	return zext4_ordered_journal(inode) && !journal_current_handle() &&
	       READ_ONCE(sbi->s_zj.value[ZEXT4_FSYNC_DATA]) == ZEXT4_FSYNC_DATA_AUTO &&
	       ext4_test_inode_flag(inode, EXT4_INODE_EXTENTS) &&
	       sbi->s_cluster_ratio == 1 && !ext4_has_inline_data(inode) &&
	       !IS_ENCRYPTED(inode) && !IS_DAX(inode) && !IS_SWAPFILE(inode) &&
	       !IS_NOQUOTA(inode) && !sb_rdonly(inode->i_sb);
}

/*
 * How many pages is what is dirty of a folio? 1 for a page; of a large folio, the size of its dirty
 * blocks. That is locked meanwhile, because its buffers have to be looked at.
 */
static unsigned int dirty_pages(struct inode *inode, struct folio *folio)
{
	struct buffer_head *bh, *head;
	unsigned int n = 0;

	if (!folio_test_large(folio))
		return 1;
	zext4_may_wait();
	folio_lock(folio);
	head = folio_buffers(folio);
	bh = head;
	while (bh) {
		n += buffer_dirty(bh);
		bh = bh->b_this_page == head ? NULL : bh->b_this_page;
	}
	folio_unlock(folio);
	return max(DIV_ROUND_UP(n, blocks_per_page(inode)), 1U);
}

/* Counts the dirty pages of a batch's folios; stops when there are more than @most. */
static unsigned int batch_dirty(struct inode *inode, struct folio_batch *folios, unsigned int most)
{
	unsigned int i, n = 0;

	for (i = 0; i < folio_batch_count(folios) && n <= most; i++)
		n += dirty_pages(inode, folios->folios[i]);
	return n;
}

/* The last page of a folio, but not behind @end. */
static pgoff_t last_page(struct folio *folio, pgoff_t end)
{
	return min(end, folio_next_index(folio) - 1);
}

/*
 * Counts dirty pages of a range, up to more than @most. Sets @last to the last one, as somebody may
 * go on to write.
 */
static unsigned int count_dirty(struct inode *inode, pgoff_t index, pgoff_t *last,
				unsigned int most)
{
	struct folio_batch folios;
	unsigned int found, n = 0;
	pgoff_t end = *last;

	folio_batch_init(&folios);
	do {
		found = filemap_get_folios_tag(inode->i_mapping, &index, end,
					       PAGECACHE_TAG_DIRTY, &folios);
		n += batch_dirty(inode, &folios, most - n);
		if (found)
			*last = last_page(folios.folios[found - 1], end);
		folios_put(&folios);
	} while (found && n <= most);
	return n;
}

/* Finds dirty folios of a range, but not more than @most. */
static unsigned int find_dirty(struct log_data *log, pgoff_t *index, pgoff_t last,
			       unsigned int most)
{
	struct folio_batch *folios = &log->folios;

	folio_batch_init(folios);
	if (most)
		filemap_get_folios_tag(log->inode->i_mapping, index, last,
				       PAGECACHE_TAG_DIRTY, folios);
	while (folio_batch_count(folios) > most)
		folio_put(folios->folios[--folios->nr]);
	return folio_batch_count(folios);
}

/*
 * Finds the first dirty folios of a range, or none if more than @most pages are dirty in all. Those
 * behind a full batch are only counted; no log on a disk takes so many. Sets @last as count_dirty()
 * does.
 */
static bool find_few(struct log_data *log, pgoff_t *index, pgoff_t *last, unsigned int most)
{
	struct folio_batch *folios = &log->folios;
	unsigned int found = find_dirty(log, index, *last, UINT_MAX);
	unsigned int n = batch_dirty(log->inode, folios, most);

	if (found == ARRAY_SIZE(folios->folios) && n <= most)
		n += count_dirty(log->inode, *index, last, most - n);
	else if (found)
		*last = last_page(folios->folios[found - 1], *last);
	if (n > most)
		folios_put(folios);
	return folio_batch_count(folios);
}

/* Logs the folios of the batch, and those that are behind it. */
static void log_range(struct log_data *log, pgoff_t start, pgoff_t index, pgoff_t last,
		      unsigned int most, int lane)
{
	unsigned int n = folio_batch_count(&log->folios);
	int err = 0;

	/* An error leaves folios dirty, so that the caller finds it again. */
	while (n && !err) {
		most -= n;
		err = log_batch(log);
		n = err ? 0 : find_dirty(log, &index, last, most);
	}
	if (!count_dirty(log->inode, start, &last, 0))
		zj_journal_file_synced(EXT4_SB(log->inode->i_sb)->s_journal, lane);
}

/*
 * Does what zext4_log_data() says. The inode keeps its data mode meanwhile. A folio that is
 * busy when its turn comes is left to the caller, which waits for it without a handle.
 */
static enum zext4_way log_data(struct inode *inode, loff_t start, loff_t end, int lane,
			       int datasync)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	unsigned int most = max(zj_journal_file_data_limit(journal, lane) >> PAGE_SHIFT, 1U);
	pgoff_t index = start >> PAGE_SHIFT, last = end >> PAGE_SHIFT;
	struct log_data log = {
		.inode = inode,
		.room = most * blocks_per_page(inode),
		.waits = true,
	};
	enum zext4_way way;

	if (!logs_data(inode) || !find_few(&log, &index, &last, most))
		return ZEXT4_WAY_IN_PLACE;
	way = zext4_way_of(inode, &log.folios, lane, datasync);
	if (way == ZEXT4_WAY_LOG)
		log_range(&log, start >> PAGE_SHIFT, index, last, most, lane);
	else
		folios_put(&log.folios);
	return way;
}

/**
 * zext4_log_data() - log the dirty data of a range, if it is little
 * @inode: the file that is synced
 * @start: offset
 * @end: offset of the last byte
 * @datasync: whether times may stay uncommitted
 *
 * If there is more, if it cannot be logged, or if it is cheaper, it stays dirty, and the caller
 * writes it in place.
 *
 * Context: no handle open, no folio locked.
 * Return: whether nothing was looked at, because of what earlier fsyncs have found. Then the
 * caller has this one counted when the data is written.
 */
bool zext4_log_data(struct inode *inode, loff_t start, loff_t end, int datasync)
{
	int context, lane = zext4_lane(inode->i_sb, inode);
	enum zext4_way way;

	if (!mapping_tagged(inode->i_mapping, PAGECACHE_TAG_DIRTY) || !logs_data(inode))
		return false;
	if (zext4_is_overwritten(inode, lane, datasync))
		return true;
	context = ext4_writepages_down_read(inode->i_sb);
	way = log_data(inode, start, end, lane, datasync);
	ext4_writepages_up_read(inode->i_sb, context);
	if (way == ZEXT4_WAY_LEAVE)
		zext4_settle_write(inode, 0, LLONG_MAX);
	return false;
}

/* ---- write-back ---- */

/* Logs what @io has left. */
static int log_left(struct log_data *log, const struct ext4_io_submit *io)
{
	pgoff_t index = io->zj_left_first;
	int err = 0;

	log->left_out = false;
	while (!err && find_dirty(log, &index, io->zj_left_end - 1, UINT_MAX)) {
		/* Room for a batch in which each folio is one page. */
		log->room = ARRAY_SIZE(log->folios.folios) * blocks_per_page(log->inode);
		err = log_batch(log);
		cond_resched();
	}
	return err;
}

/**
 * zext4_write_logged() - log blocks that write-back has left because they are in the log
 * @mapping: of a file
 * @wbc: what was to be written
 * @io: which pages of it have such blocks
 *
 * Other dirty blocks of the same folios stay for write-back, which knows which of them it
 * may map and how (F4). So does a block that write-back has left and whose image has gone
 * home before this call. Hence who waits for the data lets write-back try once more. What it
 * leaves then was logged in between, with all that the first try has seen of it.
 *
 * An fsync that took the file for one that is only overwritten was wrong.
 *
 * Who does not wait for the data leaves a busy folio for the next time, as write-back does.
 * Where folios stay busy, their blocks leave the log instead, and the second try writes them.
 * One that is logged again meanwhile is in the log with all that the first try has seen of it.
 *
 * So a folio may stay dirty, if it was stored to since then, or has been zeroed in part. What was
 * dirty is in place, or in a transaction that the inode's sync tids know (zext4_log_block()). An
 * fsync waits for that one, a sync for all, and sync_file_range() has never promised a commit. A
 * direct read finds the folio (F2); a direct write cannot drop it, and goes through the page cache.
 * Who drops folios, or has no writers left (a collapsed range, a change of the data mode, a freeze,
 * a remount, an unmount), has locked stores out before the first try write-protects the folio, so
 * it is clean in the end.
 *
 * Context: no handle open, no folio locked.
 * Return: 0 or a negative error.
 */
int zext4_write_logged(struct address_space *mapping, struct writeback_control *wbc,
		       const struct ext4_io_submit *io)
{
	struct log_data log = {
		.inode = mapping->host,
		.again = true,
		.waits = wbc->sync_mode == WB_SYNC_ALL,
	};
	unsigned int tries = 0;
	int err;

	zext4_not_overwritten(mapping->host);
	do {
		err = log_left(&log, io);
		if (err || !log.left_out || !log.waits)
			return err;
	} while (++tries < ZEXT4_LOG_TRIES);
	err = zext4_settle_write(mapping->host, (loff_t)io->zj_left_first << PAGE_SHIFT,
				 (loff_t)io->zj_left_end << PAGE_SHIFT);
	return err == -EBUSY ? 0 : err;
}
