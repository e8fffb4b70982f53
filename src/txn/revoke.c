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
#include "core/core.h"
#include "txn/txn.h"
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>

/**
 * zj_revoke_pending() - is a block revoked by a transaction that is not committed?
 * @zj: the journal
 * @block: the block
 *
 * Context: any but interrupts.
 */
bool zj_revoke_pending(struct zj_journal *zj, u64 block)
{
	return zj_bucket_holds(zj_bucket_of(&zj->revokes, block), block, NULL);
}

/* Takes revokes of blocks off, all of which the entry has. Caller holds the bucket lock. */
static void revoke_drop(struct zj_block_entry *rev, u32 blocks)
{
	struct zj_txn *txn = rev->txn;
	int nr = hweight32(blocks);

	spin_lock(&txn->list_lock);
	ZJ_ASSERT(txn_zj(txn), txn->nr_revokes >= nr);
	WRITE_ONCE(txn->nr_revokes, txn->nr_revokes - nr);
	zj_block_entry_drop(rev, blocks);
	spin_unlock(&txn->list_lock);
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
	struct zj_block_bucket *bucket = zj_bucket_of(&txn_zj(txn)->revokes, block);
	struct zj_block_entry *rev;
	bool unsealed;

	if (likely(!zj_revoke_pending(txn_zj(txn), block)))
		return;
	spin_lock(&bucket->lock);
	rev = zj_bucket_find(bucket, block);
	owner = rev ? rev->txn : NULL;
	if (owner)
		refcount_inc(&owner->refs);
	spin_unlock(&bucket->lock);
	if (!owner)
		return;

	zj_tie(txn, owner, ZJ_KIND_REVOKE);
	spin_lock(&bucket->lock);
	rev = zj_bucket_find(bucket, block);
	if (rev && rev->txn == owner) {
		/* It was tied, so if it is not sealed it is in the handle's component. */
		rcu_read_lock();
		unsealed = zj_txn_comp_stage(owner) < ZJ_SEALED;
		rcu_read_unlock();
		if (unsealed)
			revoke_drop(rev, zj_block_bit(block));
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
	struct zj_block_entry *rev;

	for (;;) {
		struct zj_block_bucket *bucket;

		spin_lock(&txn->list_lock);
		rev = list_first_entry_or_null(&txn->revokes, struct zj_block_entry,
					       txn_link);
		ZJ_ASSERT(zj, rev || !txn->nr_revokes);
		spin_unlock(&txn->list_lock);
		if (!rev)
			return;
		/* It stays, as only this thread takes revokes of a sealed transaction off. */
		zj_file_block_revoked(txn, rev);
		bucket = zj_bucket_of(&zj->revokes, rev->first);
		spin_lock(&bucket->lock);
		revoke_drop(rev, rev->blocks);
		spin_unlock(&bucket->lock);
	}
}

/* Files a revoke before any older one of the block. Caller holds the bucket lock. */
static void revoke_insert(struct zj_txn *txn, u64 block, struct zj_block_bucket *bucket,
			  struct zj_block_entry *spare)
{
	spin_lock(&txn->list_lock);
	ZJ_ASSERT(txn_zj(txn), READ_ONCE(txn->stage) < ZJ_SEALED);
	zj_bucket_add(bucket, block, txn, &txn->revokes, spare);
	WRITE_ONCE(txn->nr_revokes, txn->nr_revokes + 1);
	spin_unlock(&txn->list_lock);
}

static int revoke_add(handle_t *handle, u64 block)
{
	struct zj_txn *txn = handle_txn(handle);
	struct zj_block_bucket *bucket = zj_bucket_of(&txn_zj(txn)->revokes, block);
	struct zj_block_entry *spare, *old;

	if (WARN_ON_ONCE(handle->h_revoke_credits <= 0))
		return -EIO;
	handle->h_revoke_credits--;
	/* This ties us to a transaction that revokes it, and cancels our own component's. */
	zj_revoke_touch(handle, block);
	spare = zj_bucket_lock(bucket, block, txn);
	old = zj_bucket_find(bucket, block);
	if (old && old->txn == txn) {
		spin_unlock(&bucket->lock);
		kfree(spare);
		/* A damaged file system may have it in two places. */
		zj_err_ratelimited(txn_zj(txn), "block %llu is freed twice in one transaction; run e2fsck -f\n",
				   block);
		return -EIO;
	}
	revoke_insert(txn, block, bucket, spare);
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

/* ---- blocks that stay in use ---- */

/*
 * Each further try means that another handle has revoked the block since we looked. It is the
 * caller's to try anew, after it has waited for that one's commit.
 */
#define ZJ_REVOKE_TRIES		3

/*
 * Files the revoke of a block that has no owner. A later touch of the block either finds the
 * revoke or is an owner that we find here, because it files its part under the same lock.
 */
static int revoke_unowned(struct zj_txn *txn, struct journal_head *jh,
			  struct zj_block_entry *spare)
{
	u64 block = jh->bh->b_blocknr;
	struct zj_block_bucket *bucket = zj_bucket_of(&txn_zj(txn)->revokes, block);
	struct zj_block_entry *old;
	int err = 0;

	spin_lock(&jh->lock);
	if (!zj_part_retire(jh, false)) {
		spin_unlock(&jh->lock);
		return -EBUSY;
	}
	spin_lock(&bucket->lock);
	old = zj_bucket_find(bucket, block);
	rcu_read_lock();
	/* A touch ties itself to the newest revoke only, so an open one must not be older. */
	if (old && zj_txn_comp_stage(old->txn) < ZJ_SEALED)
		err = -EAGAIN;
	rcu_read_unlock();
	if (!err) {
		zj_jh_unknown(txn_zj(txn), jh);
		revoke_insert(txn, block, bucket, spare);
	}
	spin_unlock(&bucket->lock);
	spin_unlock(&jh->lock);
	return err;
}

/**
 * zj_journal_revoke_home() - revoke a block of file data that is to be written in place (F1)
 * @handle: an open handle with a revoke credit
 * @bh: the block device's buffer of the block, not locked
 *
 * The block stays in use. When the handle's transaction is committed, recovery replays no image
 * of it that is in the log now; the commit makes durable what has gone home before. If the block
 * is logged again before the transaction is sealed, that cancels the revoke (R5), and the block
 * goes on to be known (zj_journal_find_file_blocks()).
 *
 * Context: sleeps for memory, never for I/O or another handle.
 * Return: 0; -EBUSY if an image of the block is not home, or others revoke it all the time;
 * -EROFS if aborted; -EIO without revoke credits.
 */
int zj_journal_revoke_home(handle_t *handle, struct buffer_head *bh)
{
	struct journal_head *jh;
	struct zj_block_entry *spare;
	int err, tries = 0;
	u64 written = 0;

	if (is_handle_aborted(handle))
		return -EROFS;
	if (WARN_ON_ONCE(handle->h_revoke_credits <= 0))
		return -EIO;
	spare = zj_block_entry_alloc();
	jh = zj_jh_attach(bh);
	do {
		/* This ties us to a transaction that revokes it, or cancels our own's revoke. */
		zj_revoke_touch(handle, bh->b_blocknr);
		err = revoke_unowned(handle_txn(handle), jh, spare);
	} while (err == -EAGAIN && ++tries < ZJ_REVOKE_TRIES);
	zj_jh_put(jh);
	if (err) {
		kfree(spare);
		return -EBUSY;
	}
	handle->h_revoke_credits--;
	/* The home write may still be in the device's cache. */
	zj_journal_inode_written(handle->h_transaction->t_journal, &written);
	zj_txn_take_written(handle->h_transaction, written);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_revoke_home);
