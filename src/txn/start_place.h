/* SPDX-License-Identifier: GPL-2.0-only */
/* The places that handle starts have in their lane while they wait (N11). */
#ifndef ZJ_START_PLACE_H
#define ZJ_START_PLACE_H

#include "core/journal.h"
#include <linux/list.h>
#include <linux/sched.h>

/**
 * struct zj_start_place - a start's places in the queues of its lane; on its stack
 *
 * All but @task is zero until it has to wait. It keeps a place until it has joined a transaction
 * or given up.
 */
struct zj_start_place {
	struct task_struct *task;	/* immutable; who starts */
	struct list_head reserve;	/* lane->lock; in lane->rsv_queue, if @reserves */
	struct list_head link;		/* lane->lock; in lane->start_queue, if @queued */
	bool	reserves;		/* lane->lock; it waits for reservations to end */
	bool	queued;			/* lane->lock; no other start of the lane may pass it */
	bool	waits;			/* its task only; @since is set */
	u32	since;			/* its task only; zj_lane.opened when it began to wait */
	bool	held_up;		/* its task only; it counts in zj_journal.held_up */
};

/* Has the caller, who holds lane->lock, the first place, so that the lane is for it alone? */
static inline bool zj_lane_is_mine(const struct zj_lane *lane)
{
	return !list_empty(&lane->start_queue) &&
	       list_first_entry(&lane->start_queue, struct zj_start_place, link)->task == current;
}

/* Is the lane for another start, which could not join the transaction before? */
static inline bool zj_lane_is_kept(const struct zj_lane *lane)
{
	return !list_empty(&lane->start_queue) && !zj_lane_is_mine(lane);
}

bool zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place);
void zj_place_take(struct zj_lane *lane, struct zj_start_place *place);
void zj_place_leave(struct zj_lane *lane, struct zj_start_place *place);

#endif /* ZJ_START_PLACE_H */
