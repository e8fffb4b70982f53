/* SPDX-License-Identifier: GPL-2.0-only */
/* The journal's view of one buffer. */
#ifndef ZJ_JHEAD_TYPES_H
#define ZJ_JHEAD_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <zjournal/jbd2.h>
#include "txn/part_types.h"

/**
 * struct journal_head - the journal's view of one buffer
 *
 * zj_jh_attach() allocates it with the first access to a buffer, and holds a reference
 * to the buffer for it. Each part and each thread that uses the head has a reference.
 * zj_jh_put() of the last one detaches the head and frees it after an RCU grace period.
 */
struct journal_head {
	struct buffer_head *bh;		/* immutable; holds a reference */
	refcount_t	refs;		/* becomes 0 only under BH_JHLock of the buffer */
	spinlock_t	lock;		/* guards the fields below */
	struct list_head parts;		/* zj_part.jh_link, oldest first */
	struct zj_part	*newest;	/* last of parts, or NULL; RCU to read */
	struct jbd2_buffer_trigger_type *triggers; /* ext4's, or NULL */
	u8		conflicts;	/* ZJ_CONFLICT_NOW if a handle has wanted the buffer
					 * since its last commit and before its image was
					 * logged; else so many more commits copy it ahead
					 */
	bool		first_used;	/* @first is in parts */
	struct zj_part	first;		/* saves an allocation, as most buffers have one part */
	struct zj_part	*kept;		/* a part that was dropped, for the next owner, or NULL;
					 * read racily. With lines a buffer has three parts in
					 * turn (J2)
					 */
	struct rcu_head	rcu;		/* for lockless readers of b_private */
};

/* The greatest value of journal_head.conflicts; the next commit lowers it (version.c). */
#define ZJ_CONFLICT_NOW		255U

#endif /* ZJ_JHEAD_TYPES_H */
