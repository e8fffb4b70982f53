// SPDX-License-Identifier: GPL-2.0-only
/*
 * Journal heads and parts: what hangs on a buffer.
 *
 * A journal head is attached to a buffer while somebody uses it or a transaction
 * owns a part of it.  Parts are kept oldest first; the newest one may belong to
 * a running transaction, all others to frozen ones, in stamp order.
 *
 * Invariants:
 *   J1 a buffer is dirty for the kernel's write-back only while its newest part
 *      is valid: whoever files a newer part takes the dirty bit away under the
 *      buffer lock, so no home write can be in flight then.
 *   J2 a part leaves an older transaction's list only when it is known home, or
 *      when a newer part is valid. If only lines of that were logged, the oldest
 *      part stays nonetheless: S must not pass what the lines are put over.
 */
#include "core/zj.h"
#include <linux/bit_spinlock.h>
#include <linux/pagemap.h>
#include <linux/wait_bit.h>

static struct kmem_cache *jh_cache;
static struct kmem_cache *part_cache;
struct kmem_cache *zj_handle_cache;

/* Frozen copies, for blocks of 1 KiB and up; aligned, as they go to bios. */
#define ZJ_FROZEN_CACHES	(PAGE_SHIFT - ZJ_MIN_BLOCK_SHIFT + 1)
#define ZJ_MIN_BLOCK_SHIFT	10
static struct kmem_cache *frozen_caches[ZJ_FROZEN_CACHES];

/* Guards b_private of one buffer; the next bit after those that ext4 uses. */
#define BH_JHLock	(BH_JBDPrivateStart + 1)
/* Had conflicts when its last head went: the next head begins with that. */
#define BH_JHContended	(BH_JBDPrivateStart + 2)
BUFFER_FNS(JHContended, jh_contended)
/* zj->fine: the log and what is home hold the buffer's contents. */
#define BH_JHKnown	(BH_JBDPrivateStart + 3)
BUFFER_FNS(JHKnown, jh_known)

#define ZJ_CONFLICT_NOW		1U	/* in the commit under way */
#define ZJ_CONFLICT_KEPT	0x0fU	/* in the last four, this one included */

bool zj_bh_is_file(const struct buffer_head *bh)
{
	struct address_space *mapping;
	bool file;

	/* A folio may be truncated meanwhile; inodes are freed by RCU. */
	rcu_read_lock();
	mapping = READ_ONCE(bh->b_folio->mapping);
	file = !mapping || !sb_is_blkdev_sb(mapping->host->i_sb);
	rcu_read_unlock();
	return file;
}

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

static bool frozen_caches_init(void)
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

int __init zj_caches_init(void)
{
	jh_cache = KMEM_CACHE(journal_head, 0);
	part_cache = KMEM_CACHE(zj_part, 0);
	zj_handle_cache = KMEM_CACHE(zj_handle, 0);
	zj_jinode_cache = kmem_cache_create("zj_jinode",
					    sizeof(struct jbd2_inode), 0,
					    SLAB_RECLAIM_ACCOUNT, NULL);
	if (frozen_caches_init() && jh_cache && part_cache &&
	    zj_handle_cache && zj_jinode_cache)
		return 0;
	zj_caches_exit();
	return -ENOMEM;
}

void zj_caches_exit(void)
{
	int i;

	/* Parts and heads are freed by kfree_rcu(). */
	rcu_barrier();
	for (i = 0; i < ZJ_FROZEN_CACHES; i++)
		kmem_cache_destroy(frozen_caches[i]);
	kmem_cache_destroy(zj_jinode_cache);
	kmem_cache_destroy(zj_handle_cache);
	kmem_cache_destroy(part_cache);
	kmem_cache_destroy(jh_cache);
}

static void jh_lock(struct buffer_head *bh)
	__acquires(bitlock)
{
	bit_spin_lock(BH_JHLock, &bh->b_state);
}

static void jh_unlock(struct buffer_head *bh)
	__releases(bitlock)
{
	bit_spin_unlock(BH_JHLock, &bh->b_state);
}

/**
 * zj_jh_get() - the journal head of a buffer, if there is one
 * @bh: the buffer
 *
 * Context: any but interrupts.
 * Return: the head with a reference, or NULL.
 */
struct journal_head *zj_jh_get(struct buffer_head *bh)
{
	struct journal_head *jh = NULL;

	if (!buffer_jbd(bh))
		return NULL;
	jh_lock(bh);
	if (buffer_jbd(bh)) {
		jh = bh->b_private;
		refcount_inc(&jh->refs);
	}
	jh_unlock(bh);
	return jh;
}

static struct journal_head *jh_alloc(struct buffer_head *bh)
{
	struct journal_head *jh;

	jh = kmem_cache_alloc(jh_cache, GFP_NOFS | __GFP_NOFAIL);
	jh->bh = bh;
	refcount_set(&jh->refs, 1);
	spin_lock_init(&jh->lock);
	INIT_LIST_HEAD(&jh->parts);
	jh->newest = NULL;
	jh->triggers = NULL;
	jh->conflicts = buffer_jh_contended(bh) ? ZJ_CONFLICT_NOW : 0;
	jh->first_used = false;
	return jh;
}

