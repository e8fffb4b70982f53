/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transactions, the components that are sealed and committed together, and what
 * transactions keep of blocks and inodes.
 */
#ifndef ZJ_TXN_TYPES_H
#define ZJ_TXN_TYPES_H

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <zjournal/jbd2.h>

struct zj_journal;
struct zj_lane;
struct zj_txn;

/* ---- components ---- */

/* Limit of components of a lane that are sealed and not yet committed (N7). */
#define ZJ_MAX_SEALED		4
/* The limit in a pipelined lane, while their credits fit its share of the log. */
#define ZJ_MAX_FLIGHT		32
/* Jiffies for which a commit is deferred at most, while handles go on: no fsync waits for ever. */
#define ZJ_MAX_DEFER		max(HZ / 100, 1)
/* Classes of the statistics: components of 1, 2-3, 4-7 ... ZJ_MAX_LANES members. */
#define ZJ_NR_SIZES		9

/**
 * struct zj_dep - one component depends on another
 *
 * A component has at most one for each lane, because the newest one implies the
 * older ones (R7).
 *
 * A handle allocates a dependency before it takes a lock, and zj_depend() files it in
 * comp->deps and on->dependants. The one on a lane's previous component is
 * embedded in the zj_txn and is filed at the seal point. When @on is committed, the
 * dependency leaves on->dependants but stays in comp->deps, since the record names
 * its stamp (C5). Until the dependent component is sealed, its dependency may be
 * pointed at a newer component of the same lane. When components are united, the
 * dependencies move, and those that became superfluous are freed. The others are
 * freed by zj_component_free().
 */
struct zj_dep {
	struct zj_component *comp;	/* comp_lock; the dependent component */
	struct zj_component *on;	/* comp_lock; NULL once that is committed */
	u64		stamp;		/* comp_lock; of @on, kept when @on is NULL */
	u32		lane;		/* comp_lock; lane of the member that was met */
	bool		embedded;	/* immutable; is zj_txn.prev_dep, not freed by itself */
	struct list_head comp_link;	/* comp_lock; in comp->deps */
	struct list_head on_link;	/* comp_lock; in on->dependants */
};

/**
 * enum zj_txn_stage - where a transaction stands, or a component
 *
 * A stage only grows, except that a locked component whose commit is deferred runs again
 * (unlock_component()). A component has the stages that all members reach at one moment:
 * RUNNING, LOCKED, SEALED and COMMITTED. Each member goes through the others by itself, one
 * after the other, with zj_txn_advance(). An abort drops what is not finished, in any stage.
 *
 * A transaction's stage has one writer at a time, as each takes it over from the one before:
 *
 *   LOCKED, SEALED        who holds comp_lock and lane->lock
 *   COPYING, ISSUED       who took it off lane->to_issue under lane->lock, while
 *                         lane->committing is set: lane's thread, or a task that syncs
 *   FLUSHING, RECORDED    who took its run off lane->flight under lane->lock: the flush thread,
 *                         or in a lane without one still who has issued it
 *   COMMITTED, FINISHED   who has made the component committed, under comp_lock, after all
 *                         members' threads have counted down zj_component.unlogged
 *
 * COPYING and COMMITTED are reached under list_lock, and ISSUED under lane->lock: who holds that
 * lock knows on which side of the step a transaction is, and keeps it there.
 */
enum zj_txn_stage {
	ZJ_RUNNING,	/* takes new handles */
	ZJ_LOCKED,	/* takes no new handles; waits for those that are open */
	ZJ_SEALED,	/* stamp, members and dependencies are fixed */
	ZJ_COPYING,	/* its parts are fixed, new ones are late; images are copied and sent */
	ZJ_ISSUED,	/* it is in a run */
	ZJ_FLUSHING,	/* its data is in the device; the flush for it has begun */
	ZJ_RECORDED,	/* its record is written, but may be in the device's cache */
	ZJ_COMMITTED,	/* recovery is certain to replay it; it takes no late parts any more */
	ZJ_FINISHED,	/* its buffers are dirty for write-back, ext4's callbacks have run */
	ZJ_NR_STAGES
};

