/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_FILE_BLOCK_H
#define ZJ_FILE_BLOCK_H

#include "core/journal.h"

/* zj_journal.max_file_blocks rises by so many, so that lanes seldom share its line. */
#define ZJ_FILE_BLOCK_STEP	16

/* A log of 128 MiB holds at most 32,768 images, so chains have four entries at most. */
#define ZJ_FILE_BLOCK_HASH_BITS	13

/*
 * So many neighbours (16) share a chain, so that a range with nothing in it is looked up in a
 * sixteenth of the steps. A chain has up to 16 entries more then.
 */
#define ZJ_FILE_BLOCK_RUN_BITS	4

void zj_file_block_revoked(struct zj_txn *by, u64 block);
void zj_file_block_retire(struct zj_txn *txn);

#endif /* ZJ_FILE_BLOCK_H */
