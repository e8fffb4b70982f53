// SPDX-License-Identifier: GPL-2.0-only
/*
 * Journal heads: the journal's view of a buffer.
 *
 * A journal head is attached to a buffer as long as a thread uses it or a transaction
 * has a part of it.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/bit_spinlock.h>
#include <linux/blkdev.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>

static struct kmem_cache *jh_cache;
struct kmem_cache *zj_part_cache;
struct kmem_cache *zj_handle_cache;

/* Guards b_private of one buffer; the next bit after those that ext4 uses. */
#define BH_JHLock	(BH_JBDPrivateStart + 1)
/*
 * The buffer's last journal head still expected a conflict when it was freed. The next head then
 * begins with a copy at its first commit, and makes no further ones unless a handle has needed
 * that one. So the expectation also wears off for a buffer that loses its head after each commit.
 */
#define BH_JHContended	(BH_JBDPrivateStart + 2)
BUFFER_FNS(JHContended, jh_contended)

bool zj_bh_is_file(const struct buffer_head *bh)
{
	struct address_space *mapping;
	bool file;

	/* RCU keeps the inode even if the folio is truncated meanwhile. */
	rcu_read_lock();
	mapping = READ_ONCE(bh->b_folio->mapping);
	file = !mapping || !sb_is_blkdev_sb(mapping->host->i_sb);
	rcu_read_unlock();
	return file;
}

int __init zj_caches_init(void)
{
	jh_cache = KMEM_CACHE(journal_head, 0);
	zj_part_cache = KMEM_CACHE(zj_part, 0);
	zj_handle_cache = KMEM_CACHE(zj_handle, 0);
	zj_jinode_cache = kmem_cache_create("zj_jinode",
					    sizeof(struct jbd2_inode), 0,
					    SLAB_RECLAIM_ACCOUNT, NULL);
	if (zj_frozen_caches_init() && jh_cache && zj_part_cache &&
	    zj_handle_cache && zj_jinode_cache)
		return 0;
	zj_caches_exit();
	return -ENOMEM;
}

void zj_caches_exit(void)
{
	/* Parts and heads may still be waiting in kfree_rcu(). */
	rcu_barrier();
	zj_frozen_caches_exit();
	kmem_cache_destroy(zj_jinode_cache);
	kmem_cache_destroy(zj_handle_cache);
	kmem_cache_destroy(zj_part_cache);
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
 * zj_jh_get() - get the journal head of a buffer if it has one
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
	jh->conflicts = buffer_jh_contended(bh);
	jh->first_used = false;
	jh->kept = NULL;
	return jh;
}

/**
 * zj_jh_attach() - get the journal head of a buffer, allocate it if there is none
 * @bh: the buffer; the caller holds a reference
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
		/* A reader that follows the pointer sees the head's fields. */
		smp_store_release(&bh->b_private, jh);
		/* Pairs with zj_jh_peek(): a reader that sees the bit also sees the pointer. */
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
	/* Only a head that has a part knows its journal. */
	ZJ_ASSERT(txn_zj(list_first_entry(&jh->parts, struct zj_part, jh_link)->txn),
		  list_empty(&jh->parts));
	clear_buffer_jbd(bh);
	WRITE_ONCE(bh->b_private, NULL);
	if (jh->conflicts)
		set_buffer_jh_contended(bh);
	else if (buffer_jh_contended(bh))
		clear_buffer_jh_contended(bh);
	jh_unlock(bh);
	if (jh->kept)
		kfree_rcu(jh->kept, rcu);
	kfree_rcu(jh, rcu);
	put_bh(bh);
}
