// SPDX-License-Identifier: GPL-2.0-only
/*
 * File data: how it becomes durable, and what an fsync waits for.
 *
 * An fsync's few blocks of data go out with FUA where the device knows that, unless
 * older data needs a flush in any case: then no flush stands between them and the
 * commit record. All other data is reported to the journal when it has been written.
 * That of a file is noted in its inode, and flushed by the next commit that has
 * changed the inode, or by its fsync; blocks that were zeroed by the next commit or
 * fsync of anybody.
 *
 * Where log blocks may go out before the data is there (log=jbd2), an fsync begins
 * its commit as soon as its data is on its way. The extents of new data must not be
 * unwritten then, as their conversion is a change after the data: they are ordered
 * data of the transaction, which writes no record before that is durable.
 */
#include <linux/blkdev.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/* For more, or larger ones, one flush behind them all is cheaper than FUA. */
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
 * zext4_data_flags() - how file data is to be written
 * @io: with a bio that is complete
 *
 * A task that writes little to wait for it, as fsync does, is not held up by
 * write-back throttling (REQ_IDLE), and gets FUA. Write-back and lanes have the data
 * of many files in flight, which one flush serves.
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
 * @bio: what wrote them, or NULL if that is unknown
 *
 * Context: any; before whoever waits for the blocks can see them written.
 */
void zext4_data_written(struct super_block *sb, const struct bio *bio)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (journal && !(bio && bio->bi_opf & REQ_FUA))
		zj_journal_data_written(journal);
}

/**
 * zext4_inode_written() - data of an inode has been written
 * @inode: by a handle of which the data becomes reachable, if it is not, and which is
 *	started after this, or has put it on the list of ordered data
 * @bio: what wrote it, or NULL if that is unknown
 *
 * Context: as zext4_data_written().
 */
void zext4_inode_written(struct inode *inode, const struct bio *bio)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	if (!journal || (bio && bio->bi_opf & REQ_FUA))
		return;
	/* A home write of what was in the log: no handle takes it. */
	if (ext4_should_journal_data(inode))
		zj_journal_data_written(journal);
	else
		zj_journal_inode_written(journal, &EXT4_I(inode)->i_zj_written);
}

/* It leaves core: who reads it in again knows nothing of that. */
void zext4_forget_inode(struct inode *inode)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	u64 written = READ_ONCE(EXT4_I(inode)->i_zj_written);

	if (journal && written)
		zj_journal_written_by_all(journal, written);
}

/* A sync: of all inodes, whose data has been written by now. */
void zext4_sync_data(struct super_block *sb)
{
	if (EXT4_SB(sb)->s_journal)
		zj_journal_written_by_all(EXT4_SB(sb)->s_journal, ULLONG_MAX);
}

/* ---- inline data ---- */

/* Its write-back has no size to update any more when the block is there. */
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
 * The data goes back into the inode, which fails only on a file system that e2fsck has to
 * see: it finds the block. Nobody else gets it before, and nobody writes to it.
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

/**
 * zext4_inline_to_block() - gives a file a first block for what was in its inode
 * @handle: that has taken the data out of the inode
 * @inode: a regular file with a jinode
 * @folio: its first, locked and up to date; perhaps with a delayed block
 *
 * The block's extent is not an unwritten one: it is ordered data of the handle's
 * transaction, or journaled data, so that no crash shows the file without it.
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
	err = ext4_get_block(inode, 0, bh, 1);
	if (err)
		return err;
	clear_buffer_delay(bh);
	if (buffer_new(bh)) {
		clear_buffer_new(bh);
		clean_bdev_bh_alias(bh);
	}
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
	       READ_ONCE(sbi->s_zj.value[ZEXT4_FSYNC_DATA]) ==
	       ZEXT4_FSYNC_DATA_AUTO &&
	       zj_journal_data_beside(sbi->s_journal);
}

/**
 * zext4_map_written() - is new data to get extents that are no longer unwritten?
 * @io: the writepages call
 * @map: what is to be allocated, with the flags of the buffers
 *
 * A direct read takes no lock of the file's pages, but waits for those that were
 * dirty before; and write() has the inode to itself. A store through a mapping
 * has not: it could be found allocated before it is on the disk. So what was ever
 * mapped for writing keeps unwritten extents.
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

/* The transaction that an fsync commits, as ext4_fsync_journal() has it. */
static tid_t fsync_tid(struct inode *inode, bool datasync)
{
	struct ext4_inode_info *ei = EXT4_I(inode);

	return datasync && S_ISREG(inode->i_mode) ? ei->i_datasync_tid :
						    ei->i_sync_tid;
}

