/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of the device's cache. */
#ifndef ZJ_FLUSH_TYPES_H
#define ZJ_FLUSH_TYPES_H

#include <linux/types.h>
#include <linux/wait.h>

/**
 * struct zj_flush - shared flushes of the device's cache
 *
 * It is part of zj_journal, and there is no lock: the thread that changes
 * @flying from 0 to 1 leads the next flush. Only the leader changes the fields
 * marked as such; they are read without a lock. Flushes are numbered from 1.
 */
struct zj_flush {
	u32		flying;		/* cmpxchg; 1: a thread leads a flush */
	u64		issued;		/* leader; number of the last flush begun */
	u64		done;		/* leader; number of the last flush that ended */
	u64		failed;		/* leader; number of the last flush that failed */
	int		err;		/* leader; its error */
	u64		mean_ns;	/* leader, read racily; running mean of the time of a
					 * flush, in ns
					 */
	u64		ended;		/* leader, read racily; when the last flush ended, in ns */
	unsigned int	awaited;	/* leader, read racily; index of the lane that it waits
					 * for, while it sleeps in @gather
					 */
	u64		data;		/* cmpxchg, only grows; number of the flush that covers all
					 * file data written, except what was noted in its inode
					 */
	u64		inodes;		/* cmpxchg, only grows; the highest number noted in any
					 * inode
					 */
	u64		journal;	/* cmpxchg; number of the flush that covers what was
					 * written to the journal without one, because barriers
					 * were off; 0: there is nothing, or that flush has ended
					 * well
					 */
	wait_queue_head_t wait;		/* woken when a flush has ended */
	wait_queue_head_t gather;	/* the leader sleeps here until the lanes that it expects
					 * have come
					 */
};

#endif /* ZJ_FLUSH_TYPES_H */
