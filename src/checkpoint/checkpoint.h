/* SPDX-License-Identifier: GPL-2.0-only */
/* Home writes of committed images, and the tail. */
#ifndef ZJ_CHECKPOINT_H
#define ZJ_CHECKPOINT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <zjournal/jbd2.h>
#include "core/core.h"

/*
 * Buffers that one thread sends home together, sorted by block. A slice of a
 * pass is as long.
 */
#define ZJ_BATCH_SIZE		128
/*
 * Buffers that a pass finds at most; limits its array to 128 KiB of pointers.
 */
#define ZJ_MAX_PASS		16384
/*
 * Neighbours that go home with a block, on either side of it. A disk's head takes 17 blocks home in
 * hardly more time than one; with 64 on either side no fewer requests were counted (decision 63).
 */
#define ZJ_NEIGHBOURS		8

/**
 * struct zj_pass - one round of a checkpoint
 *
 * It is on the stack of the thread that runs the checkpoint, which holds
 * ckpt_lock all the time. zj_pass_begin() walks over finished components,
 * oldest first, and collects buffers. If handle starts wait for space, the pass
 * is known as zj_journal.walked meanwhile, and lanes' threads take members to
 * walk over. When all have been walked over, it sorts the buffers by block and
 * makes the pass known as zj_journal.pass. From then on the checkpoint's thread, and lanes'
 * threads that help, take slices of it and write them home. zj_pass_end() waits
 * for the last slice and makes it unknown again; no thread uses the pass after
 * that.
 *
 * Protected by ckpt_lock where nothing else is said.
 */
struct zj_pass {
	struct zj_journal *zj;		/* immutable */
	struct buffer_head **bh;	/* buffers found, with a reference each; immutable once
					 * sorted
					 */
	u32		nr;		/* pool_lock to change; their number, immutable once
					 * sorted
					 */
	struct zj_component *comp;	/* pool_lock; the component of @member */
	struct zj_component *last;	/* immutable; the last one that is walked over */
	struct zj_txn	*member;	/* pool_lock; to be walked over next, NULL: all are taken */
	u64		old_stamp;	/* immutable; what was logged later goes home on its own */
	atomic_t	walks;		/* walks that have not ended yet, plus one for the
					 * checkpoint's thread
					 */
	struct completion all_walked;	/* completed when the last walk has ended */
	u32		taken;		/* pool_lock; how many of them threads have taken */
	bool		close;		/* request the commit of newer owners, so that the
					 * checkpoint stamp can advance
					 */
	atomic_t	flying;		/* slices that are not home yet, plus one for the
					 * checkpoint's thread
					 */
	bool		failed;		/* any thread may set it; a block could not be
					 * written home
					 */
	struct completion done;		/* completed when the last slice is home */
};

/* home.c */
int zj_checkpoint_init(struct zj_journal *zj);
void zj_checkpoint_exit(struct zj_journal *zj);
bool zj_checkpoint_offers(const struct zj_lane *lane);
void zj_checkpoint_charge(struct zj_lane *lane, u32 blocks);
void zj_checkpoint_help(struct zj_lane *lane);
struct zj_component *zj_comp_next_finished(struct zj_journal *zj,
					   struct zj_component *prev);
bool zj_comp_blocked(struct zj_journal *zj, const struct zj_component *comp);
void zj_pass_begin(struct zj_pass *pass, struct zj_journal *zj, bool all);
void zj_pass_end(struct zj_pass *pass);

/* tail.c */
int zj_checkpoint_thread(void *arg);
int zj_checkpoint(struct zj_journal *zj, bool all);
void zj_checkpoint_up_to(struct zj_journal *zj, u64 stamp);

#endif /* ZJ_CHECKPOINT_H */
