/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TXN_H
#define ZJ_TXN_H

#include "core/journal.h"
#include "txn/txn_types.h"

/* Caller is in an RCU read section or holds comp_lock. */
static inline enum zj_comp_state zj_txn_state(const struct zj_txn *txn)
{
	/* Pairs with freeze() and arrive(). */
	return smp_load_acquire(&READ_ONCE(txn->comp)->state);
}

static inline bool zj_txn_is_valid(const struct zj_txn *txn)
{
	bool valid;

	rcu_read_lock();
	valid = zj_txn_state(txn) == ZJ_C_VALID;
	rcu_read_unlock();
	return valid;
}

struct zj_txn *zj_txn_alloc(struct zj_lane *lane);
void zj_txn_publish(struct zj_txn *txn);
void zj_txn_free_unused(struct zj_txn *txn);
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid);
void zj_txn_put(struct zj_txn *txn);
void zj_txn_set_valid(struct zj_txn *txn);
int zj_txn_wait_valid(struct zj_txn *txn);

#endif /* ZJ_TXN_H */
