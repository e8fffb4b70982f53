/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TIDS_H
#define ZJ_TIDS_H

#include "core/journal.h"
#include "core/tids_types.h"

int zj_tids_init(struct zj_journal *zj);
void zj_tids_exit(struct zj_journal *zj);
void zj_tids_add(struct zj_txn *txn);
void zj_tids_remove(struct zj_txn *txn);
struct zj_txn *zj_tids_find(struct zj_journal *zj, tid_t tid);
bool zj_tids_empty(struct zj_journal *zj);

/* Walks all live transactions; caller holds the RCU read lock. */
#define zj_for_each_live(zj, chain, txn)				\
	for (chain = (zj)->tids; chain < (zj)->tids + ZJ_TID_CHAINS; chain++)	\
		hlist_for_each_entry_rcu(txn, &chain->head, tid_link)

#endif /* ZJ_TIDS_H */
