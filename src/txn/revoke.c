// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revokes: recovery must not replay older images of a block that was freed (R5).
 *
 * One index for all lanes maps a block to its revoke, until the transaction that
 * revokes it is committed. A handle that touches the block meanwhile treats that
 * transaction as its owner. Most touches find an empty chain and write nothing.
 *
 * Invariant (R5): a component never has both a revoke and an image of one block.
 * Recovery lets the revoke win at equal stamps, so journaling the block again cancels
 * the revoke.
 */
#include "core/journal.h"
#include "txn/component.h"
#include "txn/file_block.h"
#include "txn/revoke.h"
#include "txn/txn.h"
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>

static struct zj_revoke_bucket *bucket_of(struct zj_journal *zj, u64 block)
{
	return &zj->revoke[hash_64(block, ZJ_REVOKE_HASH_BITS)];
}

int zj_revoke_init(struct zj_journal *zj)
{
	const unsigned int n = 1U << ZJ_REVOKE_HASH_BITS;
	unsigned int i;

	zj->revoke = kvcalloc(n, sizeof(*zj->revoke), GFP_KERNEL);
	if (!zj->revoke)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		spin_lock_init(&zj->revoke[i].lock);
	return 0;
}

void zj_revoke_exit(struct zj_journal *zj)
{
	kvfree(zj->revoke);
	zj->revoke = NULL;
}

static struct zj_revoke *chain_find(struct zj_revoke_bucket *bucket, u64 block)
{
	struct zj_revoke *rev;

	hlist_for_each_entry_rcu(rev, &bucket->head, hash,
				 lockdep_is_held(&bucket->lock))
		if (rev->block == block)
			return rev;
	return NULL;
}

static bool chain_holds(struct zj_revoke_bucket *bucket, u64 block)
{
	bool found;

	if (hlist_empty(&bucket->head))
		return false;
	rcu_read_lock();
	found = chain_find(bucket, block);
	rcu_read_unlock();
	return found;
}

/* Takes a revoke off both its lists and frees it. Caller holds the bucket lock. */
static void revoke_unlink(struct zj_revoke *rev)
{
	struct zj_txn *txn = rev->txn;

	hlist_del_rcu(&rev->hash);
	spin_lock(&txn->list_lock);
	ZJ_ASSERT(txn_zj(txn), txn->nr_revokes > 0);
	list_del(&rev->txn_link);
	WRITE_ONCE(txn->nr_revokes, txn->nr_revokes - 1);
	spin_unlock(&txn->list_lock);
	kfree_rcu(rev, rcu);
}

/**
 * zj_revoke_touch() - tie a handle to the transaction that revokes a block
 * @handle: an open handle
 * @block: a block that the handle touches; it need not be revoked
 *
 * If the two are in one component then, the revoke is cancelled.
 *
 * Context: sleeps for memory; never for another handle.
 */
void zj_revoke_touch(handle_t *handle, u64 block)
{
	struct zj_txn *txn = handle_txn(handle), *owner;
	struct zj_revoke_bucket *bucket = bucket_of(txn_zj(txn), block);
	struct zj_revoke *rev;
	bool unsealed;

	if (likely(!chain_holds(bucket, block)))
		return;
	spin_lock(&bucket->lock);
	rev = chain_find(bucket, block);
	owner = rev ? rev->txn : NULL;
	if (owner)
		refcount_inc(&owner->refs);
	spin_unlock(&bucket->lock);
	if (!owner)
		return;

	zj_tie(txn, owner, ZJ_KIND_REVOKE);
	spin_lock(&bucket->lock);
	rev = chain_find(bucket, block);
	if (rev && rev->txn == owner) {
		/* It was tied, so if it is not sealed it is in the handle's component. */
		rcu_read_lock();
		unsealed = zj_txn_state(owner) < ZJ_C_SEALED;
		rcu_read_unlock();
		if (unsealed)
			revoke_unlink(rev);
	}
	spin_unlock(&bucket->lock);
	zj_txn_put(owner);
}

/**
 * zj_revoke_retire() - take a transaction's revokes off the index
 * @txn: a transaction that is committed, or dropped after an abort
 */
void zj_revoke_retire(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_revoke *rev;

	for (;;) {
		struct zj_revoke_bucket *bucket;

		spin_lock(&txn->list_lock);
		rev = list_first_entry_or_null(&txn->revokes, struct zj_revoke,
					       txn_link);
		ZJ_ASSERT(zj, rev || !txn->nr_revokes);
		spin_unlock(&txn->list_lock);
		if (!rev)
			return;
		zj_file_block_revoked(zj, rev->block);
		/* It stays, as only this thread takes revokes of a sealed transaction off. */
		bucket = bucket_of(zj, rev->block);
		spin_lock(&bucket->lock);
		revoke_unlink(rev);
		spin_unlock(&bucket->lock);
	}
}

/* Files a revoke before any older one of the block. Caller holds the bucket lock. */
static void revoke_insert(struct zj_txn *txn, struct zj_revoke *rev,
			  struct zj_revoke_bucket *bucket)
{
	rev->txn = txn;
	hlist_add_head_rcu(&rev->hash, &bucket->head);
	spin_lock(&txn->list_lock);
	ZJ_ASSERT(txn_zj(txn), !txn->parts_fixed);
	list_add_tail(&rev->txn_link, &txn->revokes);
	WRITE_ONCE(txn->nr_revokes, txn->nr_revokes + 1);
	spin_unlock(&txn->list_lock);
}

static int revoke_add(handle_t *handle, u64 block)
{
	struct zj_txn *txn = handle_txn(handle);
	struct zj_revoke_bucket *bucket = bucket_of(txn_zj(txn), block);
	struct zj_revoke *rev, *old;

	if (WARN_ON_ONCE(handle->h_revoke_credits <= 0))
		return -EIO;
	handle->h_revoke_credits--;
	/* This ties us to a transaction that revokes it, and cancels our own component's. */
	zj_revoke_touch(handle, block);
	rev = kzalloc(sizeof(*rev), GFP_NOFS | __GFP_NOFAIL);
	rev->block = block;
	spin_lock(&bucket->lock);
	old = chain_find(bucket, block);
	if (old && old->txn == txn) {
		spin_unlock(&bucket->lock);
		kfree(rev);
		WARN_ONCE(1, "zjournal: block %llu revoked twice\n", block);
		return -EIO;
	}
	revoke_insert(txn, rev, bucket);
	spin_unlock(&bucket->lock);
	return 0;
}

/**
 * zj_journal_revoke() - free a journaled block, so that its images are not replayed
 * @handle: an open handle
 * @block: the block
 * @bh: its buffer or NULL; one reference is consumed
 *
 * Context: sleeps for memory and I/O on the buffer, never for another handle.
 * Return: 0; -EROFS if aborted; -EIO without revoke credits.
 */
int zj_journal_revoke(handle_t *handle, unsigned long long block,
		      struct buffer_head *bh)
{
	journal_t *journal;
	int err, err2;

	if (is_handle_aborted(handle)) {
		if (bh)
			bforget(bh);
		return -EROFS;
	}
	journal = handle->h_transaction->t_journal;
	if (!bh)
		bh = __find_get_block_nonatomic(journal->j_fs_dev, block,
						journal->j_blocksize);
	/* Forget the image first, because that touches the block and would cancel the revoke. */
	err = bh ? zj_journal_forget(handle, bh) : 0;
	err2 = revoke_add(handle, block);
	return err ?: err2;
}
EXPORT_SYMBOL_GPL(zj_journal_revoke);
