/* SPDX-License-Identifier: GPL-2.0-only */
/* What a transaction owns of a block, and the journal's view of its buffer. */
#ifndef ZJ_PART_TYPES_H
#define ZJ_PART_TYPES_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <zjournal/jbd2.h>

struct journal_head;
struct zj_txn;
struct zj_dep;

enum zj_part_bits {
	ZJ_PART_MODIFIED,	/* has an image to log */
	ZJ_PART_LIVE,		/* the log is being written from the buffer itself */
	ZJ_PART_LOGGED,		/* the image is in the log, the frozen copy is freed */
	ZJ_PART_FORGET,		/* no image; supersedes older parts once committed */
	ZJ_PART_HOMEWARD,	/* committed and handed to write-back: home as soon as the
				 * buffer has been written without an error
				 */
	ZJ_PART_NEEDS_DIRTY,	/* not home, and a newer part has cleared the buffer's
				 * dirty bit: set it again if that part is dropped
				 */
	ZJ_PART_FILE_BLOCK,	/* the image is file data of data=ordered: only the checkpoint
				 * writes it home (zj_part_make_dirty())
				 */
	ZJ_PART_ELSEWHERE,	/* the buffer gets a new mapping, so this image must not be
				 * written home from it
				 */
	ZJ_PART_WAS_DIRTY,	/* the buffer was dirty when the part was filed, with
				 * contents that no part accounts for
				 */
	ZJ_PART_LINES,		/* the log has only lines of the block: recovery needs the
				 * older image that they are put over
				 */
	ZJ_PART_CROWDED,	/* the buffer has the greatest allowed number of images
				 * on their way: the transaction cannot be sealed
				 */
	ZJ_PART_DECLARED,	/* zj_logs_lines(); @lines names all that has changed since the
				 * contents that recovery can restore
				 */
};

/**
 * struct zj_part - what one transaction owns of one block
 *
 * A handle that touches a buffer takes a part for its transaction: the one that is
 * embedded in the journal head; if that is in use, one that the head has kept, or one
 * that was allocated beforehand. zj_part_file() adds it at the end of jh->parts and
 * txn->parts. While it has no image it may move to another member of the same component,
 * which then pays for the image. zj_journal_dirty_metadata() gives it one
 * (ZJ_PART_MODIFIED).
 *
 * After the seal the lane's thread drops parts that have no image and are not forgotten
 * blocks. The others are logged, from a frozen copy or from the buffer itself. When the
 * component is committed, older parts of the buffer are dropped as far as J2 allows, and
 * the buffer becomes dirty for write-back, unless a newer part owns it. A part of a
 * forgotten block is dropped then. The others stay until write-back is over, and
 * zj_part_retire() drops all parts of the buffer. The head keeps one dropped part for
 * its next owner. Others are freed after an RCU grace period, for the lockless test in
 * access.c: a part never changes its head.
 */
struct zj_part {
	struct journal_head *jh;	/* immutable; holds a reference */
	struct zj_txn	*txn;		/* jh->lock; the transaction that owns it */
	struct list_head jh_link;	/* jh->lock; in jh->parts, oldest first */
	struct list_head txn_link;	/* txn->list_lock; in txn->parts or txn->late */
	unsigned long	flags;		/* jh->lock to change; zj_part_bits */
	void		*frozen_data;	/* jh->lock; frozen copy that is logged, or NULL */
	void		*image;		/* lane's thread; what goes to the log: the frozen
					 * copy or the buffer itself
					 */
	void		*base;		/* jh->lock; zj_logs_lines(): contents before the first
					 * change, which recovery can restore; or NULL
					 */
	u64		lines;		/* jh->lock to change; lines that ext4 has declared
					 * to have changed, if ZJ_PART_DECLARED is set
					 */
	struct rcu_head	rcu;		/* for lockless readers of jh->newest */
};

/**
 * struct zj_spare - memory that a touch may need, as it cannot be allocated under jh->lock
 *
 * It is on the stack of the task that touches a buffer, and no other task uses it.
 * zj_spare_fill() allocates what is missing while no lock is held. An attempt that uses
 * some of the memory sets its pointer to NULL, and zj_spare_free() frees the rest.
 */
struct zj_spare {
	struct zj_part	*part;		/* for a new owner of the buffer (R1, R3) */
	void		*frozen_data;	/* for a copy of a sealed owner's image (R3) */
	void		*base;		/* for the contents before the first change */
	struct zj_dep	*dep;		/* for a dependency on a sealed owner (R3) */
	bool		kept;		/* the head is expected to have a part that it kept */
	bool		declared;	/* the caller will declare each range it changes */
	bool		no_lines;	/* the caller gives the block new contents, or none */
};

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
					 * logged; else the number of commits that will still
					 * copy it ahead
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

#endif /* ZJ_PART_TYPES_H */
