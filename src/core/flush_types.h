/* SPDX-License-Identifier: GPL-2.0-only */
/* Flushes of the device's cache. */
#ifndef ZJ_FLUSH_TYPES_H
#define ZJ_FLUSH_TYPES_H

#include <linux/types.h>
#include <linux/wait.h>

/**
 * struct zj_flush - who flushes the device's cache for whom
 */
struct zj_flush {
	u32		flying;		/* cmpxchg; 1: somebody leads one */
	u64		issued;		/* the leader's to change; flushes begun */
	u64		done;		/* the same; number of the last one ended */
	u64		failed;		/* the same; number of the last that failed */
	int		err;		/* the same; its error */
	u64		mean_ns;	/* the same; ns, a running mean; read racily */
	u64		data;		/* cmpxchg, grows; flush that covers file data written,
					 * but for what was noted in its inode
					 */
	u64		inodes;		/* cmpxchg, grows; the highest noted in any inode */
	u64		journal;	/* cmpxchg; flush that covers what was written to the
					 * journal without one, as barriers were off; 0: there
					 * is nothing, or it has ended well
					 */
	wait_queue_head_t wait;		/* one has ended */
	wait_queue_head_t gather;	/* who leads waits for those to come */
};

#endif /* ZJ_FLUSH_TYPES_H */