/**
 * zj_jh_attach() - the journal head of a buffer, made if there is none
 * @bh: the buffer, referenced by the caller
 *
 * Context: sleeps for memory.
 * Return: the head with a reference.
 */
struct journal_head *zj_jh_attach(struct buffer_head *bh)
{
	struct journal_head *jh = zj_jh_get(bh), *new;

	if (jh)
		return jh;
	new = jh_alloc(bh);
	jh_lock(bh);
	if (buffer_jbd(bh)) {
		jh = bh->b_private;
		refcount_inc(&jh->refs);
	} else {
		jh = new;
		new = NULL;
		get_bh(bh);
		/* Lockless readers that see the pointer see the head. */
		smp_store_release(&bh->b_private, jh);
		/* Lockless readers that see the bit see the pointer. */
		smp_wmb();
		set_buffer_jbd(bh);
	}
	jh_unlock(bh);
	if (new)
		kmem_cache_free(jh_cache, new);
	return jh;
}

/**
 * zj_jh_put() - drop a reference; the last one detaches the head
 * @jh: the head
 */
void zj_jh_put(struct journal_head *jh)
{
	struct buffer_head *bh = jh->bh;

	if (refcount_dec_not_one(&jh->refs))
		return;
	jh_lock(bh);
	if (!refcount_dec_and_test(&jh->refs)) {
		jh_unlock(bh);
		return;
	}
	WARN_ON_ONCE(!list_empty(&jh->parts));
	clear_buffer_jbd(bh);
	WRITE_ONCE(bh->b_private, NULL);
	if (jh->conflicts)
		set_buffer_jh_contended(bh);
	else if (buffer_jh_contended(bh))
		clear_buffer_jh_contended(bh);
	jh_unlock(bh);
	kfree_rcu(jh, rcu);
	put_bh(bh);
}

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
		spare->part = kmem_cache_alloc(part_cache, gfp);
	if (zj->fine && zj_spare_lacks_base(zj, spare))
		spare->base = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!more)
		return;
	if (!spare->frozen)
		spare->frozen = kmem_cache_alloc(zj->frozen_cache, gfp);
	if (!spare->dep)
		spare->dep = kzalloc(sizeof(*spare->dep), gfp);
}

/**
 * zj_spare_free() - give back what a touch did not need
 */
void zj_spare_free(struct zj_journal *zj, struct zj_spare *spare)
{
	if (spare->part)
		kmem_cache_free(part_cache, spare->part);
	if (spare->frozen)
		kmem_cache_free(zj->frozen_cache, spare->frozen);
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
		part->frozen = NULL;
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
 * @txn: the owner, not pinned by a handle: perhaps frozen, even valid
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

/* ---- versions ---- */

/* Would the part's image be one too many that is not in the log? jh->lock held. */
static bool is_crowded(const struct zj_part *part)
{
	const struct zj_part *older = part;
	u32 n = 0;

	list_for_each_entry_continue_reverse(older, &part->jh->parts, jh_link)
		n += zj_part_test(older, ZJ_PART_MODIFIED) &&
		     !zj_part_test(older, ZJ_PART_LOGGED);
	return n >= READ_ONCE(txn_zj(part->txn)->versions);
}

/**
 * zj_part_crowd() - a buffer has got a newer owner: how many images are in flight?
 * @part: the newest part, of a transaction that is pinned by a handle
 *
 * While there are as many as there may be, the transaction is not frozen: its own
 * image would be one more.
 *
 * Context: jh->lock held.
 */
void zj_part_crowd(struct zj_part *part)
{
	struct zj_txn *txn = part->txn;

	lockdep_assert_held(&part->jh->lock);
	if (!txn_zj(txn)->pipelined || !is_crowded(part))
		return;
	zj_part_set(part, BIT(ZJ_PART_CROWDED));
	atomic_inc(&txn->crowded);
	zj_count(&txn->lane->stats.conflicts, 1);
}

/* jh->lock held; a commit that waits for it goes on. */
static void part_uncrowd(struct zj_part *part)
{
	if (!zj_part_test(part, ZJ_PART_CROWDED))
		return;
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
			part_uncrowd(part);
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
	part_uncrowd(part);
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
	WARN_ON_ONCE(part->frozen);
	if (part->base)
		zj_part_no_base(txn_zj(part->txn), part);
	/* The caller's reference keeps the head. */
	WARN_ON_ONCE(!refcount_dec_not_one(&jh->refs));
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
 * All parts go if the newest is valid, was handed to write-back and the buffer
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
 * @txn: frozen; one walk at a time
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

/* ---- contents before a change ---- */

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
	u64 trimmed = READ_ONCE(zj->trimmed), stamp;
	struct zj_part *oldest;

	if (list_empty(&jh->parts) || !zj_space_low(zj))
		return false;
	oldest = list_first_entry(&jh->parts, struct zj_part, jh_link);
	rcu_read_lock();
	stamp = READ_ONCE(oldest->txn->comp)->stamp;
	rcu_read_unlock();
	return stamp <= trimmed + (READ_ONCE(zj->stamp) - trimmed) / 2;
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
 * Context: jh->lock held; the newest owner, if any, is frozen.
 */
bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh)
{
	struct zj_part *owner = jh->newest;

	lockdep_assert_held(&jh->lock);
	if (!zj->fine || changes_unseen(jh->bh) || holds_back(zj, jh))
		return false;
	if (buffer_jh_known(jh->bh))
		return buffer_uptodate(jh->bh);
	return owner && zj_part_test(owner, ZJ_PART_MODIFIED) &&
	       !zj_part_test(owner, ZJ_PART_FORGET);
}

/* Who tells what it changes needs no copy, but for the check of that. */
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare)
{
	return !spare->base && (!spare->told || zj->nvm.check);
}

