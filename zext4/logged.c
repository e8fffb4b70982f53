// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of file data that are in the log (log_data.c), and who has to leave them alone: as
 * long as recovery may replay an image, nothing else writes the block in place (F1), the
 * folio stays in the page cache until the block is home (F2), and freeing it revokes it (F3).
 */
#include <linux/fiemap.h>
#include <linux/iomap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
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
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	/* The answer is nearly always no, and the index tells it sooner than the inode's mode. */
	return journal && zj_journal_file_blocks_logged(journal, bh->b_blocknr, 1) &&
	       zext4_ordered_journal(inode);
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
	index = (folio_pos(bh->b_folio) + bh_offset(bh)) >> PAGE_SHIFT;
	io->zj_left_first = min(io->zj_left_first, index);
	io->zj_left_end = max(io->zj_left_end, index + 1);
	return true;
}

/* ---- blocks that are about to be read or written on the device ---- */

/* Logged blocks that are looked up at a time. Their numbers are on the stack of a direct write. */
#define SETTLE_BATCH		32

/*
 * A settled block is logged again at most once where the caller keeps others from storing to it.
 * Who does not is served by the second try as a rule, and else told to go through the page cache.
 */
#define SETTLE_TRIES		3

/* What becomes of the blocks of a range that are in the log. */
enum settle {
	SETTLE_READ,		/* their place on the device is read: home (F2) */
	SETTLE_DROPPED,		/* as SETTLE_READ, but their pages are gone, so it must not fail */
	SETTLE_WRITE,		/* they are written in place: home, and revoked (F1) */
};

/*
 * If an image cannot go home, nobody may read the device in its place. ext4 learns of that at
 * once, and not when it starts its next handle.
 */
static int settle_failed(struct super_block *sb, int err)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (err != -EIO)
		return err;
	zj_journal_abort(journal, err);
	ext4_abort(sb, -err, "Data in the log cannot be written home");
	return err;
}

static int bring_home(struct super_block *sb, const u64 *blocks, u32 n, bool killable)
{
	struct buffer_head *image;
	int err = 0;
	u32 i;

	zext4_may_wait();
	/* All of them are on their way before the first one is waited for. */
	for (i = 0; i < 2 * n && !err; i++) {
		image = sb_getblk(sb, blocks[i % n]);
		if (!image)
			return -ENOMEM;
		if (i < n)
			zj_journal_bring_home(image, false);
		else
			err = zj_journal_wait_home(image, killable);
		brelse(image);
	}
	return settle_failed(sb, err);
}

/* Revokes blocks that have just gone home. What is logged again meanwhile is left to the caller. */
static int revoke_home(struct inode *inode, const u64 *blocks, u32 n, tid_t *tid)
{
	struct buffer_head *image;
	handle_t *handle;
	int err = 0, err2;
	u32 i;

	handle = ext4_journal_start_with_revoke(inode, EXT4_HT_MISC, 0, n);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	for (i = 0; i < n && !err; i++) {
		image = sb_getblk(inode->i_sb, blocks[i]);
		err = image ? zj_journal_revoke_home(handle, image) : -ENOMEM;
		if (err == -EBUSY)
			err = 0;
		brelse(image);
	}
	if (!is_handle_aborted(handle))
		*tid = handle->h_transaction->t_tid;
	err2 = ext4_journal_stop(handle);
	return err ?: err2;
}

/*
 * Does with blocks that are next to each other what @how says. If they are revoked, *@tid is the
 * transaction to wait for. The handles of a call claim the same inode, so that the last one's
 * transaction is not committed before the others'.
 */
static int settle_blocks(struct inode *inode, ext4_fsblk_t block, u32 count, enum settle how,
			 tid_t *tid)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	u64 found[SETTLE_BATCH];
	u32 n, done;
	int err;

	while (count) {
		n = zj_journal_find_file_blocks(journal, block, count, found, SETTLE_BATCH);
		if (!n)
			break;
		err = bring_home(inode->i_sb, found, n, how != SETTLE_DROPPED);
		if (!err && how == SETTLE_WRITE)
			err = revoke_home(inode, found, n, tid);
		if (err)
			return err;
		done = found[n - 1] + 1 - block;
		block += done;
		count -= done;
		cond_resched();
	}
	return 0;
}

