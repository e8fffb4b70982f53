// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overwrites that an fsync writes in place, although it logs other data (log_data.c), because
 * that is cheaper.
 */
#include <linux/pagemap.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/*
 * A log write that is faster than this is a small matter: see zext4_cheaper_in_place(). A commit
 * costs some 15 us of CPU time, and there is one more in the 4 ms of a tick; the gain, a write
 * once a tick, equals the cost at the root of the product.
 */
#define ZEXT4_FAST_NS		250000

/*
 * As many commits cost as much as emptying the log, by which a file left it before decision 55.
 * To take only its own blocks out is cheaper, so a smaller number may do; that was not measured.
 */
#define ZEXT4_MAX_SPARED	200

/**
 * zext4_dirty_pages() - how many pages is what is dirty of a folio?
 * @inode: the file
 * @folio: a folio of it, locked if it is large
 *
 * Return: 1 for a page; for a large folio, the size of its dirty blocks in pages.
 */
unsigned int zext4_dirty_pages(struct inode *inode, struct folio *folio)
{
	struct buffer_head *bh, *head = folio_buffers(folio);
	unsigned int n = 0;

	if (!folio_test_large(folio) || !head)
		return 1;
	bh = head;
	do {
		n += buffer_dirty(bh);
	} while ((bh = bh->b_this_page) != head);
	return max(DIV_ROUND_UP(n, 1U << (PAGE_SHIFT - inode->i_blkbits)), 1U);
}

/*
 * Does a folio only overwrite blocks that are next to each other, after block @last if that is
 * not 0? Sets @logged if one of them is in the log.
 */
static bool folio_overwrites(struct inode *inode, struct folio *folio, sector_t *last,
			     bool *logged)
{
	struct buffer_head *bh, *head = folio_buffers(folio);

	if (folio->mapping != inode->i_mapping || !head)
		return false;
	bh = head;
	do {
		if (!buffer_dirty(bh))
			continue;
		if (zext4_needs_mapping(bh) || (*last && bh->b_blocknr != *last + 1))
			return false;
		*logged |= zext4_block_logged(inode, bh);
		*last = bh->b_blocknr;
	} while ((bh = bh->b_this_page) != head);
	return true;
}

/* The same for the dirty pages of a range, up to @most. Does not lock them all at once. */
static bool range_overwrites(struct inode *inode, pgoff_t index, pgoff_t last,
			     unsigned int most, bool *logged)
{
	struct folio_batch folios;
	sector_t block = 0;
	bool only = i_size_read(inode) <= READ_ONCE(EXT4_I(inode)->i_disksize);
	unsigned int i, pages;

	zext4_may_wait();
	folio_batch_init(&folios);
	while (only && filemap_get_folios_tag(inode->i_mapping, &index, last,
					      PAGECACHE_TAG_DIRTY, &folios)) {
		for (i = 0; i < folio_batch_count(&folios) && only; i++) {
			folio_lock(folios.folios[i]);
			pages = zext4_dirty_pages(inode, folios.folios[i]);
			only = pages <= most && folio_overwrites(inode, folios.folios[i],
								 &block, logged);
			most -= min(most, pages);
			folio_unlock(folios.folios[i]);
		}
		folio_batch_release(&folios);
	}
	return only;
}

/*
 * Counts fsyncs of a file that have nothing to commit but data, one up, against those that have,
 * two down. Returns whether this one has a commit to wait for. Tasks that count at once may lose
 * a count.
 */
static bool note_commit(struct inode *inode, int datasync)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);
	bool commits = sbi->s_zj.value[ZEXT4_FSYNC] == ZEXT4_FSYNC_ALL ||
		       !zj_transaction_committed(sbi->s_journal,
						 zext4_fsync_tid(inode, datasync));
	u8 *spared = &EXT4_I(inode)->i_zj_spared;
	int n = READ_ONCE(*spared);

	WRITE_ONCE(*spared, commits ? max(n, 2) - 2 : min(n + 1, ZEXT4_MAX_SPARED));
	return commits;
}

/**
 * zext4_cheaper_in_place() - is what an fsync has found an overwrite that is cheaper in place?
 * @inode: the file
 * @index: first page of the range, which has few dirty ones
 * @last: its last page
 * @lane: the lane that would log it
 * @datasync: whether times may stay uncommitted
 *
 * Logging it saves a write only if the fsync waits for a commit anyway, and that an fdatasync
 * never does. An fsync does once per tick of the clock, because of the time of modification:
 * on a slow device each one, but hardly one on a device that is much faster than the tick.
 * There the first one that is logged would keep all that follow in the log (F1), each with a
 * commit of its own. So on such a device one that has something to commit writes the data
 * first, if that is rare.
 *
 * To a log in memory nothing is written at all, so there it is never cheaper.
 *
 * Context: no folio locked.
 * Return: a hint. Both ways are safe, also if the file changes meanwhile.
 */
bool zext4_cheaper_in_place(struct inode *inode, pgoff_t index, pgoff_t last, int lane,
			    int datasync)
{
	u64 ns = zj_journal_log_write_ns(EXT4_SB(inode->i_sb)->s_journal, lane);
	bool rare = ns < ZEXT4_FAST_NS && READ_ONCE(EXT4_I(inode)->i_zj_spared) >= 2;
	bool logged = false;

	return (!note_commit(inode, datasync) || rare) && ns &&
	       range_overwrites(inode, index, last, UINT_MAX, &logged) && !logged;
}

/**
 * zext4_leave_log() - take a file out of the log that is only overwritten, again and again
 * @inode: the file
 * @index: first page of the range that an fsync is about to log
 * @last: its last page
 *
 * From then on it is written in place.
 *
 * Context: no handle open, no folio locked.
 */
void zext4_leave_log(struct inode *inode, pgoff_t index, pgoff_t last)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	int lane = zext4_lane(inode->i_sb, inode);
	unsigned int most = zj_journal_file_data_limit(journal, lane) >> PAGE_SHIFT;
	bool logged = false;

	if (READ_ONCE(EXT4_I(inode)->i_zj_spared) < ZEXT4_MAX_SPARED ||
	    zj_journal_log_write_ns(journal, lane) - 1 >= ZEXT4_FAST_NS ||
	    !range_overwrites(inode, index, last, max(most, 1U), &logged) || !logged)
		return;
	WRITE_ONCE(EXT4_I(inode)->i_zj_spared, 2);
	zext4_settle_write(inode, 0, LLONG_MAX);
}