/**
 * zj_part_set_base() - keep what the buffer holds now, or note that it will be told
 * @part: about to be filed; what came before has its own copy, or is logged
 * @spare: has memory for it, if it is needed
 *
 * Context: part->jh->lock held.
 */
void zj_part_set_base(struct zj_part *part, struct zj_spare *spare)
{
	struct buffer_head *bh = part->jh->bh;

	lockdep_assert_held(&part->jh->lock);
	if (spare->told)
		zj_part_set(part, BIT(ZJ_PART_TOLD));
	if (spare->told && !spare->base)
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
	zj_part_clear(part, BIT(ZJ_PART_TOLD));
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
static void note_known(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;

	if (!zj->fine || !part->image || jh->newest != part ||
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
	if (!zj->fine)
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

/* ---- images ---- */

/**
 * zj_part_logged() - the image is written: accessors may go on
 * @zj: the journal
 * @part: of a frozen transaction
 */
void zj_part_logged(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	void *frozen, *base;
	bool live;

	spin_lock(&jh->lock);
	live = zj_part_test(part, ZJ_PART_LIVE);
	frozen = part->frozen;
	base = part->base;
	note_known(zj, part);
	if (base || zj_part_test(part, ZJ_PART_TOLD))
		zj_part_set(part, BIT(ZJ_PART_LINES));
	part->frozen = NULL;
	part->image = NULL;
	part->base = NULL;
	zj_part_clear(part, BIT(ZJ_PART_LIVE));
	zj_part_set(part, BIT(ZJ_PART_LOGGED));
	uncrowd(jh);
	if (frozen)
		atomic_dec(&part->txn->lane->copies);
	spin_unlock(&jh->lock);
	if (live) {
		/* Pairs with the barrier in wait_var_event(). */
		smp_mb();
		wake_up_var(jh);
	}
	if (frozen)
		kmem_cache_free(zj->frozen_cache, frozen);
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
 * @jh: the head, referenced
 *
 * The only wait of write access besides home I/O; the lane's thread has nothing
 * left to wait for but that I/O when it sets ZJ_PART_LIVE.
 */
void zj_jh_wait_live(struct journal_head *jh)
{
	wait_var_event(jh, !is_live(jh));
}

/* The trigger writes into the live buffer: before any image is taken. */
static void run_trigger(struct zj_journal *zj, struct zj_part *part)
{
	struct journal_head *jh = part->jh;
	struct buffer_head *bh = jh->bh;

	if (!jh->triggers || !jh->triggers->t_frozen)
		return;
	/* Where, it does not tell. */
	if (zj_part_test(part, ZJ_PART_TOLD))
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
	part->frozen = *copy;
	*copy = NULL;
}

/**
 * zj_part_freeze() - take a copy of the image that a commit writes
 * @zj: the journal
 * @part: a modified part of a frozen transaction, without a copy yet
 * @copy: memory for one block; taken over, NULL afterwards
 *
 * Context: part->jh->lock held.
 */
void zj_part_freeze(struct zj_journal *zj, struct zj_part *part, void **copy)
{
	lockdep_assert_held(&part->jh->lock);
	run_trigger(zj, part);
	copy_image(part, copy);
}

/**
 * zj_jh_conflict() - somebody wants a buffer whose image is not logged yet
 * @jh: its newest part belongs to a frozen transaction
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
 * @part: a modified part of a frozen transaction, without a copy yet
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
	switch (READ_ONCE(zj->frozen_copy)) {
	case ZJ_FROZEN_COPY_ALWAYS:
		may = true;
		break;
	case ZJ_FROZEN_COPY_NEVER:
		may = false;
		break;
	default:
		may = before || (zj->pipelined && zj->log->written);
	}
	return may && atomic_read(&part->txn->lane->copies) < zj->max_copies ?
	       ZJ_COPY_MAY : ZJ_COPY_NO;
}

/**
 * zj_part_image() - settle what goes to the log
 * @zj: the journal
 * @part: a modified part of a frozen transaction
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
	if (!part->frozen) {
		run_trigger(zj, part);
		if (zj_needs_escape(jh->bh->b_data))
			copy_image(part, copy);
		else
			zj_part_set(part, BIT(ZJ_PART_LIVE));
	}
	part->image = part->frozen ?: jh->bh->b_data;
	live = !part->frozen;
	spin_unlock(&jh->lock);
	return live;
}
