// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines: which lines of a block have changed, for a log that takes only these
 * (zj_logs_lines()).
 *
 * A part keeps the contents of its buffer before the first change, called its base, or
 * the lines that ext4 has declared. Either helps only while recovery can restore the
 * contents that the logged lines are put over (D3). There are no more bases than blocks that
 * transactions may change before they are logged, which the log's space limits.
 */
#include "core/core.h"
#include "format/codec.h"
#include "format/line_set.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

/* For a log in memory: recovery can restore the buffer's contents from log and home block. */
#define BH_JHKnown	(BH_JBDPrivateStart + 3)
BUFFER_FNS(JHKnown, jh_known)

/*
 * User space may write to ext4's super block, and to folios of files by their mappings,
 * without the journal being told.
 */
static bool changes_unseen(const struct buffer_head *bh)
{
	return zj_bh_is_file(bh) || zj_bh_is_super(bh);
}

/*
 * Returns whether the block keeps the checkpoint stamp back while log space is low. Lines
 * keep the oldest part until the block is home (J2), and a block that always has an
 * owner never goes home. A whole image now and then lets the older parts be dropped.
 */
static bool holds_back(struct zj_journal *zj, struct journal_head *jh)
{
	struct zj_part *oldest;
	u64 reclaimed, stamp;

	if (list_empty(&jh->parts) || !zj_space_low(zj))
		return false;
	/* Not before, as a checkpoint writes this line, and handles come here. */
	reclaimed = READ_ONCE(zj->ckpt_stamp);
	oldest = list_first_entry(&jh->parts, struct zj_part, jh_link);
	rcu_read_lock();
	stamp = READ_ONCE(oldest->txn->comp)->stamp;
	rcu_read_unlock();
	return stamp <= reclaimed + (READ_ONCE(zj->stamp) - reclaimed) / 2;
}

/* Tells whether the newest owner has an image, or lines of one, for the log. */
static bool owner_logs(const struct journal_head *jh)
{
	return jh->newest && zj_part_test(jh->newest, ZJ_PART_MODIFIED) &&
	       !zj_part_test(jh->newest, ZJ_PART_FORGET);
}

/**
 * zj_jh_wants_base() - decide whether a new owner will log only lines of a buffer
 * @zj: the journal
 * @jh: the head of a buffer that gets a new owner
 *
 * Lines are put over what the buffer holds now, so recovery must be able to restore
 * that: from an image in the log that the new owner depends on, or, if the log is in
 * memory, from the home block. A buffer in memory may differ from its home block, because
 * ext4 creates bitmaps and parts of the inode table in memory that it has never written.
 * Therefore the first image of a buffer that was not read from the device is logged as a
 * whole; in a log on a disk each first image is.
 *
 * Context: jh->lock held; the newest owner, if any, is sealed.
 */
bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh)
{
	lockdep_assert_held(&jh->lock);
	if (!zj_logs_lines(zj) || changes_unseen(jh->bh) || holds_back(zj, jh))
		return false;
	if (zj->log_ops->in_memory && buffer_jh_known(jh->bh))
		return buffer_uptodate(jh->bh);
	return owner_logs(jh);
}

/* A caller that declares its changes needs a base only for tune=log_check:on. */
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare)
{
	return !spare->base && !spare->no_lines &&
	       (!spare->declared || zj->options.log_check);
}

/**
 * zj_part_set_base() - keep the buffer's contents, or note that changes will be declared
 * @part: a part that is about to be filed; the older part's image is copied or logged
 * @spare: has memory for the base if one is needed
 *
 * Context: part->jh->lock held.
 */
void zj_part_set_base(struct zj_part *part, struct zj_spare *spare)
{
	struct buffer_head *bh = part->jh->bh;

	lockdep_assert_held(&part->jh->lock);
	if (spare->declared)
		zj_part_set(part, BIT(ZJ_PART_DECLARED));
	if (spare->declared && !spare->base)
		return;
	memcpy(spare->base, bh->b_data, bh->b_size);
	part->base = spare->base;
	spare->base = NULL;
}

/* Tells whether a part with an image may get away with its lines. */
bool zj_part_has_lines(const struct zj_part *part)
{
	return zj_part_test(part, ZJ_PART_MODIFIED) &&
	       (part->base || zj_part_test(part, ZJ_PART_DECLARED));
}

