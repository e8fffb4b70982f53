// SPDX-License-Identifier: GPL-2.0-only
/*
 * Versions of a block: how many images are on their way to the log at a time, which of
 * them are frozen copies, and what goes to the log.
 */
#include "core/journal.h"
#include "core/waits.h"
#include "format/codec.h"
#include "txn/component.h"
#include "txn/jhead.h"
#include "txn/lines.h"
#include "txn/part.h"
#include "txn/version.h"
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

/* Frozen copies, for blocks of 1 KiB and up; aligned, as they go to bios. */
#define ZJ_FROZEN_CACHES	(PAGE_SHIFT - ZJ_MIN_BLOCK_SHIFT + 1)
#define ZJ_MIN_BLOCK_SHIFT	10
static struct kmem_cache *frozen_caches[ZJ_FROZEN_CACHES];

#define ZJ_CONFLICT_KEPT	0x0fU	/* in the last four commits, this one included */

/**
 * zj_frozen_cache() - where frozen copies of a block size come from
 * @block_size: bytes, a power of two from 1024 to the page size
 *
 * One cache for all mounts: to destroy one waits for RCU.
 */
struct kmem_cache *zj_frozen_cache(u32 block_size)
{
	return frozen_caches[ilog2(block_size) - ZJ_MIN_BLOCK_SHIFT];
}

bool __init zj_frozen_caches_init(void)
{
	static const char * const names[] = {
		"zj_frozen_1k", "zj_frozen_2k", "zj_frozen_4k", "zj_frozen_8k",
		"zj_frozen_16k", "zj_frozen_32k", "zj_frozen_64k",
	};
	bool ok = true;
	int i;

	for (i = 0; i < ZJ_FROZEN_CACHES; i++) {
		u32 size = 1U << (ZJ_MIN_BLOCK_SHIFT + i);

		frozen_caches[i] = kmem_cache_create(names[i], size, size, 0,
						     NULL);
		ok &= !!frozen_caches[i];
	}
	return ok;
}

/* Once nobody is left who uses one by RCU. */
void zj_frozen_caches_exit(void)
{
	int i;

	for (i = 0; i < ZJ_FROZEN_CACHES; i++)
		kmem_cache_destroy(frozen_caches[i]);
}

/* ---- images on their way ---- */

/* Would the part's image be one too many that is not in the log? jh->lock held. */
static bool is_crowded(const struct zj_part *part)
{
	const struct zj_part *older = part;
	u32 n = 0;

	list_for_each_entry_continue_reverse(older, &part->jh->parts, jh_link)
		n += zj_part_test(older, ZJ_PART_MODIFIED) &&
		     !zj_part_test(older, ZJ_PART_LOGGED);
	return n >= READ_ONCE(txn_zj(part->txn)->options.live.versions);
}

/**
 * zj_part_crowd() - a buffer has got a newer owner: how many images are in flight?
 * @part: the newest part, of a transaction that is pinned by a handle
 *
 * While there are as many as there may be, the transaction is not sealed: its own
 * image would be one more.
 *
 * Context: jh->lock held.
 */
void zj_part_crowd(struct zj_part *part)
{
	struct zj_txn *txn = part->txn;

	lockdep_assert_held(&part->jh->lock);
	ZJ_ASSERT(txn_zj(txn), part->jh->newest == part);
	if (!txn_zj(txn)->options.pipeline || !is_crowded(part))
		return;
	zj_part_set(part, BIT(ZJ_PART_CROWDED));
	atomic_inc(&txn->crowded);
	zj_count(&txn->lane->stats.conflicts, 1);
}

/* jh->lock held; a commit that waits for it goes on. */
void zj_part_uncrowd(struct zj_part *part)
{
	if (!zj_part_test(part, ZJ_PART_CROWDED))
		return;
	ZJ_ASSERT(txn_zj(part->txn), atomic_read(&part->txn->crowded) > 0);
	zj_part_clear(part, BIT(ZJ_PART_CROWDED));
	if (atomic_dec_and_test(&part->txn->crowded))
		zj_commit_again(part->txn);
}

