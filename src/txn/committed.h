/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_COMMITTED_H
#define ZJ_COMMITTED_H

#include "core/journal.h"

void zj_member_durable(struct zj_txn *txn);

#endif /* ZJ_COMMITTED_H */
