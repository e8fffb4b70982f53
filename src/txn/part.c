// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts: what a transaction owns of a block.
 *
 * Parts are kept oldest first; the newest one may belong to a running transaction,
 * all others to sealed ones, in stamp order.
 *
 * Invariants:
 *   J1 a buffer is dirty for the kernel's write-back only while its newest part
 *      is committed: whoever files a newer part takes the dirty bit away under the
 *      buffer lock, so no home write can be in flight then.
 *   J2 a part leaves an older transaction's list only when it is known home, or
 *      when a newer part is committed. If only lines of that were logged, the oldest
 *      part stays nonetheless: S must not pass what the lines are put over.
 */
#include "core/journal.h"
#include "txn/jhead.h"
#include "txn/lines.h"
#include "txn/part.h"
#include "txn/version.h"
#include <linux/atomic.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>

/**
 * zj_spare_fill() - allocate what a touch may need
 * @zj: the journal
 * @spare: what is missing in it is allocated
 * @more: memory for a copy and a dependency as well
 *
 * Context: sleeps for memory, no spinlock held.
 */
void zj_spare_fill(struct zj_journal *zj, struct zj_spare *spare, bool more)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;

	if (!spare->part)
		spare->part = kmem_cache_alloc(zj_part_cache, gfp);
	if (zj->log_ops->logs_lines && zj_spare_lacks_base(zj, spare))
		spare->base = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!more)
		return;
	if (!spare->frozen_data)
		spare->frozen_data = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!spare->dep)
		spare->dep = kzalloc(sizeof(*spare->dep), gfp);
}

/**
 * zj_spare_free() - give back what a touch did not need
 */
void zj_spare_free(struct zj_journal *zj, struct zj_spare *spare)
{
	if (spare->part)
		kmem_cache_free(zj_part_cache, spare->part);
	if (spare->frozen_data)
		kmem_cache_free(zj->frozen_cache, spare->frozen_data);
	if (spare->base)
		kmem_cache_free(zj->frozen_cache, spare->base);
	kfree(spare->dep);
}

/**
 * zj_part_take() - a part for a buffer's new owner
 * @jh: the buffer's head
 * @spare: where it comes from if the head's own is in use
 *
 * Context: jh->lock held.
 * Return: an empty part to be filed; NULL if @spare has none.
 */
struct zj_part *zj_part_take(struct journal_head *jh, struct zj_spare *spare)
{
	struct zj_part *part = spare->part;

	lockdep_assert_held(&jh->lock);
	if (!jh->first_used) {
		jh->first_used = true;
		part = &jh->first;
	} else {
		spare->part = NULL;
	}
	if (part) {
		part->jh = jh;
		WRITE_ONCE(part->flags, 0);
		part->frozen_data = NULL;
		part->image = NULL;
		part->base = NULL;
		part->lines = 0;
	}
	return part;
}

/* Undo zj_part_take(): the part was not filed. */
void zj_part_untake(struct journal_head *jh, struct zj_part *part,
		    struct zj_spare *spare)
{
	if (part == &jh->first)
		jh->first_used = false;
	else
		spare->part = part;
}

static void txn_list_add(struct zj_part *part, struct zj_txn *txn)
{
	spin_lock(&txn->list_lock);
	list_add_tail(&part->txn_link, &txn->parts);
	if (zj_bh_is_file(part->jh->bh))
		txn->jdata = true;
	spin_unlock(&txn->list_lock);
	/* Who sees the owner without a lock sees the flags of its tenure. */
	smp_store_release(&part->txn, txn);
}

/**
 * zj_part_file() - make a transaction the newest owner of a buffer
 * @part: a new part
 * @jh: the buffer's head
 * @txn: the owner
 *
 * Context: jh->lock held.
 */
