/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_BLOCK_INDEX_H
#define ZJ_BLOCK_INDEX_H

#include <linux/hash.h>
#include "txn/block_index_types.h"

int zj_block_index_init(struct zj_block_index *index, unsigned int bits, unsigned int run_bits);
void zj_block_index_exit(struct zj_block_index *index);
struct zj_block_entry *zj_bucket_find(struct zj_block_bucket *bucket, u64 block,
				      const struct zj_txn *txn);
bool zj_bucket_holds(struct zj_block_bucket *bucket, u64 block, const struct zj_txn *txn);

static inline struct zj_block_bucket *zj_bucket_of(const struct zj_block_index *index, u64 block)
{
	return &index->buckets[hash_64(block >> index->run_bits, index->bits)];
}

#endif /* ZJ_BLOCK_INDEX_H */
