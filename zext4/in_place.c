// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overwrites that an fsync writes in place, although it logs other data (log_data.c), because
 * that is cheaper.
 */
#include <linux/pagemap.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/*
 * A log write that is faster than this is a small matter: see zext4_way_of(). A commit takes about
 * 15 us of CPU time, and there is one more in the 4 ms of a tick; the gain, a write once a tick,
 * equals the cost at the root of the product.
 */
#define ZEXT4_FAST_NS		250000

/*
 * A file that has this many fsyncs more with nothing to commit than with a commit, each of these
 * counted ZEXT4_COMMIT_COUNTS times, is taken for one that is only overwritten. If its blocks are
 * in the log, they have cost a commit for each of these fsyncs by then, which is about what it
 * costs to take them out: a revoke's commit, home writes, and perhaps a flush. So who turns out to
 * be overwritten no longer has paid twice what was necessary, and not more.
 */
#define ZEXT4_OVERWRITTEN	16

/* The number of fsyncs without a commit that one with a commit makes up for. */
#define ZEXT4_COMMIT_COUNTS	2

/* Two commits that follow each other closely do not change what a file is taken for. */
#define ZEXT4_MAX_SPARED	(ZEXT4_OVERWRITTEN + 2 * ZEXT4_COMMIT_COUNTS)

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

/* folio_overwrites() for some dirty folios of the file. Does not lock them all at once. */
static bool batch_overwrites(struct inode *inode, struct folio_batch *folios, bool *logged)
{
	bool only = i_size_read(inode) <= READ_ONCE(EXT4_I(inode)->i_disksize);
	sector_t block = 0;
	unsigned int i;

	zext4_may_wait();
	for (i = 0; i < folio_batch_count(folios) && only; i++) {
		folio_lock(folios->folios[i]);
		only = folio_overwrites(inode, folios->folios[i], &block, logged);
		folio_unlock(folios->folios[i]);
	}
	return only;
}

/* May the file be about to get blocks, as far as one sees without a look at its pages? */
static bool grows(struct inode *inode)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	return READ_ONCE(ei->i_reserved_data_blocks) ||
	       i_size_read(inode) > READ_ONCE(ei->i_disksize);
}

static u64 log_write_ns(struct inode *inode, int lane)
{
	return zj_journal_log_write_ns(EXT4_SB(inode->i_sb)->s_journal, lane);
}

/*
 * Counts fsyncs of overwrites that have nothing to commit but data, one up, against those that have,
 * down. Returns whether this one has a commit to wait for. Tasks that count at once may lose a count.
 */
static bool note_commit(struct inode *inode, int datasync)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);
	bool commits = sbi->s_zj.value[ZEXT4_FSYNC] == ZEXT4_FSYNC_ALL ||
		       !zj_transaction_committed(sbi->s_journal,
						 zext4_fsync_tid(inode, datasync));
	u8 *spared = &EXT4_I(inode)->i_zj_spared;
	int n = READ_ONCE(*spared);

	WRITE_ONCE(*spared, commits ? max(n, ZEXT4_COMMIT_COUNTS) - ZEXT4_COMMIT_COUNTS :
				      min(n + 1, ZEXT4_MAX_SPARED));
	return commits;
}

/**
 * zext4_is_overwritten() - is a file one of those that are only overwritten, again and again?
 * @inode: the file
 * @lane: the lane that would log its data
 * @datasync: whether times may stay uncommitted
 *
 * Then its data is written in place without a look at its pages, since write-back has one in any
 * case. Blocks that are in the log it logs again (F1).
 *
 * Context: any.
 * Return: a hint. If it is wrong, the fsync only takes longer, and zext4_note_overwritten() or
 * write-back takes it back.
 */
bool zext4_is_overwritten(struct inode *inode, int lane, int datasync)
{
	return READ_ONCE(EXT4_I(inode)->i_zj_spared) >= ZEXT4_OVERWRITTEN && !grows(inode) &&
	       (datasync || log_write_ns(inode, lane) < ZEXT4_FAST_NS);
}

/* A file is not what zext4_is_overwritten() takes it for. */
void zext4_not_overwritten(struct inode *inode)
{
	if (READ_ONCE(EXT4_I(inode)->i_zj_spared))
		WRITE_ONCE(EXT4_I(inode)->i_zj_spared, 0);
}

/**
 * zext4_note_overwritten() - count an fsync of what zext4_is_overwritten() has said yes of
 * @inode: the file, whose data is written
 * @datasync: whether times may stay uncommitted
 *
 * Data in blocks that are new to the file, or become written ones, has something to commit now,
 * and an overwrite has at most a time.
 *
 * Context: any.
 */
void zext4_note_overwritten(struct inode *inode, int datasync)
{
	if (zj_transaction_committed(EXT4_SB(inode->i_sb)->s_journal,
				     EXT4_I(inode)->i_datasync_tid))
		note_commit(inode, datasync);
	else
		zext4_not_overwritten(inode);
}

/**
 * zext4_way_of() - choose what to do with the data that an fsync has found
 * @inode: the file
 * @folios: its dirty folios, which are few
 * @lane: the lane that would log them
 * @datasync: whether times may stay uncommitted
 *
 * Logging an overwrite saves a write only if the fsync waits for a commit anyway, and that an
 * fdatasync never does. An fsync does once per tick of the clock, because of the time of
 * modification: on a slow device each one, but hardly one on a device that is much faster than the
 * tick. There the first one that is logged would keep all that follow in the log (F1), each with a
 * commit of its own. So on such a device one that has something to commit writes the data first,
 * if that is rare. One whose blocks are in the log already leaves it when that has cost enough.
 *
 * To a log in memory nothing is written at all, so there it is never cheaper.
 *
 * Context: no folio locked.
 * Return: a hint. All ways are safe, also if the file changes meanwhile.
 */
enum zext4_way zext4_way_of(struct inode *inode, struct folio_batch *folios, int lane,
			    int datasync)
{
	u64 ns = log_write_ns(inode, lane);
	bool rare, commits, logged = false;

	if (!ns)
		return ZEXT4_WAY_LOG;
	if (!batch_overwrites(inode, folios, &logged)) {
		if (!grows(inode))
			zext4_not_overwritten(inode);
		return ZEXT4_WAY_LOG;
	}
	rare = ns < ZEXT4_FAST_NS && READ_ONCE(EXT4_I(inode)->i_zj_spared) >= ZEXT4_COMMIT_COUNTS;
	commits = note_commit(inode, datasync);
	if (!logged)
		return !commits || rare ? ZEXT4_WAY_IN_PLACE : ZEXT4_WAY_LOG;
	return READ_ONCE(EXT4_I(inode)->i_zj_spared) >= ZEXT4_OVERWRITTEN && ns < ZEXT4_FAST_NS ?
		       ZEXT4_WAY_LEAVE : ZEXT4_WAY_LOG;
}
