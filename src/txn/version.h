/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_VERSION_H
#define ZJ_VERSION_H

#include "core/journal.h"
#include "txn/jhead_types.h"
#include "txn/part_types.h"

struct kmem_cache;

/* Answers of zj_part_wants_copy(), which decides on frozen copies ahead of the log I/O. */
enum zj_want { ZJ_COPY_NO, ZJ_COPY_MAY, ZJ_COPY_MUST };

/**
 * struct zj_copying - which images of a transaction are copied ahead
 *
 * It lives on the stack of the lane's thread while that looks at the parts one by one.
 */
struct zj_copying {
	u32	most;		/* so many copies cost as much as one wait for the log */
	bool	all;		/* the lane's history asks for copies of all images */
};

bool zj_frozen_caches_init(void);
void zj_frozen_caches_exit(void);
struct kmem_cache *zj_frozen_cache(u32 block_size);
void zj_part_logged(struct zj_journal *zj, struct zj_part *part);
void zj_part_unsettle(struct zj_journal *zj, struct zj_part *part);
void zj_part_make_copy(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_part_crowd(struct zj_part *part);
void zj_part_uncrowd(struct zj_part *part);
void zj_copying_begin(struct zj_copying *copying, struct zj_txn *txn);
enum zj_want zj_part_wants_copy(struct zj_part *part, const struct zj_copying *copying);
void zj_jh_conflict(struct journal_head *jh);
bool zj_part_image(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_jh_wait_live(struct zj_lane *lane, struct journal_head *jh);

#endif /* ZJ_VERSION_H */
