/* SPDX-License-Identifier: GPL-2.0-only */
/* An index of blocks by number: of revokes, and of file blocks. */
#ifndef ZJ_BLOCK_INDEX_TYPES_H
#define ZJ_BLOCK_INDEX_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct zj_txn;

/**
 * struct zj_block_entry - what a transaction does with a block
 *
 * It is allocated and filed in the index and in a list of the transaction, and freed after an
 * RCU grace period when it leaves both:
 *
 * - in zj_journal.revokes and txn->revokes: the block is revoked. zj_journal_revoke() files it
 *   until a handle of the same component touches the block again, or else until the
 *   transaction is committed.
 * - in zj_journal.file_blocks and txn->file_blocks: the transaction may have an image of the
 *   block, which is one of file data. zj_journal_dirty_file_block() files it until recovery
 *   would not replay the image any more: the tail has passed the transaction, or a
 *   transaction that revokes the block is committed.
 */
struct zj_block_entry {
	u64		block;		/* immutable */
	struct zj_txn	*txn;		/* immutable once filed */
	struct hlist_node hash;		/* bucket lock to change, RCU to read; in the index */
	struct list_head txn_link;	/* txn->list_lock; in the transaction's list */
	struct rcu_head	rcu;		/* for readers of the chain */
};

/**
 * struct zj_block_bucket - one chain of an index
 */
struct zj_block_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

/**
 * struct zj_block_index - a hash table from blocks to their entries
 */
struct zj_block_index {
	struct zj_block_bucket *buckets; /* 1 << @bits of them */
	unsigned int	bits;
	unsigned int	run_bits;	/* 1 << @run_bits neighbours share a chain */
};

#endif /* ZJ_BLOCK_INDEX_TYPES_H */
