// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block 0 and the log super block: live or clean.
 *
 * Live: block 0 has the feature ZJ_JBD2_INCOMPAT_LANES and a start that is not
 * 0, so that stock tools refuse it and write nothing. Both are durable before
 * the first chunk is written. Clean: block 0 is a stock super block with an
 * empty log; it is written only when everything is home.
 */
#include "core/core.h"
#include "format/codec.h"
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static struct zj_jbd2_super *super_of(struct zj_journal *zj)
{
	return zj->public.j_superblock;
}

static int check_super(struct zj_journal *zj, struct zj_jbd2_super *sb)
{
	const char *wrong = zj_check_jbd2_super(sb, zj->public.j_blocksize,
						zj->public.j_total_len, false);
	u32 incompat, unknown;

	if (wrong) {
		zj_err(zj, "journal block 0 %s; nothing was written: copy the device, then run e2fsck -f, which empties the journal\n",
		       wrong);
		return -EINVAL;
	}
	/* Nothing else needs to know of version 1: the next write makes it version 2. */
	zj_upgrade_jbd2_super(sb);
	incompat = be32_to_cpu(sb->s_feature_incompat);
	unknown = incompat & ~(ZJ_JBD2_INCOMPAT_STOCK | ZJ_JBD2_INCOMPAT_LANES);
	/*
	 * This feature says where the log of lanes is, and has no meaning
	 * without lanes.
	 */
	if (incompat & ZJ_JBD2_INCOMPAT_LANES)
		unknown &= ~ZJ_JBD2_INCOMPAT_NVM;
	if (unknown || sb->s_feature_ro_compat) {
		zj_err(zj, "the journal has unknown features (incompat %#x, ro_compat %#x); a newer zjournal may support them\n",
		       unknown, be32_to_cpu(sb->s_feature_ro_compat));
		return -EINVAL;
	}
	return 0;
}

/**
 * zj_super_read() - read and check block 0
 * @zj: the journal; block size and the length of its inode or device are known
 * @block: device block of block 0
 *
 * Sets the total length to that in block 0, which is at most the former.
 *
 * Return: 0, -EIO, or -EINVAL with a message.
 */
int zj_super_read(struct zj_journal *zj, sector_t block)
{
	struct buffer_head *bh;
	int err;

	bh = __bread(zj->public.j_dev, block, zj->public.j_blocksize);
	if (!bh) {
		zj_err(zj, "journal block 0 (block %llu of the device) cannot be read, and has no copy; copy the device, or run e2fsck -f, which can make a new one\n",
		       (u64)block);
		return -EIO;
	}
	zj->sb_bh = bh;
	zj->public.j_superblock = (void *)bh->b_data;
	err = check_super(zj, super_of(zj));
	if (err)
		return err;
	zj->public.j_total_len = be32_to_cpu(super_of(zj)->s_maxlen);
	zj->public.j_errno = (int)be32_to_cpu(super_of(zj)->s_errno);
	return 0;
}

/**
 * zj_super_put() - release block 0
 * @zj: the journal; zj_super_read() may have failed, or not been called
 *
 * What has changed in memory and could not be written, or was not worth a
 * write, is replaced by what the device has: the buffer outlives the mount
 * while another program has the device open, and the next mount would find
 * features that nobody wrote, or a checksum of something else.
 */
void zj_super_put(struct zj_journal *zj)
{
	struct buffer_head *bh = zj->sb_bh;

	if (!bh)
		return;
	lock_buffer(bh);
	clear_buffer_uptodate(bh);
	unlock_buffer(bh);
	brelse(__bread(zj->public.j_dev, bh->b_blocknr, zj->public.j_blocksize));
	brelse(bh);
}

/*
 * Returns the flags of a write that is durable, and comes after all earlier
 * writes to its device; if barriers are off, only with @always.
 */
static blk_opf_t write_flags(const struct zj_journal *zj, bool always)
{
	return always || zj_flag(zj, JBD2_BARRIER) ?
	       REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA : REQ_OP_WRITE;
}

