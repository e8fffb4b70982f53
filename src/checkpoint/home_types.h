/* SPDX-License-Identifier: GPL-2.0-only */
/* Home writes. */
#ifndef ZJ_HOME_TYPES_H
#define ZJ_HOME_TYPES_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <zjournal/jbd2.h>

struct zj_journal;

/* Buffers that a checkpoint sends home together, in the order of their blocks. */
#define ZJ_BATCH_SIZE		128
/* Buffers of a pass: 128 KiB of pointers. */
#define ZJ_MAX_PASS		16384

/**
 * struct zj_pass - one walk over what is committed; ckpt_lock, unless said otherwise
 *
 * It begins with a walk that finds buffers, the oldest transactions' first. Sorted by
 * block they are brought home, slice by slice, by the checkpoint's thread and by lanes
 * that help. It ends when the last slice is home.
 */
struct zj_pass {
	struct zj_journal *zj;		/* immutable */
	struct buffer_head **bh;	/* what was found, each with a reference; immutable
					 * once it is sorted
					 */
	u32		nr;		/* of them, as above */
	u32		taken;		/* pool_lock; how many somebody brings home */
	bool		close;		/* close newer owners, so that S can move */
	tid_t		blocker;	/* a newer owner that keeps a part, 0: none */
	atomic_t	flying;		/* slices not home, and one for the walk */
	bool		failed;		/* set by anybody; a block did not get home */
	struct completion done;		/* no slice is left */
};

#endif /* ZJ_HOME_TYPES_H */
