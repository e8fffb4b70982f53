// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts: what a transaction owns of a block.
 *
 * A journal head keeps its parts oldest first. The newest one may belong to a running
 * transaction, all others belong to sealed ones and are in the order of stamps.
 *
 * Invariants:
 *   J1 A buffer is dirty for the kernel's write-back only while its newest part is
 *      committed. A handle that files a newer part clears the dirty bit under the
 *      buffer lock, so that no home write can be in flight then.
 *   J2 A part leaves an older transaction's list only when it is known to be home, or when
 *      a newer part is committed. If only lines of the newer part were logged, the
 *      oldest image stays nonetheless, because the checkpoint stamp must not pass what
 *      recovery puts the lines over.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>

/**
 * zj_spare_fill() - allocate memory that a touch may need
 * @zj: the journal
 * @spare: gets what it does not have yet
 * @more: also allocate a frozen copy and a dependency
 *
 * Context: sleeps for memory, no spinlock held.
 */
void zj_spare_fill(struct zj_journal *zj, struct zj_spare *spare, bool more)
{
	const gfp_t gfp = GFP_NOFS | __GFP_NOFAIL;

	if (!spare->part && !spare->kept)
		spare->part = kmem_cache_alloc(zj_part_cache, gfp);
	if (zj_logs_lines(zj) && zj_spare_lacks_base(zj, spare))
		spare->base = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!more)
		return;
	if (!spare->frozen_data)
		spare->frozen_data = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!spare->dep)
		spare->dep = kzalloc(sizeof(*spare->dep), gfp);
}

/**
 * zj_spare_free() - free memory that a touch did not need
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
 * zj_part_take() - get an empty part for a buffer's new owner
 * @jh: the buffer's head, whose embedded part is used if it is free, or else the one that
 *	it has kept
 * @spare: has the part that is used otherwise
 *
 * Context: jh->lock held.
 * Return: a part for the caller to file; NULL if @spare has none.
 */
struct zj_part *zj_part_take(struct journal_head *jh, struct zj_spare *spare)
{
	struct zj_part *part = spare->part;

	lockdep_assert_held(&jh->lock);
	if (!jh->first_used) {
		jh->first_used = true;
		part = &jh->first;
	} else if (jh->kept) {
		part = jh->kept;
		WRITE_ONCE(jh->kept, NULL);
	} else {
		spare->part = NULL;
	}
	if (part) {
		part->jh = jh;
		WRITE_ONCE(part->flags, 0);
		part->frozen_data = NULL;
		part->image = NULL;
		part->base = NULL;
		WRITE_ONCE(part->lines, 0);
	}
	return part;
}

/**
 * zj_part_untake() - give back a part that its head's buffer does not need any more
 * @jh: the head
 * @part: in no list
 *
 * Readers without a lock may still look at it, and find it with its next owner: as that is of
 * the same buffer, they decide as if they had come later. To other memory it returns after an
 * RCU grace period.
 *
 * Context: jh->lock held.
 */
void zj_part_untake(struct journal_head *jh, struct zj_part *part)
{
	lockdep_assert_held(&jh->lock);
	if (part == &jh->first)
		jh->first_used = false;
	else if (!jh->kept)
		WRITE_ONCE(jh->kept, part);
	else
		kfree_rcu(part, rcu);
}

static void txn_list_add(struct zj_part *part, struct zj_txn *txn)
{
	spin_lock(&txn->list_lock);
	/* Its open handle keeps it unsealed, so its images are not being copied yet. */
	ZJ_ASSERT(txn_zj(txn), READ_ONCE(txn->stage) < ZJ_SEALED);
	list_add_tail(&part->txn_link, &txn->parts);
	if (zj_bh_is_file(part->jh->bh))
		txn->jdata = true;
	spin_unlock(&txn->list_lock);
	/* Pairs with is_owned(): a reader that sees this owner also sees flags set before. */
	smp_store_release(&part->txn, txn);
}

/**
 * zj_part_file() - make a transaction the newest owner of a buffer
 * @part: a new part
 * @jh: the buffer's head
 * @txn: the new owner
 *
 * Context: jh->lock held.
 */
