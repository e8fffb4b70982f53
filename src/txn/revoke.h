/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_REVOKE_H
#define ZJ_REVOKE_H

#include "core/journal.h"

#define ZJ_REVOKE_HASH_BITS	12

bool zj_revoke_pending(struct zj_journal *zj, u64 block);
void zj_revoke_touch(handle_t *handle, u64 block);
void zj_revoke_retire(struct zj_txn *txn);

#endif /* ZJ_REVOKE_H */
