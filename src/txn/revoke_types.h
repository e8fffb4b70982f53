/* SPDX-License-Identifier: GPL-2.0-only */
/* Revokes and their index. */
#ifndef ZJ_REVOKE_TYPES_H
#define ZJ_REVOKE_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct zj_txn;

#define ZJ_REVOKE_HASH_BITS	12

/**
 * struct zj_revoke - a revoked block
 *
 * zj_journal_revoke() allocates it and files it in the index and in txn->revokes. It
 * leaves both, and is freed after an RCU grace period, as soon as a handle of the same
 * component touches the block again, or else when the transaction is committed.
 */
struct zj_revoke {
	u64		block;		/* immutable */
	struct zj_txn	*txn;		/* bucket lock; the transaction that revokes it */
	struct hlist_node hash;		/* bucket lock to change, RCU to read; in the index */
	struct list_head txn_link;	/* txn->list_lock; in txn->revokes */
	struct rcu_head	rcu;		/* for readers of the chain */
};

/**
 * struct zj_revoke_bucket - one chain of the index
 */
struct zj_revoke_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

#endif /* ZJ_REVOKE_TYPES_H */
