// SPDX-License-Identifier: GPL-2.0-only
/*
 * Versions of a block: limits how many images of it are on their way to the log at a
 * time, and decides for each whether the log is written from a frozen copy or from the
 * buffer itself.
 */
#include "core/core.h"
#include "format/codec.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

/* One cache for each block size from 1 KiB on; aligned, as the copies go to bios. */
#define ZJ_FROZEN_CACHES	(PAGE_SHIFT - ZJ_MIN_BLOCK_SHIFT + 1)
#define ZJ_MIN_BLOCK_SHIFT	10
static struct kmem_cache *frozen_caches[ZJ_FROZEN_CACHES];

/*
 * A handle that waits for the log loses the time of its I/O, and about this for going to
 * sleep and being woken.
 */
#define ZJ_WAKE_UP_NS		4000

/* What a frozen copy costs: 4 KiB take 0.1 us from the CPU's caches, and 1 us from memory. */
#define ZJ_COPY_NS		500

/**
 * zj_frozen_cache() - returns the cache for frozen copies of a block size
 * @block_size: bytes, a power of two from 1024 to the page size
 *
 * All mounts share the caches, as an unmount would have to wait for RCU to destroy one.
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

/* The caller has waited until no RCU callback uses a cache any more. */
void zj_frozen_caches_exit(void)
{
	int i;

	for (i = 0; i < ZJ_FROZEN_CACHES; i++)
		kmem_cache_destroy(frozen_caches[i]);
}

/* ---- images on their way ---- */

/*
 * Returns whether the buffer has as many older images that are not in the log as there may
 * be, so that the part's own would be one too many. Caller holds jh->lock.
 */
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
 * zj_part_crowd() - keep a transaction from being sealed while a buffer has many images
 * @part: the buffer's newest part; an open handle keeps its transaction unsealed
 *
 * The seal would add one more image. If the greatest allowed number is on its way to the
 * log already, the transaction cannot be sealed before one of them is logged.
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

/* Goes on with a commit that has waited for this part. Caller holds jh->lock. */
void zj_part_uncrowd(struct zj_part *part)
{
	lockdep_assert_held(&part->jh->lock);
	if (!zj_part_test(part, ZJ_PART_CROWDED))
		return;
	ZJ_ASSERT(txn_zj(part->txn), atomic_read(&part->txn->crowded) > 0);
	zj_part_clear(part, BIT(ZJ_PART_CROWDED));
	if (atomic_dec_and_test(&part->txn->crowded))
		zj_commit_again(part->txn);
}

/* Called with jh->lock held when an image of the buffer has been logged. */
static void uncrowd_parts(struct journal_head *jh)
{
	struct zj_part *part;

	list_for_each_entry(part, &jh->parts, jh_link)
		if (zj_part_test(part, ZJ_PART_CROWDED) && !is_crowded(part))
			zj_part_uncrowd(part);
}

/* ---- images ---- */

/* Lets handles that wait for an image go on, after ZJ_PART_LIVE was cleared. */
static void wake_live(struct journal_head *jh)
{
	/*
	 * Pairs with the barrier in wait_var_event(): either this sees the
	 * waiter, or the waiter sees ZJ_PART_LIVE cleared.
	 */
	smp_mb();
	wake_up_var(jh);
}

/**
 * zj_part_logged() - note that an image is in the log, and let waiting handles go on
 * @zj: the journal
 * @part: a part of a sealed transaction
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
	uncrowd_parts(jh);
	ZJ_ASSERT(zj, !frozen_data || atomic_read(&part->txn->lane->copies) > 0);
	if (frozen_data)
		atomic_dec(&part->txn->lane->copies);
	spin_unlock(&jh->lock);
	if (live)
		wake_live(jh);
	if (frozen_data)
		kmem_cache_free(zj->frozen_cache, frozen_data);
	if (base)
		kmem_cache_free(zj->frozen_cache, base);
}

/**
 * zj_part_unsettle() - take back what the log is to be written from
 * @zj: the journal
 * @part: settled; all of its block will be logged
 */
