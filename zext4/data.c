// SPDX-License-Identifier: GPL-2.0-only
/*
 * File data: how it becomes durable, and what an fsync waits for.
 *
 * An fsync's few blocks of data go out with FUA where the device supports it, so that no
 * flush stands between them and the record; but not if older data needs a flush in any
 * case. All other data is reported to the journal when it has been written. Data of a
 * file is noted in its inode, and is flushed by the next commit that has changed the
 * inode, or by the file's fsync; zeroed blocks are flushed by the next commit or fsync
 * of any file.
 *
 * Where log blocks may be sent before the data is durable (log=jbd2), an fsync begins its
 * commit as soon as its data is on its way. Then the extents of new data must not be
 * unwritten, because their conversion would be a change after the data. Instead the data
 * is ordered data of the transaction, whose record is not written before it is durable.
 */
#include <linux/blkdev.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/* FUA is for this many bios of this size, at most: for more a single flush is cheaper. */
#define ZEXT4_FEW_BIOS	4
#define ZEXT4_FEW_BYTES	(64 * 1024)

/* ---- data ---- */

static bool uses_fua(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	journal_t *journal = EXT4_SB(sb)->s_journal;

	return EXT4_SB(sb)->s_zj.value[ZEXT4_DATA_FUA] == ZEXT4_DATA_FUA_AUTO &&
	       test_opt(sb, BARRIER) && bdev_write_cache(sb->s_bdev) &&
	       bdev_fua(sb->s_bdev) && journal &&
	       zj_journal_wants_fua(journal, READ_ONCE(EXT4_I(inode)->i_zj_written));
}

/**
 * zext4_data_flags() - flags for a write of file data
 * @io: with a bio that is complete
 *
 * A task that writes little and waits for it, as fsync does, is not held up by
 * write-back throttling (REQ_IDLE), and gets FUA. Write-back and the lanes' threads have
 * the data of many files in flight, for which one flush is enough.
 *
 * Return: flags for the bio.
 */
blk_opf_t zext4_data_flags(struct ext4_io_submit *io)
{
	const ext4_io_end_t *io_end = io->io_bio->bi_private;
	blk_opf_t flags = REQ_SYNC | REQ_IDLE;

	if (io->io_wbc->sync_mode != WB_SYNC_ALL)
		return 0;
	if (current->flags & PF_KTHREAD || io->zj_few == ZEXT4_FEW_BIOS ||
	    io->io_bio->bi_iter.bi_size > ZEXT4_FEW_BYTES)
		return REQ_SYNC;
	io->zj_few++;
	if (uses_fua(io_end->inode))
		flags |= REQ_FUA;
	return flags;
}

/**
 * zext4_data_written() - blocks outside the log have been written
 * @sb: the file system
 * @bio: the bio that wrote them, or NULL if it is unknown
 *
 * Context: any; before a task that waits for the blocks can see that they are written.
 */
void zext4_data_written(struct super_block *sb, const struct bio *bio)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (journal && !(bio && bio->bi_opf & REQ_FUA))
		zj_journal_data_written(journal);
}

/**
 * zext4_inode_written() - data of an inode has been written
 * @inode: the data is reachable already; or a handle of the inode will make it reachable,
 *	which is started after this, or has put the inode on the list of ordered data
 * @bio: the bio that wrote it, or NULL if it is unknown
 *
 * Context: as zext4_data_written().
 */
void zext4_inode_written(struct inode *inode, const struct bio *bio)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	if (!journal || (bio && bio->bi_opf & REQ_FUA))
		return;
	/* Journaled data on its way home: no handle takes the inode's word for it. */
	if (ext4_should_journal_data(inode))
		zj_journal_data_written(journal);
	else
		zj_journal_inode_written(journal, &EXT4_I(inode)->i_zj_written);
}

/* The inode is evicted, and its word with it, so every commit must flush its data. */
void zext4_forget_inode(struct inode *inode)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	u64 written = zj_written(&EXT4_I(inode)->i_zj_written);

	if (journal && written)
		zj_journal_written_by_all(journal, written);
}