/*
 * Tells whether it is certain that a log on a disk takes only lines of a sealed part. They
 * are taken from the buffer at once, so no handle waits for that; with a log in memory it
 * would wait for the whole transaction. Caller holds jh->lock.
 */
bool zj_part_is_brief(const struct zj_part *part)
{
	u32 size = part->jh->bh->b_size;

	return !txn_zj(part->txn)->log_ops->in_memory && zj_part_test(part, ZJ_PART_DECLARED) &&
	       zj_lines_bytes(part->lines, size) <= zj_lines_max(size);
}

/* Returns the lines that have changed of a settled image; all if that is not known. */
u64 zj_part_lines(const struct zj_part *part)
{
	u32 size = part->jh->bh->b_size;

	if (zj_part_test(part, ZJ_PART_DECLARED))
		return part->lines;
	return part->base ? zj_lines_diff(part->base, part->image, size) : zj_lines_all(size);
}

/**
 * zj_part_check() - for tune=log_check:on, find lines that were changed but not declared
 * @zj: the journal
 * @part: a part whose image is settled
 *
 * Return: 0; or -EUCLEAN after a message, as the log would lose the change.
 */
int zj_part_check(struct zj_journal *zj, const struct zj_part *part)
{
	u64 stray;

	if (!zj_part_test(part, ZJ_PART_DECLARED) || !part->base)
		return 0;
	stray = zj_lines_diff(part->base, part->image, zj->geo.block_size) & ~part->lines;
	if (!stray)
		return 0;
	zj_err(zj, "log_check: block %llu was changed in lines %#llx, but only %#llx were declared\n",
	       (u64)part->jh->bh->b_blocknr, stray, part->lines);
	return -EUCLEAN;
}

/**
 * zj_part_no_base() - have a block logged as a whole, as its changes are not known
 * @zj: the journal
 * @part: the part; what goes to the log is not decided yet
 *
 * Context: part->jh->lock held.
 */
void zj_part_no_base(struct zj_journal *zj, struct zj_part *part)
{
	lockdep_assert_held(&part->jh->lock);
	if (part->base)
		kmem_cache_free(zj->frozen_cache, part->base);
	part->base = NULL;
	zj_part_clear(part, BIT(ZJ_PART_DECLARED));
}

/**
 * zj_journal_buffer_read() - note that a buffer's contents come from the device
 * @bh: the buffer, read without an error, still locked and not yet up to date
 *
 * Recovery finds the same contents there, so a log of lines needs no whole image first.
 *
 * Context: any; the end of the I/O.
 */
void zj_journal_buffer_read(struct buffer_head *bh)
{
	set_buffer_jh_known(bh);
}
EXPORT_SYMBOL_GPL(zj_journal_buffer_read);

/*
 * Notes after logging a part's image that recovery can restore the buffer's contents. If a
 * newer part owns the buffer, zj_jh_wants_base() has already decided with regard to this
 * image, and the bit may have been cleared for the newer part since.
 */
void zj_part_note_known(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;

	if (!zj_logs_lines(zj) || !zj->log_ops->in_memory || !part->image || jh->newest != part ||
	    zj_part_test(part, ZJ_PART_FORGET))
		return;
	if (!buffer_jh_known(jh->bh))
		set_buffer_jh_known(jh->bh);
}

/**
 * zj_jh_unknown() - note that recovery cannot restore the contents a buffer will have
 * @zj: the journal
 * @jh: the buffer's head; the block was forgotten, or is new
 *
 * Context: jh->lock held.
 */
void zj_jh_unknown(struct zj_journal *zj, struct journal_head *jh)
{
	lockdep_assert_held(&jh->lock);
	if (!zj_logs_lines(zj))
		return;
	clear_buffer_jh_known(jh->bh);
	if (jh->newest)
		zj_part_no_base(zj, jh->newest);
}

/* Does the same for a buffer without a head, and waits for a home write in flight. */
void zj_bh_unknown(struct buffer_head *bh)
{
	wait_on_buffer(bh);
	if (buffer_jh_known(bh))
		clear_buffer_jh_known(bh);
}
