/* SPDX-License-Identifier: GPL-2.0-only */
/* Ordered data. */
#ifndef ZJ_ORDERED_TYPES_H
#define ZJ_ORDERED_TYPES_H

#include <linux/list.h>
#include <zjournal/jbd2.h>

struct zj_txn;

/**
 * struct zj_inode_entry - what one transaction has of an inode's data
 */
struct zj_inode_entry {
	struct jbd2_inode proxy;	/* for callbacks; range under jinode lock */
	struct jbd2_inode *jinode;	/* immutable */
	struct zj_txn	*txn;		/* immutable */
	struct list_head inode_link;	/* jinode->i_lock */
	struct list_head txn_link;	/* txn->list_lock */
	bool		write;		/* jinode->i_lock; submit the range at commit */
	bool		busy;		/* txn->list_lock; a commit thread is at it */
};

#endif /* ZJ_ORDERED_TYPES_H */