/*
 * What is written with a pre-flush relies on home writes. If the log has a
 * device of its own, the pre-flush does not cover them (C6).
 */
static int flush_home(struct zj_journal *zj, blk_opf_t opf)
{
	return opf & REQ_PREFLUSH ? zj_home_flush(zj) : 0;
}

/*
 * The buffer is never marked dirty. If it were, write-back of its folio,
 * because of a dirty neighbour, could write it without flush and FUA, and we
 * would find nothing left to write.
 */
static int write_super(struct zj_journal *zj, blk_opf_t opf)
{
	struct buffer_head *bh = zj->sb_bh;
	int err;

	lock_buffer(bh);
	zj_jbd2_super_set_csum(super_of(zj));
	err = zj_dev_rw(zj, 0, 1, bh->b_data, opf);
	unlock_buffer(bh);
	if (!(opf & REQ_FUA))
		zj_log_unflushed(zj);
	return err;
}

/**
 * zj_super_write() - write block 0, after all home writes, durable on return
 * @zj: the journal
 *
 * Context: caller holds super_lock.
 */
int zj_super_write(struct zj_journal *zj)
{
	blk_opf_t opf = write_flags(zj, false);

	lockdep_assert_held(&zj->super_lock);
	return flush_home(zj, opf) ?: write_super(zj, opf);
}

/**
 * zj_super_note_errno() - write block 0, in which only the errno has changed
 * @zj: the journal; perhaps no home write is possible any more
 *
 * Context: caller holds super_lock.
 */
int zj_super_note_errno(struct zj_journal *zj)
{
	lockdep_assert_held(&zj->super_lock);
	return write_super(zj, write_flags(zj, false));
}

/* Writes a block; with a pre-flush, after all home writes. */
static int write_block(struct zj_journal *zj, u32 block, const void *data,
		       blk_opf_t opf)
{
	int err = flush_home(zj, opf);

	if (err)
		return err;
	err = zj_dev_rw(zj, block, 1, (void *)data, opf);
	if (!(opf & REQ_FUA))
		zj_log_unflushed(zj);
	return err;
}

/*
 * Begins a new generation, which makes all older records void as soon as the
 * log says so. All of them were reclaimed, so each lane begins a segment anew.
 */
void zj_new_generation(struct zj_journal *zj)
{
	lockdep_assert_held(&zj->super_lock);
	/* L2 */
	ZJ_ASSERT(zj, !zj->live);
	zj->geo.generation++;
	zj->seed = zj_seed(zj->geo.uuid, zj->geo.generation);
}

static int format_log(struct zj_journal *zj)
{
	void *block = kmem_cache_zalloc(zj->frozen_cache,
					GFP_NOFS | __GFP_NOFAIL);
	int err;

	zj_new_generation(zj);
	/*
	 * The log was empty, so all that is committed is home. Its stamps are
	 * not used again.
	 */
	zj->geo.ckpt_stamp = READ_ONCE(zj->committed_stamp);
	zj->unflushed = false;
	zj_encode_log_super(&zj->geo, block);
	/*
	 * If block 0 were durable and this block not, the file system could not
	 * be mounted.
	 */
	err = write_block(zj, ZJ_BLOCK_LOG_SUPER, block, write_flags(zj, true));
	WRITE_ONCE(zj->stamped, false);
	kmem_cache_free(zj->frozen_cache, block);
	return err;
}

/**
 * zj_lanes_go_live() - begin a new generation, and mark the log as used by
 * lanes
 * @zj: the journal
 *
 * Context: caller holds super_lock.
 */
int zj_lanes_go_live(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = super_of(zj);
	int err = format_log(zj);

	if (err)
		return err;
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
	sb->s_start = sb->s_first;
	return zj_super_write(zj);
}

/**
 * zj_make_live() - say in block 0 that the log is in use, before the first
 * record
 * @zj: the journal
 *
 * Context: sleeps. Every commit calls it; usually it only reads one flag.
 * Return: 0 or a negative error.
 */