/* For a sync, whose commit must flush the data of all inodes; it has been written by now. */
void zext4_sync_data(struct super_block *sb)
{
	if (EXT4_SB(sb)->s_journal)
		zj_journal_written_by_all(EXT4_SB(sb)->s_journal, ULLONG_MAX);
}

/* ---- inline data ---- */

/* Sets the size on disk now: when the block is there, its write-back does not do it. */
static int update_disk_size(handle_t *handle, struct inode *inode)
{
	loff_t size = min_t(loff_t, i_size_read(inode), i_blocksize(inode));

	down_write(&EXT4_I(inode)->i_data_sem);
	if (EXT4_I(inode)->i_disksize < size)
		EXT4_I(inode)->i_disksize = size;
	up_write(&EXT4_I(inode)->i_data_sem);
	return ext4_mark_inode_dirty(handle, inode);
}

static int journal_block(handle_t *handle, struct inode *inode,
			 struct buffer_head *bh)
{
	int err = do_journal_get_write_access(handle, inode, bh);

	if (err)
		return err;
	folio_mark_dirty(bh->b_folio);
	err = ext4_handle_dirty_metadata(handle, NULL, bh);
	clear_buffer_meta(bh);
	clear_buffer_prio(bh);
	return err;
}

/*
 * Gives up a new block, because its data goes back into the inode. If that fails, the file
 * system needs e2fsck, which finds the block. Until then the block stays allocated, and
 * nothing writes to it.
 */
static int leave_block(struct inode *inode, struct buffer_head *bh, int err)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	down_write(&ei->i_data_sem);
	ext4_es_remove_extent(inode, 0, 1);
	memset(ei->i_data, 0, sizeof(ei->i_data));
	up_write(&ei->i_data_sem);
	clear_buffer_mapped(bh);
	return err;
}

/*
 * Gives a file its first block. Write-back comes here without the inode's lock, so nothing around
 * that block may be cached.
 */
static int map_first_block(handle_t *handle, struct inode *inode, struct buffer_head *bh)
{
	struct ext4_map_blocks map = { .m_len = 1 };
	int err = ext4_map_blocks(handle, inode, &map,
				  EXT4_GET_BLOCKS_CREATE | ZEXT4_GET_BLOCKS_SUBMIT);

	if (err <= 0)
		return err ?: -EIO;
	map_bh(bh, inode->i_sb, map.m_pblk);
	clear_buffer_delay(bh);
	clean_bdev_bh_alias(bh);
	return 0;
}

/**
 * zext4_inline_to_block() - give a file a first block for the data that was in its inode
 * @handle: the handle that has taken the data out of the inode
 * @inode: a regular file with a jinode
 * @folio: the file's first one, locked and up to date; perhaps with a delayed block
 *
 * The block's extent is not unwritten. The block is ordered data of the handle's
 * transaction, or journaled data, so that no crash shows the file without its data.
 *
 * Context: process, xattr_sem held for writing.
 * Return: 0 or a negative errno.
 */
int zext4_inline_to_block(handle_t *handle, struct inode *inode,
			  struct folio *folio)
{
	struct buffer_head *bh = folio_buffers(folio);
	int err;

	if (!bh)
		bh = create_empty_buffers(folio, i_blocksize(inode), 0);
	err = map_first_block(handle, inode, bh);
	if (err)
		return err;
	set_buffer_uptodate(bh);
	if (ext4_should_journal_data(inode)) {
		err = journal_block(handle, inode, bh);
	} else {
		mark_buffer_dirty(bh);
		err = ext4_jbd2_inode_add_write(handle, inode, 0,
						i_blocksize(inode));
	}
	err = err ?: update_disk_size(handle, inode);
	return err ? leave_block(inode, bh, err) : 0;
}

/* ---- beside the log ---- */

static bool data_beside(struct inode *inode)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);

	return sbi->s_journal && ext4_should_order_data(inode) &&
	       READ_ONCE(sbi->s_zj.value[ZEXT4_FSYNC_DATA]) !=
		       ZEXT4_FSYNC_DATA_BEFORE &&
	       zj_journal_data_beside(sbi->s_journal);
}