/* An image is in the log; jh->lock held. */
static void uncrowd(struct journal_head *jh)
{
	struct zj_part *part;

	list_for_each_entry(part, &jh->parts, jh_link)
		if (zj_part_test(part, ZJ_PART_CROWDED) && !is_crowded(part))
			zj_part_uncrowd(part);
}

/* ---- images ---- */

/**
 * zj_part_logged() - the image is written: accessors may go on
 * @zj: the journal
 * @part: of a sealed transaction
 */
void zj_part_logged(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	void *frozen_data, *base;
	bool live;

	spin_lock(&jh->lock);
	live = zj_part_test(part, ZJ_PART_LIVE);
	frozen_data = part->frozen_data;
	base = part->base;
	zj_part_note_known(zj, part);
	if (base || zj_part_test(part, ZJ_PART_DECLARED))
		zj_part_set(part, BIT(ZJ_PART_LINES));
	part->frozen_data = NULL;
	part->image = NULL;
	part->base = NULL;
	zj_part_clear(part, BIT(ZJ_PART_LIVE));
	zj_part_set(part, BIT(ZJ_PART_LOGGED));
	uncrowd(jh);
	ZJ_ASSERT(zj, !frozen_data || atomic_read(&part->txn->lane->copies) > 0);
	if (frozen_data)
		atomic_dec(&part->txn->lane->copies);
	spin_unlock(&jh->lock);
	if (live) {
		/* Pairs with the barrier in wait_var_event(). */
		smp_mb();
		wake_up_var(jh);
	}
	if (frozen_data)
		kmem_cache_free(zj->frozen_cache, frozen_data);
	if (base)
		kmem_cache_free(zj->frozen_cache, base);
}

static bool is_live(struct journal_head *jh)
{
	bool live;

	spin_lock(&jh->lock);
	live = jh->newest && zj_part_test(jh->newest, ZJ_PART_LIVE);
	spin_unlock(&jh->lock);
	return live;
}

/**
 * zj_jh_wait_live() - wait until the log I/O from the live buffer is done
 * @lane: of the handle that waits
 * @jh: the head, referenced
 *
 * The only wait of write access besides home I/O; the lane's thread has nothing
 * left to wait for but that I/O when it sets ZJ_PART_LIVE.
 */
void zj_jh_wait_live(struct zj_lane *lane, struct journal_head *jh)
{
	struct zj_wait wait;

	spin_lock(&jh->lock);
	zj_wait_begin(&wait, lane, ZJ_WAIT_IMAGE, jh->newest ? jh->newest->txn : NULL);
	spin_unlock(&jh->lock);
	wait_var_event(jh, !is_live(jh));
	zj_wait_end(&wait);
}

/* The trigger writes into the live buffer: before any image is taken. */
static void run_trigger(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	struct buffer_head *bh = jh->bh;

	if (!jh->triggers || !jh->triggers->t_frozen)
		return;
	/* Where, it does not tell. */
	if (zj_part_test(part, ZJ_PART_DECLARED))
		zj_part_no_base(zj, part);
	jh->triggers->t_frozen(jh->triggers, bh, bh->b_data, bh->b_size);
}

static void copy_image(struct zj_part *part, void **copy)
{
	struct buffer_head *bh = part->jh->bh;
	struct zj_lane *lane = part->txn->lane;
	u64 copies = atomic_inc_return(&lane->copies);

	if (copies > READ_ONCE(lane->stats.max_copies))
		WRITE_ONCE(lane->stats.max_copies, copies);
	if (bh->b_size == PAGE_SIZE)
		copy_page(*copy, bh->b_data);
	else
		memcpy(*copy, bh->b_data, bh->b_size);
	part->frozen_data = *copy;
	*copy = NULL;
}

/**
 * zj_part_make_copy() - take a copy of the image that a commit writes
 * @zj: the journal
 * @part: a modified part of a sealed transaction, without a copy yet
 * @copy: memory for one block; taken over, NULL afterwards
 *
 * Context: part->jh->lock held.
 */
