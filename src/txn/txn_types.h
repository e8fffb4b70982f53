/* SPDX-License-Identifier: GPL-2.0-only */
/* One transaction of one lane. */
#ifndef ZJ_TXN_TYPES_H
#define ZJ_TXN_TYPES_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <zjournal/jbd2.h>
#include "txn/component_types.h"

struct zj_lane;

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
 * When the component is committed, finish() in committed.c hands the buffers to
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
					 * was looked at last, so only reserved ones may be open
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
	struct list_head revokes;	/* zj_revoke.txn_link */
	struct list_head file_blocks;	/* zj_file_block.txn_link */
	struct list_head inodes;	/* zj_inode_entry.txn_link */
	bool		sends_data;	/* set by open handles; the commit sends data of @inodes */
	int		nr_revokes;	/* list_lock to change; length of revokes */
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

#endif /* ZJ_TXN_TYPES_H */
