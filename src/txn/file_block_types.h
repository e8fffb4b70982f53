/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks of file data that have an image in the log, and their index. */
#ifndef ZJ_FILE_BLOCK_TYPES_H
#define ZJ_FILE_BLOCK_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct zj_txn;

/* zj_journal.max_file_blocks rises by so many, so that lanes seldom share its line. */
#define ZJ_FILE_BLOCK_STEP	16

/* A log of 128 MiB holds at most 32,768 images, so chains have four entries at most. */
#define ZJ_FILE_BLOCK_HASH_BITS	13

/*
 * So many neighbours (16) share a chain, so that a range with nothing in it is looked up in a
 * sixteenth of the steps. A chain has up to 16 entries more then.
 */
#define ZJ_FILE_BLOCK_RUN_BITS	4

/**
 * struct zj_file_block - one transaction may have an image of a block of file data
 *
 * zj_journal_dirty_file_block() allocates it and files it in the index and in
 * txn->file_blocks. It leaves both, and is freed after an RCU grace period, when
 * recovery would not replay the image any more: the tail has passed the transaction, or
 * a transaction that revokes the block is committed.
 */
struct zj_file_block {
	u64		block;		/* immutable */
	struct zj_txn	*txn;		/* immutable; the transaction that may have the image */
	struct hlist_node hash;		/* bucket lock to change, RCU to read; in the index */
	struct list_head txn_link;	/* txn->list_lock; in txn->file_blocks */
	struct rcu_head	rcu;		/* for readers of the chain */
};

/**
 * struct zj_file_block_bucket - one chain of the index
 */
struct zj_file_block_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

#endif /* ZJ_FILE_BLOCK_TYPES_H */
