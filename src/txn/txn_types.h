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
 */
struct zj_txn {
	struct transaction_s public;	/* what ext4 sees; first member */
	struct zj_lane	*lane;		/* immutable */
	struct zj_component *comp;	/* comp_lock to change; RCU to read */
	struct list_head comp_link;	/* comp_lock; in comp->members */
	struct list_head lane_link;	/* lane->lock; in lane->to_issue, lane->flight;
					 * then the flush thread's, in zj_run.txns
					 */
	refcount_t	refs;		/* component, waiters */
	struct zj_dep	prev_dep;	/* comp_lock; on the lane's previous (R7) */
	u64		last_dep;	/* a hint, racy: stamp depended on last */
	int		updates;	/* lane->lock; open handles */
	int		credits;	/* lane->lock; images promised or used */
	u32		granted;	/* lane->lock while it runs; credits out of
					 * zj->budget: with more it must grow or be closed
					 */
	int		used;		/* lane->lock; images of handles that are closed,
					 * if zj_log_ops.full asks for them
					 */
	bool		locked;		/* lane->lock and comp_lock to set */
	bool		sealing;	/* lane->lock; within try_seal only */
	bool		full;		/* lane->lock; closed as the log has it full */
	unsigned long	expires;	/* jiffies; comp_lock to change */
	unsigned int	handles;	/* lane->lock; handles started, statistics */
	atomic_t	crowded;	/* jh->lock of each to change; parts that are */

	spinlock_t	list_lock;	/* guards the lists below */
	struct list_head parts;		/* zj_part.txn_link; from parts_fixed on until its
					 * component is committed only the thread that
					 * writes it changes the list, and walks it
					 * without the lock
					 */
	struct list_head late;		/* zj_part.txn_link; parts without an image that
					 * came meanwhile; joins parts when committed
					 */
	struct list_head revokes;	/* zj_revoke.txn_link */
	struct list_head inodes;	/* zj_inode_entry.txn_link */
	int		nr_revokes;	/* list_lock to change */
	bool		jdata;		/* list_lock; has file-mapped parts */
	bool		parts_fixed;	/* list_lock; sealed, its thread is at the parts */
	bool		forgets_done;	/* list_lock; phase one has passed */

	u32		nr_chunks;	/* flush thread; of this member's record */
	bool		flushing;	/* flush thread; the flush for its data has begun */
	bool		log_cached;	/* lane's thread; log=jbd2: log blocks written
					 * without FUA
					 */
	bool		cached;		/* flush thread; record written without FUA */
	u32		run;		/* lane->lock; number of the run it is in */
	void		*out;		/* who writes it; the format's, until it is written */
	u32		run_at;		/* lane->lock, log=jbd2; first block of its run */
	u32		record_at;	/* lane->lock, log=jbd2; the run's commit block, if
					 * it is the last one of it, or 0
					 */
	ktime_t		sealed_at;	/* comp_lock to change, constant once sealed */
	ktime_t		issued_at;	/* lane's thread; when it joined its run */
	ktime_t		recorded_at;	/* flush thread; when its record was written. Who sees
					 * @committed may read these
					 */
	bool		committed;	/* release store; waiters may go on */
	struct rcu_head	rcu;		/* tid lookups */
};

#define to_txn(t)	container_of(t, struct zj_txn, public)

#endif /* ZJ_TXN_TYPES_H */
