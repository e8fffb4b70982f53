/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_PART_H
#define ZJ_PART_H

#include "core/journal.h"
#include "txn/jhead_types.h"
#include "txn/part_types.h"

static inline bool zj_part_test(const struct zj_part *part, int bit)
{
	return READ_ONCE(part->flags) & BIT(bit);
}

/* Caller holds part->jh->lock. WRITE_ONCE() is for owned(), which reads without it. */
static inline void zj_part_set(struct zj_part *part, unsigned long bits)
{
	lockdep_assert_held(&part->jh->lock);
	WRITE_ONCE(part->flags, part->flags | bits);
}

/* Caller holds part->jh->lock. */
static inline void zj_part_clear(struct zj_part *part, unsigned long bits)
{
	lockdep_assert_held(&part->jh->lock);
	WRITE_ONCE(part->flags, part->flags & ~bits);
}

void zj_spare_fill(struct zj_journal *zj, struct zj_spare *spare, bool more);
void zj_spare_free(struct zj_journal *zj, struct zj_spare *spare);
struct zj_part *zj_part_take(struct journal_head *jh, struct zj_spare *spare);
void zj_part_untake(struct journal_head *jh, struct zj_part *part);
void zj_part_file(struct zj_part *part, struct journal_head *jh,
		  struct zj_txn *txn);
bool zj_part_file_late(struct zj_part *part, struct journal_head *jh,
		       struct zj_txn *txn);
void zj_part_move(struct zj_part *part, struct zj_txn *txn);
void zj_part_make_dirty(struct zj_part *part);
void zj_part_drop(struct zj_part *part);
bool zj_part_retire(struct journal_head *jh, bool locked);
void zj_txn_walk(struct zj_txn *txn,
		 void (*fn)(struct zj_txn *txn, struct journal_head *jh,
			    void *arg), void *arg);

#endif /* ZJ_PART_H */