/**
 * struct zj_component - transactions that are sealed and committed together
 *
 * A component is allocated together with a transaction, its first member. While it is
 * running or locked it is in no list, only its members point to it. zj_unite() moves
 * all members of one component to the other and frees the first.
 *
 * seal() gives it its stamp and files it in zj->ckpt_list and in zj->pending, both
 * in the order of stamps. @missing counts what has to arrive before it is committed: one
 * for each member that is not durable yet and for each dependency on something that is
 * not committed. The thread that brings the last one makes the component committed and
 * moves it from zj->pending to a list of its own. If journaled file data is about, it also
 * files it in zj->finishing. Then it finishes the component: the buffers become dirty for
 * write-back and ext4's callbacks run.
 *
 * The component stays in zj->ckpt_list until all its images are home and the tail has
 * advanced over it. Then zj_component_free() frees it, with an RCU grace period for
 * readers of zj_txn.comp. An aborted journal frees it in zj_drop_everything().
 */
struct zj_component {
	/*
	 * Commits of other lanes write these links and read the stamp. What comes with
	 * them in the first cache line does not change after the seal, so that a lane's
	 * commit does not wait for the rest.
	 */
	struct list_head ckpt_link;	/* comp_lock; zj_journal.ckpt_list */
	struct list_head ready_link;	/* comp_lock in zj_journal.pending while sealed; then
					 * in the list of the thread that made it committed
					 */
	u64		stamp;		/* comp_lock; 0 until the seal point, then constant */
	enum zj_txn_stage stage;	/* comp_lock to change; acquire to read; at most COMMITTED */
	struct zj_journal *journal;	/* immutable */
	int		nr_members;	/* comp_lock; length of members */
	int		undrained;	/* comp_lock; while locked: members without zj_txn.drained */
	u64		tried_at;	/* comp_lock; stamp of the newest committed component that
					 * had a member in one of its lanes
					 */
	int		missing;	/* comp_lock; dependencies that are not committed, and
					 * from the seal on members that are not durable
					 */
	atomic_t	unsubmitted;	/* no lock; members whose ordered data is not submitted
					 * yet; set by the seal
					 */
	atomic_t	unlogged;	/* no lock; members whose record is not written yet; set by
					 * the seal
					 */
	bool		deferred;	/* comp_lock; a commit of it has been deferred */
	bool		no_delay;	/* comp_lock; a member is full, so the commit is not
					 * deferred any more; it is sealed only when its
					 * lanes have room for it
					 */
	unsigned long	deferred_until;	/* comp_lock; jiffies at which deferring ends */
	bool		waits_files;	/* used by the thread that has made the component committed
					 * only; the component is in zj_journal.finishing
					 */
	bool		finished;	/* release store; finish_component() is over */
	bool		jdata;		/* comp_lock; has images of journaled file data whose
					 * buffers are not dirty for write-back yet
					 */
	struct list_head finish_link;	/* comp_lock; in zj_journal.finishing, if @waits_files */
	ktime_t		locked_at;	/* comp_lock; statistics */
	ktime_t		sealed_at;	/* immutable once sealed; statistics */
	struct list_head members;	/* comp_lock; zj_txn.comp_link */
	struct list_head deps;		/* comp_lock; zj_dep.comp_link */
	DECLARE_BITMAP(dep_lanes, ZJ_MAX_LANES); /* comp_lock; zj_dep.lane of deps */
	struct list_head dependants;	/* comp_lock; zj_dep.on_link */
	tid_t		blocker;	/* ckpt_lock, held by the thread of the pass for which
					 * it is set; transaction that is not committed and
					 * owns one of its blocks, so that this block
					 * cannot go home; 0: none known
					 */
	struct rcu_head	rcu;		/* for readers of zj_txn.comp */
};

/**
 * struct zj_sealed - lanes in which something was sealed
 * @lanes: by their index
 * @here: the caller commits in this lane what it seals, so its thread need not be woken; or NULL
 *
 * It lives on the stack of a thread that holds comp_lock. When that has released the
 * lock it calls zj_wake_sealed().
 */
struct zj_sealed {
	DECLARE_BITMAP(lanes, ZJ_MAX_LANES);
	const struct zj_lane *here;
};