/**
 * zext4_map_written() - should new data get written extents at once?
 * @io: the writepages call
 * @map: the blocks to allocate, with the flags of the buffers
 *
 * A direct read takes no lock of the file's pages, but it waits for pages that were dirty
 * before it, and write() locks it out by the inode's lock. A store through a mapping does
 * not: the read could find its block allocated before the data is on the disk. So a file
 * that was ever mapped for writing keeps unwritten extents.
 *
 * Context: the folios are locked, a handle is open.
 */
bool zext4_map_written(const struct ext4_io_submit *io,
		       const struct ext4_map_blocks *map)
{
	struct inode *inode = io->io_end->inode;

	return io->io_wbc->sync_mode == WB_SYNC_ALL &&
	       !(current->flags & PF_KTHREAD) && io->zj_few < ZEXT4_FEW_BIOS &&
	       map->m_len <= ZEXT4_FEW_BYTES >> inode->i_blkbits &&
	       map->m_flags == BIT(BH_Delay) &&
	       !(io->io_end->flag & EXT4_IO_END_UNWRITTEN) &&
	       !READ_ONCE(EXT4_I(inode)->i_zj_mapped) &&
	       !IS_NOQUOTA(inode) && data_beside(inode);
}

/* A page of the file is about to become writable in a mapping. */
void zext4_page_mkwrite(struct inode *inode)
{
	if (!READ_ONCE(EXT4_I(inode)->i_zj_mapped))
		WRITE_ONCE(EXT4_I(inode)->i_zj_mapped, true);
}

/* Returns the transaction that an fsync commits, chosen as in ext4_fsync_journal(). */
tid_t zext4_fsync_tid(struct inode *inode, bool datasync)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	return datasync && S_ISREG(inode->i_mode) ? ei->i_datasync_tid :
						    ei->i_sync_tid;
}

/* Does what file_write_and_wait_range() does, and begins the commit while data is written. */
static int write_and_commit(struct file *file, loff_t start, loff_t end,
			    bool datasync)
{
	struct inode *inode = file->f_mapping->host;
	struct ext4_inode_info *ei = EXT4_I(inode);
	int err, err2;

	err = filemap_fdatawrite_range(file->f_mapping, start, end);
	/* If extents are to be converted after the write, this needs another transaction. */
	if (!err && !zext4_converts(ei))
		zj_journal_commit_early(EXT4_SB(inode->i_sb)->s_journal,
					zext4_fsync_tid(inode, datasync));
	if (err == -EIO)
		err2 = file_check_and_advance_wb_err(file);
	else
		err2 = file_fdatawait_range(file, start, end);
	return err ?: err2;
}

/* ---- direct reads and writes ---- */

/**
 * zext4_wont_poll() - have a direct read or write completed by interrupts
 * @iocb: about to be sent
 *
 * When a later part of it has to go through the page cache, the kernel waits for the first part,
 * which is on its way by then. Nobody would poll for that one meanwhile (IORING_SETUP_IOPOLL).
 */
void zext4_wont_poll(struct kiocb *iocb)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);
	journal_t *journal = zext4_ordered_journal(inode);

	if (journal && (READ_ONCE(sbi->s_zj.value[ZEXT4_FSYNC_DATA]) == ZEXT4_FSYNC_DATA_AUTO ||
			zj_journal_max_file_blocks(journal)))
		iocb->ki_flags &= ~IOCB_HIPRI;
}

/**
 * zext4_before_direct_write() - prepare the file for a direct write
 * @iocb: the write, about to be sent
 * @from: what is written
 *
 * An atomic write cannot go through the page cache, so it fails as long as a page of its range
 * stays there (F2), and the caller would have to try for seconds.
 *
 * Context: no handle open, i_rwsem held.
 */
void zext4_before_direct_write(struct kiocb *iocb, const struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	loff_t start = iocb->ki_pos, end = start + iov_iter_count(from);

	zext4_wont_poll(iocb);
	if (!(iocb->ki_flags & IOCB_ATOMIC) || iocb->ki_flags & IOCB_NOWAIT)
		return;
	zext4_may_wait();
	/* If one of them fails, so does the write. */
	if (!filemap_write_and_wait_range(inode->i_mapping, start, end - 1))
		zext4_settle_write(inode, start, end);
}

