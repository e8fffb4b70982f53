/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_ORDERED_H
#define ZJ_ORDERED_H

#include "core/journal.h"
#include "txn/ordered_types.h"

int zj_ordered_submit(struct zj_txn *txn);
int zj_ordered_wait(struct zj_txn *txn);
void zj_ordered_drop(struct zj_txn *txn);

#endif /* ZJ_ORDERED_H */
