// SPDX-License-Identifier: GPL-2.0-only
/*
 * An index of blocks by number: of revokes (revoke.c), and of file blocks (file_block.c).
 * Most look-ups find an empty chain, so they take no lock and write nothing.
 *
 * Invariant: of the entries in a chain that have one block, the one to which the block was
 * added last comes first.
 */
#include "txn/txn.h"
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

int zj_block_index_init(struct zj_block_index *index, unsigned int bits)
{
	unsigned int i;

	index->buckets = kvcalloc(1U << bits, sizeof(*index->buckets), GFP_KERNEL);
	if (!index->buckets)
		return -ENOMEM;
	for (i = 0; i < 1U << bits; i++)
		spin_lock_init(&index->buckets[i].lock);
	index->bits = bits;
	return 0;
}

void zj_block_index_exit(struct zj_block_index *index)
{
	kvfree(index->buckets);
}

/**
 * zj_bucket_blocks() - which blocks of a run have an entry?
 * @bucket: zj_bucket_of() any block of the run
 * @block: this block
 * @txn: the transaction that has the entry; NULL: any
 *
 * Context: any but interrupts.
 * Return: a bit for each block of the run, as zj_block_bit().
 */
u32 zj_bucket_blocks(struct zj_block_bucket *bucket, u64 block, const struct zj_txn *txn)
{
	struct zj_block_entry *entry;
	u32 blocks = 0;

	if (hlist_empty(&bucket->head))
		return 0;
	rcu_read_lock();
	hlist_for_each_entry_rcu(entry, &bucket->head, hash)
		if (entry->first == zj_run_of(block) && (!txn || entry->txn == txn))
			blocks |= READ_ONCE(entry->blocks);
	rcu_read_unlock();
	return blocks;
}

/* Finds the newest entry of a run that has one of the blocks. Caller holds the bucket lock. */
static struct zj_block_entry *newest_with(struct zj_block_bucket *bucket, u64 run, u32 blocks)
{
	struct zj_block_entry *entry;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(entry, &bucket->head, hash)
		if (entry->first == run && entry->blocks & blocks)
			return entry;
	return NULL;
}

/**
 * zj_bucket_find() - find the newest entry of a block
 * @bucket: zj_bucket_of() the block, locked
 * @block: the block
 */
struct zj_block_entry *zj_bucket_find(struct zj_block_bucket *bucket, u64 block)
{
	return newest_with(bucket, zj_run_of(block), zj_block_bit(block));
}

/*
 * Finds the entry of a transaction that takes one more block of a run. Only the newest of the
 * run does: in an older one the block would come behind what another transaction has of it.
 */
static struct zj_block_entry *entry_for(struct zj_block_bucket *bucket, u64 block,
					const struct zj_txn *txn)
{
	struct zj_block_entry *entry = newest_with(bucket, zj_run_of(block), ~0U);

	return entry && entry->txn == txn ? entry : NULL;
}

/* Allocates memory for zj_bucket_add(). Context: sleeps, must not fail. */
struct zj_block_entry *zj_block_entry_alloc(void)
{
	return kmalloc(sizeof(struct zj_block_entry), GFP_NOFS | __GFP_NOFAIL);
}

/**
 * zj_bucket_lock() - lock a bucket, to add a block
 * @bucket: zj_bucket_of() the block
 * @block: the block
 * @txn: the transaction that zj_bucket_add() gets
 *
 * Context: sleeps for memory. Returns with the bucket locked.
 * Return: memory for zj_bucket_add(), which the caller frees if it does not call that; NULL if
 * the transaction has an entry that takes the block.
 */
struct zj_block_entry *zj_bucket_lock(struct zj_block_bucket *bucket, u64 block,
				      const struct zj_txn *txn)
	__acquires(&bucket->lock)
{
	struct zj_block_entry *spare = NULL;

	spin_lock(&bucket->lock);
	if (!entry_for(bucket, block, txn)) {
		spin_unlock(&bucket->lock);
		spare = zj_block_entry_alloc();
		spin_lock(&bucket->lock);
	}
	return spare;
}

/**
 * zj_bucket_add() - add a block to the index, before any older entry of it
 * @bucket: zj_bucket_of() the block
 * @block: the block
 * @txn: the transaction
 * @list: its list of entries
 * @spare: memory for an entry, used or freed; NULL if the transaction has one that takes the block
 *
 * Context: bucket->lock and txn->list_lock held.
 */
void zj_bucket_add(struct zj_block_bucket *bucket, u64 block, struct zj_txn *txn,
		   struct list_head *list, struct zj_block_entry *spare)
{
	struct zj_block_entry *entry = entry_for(bucket, block, txn);

	lockdep_assert_held(&txn->list_lock);
	if (entry) {
		WRITE_ONCE(entry->blocks, entry->blocks | zj_block_bit(block));
		kfree(spare);
		return;
	}
	spare->first = zj_run_of(block);
	spare->blocks = zj_block_bit(block);
	spare->txn = txn;
	list_add_tail(&spare->txn_link, list);
	hlist_add_head_rcu(&spare->hash, &bucket->head);
}

/**
 * zj_block_entry_drop() - take blocks off an entry, which is freed with its last one
 * @entry: the entry
 * @blocks: bits of the blocks; it need not have them
 *
 * Context: the bucket's lock and entry->txn->list_lock held.
 */
void zj_block_entry_drop(struct zj_block_entry *entry, u32 blocks)
{
	lockdep_assert_held(&entry->txn->list_lock);
	WRITE_ONCE(entry->blocks, entry->blocks & ~blocks);
	if (entry->blocks)
		return;
	hlist_del_rcu(&entry->hash);
	list_del(&entry->txn_link);
	kfree_rcu(entry, rcu);
}
