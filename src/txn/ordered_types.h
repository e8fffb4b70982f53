/* SPDX-License-Identifier: GPL-2.0-only */
/* The inodes whose ordered data a transaction waits for. */
#ifndef ZJ_ORDERED_TYPES_H
#define ZJ_ORDERED_TYPES_H

#include <linux/list.h>
#include <zjournal/jbd2.h>

struct zj_txn;

/**
 * struct zj_inode_entry - a range of an inode's data that a transaction orders
 *
 * The first handle of a transaction that orders data of the inode allocates the
 * entry. zj_ordered_drop() frees it when the data has been waited for, or
 * zj_journal_release_jinode() when the inode is evicted before.
 */
struct zj_inode_entry {
	struct jbd2_inode proxy;	/* what ext4's callbacks get; its range: jinode->i_lock */
	struct jbd2_inode *jinode;	/* immutable */
	struct zj_txn	*txn;		/* immutable */
	struct list_head inode_link;	/* jinode->i_lock; in jinode->i_entries, oldest first */
	struct list_head txn_link;	/* txn->list_lock; in txn->inodes */
	bool		write;		/* jinode->i_lock; the commit submits the range, too */
	bool		busy;		/* txn->list_lock; a commit uses it, so it must stay */
};

#endif /* ZJ_ORDERED_TYPES_H */
