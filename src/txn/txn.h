/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TXN_H
#define ZJ_TXN_H

#include "core/journal.h"
#include "txn/txn_types.h"

/* Caller is in an RCU read section or holds comp_lock. */
static inline enum zj_comp_state zj_txn_state(const struct zj_txn *txn)
{
	/* Pairs with seal() and arrive(): a thread that sees a state sees what led to it. */
	return smp_load_acquire(&READ_ONCE(txn->comp)->state);
}

static inline bool zj_txn_is_committed(const struct zj_txn *txn)
{
	bool committed;

	rcu_read_lock();
	committed = zj_txn_state(txn) == ZJ_C_COMMITTED;
	rcu_read_unlock();
	return committed;
}

int zj_tids_init(struct zj_journal *zj);
void zj_tids_exit(struct zj_journal *zj);
void zj_tids_add(struct zj_txn *txn);
void zj_tids_remove(struct zj_txn *txn);
struct zj_txn *zj_tids_find(struct zj_journal *zj, tid_t tid);
bool zj_tids_empty(struct zj_journal *zj);
struct zj_txn *zj_txn_alloc(struct zj_lane *lane);
void zj_txn_publish(struct zj_txn *txn);
void zj_txn_free_unused(struct zj_txn *txn);
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid);
void zj_txn_put(struct zj_txn *txn);
void zj_txn_set_committed(struct zj_txn *txn);
void zj_commit_request_lane(struct zj_lane *lane);
void zj_commit_request_all(struct zj_journal *zj);
int zj_txn_wait_committed(struct zj_txn *txn);

#endif /* ZJ_TXN_H */