void zj_part_unsettle(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	bool live;

	spin_lock(&jh->lock);
	live = zj_part_test(part, ZJ_PART_LIVE);
	zj_part_clear(part, BIT(ZJ_PART_LIVE));
	part->image = NULL;
	zj_part_no_base(zj, part);
	spin_unlock(&jh->lock);
	if (live)
		wake_live(jh);
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
 * zj_jh_wait_live() - wait until the log is not written from the buffer any more
 * @lane: the lane of the handle that waits
 * @jh: the head; the caller holds a reference
 *
 * Apart from I/O of home writes this is the only wait of write access (E4). It ends with
 * the log I/O, because the thread that sets ZJ_PART_LIVE then waits for nothing else.
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

/* Must be called before the image is taken, because the trigger changes the buffer (E20). */
static void run_trigger(struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	struct buffer_head *bh = jh->bh;

	if (!jh->triggers || !jh->triggers->t_frozen)
		return;
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
 * zj_part_make_copy() - make the frozen copy of an image (C2)
 * @zj: the journal
 * @part: a part of a sealed transaction, with an image and without a copy
 * @copy: memory for one block; NULL afterwards, as it has become the copy
 *
 * Context: part->jh->lock held.
 */
void zj_part_make_copy(struct zj_journal *zj, struct zj_part *part, void **copy)
{
	lockdep_assert_held(&part->jh->lock);
	ZJ_ASSERT(zj, part->txn->comp->stamp);
	ZJ_ASSERT(zj, !zj_part_test(part, ZJ_PART_LOGGED));
	/* The log is not being written from the buffer: accessors wait for that (E4). */
	ZJ_ASSERT(zj, !zj_part_test(part, ZJ_PART_LIVE));
	if (!ZJ_ASSERT(zj, *copy && !part->frozen_data))
		return;
	run_trigger(part);
	copy_image(part, copy);
}

/**
 * zj_jh_conflict() - note that a handle wants a buffer whose image is not logged yet
 * @jh: the head; its newest part belongs to a sealed transaction
 *
 * Context: jh->lock held.
 */
void zj_jh_conflict(struct journal_head *jh)
{
	struct zj_part *owner = jh->newest;
	struct zj_lane *lane = owner->txn->lane;

	lockdep_assert_held(&jh->lock);
	/* It counts even if there is a copy: without that the handle would have waited. */
	if (!zj_part_test(owner, ZJ_PART_MODIFIED) ||
	    zj_part_test(owner, ZJ_PART_LOGGED))
		return;
	jh->conflicts = ZJ_CONFLICT_NOW;
	if (READ_ONCE(lane->conflicts) != ZJ_CONFLICT_NOW)
		WRITE_ONCE(lane->conflicts, ZJ_CONFLICT_NOW);
}

/* Returns how many frozen copies cost as much as one wait for the lane's log I/O. */
static u32 copies_for_wait(const struct zj_lane *lane)
{
	s64 io_ns = max(READ_ONCE(lane->record_ns[0]), READ_ONCE(lane->record_ns[1]));
	/* A wait of a second is worth more copies than ZJ_CONFLICT_NOW can count. */
	u32 wait_ns = ZJ_WAKE_UP_NS + min_t(s64, io_ns, 1000 * NSEC_PER_MSEC);

	return min(wait_ns / ZJ_COPY_NS, ZJ_CONFLICT_NOW);
}

/**
 * zj_copying_begin() - decide for a transaction which copies its history is worth
 * @copying: the result
 * @txn: sealed; its lane's thread is about to look at each part of it
 */
void zj_copying_begin(struct zj_copying *copying, struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	u32 images = max(txn->credits, 0), left;

	copying->most = copies_for_wait(lane);
	left = min(READ_ONCE(lane->conflicts), copying->most);
	copying->all = images <= left;
	WRITE_ONCE(lane->conflicts, copying->all ? left - images : left);
}

/* Returns whether the buffer could change or vanish during log I/O from it. */
static bool must_copy(const struct zj_part *part)
{
	const struct journal_head *jh = part->jh;

	return zj_bh_is_file(jh->bh) || jh->newest != part ||
	       zj_bh_is_super(jh->bh);
}

/* Notes one more commit of the buffer; returns whether its history asks for a copy. */
static bool expects_conflict(struct journal_head *jh, u32 most)
{
	u8 left = min_t(u32, jh->conflicts, most);

	jh->conflicts = left ? left - 1 : 0;
	return left;
}

static bool may_copy(const struct zj_part *part, bool expected)
{
	const struct zj_lane *lane = part->txn->lane;
	const struct zj_journal *zj = lane->journal;

	if (atomic_read(&lane->copies) >= zj->max_copies)
		return false;
	switch (READ_ONCE(zj->options.live.frozen_copy)) {
	case ZJ_FROZEN_COPY_ALWAYS:
		return true;
	case ZJ_FROZEN_COPY_NEVER:
		return false;
	default:
		return expected || (zj->options.pipeline && zj->log_ops->log_before_data);
	}
}

/**
 * zj_part_wants_copy() - decide whether to copy an image ahead of the log I/O
 * @part: a part of a sealed transaction, with an image and without a copy
 * @copying: of its transaction
 *
 * A copy is necessary if the buffer has a newer owner, if it is of a file's folio, which may
 * be truncated during the I/O, or if it is ext4's super block, which user space may write
 * to. Beyond max_copies copies in a lane only the necessary ones are made. Others are made
 * to spare handles a wait (docs/decisions/0005), unless a few lines are logged at once:
 *
 *   - of a buffer that a handle wanted during an earlier commit, until as many copies in a
 *     row were not needed as cost one wait;
 *   - of all buffers of small transactions, if a handle wanted any buffer during an earlier
 *     commit of the lane, until as many were not needed;
 *   - of all buffers if a pipelined lane sends its log blocks beside the data, as otherwise
 *     its thread would have to wait for the device.
 *
 * Context: part->jh->lock held.
 */
enum zj_want zj_part_wants_copy(struct zj_part *part, const struct zj_copying *copying)
{
	bool expected;

	lockdep_assert_held(&part->jh->lock);
	expected = expects_conflict(part->jh, copying->most) || copying->all;
	if (must_copy(part))
		return ZJ_COPY_MUST;
	if (zj_part_is_brief(part))
		return ZJ_COPY_NO;
	return may_copy(part, expected) ? ZJ_COPY_MAY : ZJ_COPY_NO;
}

/**
 * zj_part_image() - decide what the log is written from
 * @zj: the journal
 * @part: a part of a sealed transaction, with an image
 * @copy: memory for one block, used if the image has to be escaped (C3)
 *
 * If there is no copy, handles that want the buffer wait for the log I/O from here on, so
 * the caller must start that I/O without waiting for anything else.
 *
 * Context: takes part->jh->lock.
 * Return: true if the log is written from the buffer itself.
 */
bool zj_part_image(struct zj_journal *zj, struct zj_part *part, void **copy)
{
	struct journal_head *jh = part->jh;
	bool live;

	spin_lock(&jh->lock);
	ZJ_ASSERT(zj, zj_part_test(part, ZJ_PART_MODIFIED));
	ZJ_ASSERT(zj, !part->image);
	if (!part->frozen_data) {
		run_trigger(part);
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