void zj_part_file(struct zj_part *part, struct journal_head *jh,
		  struct zj_txn *txn)
{
	lockdep_assert_held(&jh->lock);
	ZJ_ASSERT(txn_zj(txn), part->jh == jh);
	ZJ_ASSERT(txn_zj(txn), list_empty(&jh->parts) == !jh->newest);
	refcount_inc(&jh->refs);
	list_add_tail(&part->jh_link, &jh->parts);
	txn_list_add(part, txn);
	/* Pairs with the lockless test of ownership in access.c. */
	smp_store_release(&jh->newest, part);
}

/**
 * zj_part_file_late() - add a part without an image to a transaction
 * @part: a new part, ZJ_PART_FORGET set
 * @jh: the buffer's head
 * @txn: the owner, not pinned by a handle: perhaps sealed, even committed
 *
 * Context: jh->lock held.
 * Return: false if the transaction's forgotten blocks are processed already.
 */
bool zj_part_file_late(struct zj_part *part, struct journal_head *jh,
		       struct zj_txn *txn)
{
	bool late;

	lockdep_assert_held(&jh->lock);
	spin_lock(&txn->list_lock);
	late = txn->forgets_done;
	if (!late) {
		list_add_tail(&part->txn_link,
			      txn->parts_fixed ? &txn->late : &txn->parts);
		/* As in txn_list_add(). */
		smp_store_release(&part->txn, txn);
	}
	spin_unlock(&txn->list_lock);
	if (late)
		return false;
	refcount_inc(&jh->refs);
	list_add_tail(&part->jh_link, &jh->parts);
	/* As in zj_part_file(). */
	smp_store_release(&jh->newest, part);
	return true;
}

/**
 * zj_part_move() - hand a part over to another member of the same component
 * @part: an unmodified part
 * @txn: the member that pays for the image
 *
 * Context: part->jh->lock held.
 */
void zj_part_move(struct zj_part *part, struct zj_txn *txn)
{
	bool crowded = zj_part_test(part, ZJ_PART_CROWDED);

	lockdep_assert_held(&part->jh->lock);
	ZJ_ASSERT(txn_zj(txn), !zj_part_test(part, ZJ_PART_MODIFIED));
	/* Of one component: it is never without. */
	if (crowded)
		atomic_inc(&txn->crowded);
	spin_lock(&part->txn->list_lock);
	list_del(&part->txn_link);
	spin_unlock(&part->txn->list_lock);
	if (crowded)
		atomic_dec(&part->txn->crowded);
	txn_list_add(part, txn);
}

/* The newer part has the buffer: it answers for the dirty bit from now on. */
static void inherit_dirty(struct zj_part *newer)
{
	if (!zj_part_test(newer, ZJ_PART_MODIFIED) &&
	    !zj_part_test(newer, ZJ_PART_FORGET))
		zj_part_set(newer, BIT(ZJ_PART_WAS_DIRTY));
}

/**
 * zj_part_drop() - take a part off its buffer and its transaction
 * @part: the part; freed
 *
 * If an older part becomes the newest again and its dirty bit had been taken
 * away, the buffer is dirty again afterwards.
 *
 * Context: part->jh->lock held; the caller has a reference to the head of its
 * own, and none is dropped but the part's.
 */
void zj_part_drop(struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	bool dirty = zj_part_test(part, ZJ_PART_WAS_DIRTY);
	struct zj_part *older = NULL;

	lockdep_assert_held(&jh->lock);
	ZJ_ASSERT(txn_zj(part->txn), !zj_part_test(part, ZJ_PART_LIVE));
	ZJ_ASSERT(txn_zj(part->txn), part != &jh->first || jh->first_used);
	zj_part_uncrowd(part);
	spin_lock(&part->txn->list_lock);
	list_del(&part->txn_link);
	spin_unlock(&part->txn->list_lock);
	if (dirty && jh->newest != part)
		inherit_dirty(list_next_entry(part, jh_link));
	list_del(&part->jh_link);
	if (!list_empty(&jh->parts))
		older = list_last_entry(&jh->parts, struct zj_part, jh_link);
	if (jh->newest == part) {
		WRITE_ONCE(jh->newest, older);
		if (older && zj_part_test(older, ZJ_PART_NEEDS_DIRTY)) {
			zj_part_clear(older, BIT(ZJ_PART_NEEDS_DIRTY));
			dirty = true;
		}
		if (dirty)
			mark_buffer_dirty(jh->bh);
		if (dirty || !older)
			clear_buffer_jbddirty(jh->bh);
	}
	ZJ_ASSERT(txn_zj(part->txn), !part->frozen_data);
	if (part->base)
		zj_part_no_base(txn_zj(part->txn), part);
	/* The caller's reference keeps the head. */
	ZJ_ASSERT(txn_zj(part->txn), refcount_dec_not_one(&jh->refs));
	if (part == &jh->first)
		jh->first_used = false;
	else
		kfree_rcu(part, rcu);
}

