/* SPDX-License-Identifier: GPL-2.0-only */
/* What a transaction owns of a block. */
#ifndef ZJ_PART_TYPES_H
#define ZJ_PART_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct journal_head;
struct zj_txn;
struct zj_dep;

enum zj_part_bits {
	ZJ_PART_MODIFIED,	/* has an image to log */
	ZJ_PART_LIVE,		/* the log is written from the live buffer */
	ZJ_PART_LOGGED,		/* the image is in the log, the copy is gone */
	ZJ_PART_FORGET,		/* no image: supersedes older parts once committed */
	ZJ_PART_HOMEWARD,	/* committed, processed: the buffer's dirty bit tells */
	ZJ_PART_NEEDS_DIRTY,	/* committed, not home, dirty bit taken by a newer part */
	ZJ_PART_ELSEWHERE,	/* the buffer is mapped anew: nothing goes home from it */
	ZJ_PART_WAS_DIRTY,	/* buffer was dirty outside the journal before */
	ZJ_PART_LINES,		/* what is in the log are lines: needs what is older */
	ZJ_PART_CROWDED,	/* over as many unlogged images as there may be:
				 * its transaction cannot be sealed
				 */
	ZJ_PART_DECLARED,	/* log->logs_lines: @lines are all that has changed since
				 * recovery knows the buffer
				 */
};

/**
 * struct zj_part - what one transaction owns of one block
 */
struct zj_part {
	struct journal_head *jh;	/* immutable; holds a reference */
	struct zj_txn	*txn;		/* jh->lock; its owner */
	struct list_head jh_link;	/* jh->lock; in jh->parts, oldest first */
	struct list_head txn_link;	/* txn->list_lock; in txn->parts or txn->late */
	unsigned long	flags;		/* jh->lock; zj_part_bits */
	void		*frozen_data;	/* jh->lock; the image to log, or NULL */
	void		*image;		/* lane's thread; what goes to the log */
	void		*base;		/* jh->lock; log->logs_lines: what the buffer held
					 * before, known to recovery; or NULL
					 */
	u64		lines;		/* jh->lock to change; ZJ_PART_DECLARED: what the
					 * file system declared to have changed
					 */
	struct rcu_head	rcu;		/* lockless readers of jh->newest */
};

/* Memory that a touch may need, allocated before locks are taken. */
struct zj_spare {
	struct zj_part	*part;		/* for R1, R3 */
	void		*frozen_data;	/* for a copy by the accessor */
	void		*base;		/* for the contents before the first change */
	struct zj_dep	*dep;		/* for R3 */
	bool		declared;	/* asked for: the caller declares what it changes */
};

#endif /* ZJ_PART_TYPES_H */
