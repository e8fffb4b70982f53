/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of the device's cache. */
#ifndef ZJ_FLUSH_TYPES_H
#define ZJ_FLUSH_TYPES_H

#include <linux/types.h>
#include <linux/wait.h>

struct block_device;

/**
 * struct zj_flush - shared flushes of a device's cache
 *
 * The journal has one for each of its devices. There is no lock: the thread
 * that changes @flying from 0 to 1 leads the next flush. Only the leader changes
 * the fields marked as such; they are read without a lock. Flushes are numbered
 * from 1.
 */
struct zj_flush {
	struct block_device *bdev;	/* immutable; the device that is flushed */
	u32		flying;		/* cmpxchg; 1: a thread leads a flush */
	u64		issued;		/* leader; number of the last flush begun */
	u64		done;		/* leader; number of the last flush that ended */
	int		err;		/* leader; the last error of a flush; it stays */
	u64		mean_ns;	/* leader, read racily; running mean of the time of a
					 * flush, in ns
					 */
	u64		ended;		/* leader, read racily; when the last flush ended, in ns */
	unsigned int	awaited;	/* leader, read racily; index of the lane that it waits
					 * for, while it sleeps in @gather
					 */
	u64		data;		/* cmpxchg, only grows; number of the flush that covers all
					 * file data written, except what was noted in its inode;
					 * not used for the log's own device, nor is @inodes
					 */
	u64		inodes;		/* cmpxchg, only grows; the highest number noted in any
					 * inode
					 */
	u64		missed;		/* cmpxchg; number of the flush that covers what commits
					 * have not flushed, because barriers were off; 0: there is
					 * nothing, or that flush has ended well
					 */
	wait_queue_head_t wait;		/* woken when a flush has ended */
	wait_queue_head_t gather;	/* the leader sleeps here until the lanes that it expects
					 * have come; not used for the log's own device
					 */
};

#endif /* ZJ_FLUSH_TYPES_H */
