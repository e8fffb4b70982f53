// SPDX-License-Identifier: GPL-2.0-only
/*
 * An index of blocks by number: of revokes (revoke.c), and of file blocks (file_block.c).
 * Most look-ups find an empty chain, so they take no lock and write nothing.
 */
#include "txn/txn.h"
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

int zj_block_index_init(struct zj_block_index *index, unsigned int bits, unsigned int run_bits)
{
	unsigned int i;

	index->buckets = kvcalloc(1U << bits, sizeof(*index->buckets), GFP_KERNEL);
	if (!index->buckets)
		return -ENOMEM;
	for (i = 0; i < 1U << bits; i++)
		spin_lock_init(&index->buckets[i].lock);
	index->bits = bits;
	index->run_bits = run_bits;
	return 0;
}

void zj_block_index_exit(struct zj_block_index *index)
{
	kvfree(index->buckets);
}

/**
 * zj_bucket_find() - find the newest entry of a block
 * @bucket: zj_bucket_of() the block, locked, or in an RCU section
 * @block: the block
 * @txn: the transaction that has the entry; NULL: any
 */
struct zj_block_entry *zj_bucket_find(struct zj_block_bucket *bucket, u64 block,
				      const struct zj_txn *txn)
{
	struct zj_block_entry *entry;

	hlist_for_each_entry_rcu(entry, &bucket->head, hash,
				 lockdep_is_held(&bucket->lock))
		if (entry->block == block && (!txn || entry->txn == txn))
			return entry;
	return NULL;
}

/* Returns whether a block has an entry, as zj_bucket_find(). Context: any but interrupts. */
bool zj_bucket_holds(struct zj_block_bucket *bucket, u64 block, const struct zj_txn *txn)
{
	bool found;

	if (hlist_empty(&bucket->head))
		return false;
	rcu_read_lock();
	found = zj_bucket_find(bucket, block, txn);
	rcu_read_unlock();
	return found;
}