void zj_part_make_copy(struct zj_journal *zj, struct zj_part *part, void **copy)
{
	lockdep_assert_held(&part->jh->lock);
	ZJ_ASSERT(zj, part->txn->comp->stamp);
	ZJ_ASSERT(zj, !zj_part_test(part, ZJ_PART_LOGGED));
	if (!ZJ_ASSERT(zj, *copy && !part->frozen_data))
		return;
	run_trigger(zj, part);
	copy_image(part, copy);
}

/**
 * zj_jh_conflict() - somebody wants a buffer whose image is not logged yet
 * @jh: its newest part belongs to a sealed transaction
 *
 * Context: jh->lock held.
 */
void zj_jh_conflict(struct journal_head *jh)
{
	struct zj_part *owner = jh->newest;

	lockdep_assert_held(&jh->lock);
	/* A copy that was made ahead has spared the wait: it counts as well. */
	if (zj_part_test(owner, ZJ_PART_MODIFIED) &&
	    !zj_part_test(owner, ZJ_PART_LOGGED))
		jh->conflicts |= ZJ_CONFLICT_NOW;
}

/* Without its copy the image could change, or go, during the log I/O. */
static bool must_copy(const struct zj_part *part)
{
	const struct journal_head *jh = part->jh;

	return zj_bh_is_file(jh->bh) || jh->newest != part ||
	       zj_bh_is_super(jh->bh);
}

/**
 * zj_part_wants_copy() - copy ahead of the log I/O, or write from the live buffer?
 * @zj: the journal
 * @part: a modified part of a sealed transaction, without a copy yet
 *
 * A buffer that was wanted during one of its last commits will be again, and to
 * wait for the log is dearer than some copies in vain. Folios of files can be
 * truncated under us, the super block is written to by user space. A pipelined lane
 * whose log goes out first copies all, lest its thread has to wait for the device.
 * With too many copies in flight there are none but those that must be.
 *
 * Context: part->jh->lock held.
 */
enum zj_want zj_part_wants_copy(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	u8 before = jh->conflicts;
	bool may;

	lockdep_assert_held(&jh->lock);
	jh->conflicts = (before << 1) & ZJ_CONFLICT_KEPT;
	if (must_copy(part))
		return ZJ_COPY_MUST;
	switch (READ_ONCE(zj->options.live.frozen_copy)) {
	case ZJ_FROZEN_COPY_ALWAYS:
		may = true;
		break;
	case ZJ_FROZEN_COPY_NEVER:
		may = false;
		break;
	default:
		may = before || (zj->options.pipeline && zj->log_ops->log_before_data);
	}
	return may && atomic_read(&part->txn->lane->copies) < zj->max_copies ?
	       ZJ_COPY_MAY : ZJ_COPY_NO;
}

/**
 * zj_part_image() - settle what goes to the log
 * @zj: the journal
 * @part: a modified part of a sealed transaction
 * @copy: memory for one block, used if the live image cannot be logged as it is
 *
 * Without a copy the live buffer is marked: accessors wait for the log I/O from
 * here on, so the caller must go straight for it.
 *
 * Context: takes part->jh->lock.
 * Return: is it the live buffer?
 */
bool zj_part_image(struct zj_journal *zj, struct zj_part *part, void **copy)
{
	struct journal_head *jh = part->jh;
	bool live;

	spin_lock(&jh->lock);
	ZJ_ASSERT(zj, zj_part_test(part, ZJ_PART_MODIFIED));
	if (!part->frozen_data) {
		run_trigger(zj, part);
		if (zj_needs_escape(jh->bh->b_data))
			copy_image(part, copy);
		else
			zj_part_set(part, BIT(ZJ_PART_LIVE));
	}
	part->image = part->frozen_data ?: jh->bh->b_data;
	live = !part->frozen_data;
	spin_unlock(&jh->lock);
	return live;
}
