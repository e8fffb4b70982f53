/* SPDX-License-Identifier: GPL-2.0-only */
/* Log space. */
#ifndef ZJ_SPACE_TYPES_H
#define ZJ_SPACE_TYPES_H

#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>

/**
 * struct zj_seg - one segment of the log
 */
struct zj_seg {
	u32		index;		/* immutable */
	u64		seq;		/* owner lane->lock; of this tenure */
	u64		max_stamp;	/* lane->lock, then pool_lock; newest inside */
	struct list_head link;		/* pool_lock, or lane->lock in hand */
};

/**
 * struct zj_space_waiter - a handle start that waits for log space; on its stack
 *
 * All zero until the start finds no room. From then on it has a place in the queue,
 * until it has joined a transaction, or meets a barrier. It is away while its lane is
 * closed.
 */
struct zj_space_waiter {
	struct list_head link;		/* pool_lock; in zj->space_queue */
	struct task_struct *task;	/* who starts; NULL: not in the queue; its own */
	bool		away;		/* pool_lock; it waits for its lane just now */
};

#endif /* ZJ_SPACE_TYPES_H */