/* As file_write_and_wait_range(), and the commit begins with the write. */
static int write_and_commit(struct file *file, loff_t start, loff_t end,
			    bool datasync)
{
	struct inode *inode = file->f_mapping->host;
	struct ext4_inode_info *ei = EXT4_I(inode);
	int err, err2;

	err = filemap_fdatawrite_range(file->f_mapping, start, end);
	/* What converts extents later on does so in another transaction. */
	if (!err && !atomic_read(&ei->i_unwritten))
		zj_journal_commit_early(EXT4_SB(inode->i_sb)->s_journal,
					fsync_tid(inode, datasync));
	if (err == -EIO)
		err2 = file_check_and_advance_wb_err(file);
	else
		err2 = file_fdatawait_range(file, start, end);
	return err ?: err2;
}

/* ---- fsync ---- */

/*
 * Journaled data reaches the log with the transaction that fsync waits for:
 * stores through a mapping too, as the page was journaled when it became
 * writable and is protected again before the copy.  A device that stores into
 * pinned pages asks nobody: these are journaled when the page is written.
 */
int zext4_write_and_wait(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct inode *inode = file->f_mapping->host;
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;
	bool flush = journal && !uses_fua(inode);
	int expected = 0, err;

	if (ext4_should_journal_data(inode) &&
	    !READ_ONCE(EXT4_I(inode)->i_zj_pinned))
		return 0;
	if (flush)
		expected = zj_journal_fsync_begin(journal,
						  zext4_lane(inode->i_sb, inode));
	if (data_beside(inode))
		err = write_and_commit(file, start, end, datasync);
	else
		err = file_write_and_wait_range(file, start, end);
	if (flush)
		zj_journal_fsync_written(journal, expected,
					 err ? 0 : fsync_tid(inode, datasync));
	return err;
}

/* Does the commit that fsync waits for see to the file's data? */
bool zext4_commit_flushes(struct inode *inode, tid_t tid)
{
	return zj_trans_takes_written(EXT4_SB(inode->i_sb)->s_journal, tid,
				      READ_ONCE(EXT4_I(inode)->i_zj_written));
}

/* Where fsync commits.  In no fast commit, which is never on. */
int zext4_fsync_commit(struct inode *inode, tid_t tid)
{
	journal_t *journal = EXT4_SB(inode->i_sb)->s_journal;

	if (EXT4_SB(inode->i_sb)->s_zj.value[ZEXT4_FSYNC] == ZEXT4_FSYNC_ALL)
		return ext4_force_commit(inode->i_sb);
	return zj_complete_transaction(journal, tid);
}

/* The file's data, where no commit sees to that. */
int zext4_flush_file(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;

	if (EXT4_SB(sb)->s_journal)
		return zj_journal_flush_reported(EXT4_SB(sb)->s_journal,
				READ_ONCE(EXT4_I(inode)->i_zj_written));
	return blkdev_issue_flush(sb->s_bdev);
}

/* Whatever has been written to the device. */
int zext4_flush_data(struct super_block *sb)
{
	if (EXT4_SB(sb)->s_journal)
		return zj_journal_flush_data(EXT4_SB(sb)->s_journal);
	return blkdev_issue_flush(sb->s_bdev);
}