/**
 * struct zj_comp_stats - statistics of components; comp_lock for all
 *
 * While nothing is being committed, arrivals = members + awaited and
 * awaited = resolved: each member and each dependency is counted exactly once.
 */
struct zj_comp_stats {
	u64	closed;		/* components sealed */
	u64	members;	/* transactions in them */
	u64	sizes[ZJ_NR_SIZES]; /* components by log2 of their members */
	u64	deps;		/* dependencies that their records name */
	u64	awaited;	/* dependencies to wait for, without the superseded ones */
	u64	resolved;	/* of these, those whose target became committed */
	u64	arrivals;	/* members that became durable, dependencies resolved */
	u32	max_members;	/* largest number of members of one component */
	u32	max_deps;	/* largest number of dependencies of one component */
};

/**
 * struct zj_cause - what ties two transactions, for statistics and traces
 *
 * It is passed by value, so it needs no lock. The caller holds a reference to @bh.
 */
struct zj_cause {
	struct buffer_head *bh;		/* immutable; the block that both touch, or NULL */
	enum zj_kind	kind;		/* immutable; the kind of tie if @bh is NULL */
};

/* ---- transactions ---- */

/**
 * struct zj_txn - one transaction of one lane
 *
 * A transaction is allocated by the first handle that finds none running in its
 * lane, together with a component that has it as its only member. zj_txn_publish()
 * makes it lane->running, where it takes handles, and lets its tid be found. The
 * seal takes it off lane->running and files it in lane->to_issue. The lane's thread
 * takes it from there, copies and issues its images, and files it in lane->flight.
 * The lane's flush thread, or the lane's thread itself if there is none, moves it
 * from there to zj_run.txns, where it stays until its record has been written. If
 * records of its component are only in the device's cache then, the member whose record
 * came last stays in zj_run.txns until a flush has made them durable. All these lists
 * use @lane_link.
 *
 * When the component is committed, finish_component() in committed.c hands the buffers to
 * write-back, runs ext4's callback, removes the tid and wakes all waiters. How far it has
 * come is its @stage.
 *
 * The first reference is the component's. zj_component_free() drops it once the
 * component is reclaimed, or when an aborted journal is dropped. Threads that wait for
 * the transaction hold references of their own, so the transaction may outlive its
 * component; @comp then points to a component that all reclaimed transactions share.
 * The last reference frees it after an RCU grace period, for lookups by tid.
 */
struct zj_txn {
	struct transaction_s public;	/* what ext4 sees; first member */
	struct zj_lane	*lane;		/* immutable */
	struct zj_component *comp;	/* comp_lock to change; RCU to read */
	struct list_head comp_link;	/* comp_lock; in comp->members */
	struct list_head lane_link;	/* lane->lock while in lane->to_issue or
					 * lane->flight; flush thread in zj_run.txns
					 */
	refcount_t	refs;		/* one of the component, one of each waiter */
	struct hlist_node tid_link;	/* zj_tid_chain.lock to change, RCU to read; in
					 * zj_journal.tids from zj_txn_publish() until it is finished
					 */
	struct zj_dep	prev_dep;	/* comp_lock; on the lane's previous component (R7) */
	u64		last_dep;	/* a racy hint; newest stamp that a handle has made
					 * it depend on, so that comp_lock is not taken again
					 */
	int		updates;	/* lane->lock; open handles */
	int		credits;	/* lane->lock; images promised or used */
	u32		granted;	/* lane->lock while it runs; credits that it has of
					 * zj->budget; beyond these it must grow or is closed
					 */
	int		used;		/* lane->lock; images of handles that have stopped,
					 * counted if zj_log_ops.counts_images is set
					 */
	enum zj_txn_stage stage;	/* see there who changes it; lane->lock to read while it is
					 * lane->running, else READ_ONCE() or acquire
					 */
	bool		drained;	/* comp_lock; while locked: it had no open handle when this
					 * was last looked at, so only reserved handles, which
					 * may still join, can be open now
					 */
	bool		sealing;	/* lane->lock; set only within try_seal(); not even a
					 * reserved handle may join
					 */
	bool		full;		/* lane->lock; zj_log_ops.full() has asked to close it */
	unsigned long	expires;	/* comp_lock to change; jiffies at which it is closed */
	unsigned int	handles;	/* lane->lock; handles started, for statistics */
	atomic_t	crowded;	/* jh->lock of each part to change; number of its
					 * parts that have ZJ_PART_CROWDED
					 */

