/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_VALIDITY_H
#define ZJ_VALIDITY_H

#include "core/journal.h"

void zj_member_committed(struct zj_txn *txn);

#endif /* ZJ_VALIDITY_H */
