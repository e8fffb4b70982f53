/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TXN_H
#define ZJ_TXN_H

#include "core/journal.h"
#include "txn/txn_types.h"

/* The stage that all members have reached. Caller is in an RCU read section or holds comp_lock. */
static inline enum zj_txn_stage zj_txn_comp_stage(const struct zj_txn *txn)
{
	/* Pairs with zj_component_advance(): a thread that sees a stage sees what led to it. */
	return smp_load_acquire(&READ_ONCE(txn->comp)->stage);
}

static inline bool zj_txn_is_committed(const struct zj_txn *txn)
{
	bool committed;

	rcu_read_lock();
	committed = zj_txn_comp_stage(txn) == ZJ_COMMITTED;
	rcu_read_unlock();
	return committed;
}

struct zj_txn *zj_txn_alloc(struct zj_lane *lane);
void zj_txn_publish(struct zj_txn *txn);
void zj_txn_free_unused(struct zj_txn *txn);
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid);
void zj_txn_put(struct zj_txn *txn);
void zj_txn_advance(struct zj_txn *txn, enum zj_txn_stage to);
void zj_txn_set_finished(struct zj_txn *txn);
void zj_commit_request_lane(struct zj_lane *lane);
void zj_commit_request_all(struct zj_journal *zj);
int zj_txn_wait_finished(struct zj_txn *txn);

#endif /* ZJ_TXN_H */