static int settle_mapped(struct inode *inode, loff_t start, loff_t end, enum settle how,
			 tid_t *tid)
{
	ext4_lblk_t last = (end - 1) >> inode->i_blkbits;
	struct ext4_map_blocks map = { .m_lblk = start >> inode->i_blkbits };
	int err;

	for (; map.m_lblk <= last; map.m_lblk += max(map.m_len, 1U)) {
		map.m_len = last - map.m_lblk + 1;
		map.m_flags = 0;
		err = ext4_map_blocks(NULL, inode, &map, ZEXT4_GET_BLOCKS_FIND);
		if (err >= 0 && map.m_flags & EXT4_MAP_MAPPED)
			err = settle_blocks(inode, map.m_pblk, map.m_len, how, tid);
		if (err < 0)
			return err;
		if (how != SETTLE_DROPPED && fatal_signal_pending(current))
			return -EINTR;
	}
	return 0;
}

/* Does the log hold data of a range of a file? */
static bool range_logged(struct inode *inode, loff_t start, loff_t end)
{
	journal_t *journal = zext4_ordered_journal(inode);

	return journal && !IS_ENCRYPTED(inode) && zj_journal_max_file_blocks(journal) &&
	       start < end;
}

/* For a direct write, whose range is no longer in the page cache. */
static int settle_write(struct inode *inode, ext4_fsblk_t block, u32 count, bool nowait)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	int tries, err;
	tid_t tid;

	for (tries = 0; tries < SETTLE_TRIES; tries++) {
		if (!zj_journal_file_blocks_logged(journal, block, count))
			return 0;
		if (nowait)
			return -EAGAIN;
		zext4_may_wait();
		tid = 0;
		err = settle_blocks(inode, block, count, SETTLE_WRITE, &tid);
		if (!err)
			err = zj_complete_transaction(journal, tid);
		if (err)
			return settle_failed(inode->i_sb, err);
	}
	return -ENOTBLK;
}

/* Has the device older contents of one of these blocks? */
static bool any_held(struct inode *inode, const struct ext4_map_blocks *map, bool nowait)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	ext4_fsblk_t block = map->m_pblk, end = block + map->m_len;
	struct buffer_head *image;
	bool held = nowait;
	u64 found;

	while (!held && zj_journal_find_file_blocks(journal, block, end - block, &found, 1)) {
		image = sb_find_get_block_nonatomic(inode->i_sb, found);
		held = image && buffer_jbd(image);
		brelse(image);
		block = found + 1;
	}
	return held;
}

static int settle(struct inode *inode, loff_t start, loff_t end, enum settle how)
{
	int tries = 0, err = 0;
	tid_t tid;

	end = min(end, i_size_read(inode));
	if (WARN_ON_ONCE(journal_current_handle()))
		return -EDEADLK;
	while (range_logged(inode, start, end)) {
		tid = 0;
		err = settle_mapped(inode, start, end, how, &tid);
		if (err || !tid)
			break;
		/* The revokes count when they are committed; then nothing is found any more. */
		err = zj_complete_transaction(EXT4_SB(inode->i_sb)->s_journal, tid);
		if (err)
			return settle_failed(inode->i_sb, err);
		if (++tries == SETTLE_TRIES)
			return -EBUSY;
	}
	return err;
}

/**
 * zext4_settle() - prepare blocks of a file for what is done with them on the device
 * @inode: the file
 * @map: its blocks
 * @flags: IOMAP_ flags
 *
 * A direct read waits for no image: if one is not home yet, the data is in the page cache (F2),
 * and is read there (zext4_read_cached()). It meets no new block that is mapped, but not in the
 * index yet: it has waited for the dirty pages of its range, whose lock the fsync that logs them
 * holds, and what became dirty since was stored through a mapping (may_log_block()).
 *
 * Context: no handle open, i_rwsem held by direct I/O. For a write, the pages are dropped.
 * Return: 0; -ENOTBLK if the page cache is to be used; -EAGAIN if a write would have to wait with
 * IOMAP_NOWAIT; or a negative error.
 */
int zext4_settle(struct inode *inode, const struct ext4_map_blocks *map, unsigned int flags)
{
	journal_t *journal = zext4_ordered_journal(inode);
	tid_t tid;
	int err;

	if (!journal || !(map->m_flags & EXT4_MAP_MAPPED) || IS_DAX(inode))
		return 0;
	/* What has left the file's dirty pages, for which a direct read has waited, is in the index. */
	smp_rmb();
	if (!zj_journal_file_blocks_logged(journal, map->m_pblk, map->m_len))
		return 0;
	if (flags & IOMAP_WRITE) {
		err = settle_write(inode, map->m_pblk, map->m_len, flags & IOMAP_NOWAIT);
		/* Through the page cache no write is atomic. */
		return err == -ENOTBLK && flags & IOMAP_ATOMIC ? -EAGAIN : err;
	}
	if (flags & IOMAP_DIRECT)
		return any_held(inode, map, flags & IOMAP_NOWAIT) ? -ENOTBLK : 0;
	/* FIBMAP. */
	return settle_blocks(inode, map->m_pblk, map->m_len, SETTLE_READ, &tid);
}