/**
 * zext4_read_cached() - read from the page cache what a direct read has left there
 * @iocb: the read, whose position is after what was read
 * @to: what is left to be read
 * @read: bytes that were read, or a negative error
 *
 * The read stays a direct one for io_uring, which would let one that is not wait for pages by a
 * callback. If it must not wait, it is sent anew from a task that may.
 *
 * Context: i_rwsem held shared since before the direct read, so that all of what is read is from
 * before a write() or all of it from after, as with stock ext4.
 * Return: bytes, or a negative error.
 */
ssize_t zext4_read_cached(struct kiocb *iocb, struct iov_iter *to, ssize_t read)
{
	if (read < 0 || !iov_iter_count(to) ||
	    iocb->ki_pos >= i_size_read(file_inode(iocb->ki_filp)))
		return read;
	return filemap_read(iocb, to, read);
}

/* ---- fsync ---- */

/* May a commit flush a device? */
static bool flushes(const journal_t *journal)
{
	return bdev_write_cache(journal->j_fs_dev) || bdev_write_cache(journal->j_dev);
}

/*
 * Journaled data reaches the log with the transaction that fsync waits for. This holds
 * for stores through a mapping, too, as the page was journaled when it became writable
 * and is write-protected again before the copy.  A device that stores into pinned pages
 * does not fault; its stores are journaled when the page is written.
 */
int zext4_write_and_wait(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct inode *inode = file->f_mapping->host;
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	bool overwritten, flush = journal && flushes(journal) && !uses_fua(inode);
	int expected = 0, err;

	if (ext4_should_journal_data(inode) &&
	    !READ_ONCE(EXT4_I(inode)->i_zj_pinned))
		return 0;
	zext4_may_wait();
	overwritten = zext4_log_data(inode, start, end, datasync);
	if (flush)
		expected = zj_journal_fsync_begin(journal,
						  zext4_lane(inode->i_sb, inode));
	if (data_beside(inode))
		err = write_and_commit(file, start, end, datasync);
	else
		err = file_write_and_wait_range(file, start, end);
	if (overwritten)
		zext4_note_overwritten(inode, datasync);
	/*
	 * Before the caller reads the inode's sync tids: pairs with the handle that has converted
	 * the extents, and has stored its tid before it has ended the folios' write-back.
	 */
	smp_rmb();
	if (flush)
		zj_journal_fsync_written(journal, expected,
					 err ? 0 : zext4_fsync_tid(inode, datasync));
	return err;
}

/* Does the commit that fsync waits for flush the file's data? */
bool zext4_commit_flushes(struct inode *inode, tid_t tid)
{
	return zj_trans_takes_written(EXT4_SB(inode->i_sb)->s_journal, tid,
				      zj_written(&EXT4_I(inode)->i_zj_written));
}

/* Commits for an fsync.  This replaces the fast commit of stock ext4, which is never on. */
int zext4_fsync_commit(struct inode *inode, tid_t tid)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	zext4_may_wait();
	if (EXT4_SB(inode->i_sb)->s_zj.value[ZEXT4_FSYNC] == ZEXT4_FSYNC_ALL)
		return ext4_force_commit(inode->i_sb);
	return zj_complete_transaction(journal, tid);
}

/* Flushes the file's data where no commit does so. */
int zext4_flush_file(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;

	if (EXT4_SB(sb)->s_journal)
		return zj_journal_flush_reported(EXT4_SB(sb)->s_journal,
				zj_written(&EXT4_I(inode)->i_zj_written));
	return blkdev_issue_flush(sb->s_bdev);
}

/* Flushes everything that has been written to the device. */
int zext4_flush_data(struct super_block *sb)
{
	if (EXT4_SB(sb)->s_journal)
		return zj_journal_flush_data(EXT4_SB(sb)->s_journal);
	return blkdev_issue_flush(sb->s_bdev);
}
