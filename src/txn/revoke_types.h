/* SPDX-License-Identifier: GPL-2.0-only */
/* Revokes, and the index of them. */
#ifndef ZJ_REVOKE_TYPES_H
#define ZJ_REVOKE_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct zj_txn;

#define ZJ_REVOKE_HASH_BITS	12

/**
 * struct zj_revoke - a revoked block; in the index until its owner is committed
 */
struct zj_revoke {
	u64		block;		/* immutable */
	struct zj_txn	*txn;		/* bucket lock; the owner */
	struct hlist_node hash;		/* bucket lock; RCU readers */
	struct list_head txn_link;	/* txn->list_lock */
	struct rcu_head	rcu;
};

/**
 * struct zj_revoke_bucket - one chain of the index
 */
struct zj_revoke_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

#endif /* ZJ_REVOKE_TYPES_H */
