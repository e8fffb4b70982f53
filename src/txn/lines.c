// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines: what of a block has changed, for a log that has only that (zj_log_ops.logs_lines).
 *
 * A part holds what its buffer held before the first change, or the lines that the file
 * system has declared; either is of use only while recovery knows what it is put over.
 */
#include "core/journal.h"
#include "core/space.h"
#include "txn/jhead.h"
#include "txn/lines.h"
#include "txn/part.h"
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

/* zj_log_ops.logs_lines: the log and what is home hold the buffer's contents. */
#define BH_JHKnown	(BH_JBDPrivateStart + 3)
BUFFER_FNS(JHKnown, jh_known)

/* ext4's super block is written to by others, folios of files by their mappings. */
static bool changes_unseen(const struct buffer_head *bh)
{
	return zj_bh_is_file(bh) || zj_bh_is_super(bh);
}

/*
 * Lines keep the oldest transaction that has the block in the log until the block is
 * home. One that always has an owner never gets there, and S must get on.
 */
static bool holds_back(struct zj_journal *zj, struct journal_head *jh)
{
	u64 reclaimed = READ_ONCE(zj->ckpt_stamp), stamp;
	struct zj_part *oldest;

	if (list_empty(&jh->parts) || !zj_space_low(zj))
		return false;
	oldest = list_first_entry(&jh->parts, struct zj_part, jh_link);
	rcu_read_lock();
	stamp = READ_ONCE(oldest->txn->comp)->stamp;
	rcu_read_unlock();
	return stamp <= reclaimed + (READ_ONCE(zj->stamp) - reclaimed) / 2;
}

/**
 * zj_jh_wants_base() - is it worth keeping what the buffer holds now?
 * @zj: the journal
 * @jh: the head of a buffer that gets a new owner
 *
 * Only lines that differ from that are logged then. So recovery must have it: as
 * an image in the log, that the new owner depends on, or as what is home. What is
 * in memory alone is not home by that: ext4 makes up bitmaps and parts of the
 * inode table that it has never written. So the first image of a buffer that was not
 * read is logged as a whole. So is one now and then that would keep S back.
 *
 * Context: jh->lock held; the newest owner, if any, is sealed.
 */
bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh)
{
	struct zj_part *owner = jh->newest;

	lockdep_assert_held(&jh->lock);
	if (!zj->log_ops->logs_lines || changes_unseen(jh->bh) || holds_back(zj, jh))
		return false;
	if (buffer_jh_known(jh->bh))
		return buffer_uptodate(jh->bh);
	return owner && zj_part_test(owner, ZJ_PART_MODIFIED) &&
	       !zj_part_test(owner, ZJ_PART_FORGET);
}

/* Who tells what it changes needs no copy, but for the check of that. */
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare)
{
	return !spare->base && (!spare->declared || zj->nvm.check);
}

/**
 * zj_part_set_base() - keep what the buffer holds now, or note that it will be declared
 * @part: about to be filed; what came before has its own copy, or is logged
 * @spare: has memory for it, if it is needed
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

/**
 * zj_part_no_base() - nobody knows what has changed: log all of it
 * @zj: the journal
 * @part: its image is not settled
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
 * zj_journal_buffer_read() - a buffer's contents come from the device
 * @bh: read without an error, locked since, and not up to date yet
 *
 * So recovery finds them there too, and a log of lines needs no whole image first.
 *
 * Context: any; the end of the I/O.
 */
void zj_journal_buffer_read(struct buffer_head *bh)
{
	set_buffer_jh_known(bh);
}
EXPORT_SYMBOL_GPL(zj_journal_buffer_read);

/* Whoever has the buffer anew has looked at the owner's image, logged or not. */
void zj_part_note_known(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;

	if (!zj->log_ops->logs_lines || !part->image || jh->newest != part ||
	    zj_part_test(part, ZJ_PART_FORGET))
		return;
	if (!buffer_jh_known(jh->bh))
		set_buffer_jh_known(jh->bh);
}

/**
 * zj_jh_unknown() - what the buffer held is void
 * @zj: the journal
 * @jh: its head
 *
 * Context: jh->lock held.
 */
void zj_jh_unknown(struct zj_journal *zj, struct journal_head *jh)
{
	lockdep_assert_held(&jh->lock);
	if (!zj->log_ops->logs_lines)
		return;
	clear_buffer_jh_known(jh->bh);
	if (jh->newest)
		zj_part_no_base(zj, jh->newest);
}

/* The same for a buffer that no transaction has; home I/O ends first. */
void zj_bh_unknown(struct buffer_head *bh)
{
	wait_on_buffer(bh);
	if (buffer_jh_known(bh))
		clear_buffer_jh_known(bh);
}