int zj_make_live(struct zj_journal *zj)
{
	int err = 0;

	/*
	 * Pairs with the store below: whoever sees the flag also sees block 0
	 * durable, and geometry and seed.
	 */
	if (smp_load_acquire(&zj->live))
		return 0;
	mutex_lock(&zj->super_lock);
	if (!zj->live) {
		err = zj->log_ops->go_live(zj);
		/* Pairs with the load above. */
		if (!err)
			smp_store_release(&zj->live, true);
	}
	mutex_unlock(&zj->super_lock);
	return err;
}

/**
 * zj_make_clean() - make block 0 that of a stock journal with an empty log
 * @zj: the journal; everything is home and durable
 *
 * Context: sleeps; no commit is under way.
 * Return: 0 or a negative error.
 */
int zj_make_clean(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = super_of(zj);
	struct zj_nvm_mark mark;
	__be32 start, incompat;
	int err = 0;

	mutex_lock(&zj->super_lock);
	if (sb->s_start) {
		start = sb->s_start;
		incompat = sb->s_feature_incompat;
		mark = *zj_nvm_mark_of(sb);
		zj_clean_jbd2_super(sb);
		/* No commit is under way, so no thread reads the flag now. */
		WRITE_ONCE(zj->live, false);
		err = zj_super_write(zj);
		if (err) {
			/*
			 * Block 0 on the device still says live, so the next
			 * try has to write it.
			 */
			sb->s_feature_incompat = incompat;
			sb->s_start = start;
			*zj_nvm_mark_of(sb) = mark;
		}
	}
	mutex_unlock(&zj->super_lock);
	return err;
}

/* Writes the checkpoint slots in turn. */
static int write_slot(struct zj_journal *zj, u64 ckpt_stamp, blk_opf_t opf)
{
	void *block = kmem_cache_zalloc(zj->frozen_cache,
					GFP_NOFS | __GFP_NOFAIL);
	u32 slot;
	int err;

	lockdep_assert_held(&zj->ckpt_lock);
	zj->ckpt_seq++;
	slot = zj->ckpt_seq % ZJ_CKPT_SLOTS;
	zj_encode_ckpt(&zj->geo, zj->ckpt_seq, ckpt_stamp, block);
	err = write_block(zj, ZJ_BLOCK_CKPT + slot, block, opf);
	kmem_cache_free(zj->frozen_cache, block);
	return err;
}

/**
 * zj_ckpt_write() - make a new checkpoint stamp durable
 * @zj: the journal
 * @ckpt_stamp: the stamp; home writes of everything up to it have completed
 *
 * Context: caller holds ckpt_lock.
 */
int zj_ckpt_write(struct zj_journal *zj, u64 ckpt_stamp)
{
	/*
	 * If barriers are off, the call notes that no committed stamp is known
	 * to be durable any more.
	 */
	bool durable = zj_needs_flush(zj, zj_log_cache(zj));
	blk_opf_t opf;
	int err;

	/*
	 * Records may name a committed stamp. Recovery takes components up to
	 * it for lost if the log does not hold them, so their space may be used
	 * again only when the checkpoint stamp on the device covers them: the
	 * block is then written durably, even without barriers. Pairs with
	 * committed_stamp(): either that sees zj->unflushed and names no stamp,
	 * or we see zj->stamped.
	 */
	smp_mb();
	durable |= READ_ONCE(zj->stamped);
	opf = write_flags(zj, durable);
	err = write_slot(zj, ckpt_stamp, opf);
	/*
	 * From now on space is used again, and blocks of file data are written in place. If
	 * one slot could not be read after a crash, an older stamp in the other would have
	 * recovery put old images over newer contents (H4, F1).
	 */
	return err ?: write_slot(zj, ckpt_stamp, opf & ~REQ_PREFLUSH);
}

bool zj_journal_is_live(journal_t *journal)
{
	return journal->j_superblock->s_feature_incompat &
	       cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
}
EXPORT_SYMBOL_GPL(zj_journal_is_live);

bool zj_journal_too_short(journal_t *journal)
{
	return zj_jbd2_too_short(journal->j_superblock);
}
EXPORT_SYMBOL_GPL(zj_journal_too_short);