void zj_part_file(struct zj_part *part, struct journal_head *jh,
		  struct zj_txn *txn)
{
	lockdep_assert_held(&jh->lock);
	ZJ_ASSERT(txn_zj(txn), part->jh == jh);
	ZJ_ASSERT(txn_zj(txn), list_empty(&jh->parts) == !jh->newest);
	ZJ_ASSERT(txn_zj(txn), !jh->newest || jh->newest->txn != txn);
	refcount_inc(&jh->refs);
	list_add_tail(&part->jh_link, &jh->parts);
	txn_list_add(part, txn);
	/* Pairs with is_owned(): a reader that sees the part also sees its contents. */
	smp_store_release(&jh->newest, part);
}

/**
 * zj_part_file_late() - add a part without an image to a transaction
 * @part: a new part with ZJ_PART_FORGET set
 * @jh: the buffer's head
 * @txn: the owner; no handle keeps it open, so it may be sealed or even committed
 *
 * Context: jh->lock held.
 * Return: false if the commit has begun to process the transaction's forgotten blocks.
 */
bool zj_part_file_late(struct zj_part *part, struct journal_head *jh,
		       struct zj_txn *txn)
{
	enum zj_txn_stage stage;

	lockdep_assert_held(&jh->lock);
	ZJ_ASSERT(txn_zj(txn), zj_part_test(part, ZJ_PART_FORGET));
	spin_lock(&txn->list_lock);
	/* It becomes ZJ_COPYING and ZJ_COMMITTED under this lock, but other stages without. */
	stage = READ_ONCE(txn->stage);
	if (stage < ZJ_COMMITTED) {
		list_add_tail(&part->txn_link,
			      stage < ZJ_COPYING ? &txn->parts : &txn->late);
		/* Pairs with is_owned(), as in txn_list_add(). */
		smp_store_release(&part->txn, txn);
	}
	spin_unlock(&txn->list_lock);
	if (stage >= ZJ_COMMITTED)
		return false;
	refcount_inc(&jh->refs);
	list_add_tail(&part->jh_link, &jh->parts);
	/* Pairs with is_owned(), as in zj_part_file(). */
	smp_store_release(&jh->newest, part);
	return true;
}

/**
 * zj_part_move() - hand a part over to another member of the same component
 * @part: a part without an image
 * @txn: the member that pays for the image
 *
 * Context: part->jh->lock held.
 */
void zj_part_move(struct zj_part *part, struct zj_txn *txn)
{
	bool crowded = zj_part_test(part, ZJ_PART_CROWDED);

	lockdep_assert_held(&part->jh->lock);
	ZJ_ASSERT(txn_zj(txn), !zj_part_test(part, ZJ_PART_MODIFIED));
	/* Increment first, so that may_seal() always finds the component crowded. */
	if (crowded)
		atomic_inc(&txn->crowded);
	spin_lock(&part->txn->list_lock);
	list_del(&part->txn_link);
	spin_unlock(&part->txn->list_lock);
	if (crowded)
		atomic_dec(&part->txn->crowded);
	txn_list_add(part, txn);
}

/*
 * Hands ZJ_PART_WAS_DIRTY on from an older part that is dropped: the contents still have
 * to go home if the newer part gets no image and is dropped as well.
 */
static void inherit_dirty(struct zj_part *newer)
{
	if (!zj_part_test(newer, ZJ_PART_MODIFIED) &&
	    !zj_part_test(newer, ZJ_PART_FORGET))
		zj_part_set(newer, BIT(ZJ_PART_WAS_DIRTY));
}

/**
 * zj_part_make_dirty() - have a committed image written home
 * @part: the newest of its buffer
 *
 * The kernel's write-back may write metadata home at any time, and counts it as dirty
 * memory. File data would be written with every sync of the file system, although it is
 * safe in the log, and whoever dirties pages would wait for that. So only the buffer is
 * dirty then, not its folio: the checkpoint finds it, write-back does not.
 */
void zj_part_make_dirty(struct zj_part *part)
{
	lockdep_assert_held(&part->jh->lock);
	if (zj_part_test(part, ZJ_PART_FILE_BLOCK))
		set_buffer_dirty(part->jh->bh);
	else
		mark_buffer_dirty(part->jh->bh);
}

