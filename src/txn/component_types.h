/* SPDX-License-Identifier: GPL-2.0-only */
/* Transactions that close and commit together. */
#ifndef ZJ_COMPONENT_TYPES_H
#define ZJ_COMPONENT_TYPES_H

#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <zjournal/jbd2.h>

struct zj_journal;

/* Components of a lane that are sealed and not yet committed (rule N7). */
#define ZJ_MAX_SEALED		4
/* The same in a pipelined lane, as long as they are small. */
#define ZJ_MAX_FLIGHT		32
/* Commits are put off so long at most, while handles go on. */
#define ZJ_MAX_DEFER		max(HZ / 100, 1)
/* Components of 1, 2-3, 4-7 ... ZJ_MAX_LANES members, for the statistics. */
#define ZJ_NR_SIZES		9

/**
 * struct zj_dep - one component depends on another
 *
 * At most one for each lane: R7 makes the newest imply the older ones.
 */
struct zj_dep {
	struct zj_component *comp;	/* comp_lock; the dependent one */
	struct zj_component *on;	/* comp_lock; NULL once that is committed */
	u64		stamp;		/* comp_lock; of @on, kept when resolved */
	u32		lane;		/* comp_lock; lane through which it came */
	bool		embedded;	/* immutable; part of a zj_txn */
	struct list_head comp_link;	/* comp_lock; in comp->deps */
	struct list_head on_link;	/* comp_lock; in on->dependants */
};

enum zj_comp_state {
	ZJ_C_RUNNING,	/* open to handles */
	ZJ_C_LOCKED,	/* no new handles, drains */
	ZJ_C_SEALED,	/* closed: stamp, members, dependencies are fixed */
	ZJ_C_COMMITTED,	/* recovery is certain to replay it */
};

/**
 * struct zj_component - transactions that close and commit together
 */
struct zj_component {
	struct zj_journal *journal;	/* immutable */
	enum zj_comp_state state;	/* comp_lock to change; acquire to read */
	u64		stamp;		/* set at the seal point */
	int		nr_members;	/* comp_lock */
	int		missing;	/* comp_lock; unresolved dependencies, and
					 * from the seal on members not durable
					 */
	int		unsubmitted;	/* comp_lock; members with data to submit */
	int		unlogged;	/* comp_lock; members with a record to write */
	bool		deferred;	/* comp_lock; a commit was put off */
	bool		no_delay;	/* comp_lock; a member is full: it is not put off, and
					 * is not sealed before its lanes have room for
					 * it
					 */
	unsigned long	deferred_until;	/* comp_lock; jiffies: not for longer */
	bool		finished;	/* comp_lock; both phases of commit done */
	bool		jdata;		/* comp_lock; has images of files whose buffers are
					 * not dirty yet
					 */
	struct list_head finish_link;	/* comp_lock; in zj_journal.finishing */
	ktime_t		locked_at;	/* comp_lock; statistics */
	ktime_t		sealed_at;	/* immutable once sealed; statistics */
	struct list_head members;	/* comp_lock; zj_txn.comp_link */
	struct list_head deps;		/* comp_lock; zj_dep.comp_link */
	DECLARE_BITMAP(dep_lanes, ZJ_MAX_LANES); /* comp_lock; zj_dep.lane of deps */
	struct list_head dependants;	/* comp_lock; zj_dep.on_link */
	struct list_head ckpt_link;	/* comp_lock; zj_journal.ckpt_list */
	struct list_head ready_link;	/* comp_lock; zj_journal.pending while sealed, then
					 * the thread's that made it committed
					 */
	tid_t		blocker;	/* ckpt_lock; covers one of its blocks anew, 0: none */
	struct rcu_head	rcu;		/* readers of zj_txn.comp */
};

/**
 * struct zj_comp_stats - what components are made of; comp_lock for all
 *
 * With nothing under way, arrivals = members + awaited and awaited = resolved:
 * that is all the work that commit takes.
 */
struct zj_comp_stats {
	u64	closed;		/* components sealed */
	u64	members;	/* transactions in them */
	u64	sizes[ZJ_NR_SIZES]; /* components by log2 of their members */
	u64	deps;		/* dependencies they have in the log */
	u64	awaited;	/* dependencies to wait for, the superseded not */
	u64	resolved;	/* of these, those that became committed */
	u64	arrivals;	/* members durable and dependencies resolved */
	u32	max_members;	/* of one component */
	u32	max_deps;	/* the same */
};

/**
 * struct zj_cause - where two transactions meet
 */
struct zj_cause {
	struct buffer_head *bh;		/* the block, or NULL */
	enum zj_kind	kind;		/* without a block */
};

#endif /* ZJ_COMPONENT_TYPES_H */