/**
 * zext4_settle_overwrite() - prepare written blocks of a file for a direct write
 * @inode: the file
 * @iomap: the blocks, mapped as for a read
 * @flags: IOMAP_ flags
 * @err: what zext4_settle() has returned for that read
 *
 * Context and return value: as zext4_settle().
 */
int zext4_settle_overwrite(struct inode *inode, const struct iomap *iomap, unsigned int flags,
			   int err)
{
	u8 bits = inode->i_blkbits;

	if (err == -ENOTBLK && flags & IOMAP_NOWAIT)
		return -EAGAIN;
	if (err || iomap->type != IOMAP_MAPPED || !zext4_ordered_journal(inode) || IS_DAX(inode))
		return err;
	return settle_write(inode, iomap->addr >> bits,
			    DIV_ROUND_UP_ULL(iomap->length, 1U << bits), flags & IOMAP_NOWAIT);
}

/**
 * zext4_settle_read() - write home what the log holds of a range of a file
 * @inode: the file
 * @start: offset
 * @end: offset after the range
 *
 * For who reads the device, and for what drops pages whose blocks stay allocated.
 *
 * Context: no handle open. Who drops pages holds i_rwsem and the mapping's invalidate_lock.
 * Return: 0; -EINTR; or a negative error, after which the pages must stay.
 */
int zext4_settle_read(struct inode *inode, loff_t start, loff_t end)
{
	return settle(inode, start, end, SETTLE_READ);
}

/**
 * zext4_settle_dropped() - write home what the log holds of a range whose pages were dropped
 * @inode: the file
 * @start: offset
 * @end: offset after the range
 *
 * A page may have been logged again between zext4_settle_read() and its drop.
 *
 * Context: as zext4_settle_read().
 * Return: 0 or a negative error.
 */
int zext4_settle_dropped(struct inode *inode, loff_t start, loff_t end)
{
	return settle(inode, start, end, SETTLE_DROPPED);
}

/**
 * zext4_settle_write() - see to it that recovery replays no data of a range of a file (F1)
 * @inode: the file
 * @start: offset
 * @end: offset after the range
 *
 * Its blocks may be written in place then, unless somebody stores to the pages and syncs them.
 *
 * Context: no handle open.
 * Return: 0; -EINTR; -EBUSY if they were logged again and again; or a negative error.
 */
int zext4_settle_write(struct inode *inode, loff_t start, loff_t end)
{
	return settle(inode, start, end, SETTLE_WRITE);
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
	zext4_may_wait();
	err = filemap_write_and_wait_range(inode->i_mapping, start, start + len - 1);
	return err ?: zext4_settle_read(inode, start, start + len);
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
	int err;

	zext4_may_wait();
	err = vfs_fsync(file, 1);
	return err ?: zext4_settle_write(file_inode(file), 0, LLONG_MAX);
}

/**
 * zext4_settle_open() - a file is opened that is not cached any more
 * @inode: the file
 *
 * Its data may be in the log since it was cached (chattr +x), and from now on stores to its
 * mappings change the device, with a handle open at the first one.
 *
 * Return: 0 or a negative error.
 */
int zext4_settle_open(struct inode *inode)
{
	return IS_DAX(inode) ? zext4_settle_write(inode, 0, LLONG_MAX) : 0;
}

/* ---- blocks that change places ---- */

static int check_unlogged(struct inode *inode, ext4_lblk_t lblk, unsigned int count)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	struct ext4_map_blocks map = { .m_lblk = lblk };
	int n;

	for (; count; count -= map.m_len, map.m_lblk += map.m_len) {
		map.m_len = count;
		n = ext4_map_blocks(NULL, inode, &map, 0);
		if (n < 0)
			return n;
		if (n && zj_journal_file_blocks_logged(journal, map.m_pblk, map.m_len))
			return -EBUSY;
		map.m_len = clamp(map.m_len, 1U, count);
	}
	return 0;
}

/**
 * zext4_check_move() - may the blocks of two files be swapped?
 * @inode: one file
 * @lblk: its first block
 * @donor: the other file
 * @donor_lblk: its first block
 * @count: number of blocks
 *
 * The swap is committed after the data is written to the donor's blocks in place; the donor's
 * extent becomes an unwritten one, whose next data is written in place as well (F1).
 *
 * Context: the folios of both ranges are locked, a handle is open.
 * Return: 0; -EBUSY if recovery may replay an image of one of the blocks, and
 * zext4_move_again() helps; or a negative error.
 */