/*
 * The last part of a block of file data leaves its buffer, which the block's home now equals, or
 * which is of no use because the block was freed. From here on the block may be written in place,
 * past the buffer. So who reads the block device must not find the old contents in it, and nor
 * may zext4 take them for what recovery knows of the block.
 */
static void outdate_buffer(struct zj_part *last)
{
	struct buffer_head *bh = last->jh->bh;

	if (zj_part_test(last, ZJ_PART_FILE_BLOCK) && !buffer_dirty(bh))
		clear_buffer_uptodate(bh);
}

/**
 * zj_part_drop() - take a part off its buffer and its transaction, and free it
 * @part: the part
 *
 * If an older part becomes the newest again, and the dirty bit had been cleared for
 * the dropped part, the buffer is dirty again afterwards.
 *
 * Context: part->jh->lock held; the caller has its own reference to the head.
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
	/*
	 * A forgotten block's part has the last word on it, so it has to know what the block was.
	 * One that makes it metadata has not.
	 */
	if (jh->newest != part && zj_part_test(part, ZJ_PART_FILE_BLOCK) &&
	    zj_part_test(list_next_entry(part, jh_link), ZJ_PART_FORGET))
		zj_part_set(list_next_entry(part, jh_link), BIT(ZJ_PART_FILE_BLOCK));
	list_del(&part->jh_link);
	if (!list_empty(&jh->parts))
		older = list_last_entry(&jh->parts, struct zj_part, jh_link);
	if (jh->newest == part) {
		WRITE_ONCE(jh->newest, older);
		if (dirty)
			mark_buffer_dirty(jh->bh);
		if (older && zj_part_test(older, ZJ_PART_NEEDS_DIRTY)) {
			zj_part_clear(older, BIT(ZJ_PART_NEEDS_DIRTY));
			zj_part_make_dirty(older);
			dirty = true;
		}
		if (dirty || !older)
			clear_buffer_jbddirty(jh->bh);
		if (!older)
			outdate_buffer(part);
	}
	ZJ_ASSERT(txn_zj(part->txn), !part->frozen_data);
	if (part->base)
		zj_part_no_base(txn_zj(part->txn), part);
	/* This cannot be the last reference, because the caller has one. */
	ZJ_ASSERT(txn_zj(part->txn), refcount_dec_not_one(&jh->refs));
	zj_part_untake(jh, part);
}

/*
 * Returns whether no write of the buffer is due or in flight, and the last one has not
 * failed. A caller that has locked the buffer itself says so with @locked.
 */
static bool state_is_clean(const struct buffer_head *bh, bool locked)
{
	unsigned long in_the_way = BIT(BH_Dirty) | BIT(BH_Async_Write) |
				   BIT(BH_Write_EIO);

	if (!locked)
		in_the_way |= BIT(BH_Lock);
	return !(READ_ONCE(bh->b_state) & in_the_way);
}

/*
 * Returns whether the last write of a clean buffer has ended without an error. One look at
 * b_state tells it: a writer locks the buffer, or sets async_write, before it clears the
 * dirty bit, and notes an error before it undoes that.
 *
 * Buffers of a file's folio need a second look. ext4 notes their error after async_write
 * has been cleared, but before the folio's write-back ends. The error must be found here,
 * because the only other place that has it is the file's mapping, and fsync clears it
 * there.
 */
static bool is_written(const struct buffer_head *bh, bool locked)
{
	if (!state_is_clean(bh, locked))
		return false;
	if (!zj_bh_is_file(bh))
		return true;
	if (folio_test_writeback(bh->b_folio))
		return false;
	/* Pairs with the end of write-back: a thread that sees the end sees the error, too. */
	smp_rmb();
	return state_is_clean(bh, locked);
}

/**
 * zj_part_retire() - drop the parts of a buffer that is home
 * @jh: the head
 * @locked: the caller holds the buffer lock
 *
 * All parts are dropped if the newest one is committed and was handed to write-back, and
 * the buffer has been written without an error since.
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
 * @txn: a sealed transaction; only one walk at a time is allowed
 * @fn: called for each head, with a reference to it and without a lock; may sleep
 * @arg: for @fn
 *
 * Other threads may retire parts meanwhile. So the walk takes a reference to the head
 * under the list lock, and @fn has to look whether the head still has the part.
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
