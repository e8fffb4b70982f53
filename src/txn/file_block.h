/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_FILE_BLOCK_H
#define ZJ_FILE_BLOCK_H

#include "core/journal.h"
#include "txn/file_block_types.h"

int zj_file_block_init(struct zj_journal *zj);
void zj_file_block_exit(struct zj_journal *zj);
void zj_file_block_revoked(struct zj_txn *by, u64 block);
void zj_file_block_retire(struct zj_txn *txn);

#endif /* ZJ_FILE_BLOCK_H */
