/* SPDX-License-Identifier: GPL-2.0-only */
/* For which lanes a flush waits before it is issued. */
#ifndef ZJ_GATHER_H
#define ZJ_GATHER_H

#include "core/journal.h"

void zj_flush_expected(struct zj_lane *lane);
void zj_flush_not_expected(struct zj_lane *lane);
bool zj_txn_expects_flush(struct zj_txn *txn);
void zj_gather_join(struct zj_lane *lane, u64 need);
void zj_gather(struct zj_journal *zj, struct zj_lane *leader);

#endif /* ZJ_GATHER_H */