int zext4_check_move(struct inode *inode, ext4_lblk_t lblk, struct inode *donor,
		     ext4_lblk_t donor_lblk, unsigned int count)
{
	if (!EXT4_SB(inode->i_sb)->s_journal)
		return 0;
	return check_unlogged(inode, lblk, count) ?: check_unlogged(donor, donor_lblk, count);
}

/* A folio is released as a whole, and may hold more than what is swapped. */
static int settle_folio(struct inode *inode, loff_t from)
{
	struct folio *folio = filemap_get_folio(inode->i_mapping, from >> PAGE_SHIFT);
	loff_t start, end;

	if (IS_ERR(folio))
		return 0;
	start = folio_pos(folio);
	end = start + folio_size(folio);
	folio_put(folio);
	return zext4_settle_read(inode, start, end);
}

/**
 * zext4_move_again_at() - settle what kept blocks from being swapped
 * @inode: one file
 * @from: offset in it
 * @donor: the other file
 * @donor_from: offset in that
 * @bytes: how much is to be swapped, of one folio of each
 *
 * Context: no handle open, no folio locked.
 * Return: true if another try may succeed.
 */
bool zext4_move_again_at(struct inode *inode, loff_t from, struct inode *donor,
			 loff_t donor_from, loff_t bytes)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	zext4_may_wait();
	if (!zj_journal_max_file_blocks(journal))
		return zj_journal_force_commit_nested(journal);
	return !zext4_settle_write(inode, from, from + bytes) &&
	       !zext4_settle_write(donor, donor_from, donor_from + bytes) &&
	       !settle_folio(inode, from) && !settle_folio(donor, donor_from);
}

/* zext4_move_again_at() for one page of each file. */
bool zext4_move_again(struct inode *inode, pgoff_t index, struct inode *donor,
		      pgoff_t donor_index)
{
	return zext4_move_again_at(inode, (loff_t)index << PAGE_SHIFT, donor,
				   (loff_t)donor_index << PAGE_SHIFT, PAGE_SIZE);
}

/**
 * zext4_moved() - blocks of a page have changed places with another file's
 * @folio: a locked folio of the donor
 *
 * If it has no buffers any more, it is home and clean, and may have other contents than the blocks
 * that are the file's now. So the next read or store fetches these.
 */
void zext4_moved(struct folio *folio)
{
	if (folio_buffers(folio) || folio_test_dirty(folio))
		return;
	folio_clear_uptodate(folio);
	unmap_mapping_pages(folio->mapping, folio->index, folio_nr_pages(folio), false);
}

/* ---- inodes that leave the cache ---- */

/**
 * zext4_keep_cached() - keep an inode whose pages may hold what is not home (F2)
 * @inode: about to be evicted with its pages, because it is not to be cached (chattr +x)
 *
 * Memory reclaim may evict it while its caller holds a folio lock that a handle waits for, so
 * nothing can be waited for here. In the cache it is an inode as any other, which reclaim takes
 * when it has no pages.
 *
 * Context: i_lock held.
 */
void zext4_keep_cached(struct inode *inode)
{
	if (inode->i_data.nrpages && inode->i_sb->s_flags & SB_ACTIVE && !IS_DAX(inode) &&
	    range_logged(inode, 0, LLONG_MAX))
		inode_state_clear(inode, I_DONTCACHE);
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

/* On the stack of a deep call chain. */
#define REVOKE_BATCH		16

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
	ext4_fsblk_t end = block + count;
	u64 found[REVOKE_BATCH];
	int err = 0;
	u32 i, n;

	if (!journal || !zj_journal_max_file_blocks(journal))
		return;
	while (!err && (n = zj_journal_find_file_blocks(journal, block, end - block, found,
							REVOKE_BATCH))) {
		for (i = 0; i < n && !err; i++) {
			err = zj_journal_revoke(handle, found[i], NULL);
			block = found[i] + 1;
		}
	}
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

	if (!head)
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

/**
 * zext4_keep_rest() - keep a folio of which a part is dropped (F2)
 * @folio: a locked folio, whose buffers of that part are invalid now
 * @length: the part's bytes
 *
 * Who truncates a part of a large folio splits it, and if that fails, drops all of it unless it is
 * dirty. It does fail while a block is not home, because the buffers stay then.
 */
void zext4_keep_rest(struct folio *folio, size_t length)
{
	if (length < folio_size(folio) && zext4_holds_folio(folio->mapping->host, folio))
		filemap_dirty_folio(folio->mapping, folio);
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