/* Nothing of what a write of a buffer leaves in its state until it has ended well. */
static bool state_is_clean(const struct buffer_head *bh, bool locked)
{
	unsigned long in_the_way = BIT(BH_Dirty) | BIT(BH_Async_Write) |
				   BIT(BH_Write_EIO);

	if (!locked)
		in_the_way |= BIT(BH_Lock);
	return !(READ_ONCE(bh->b_state) & in_the_way);
}

/*
 * Has the last write of a clean buffer ended well? All in one look: whoever writes it
 * locks it, or sets async_write, before the dirty bit goes, and an error is noted
 * before that ends. An error of a file's folio is nowhere but here and in the file's
 * mapping, where fsync takes it from. ext4 notes it when async_write has gone already,
 * but before the folio's write-back ends: once that is over, look again.
 */
static bool is_written(const struct buffer_head *bh, bool locked)
{
	if (!state_is_clean(bh, locked))
		return false;
	if (!zj_bh_is_file(bh))
		return true;
	if (folio_test_writeback(bh->b_folio))
		return false;
	/* Pairs with the end of write-back: who sees that sees the error. */
	smp_rmb();
	return state_is_clean(bh, locked);
}

/**
 * zj_part_retire() - drop the parts of a buffer that are home
 * @jh: the head
 * @locked: the caller holds the buffer lock
 *
 * All parts go if the newest is committed, was handed to write-back and the buffer
 * has been written without an error.
 *
 * Context: jh->lock held.
 * Return: true if no part is left.
 */
bool zj_part_retire(struct journal_head *jh, bool locked)
{
	struct zj_part *newest = jh->newest;

	lockdep_assert_held(&jh->lock);
	if (!newest)
		return true;
	if (!zj_part_test(newest, ZJ_PART_HOMEWARD) ||
	    !is_written(jh->bh, locked))
		return false;
	while (jh->newest)
		zj_part_drop(list_first_entry(&jh->parts, struct zj_part,
					      jh_link));
	return true;
}

/**
 * zj_txn_walk() - visit the buffers of a transaction's parts
 * @txn: sealed; one walk at a time
 * @fn: called with the buffer's head referenced, no lock held; may sleep
 * @arg: for @fn
 *
 * Anybody may retire parts meanwhile: a head is pinned under the list lock, then
 * @fn asks it for the part.
 */
void zj_txn_walk(struct zj_txn *txn,
		 void (*fn)(struct zj_txn *txn, struct journal_head *jh,
			    void *arg), void *arg)
{
	struct journal_head *jh;
	struct zj_part *part;
	LIST_HEAD(todo);

	spin_lock(&txn->list_lock);
	list_splice_init(&txn->parts, &todo);
	while ((part = list_first_entry_or_null(&todo, struct zj_part,
						txn_link))) {
		jh = part->jh;
		refcount_inc(&jh->refs);
		list_move_tail(&part->txn_link, &txn->parts);
		spin_unlock(&txn->list_lock);
		fn(txn, jh, arg);
		zj_jh_put(jh);
		cond_resched();
		spin_lock(&txn->list_lock);
	}
	spin_unlock(&txn->list_lock);
}
