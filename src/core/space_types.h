/* SPDX-License-Identifier: GPL-2.0-only */
/* Log space. */
#ifndef ZJ_SPACE_TYPES_H
#define ZJ_SPACE_TYPES_H

#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>

struct zj_lane;

/**
 * struct zj_seg - one segment of the log
 *
 * zj_seg_init() allocates all segments as one array, and puts them into
 * zj_journal.pool. A lane takes empty ones to zj_lane.in_hand, and gives back
 * those that it does not need. When its thread begins to fill one, the segment
 * gets the number of a new tenure and is in no list (zj_lane.cur). When it is
 * full, it goes to zj_lane.full. It returns to the pool when the checkpoint
 * stamp has reached its @max_stamp. zj_space_exit() frees the array.
 */
struct zj_seg {
	u32		index;		/* immutable; position in the log */
	u64		seq;		/* lane's lock; number of the current tenure */
	u64		max_stamp;	/* lane's lock, then pool_lock; stamp of the newest record
					 * in it
					 */
	struct list_head link;		/* pool_lock, or the lane's lock while it is in
					 * zj_lane.in_hand
					 */
};

/**
 * struct zj_space_waiter - a handle start that waits for log space
 *
 * It is on the stack of the task that starts the handle, all zero at first.
 * When the start finds no room, zj_space_wait() puts it into
 * zj_journal.space_queue. It keeps its place until the handle has joined a
 * transaction, or has to wait for a barrier; then zj_space_leave() takes it
 * out. While its lane's transaction is locked the waiter is away: it keeps its
 * place, and others are served.
 */
struct zj_space_waiter {
	struct list_head link;		/* pool_lock; in zj_journal.space_queue */
	struct task_struct *task;	/* its task only, with pool_lock while in the queue; the
					 * task, or NULL if it is not in the queue
					 */
	struct zj_lane	*lane;		/* immutable while in the queue; the lane that it waits in */
	bool		away;		/* pool_lock; it waits for its lane at present */
};

#endif /* ZJ_SPACE_TYPES_H */
