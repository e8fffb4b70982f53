/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_JHEAD_H
#define ZJ_JHEAD_H

#include "core/journal.h"
#include "txn/jhead_types.h"

struct kmem_cache;

/* Byte offset and size of ext4's super block: in block 0, or in block 1 if these have 1 KiB. */
#define ZJ_SUPER_OFFSET		1024
#define ZJ_SUPER_SIZE		1024

static inline bool zj_bh_is_super(const struct buffer_head *bh)
{
	return bh->b_blocknr == ZJ_SUPER_OFFSET / bh->b_size;
}

extern struct kmem_cache *zj_handle_cache;
extern struct kmem_cache *zj_part_cache;

/* Returns the head of a buffer, or NULL, in an RCU read section; it may be leaving the buffer. */
static inline struct journal_head *zj_jh_peek(const struct buffer_head *bh)
{
	/* Pairs with zj_jh_attach(): the pointer is not older than the bit. */
	if (!(smp_load_acquire(&bh->b_state) & BIT(BH_JBD)))
		return NULL;
	return READ_ONCE(bh->b_private);
}

bool zj_bh_is_file(const struct buffer_head *bh);
int zj_caches_init(void);
void zj_caches_exit(void);
struct journal_head *zj_jh_get(struct buffer_head *bh);
struct journal_head *zj_jh_attach(struct buffer_head *bh);
void zj_jh_put(struct journal_head *jh);

#endif /* ZJ_JHEAD_H */