	spinlock_t	list_lock;	/* guards the lists below */
	struct list_head parts;		/* zj_part.txn_link; from ZJ_COPYING to the
					 * commit only the thread that writes the
					 * transaction changes the list, so that thread
					 * walks it without the lock
					 */
	struct list_head late;		/* zj_part.txn_link; parts without an image that were
					 * added from ZJ_COPYING on; spliced to parts when
					 * the component is committed
					 */
	struct list_head revokes;	/* zj_block_entry.txn_link */
	struct list_head file_blocks;	/* zj_block_entry.txn_link */
	struct list_head inodes;	/* zj_inode_entry.txn_link */
	bool		sends_data;	/* set by open handles; the commit sends data of @inodes */
	bool		forgets;	/* thread that writes it, then finish_component(): it has
					 * parts of forgotten blocks
					 */
	int		nr_revokes;	/* list_lock to change; blocks in revokes */
	u32		nr_file_blocks;	/* list_lock; how many ever were in file_blocks */
	bool		jdata;		/* list_lock; has parts of journaled file data */

	u32		nr_chunks;	/* thread that writes its record; chunks in it */
	bool		log_cached;	/* lane's thread until it joins its run, constant then;
					 * log=jbd2: log blocks written without FUA
					 */
	bool		cached;		/* flush thread; record written without FUA */
	u32		run;		/* lane->lock; number of the run it is in */
	void		*out;		/* thread that writes it; private to the log format,
					 * NULL once the log blocks are written
					 */
	u32		record_at;	/* lane->lock, constant once committed; log=jbd2: commit
					 * block of its run if it is the last transaction of
					 * the run, else 0
					 */
	ktime_t		sealed_at;	/* comp_lock to change, constant once sealed */
	ktime_t		issued_at;	/* lane's thread; when it joined its run */
	ktime_t		recorded_at;	/* flush thread; when its record was written. Threads
					 * that have seen ZJ_FINISHED may read the three times
					 */
	struct rcu_head	rcu;		/* for zj_txn_find() */
};

#define to_txn(t)	container_of(t, struct zj_txn, public)

/* ---- an index of blocks by number: of revokes, and of file blocks ---- */

/*
 * An entry has a bit for each of 2^4 neighbouring blocks, because files are written and freed
 * as a whole: most of the memory and of the steps of a look-up would be spent on neighbours.
 */
#define ZJ_BLOCK_RUN		16

/**
 * struct zj_block_entry - what a transaction does with blocks of an aligned run
 *
 * It is allocated and filed in the index and in a list of the transaction with its first block,
 * and freed after an RCU grace period when the last one has left:
 *
 * - in zj_journal.revokes and txn->revokes: the blocks are revoked. zj_journal_revoke() adds one
 *   until a handle of the same component touches the block again, or else until the
 *   transaction is committed.
 * - in zj_journal.file_blocks and txn->file_blocks: the transaction may have images of the
 *   blocks, which are of file data. zj_journal_dirty_file_block() adds one until recovery
 *   would not replay the image any more: the tail has passed the transaction, or a
 *   transaction that revokes the block is committed.
 */
struct zj_block_entry {
	u64		first;		/* immutable; first block of the run */
	u32		blocks;		/* bucket lock to change; a bit for each block */
	struct zj_txn	*txn;		/* immutable */
	struct hlist_node hash;		/* bucket lock to change, RCU to read; in the index */
	union {
		struct list_head txn_link; /* txn->list_lock; in the transaction's list */
		struct rcu_head	rcu;	/* for readers of the chain, when it is in no list */
	};
};

/**
 * struct zj_block_bucket - one chain of an index
 */
struct zj_block_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

/**
 * struct zj_block_index - a hash table from blocks to their entries
 */
struct zj_block_index {
	struct zj_block_bucket *buckets; /* 1 << @bits of them; blocks of a run share one */
	unsigned int	bits;
};

/* ---- inodes whose ordered data a transaction waits for ---- */

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

#endif /* ZJ_TXN_TYPES_H */
