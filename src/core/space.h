/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_SPACE_H
#define ZJ_SPACE_H

#include "core/journal.h"
#include "core/space_types.h"

u32 zj_log_blocks(const struct zj_journal *zj, int credits);
bool zj_space_take(struct zj_lane *lane, int credits, int rsv);

/**
 * zj_space_get() - tell whether the lane has room for more credits
 * @lane: the lane
 * @credits: images to add to its running transaction
 * @rsv: images of a reserved handle besides, or 0
 *
 * Context: caller holds lane->lock; takes pool_lock when the lane's own space
 * is short.
 * Return: true if there is room; the caller accounts for it.
 */
static inline bool zj_space_get(struct zj_lane *lane, int credits, int rsv)
{
	int running = lane->running ? lane->running->credits : 0;

	lockdep_assert_held(&lane->lock);
	/* A handle without credits needs room for a header all the same. */
	if (likely(lane->limit && !rsv && running + credits <= lane->limit))
		return true;
	return zj_space_take(lane, credits, rsv);
}

static inline bool zj_space_awaited(struct zj_journal *zj)
{
	return atomic_read(&zj->space_waiters);
}

int zj_space_wait(struct zj_lane *lane, int credits, int rsv,
		  struct zj_space_waiter *waiter);
void zj_space_leave(struct zj_journal *zj, struct zj_space_waiter *waiter);
void zj_space_away(struct zj_journal *zj, struct zj_space_waiter *waiter, bool away);
bool zj_space_grow(struct zj_txn *txn);
bool zj_space_next(struct zj_lane *lane);
void zj_space_reclaim(struct zj_journal *zj, u64 ckpt_stamp);
void zj_space_surplus(struct zj_lane *lane);
u32 zj_seg_room(struct zj_lane *lane, u32 need);
int zj_seg_init(struct zj_journal *zj);
void zj_space_exit(struct zj_journal *zj);
u32 zj_space_share(struct zj_journal *zj);
void zj_space_sealed(struct zj_txn *txn);
bool zj_space_low(struct zj_journal *zj);

#endif /* ZJ_SPACE_H */
