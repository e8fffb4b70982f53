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
 */
struct journal_head {
	struct buffer_head *bh;		/* immutable; holds a reference */
	refcount_t	refs;		/* one a part, one a user; 0 under JH bit lock */
	spinlock_t	lock;		/* guards what follows */
	struct list_head parts;		/* zj_part.jh_link, oldest first */
	struct zj_part	*newest;	/* last of parts; read under RCU */
	struct jbd2_buffer_trigger_type *triggers; /* or NULL */
	u8		conflicts;	/* a bit for each of the last commits: it was
					 * wanted while its image was not logged yet
					 */
	bool		first_used;	/* @first is in parts */
	struct zj_part	first;		/* the usual buffer has one part at a time */
	struct rcu_head	rcu;		/* lockless readers of b_private */
};

/* A bit of journal_head.conflicts: in the commit under way. */
#define ZJ_CONFLICT_NOW		1U

#endif /* ZJ_JHEAD_TYPES_H */
