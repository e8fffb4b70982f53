/* SPDX-License-Identifier: GPL-2.0-only */
/* One per-core journal. */
#ifndef ZJ_LANE_TYPES_H
#define ZJ_LANE_TYPES_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <zjournal/jbd2.h>
#include "core/waits_types.h"

struct zj_component;
struct zj_journal;
struct zj_run;
struct zj_seg;
struct zj_txn;

/* Fsyncs by latency: below 64 us, 128 us ... 1 s, and the rest. */
#define ZJ_NR_LATENCIES		16

/**
 * struct zj_lane_stats - counters; approximate, each written in its lane
 */
struct zj_lane_stats {
	u64	txns;		/* transactions committed */
	u64	handles;	/* handles in them */
	u64	blocks;		/* images logged */
	u64	nvm_bytes;	/* NVM: bytes stored for records and TxnInfos */
	u64	nvm_full;	/* NVM: transactions closed as their TxnInfo was full */
	u64	headers;	/* header blocks logged */
	u64	flushes;	/* cache flushes issued */
	u64	flush_calls;	/* cache flushes needed: some shared one */
	u64	copies;		/* frozen copies made by accessors */
	u64	ahead;		/* frozen copies made by the lane's thread */
	u64	wait_log;	/* accesses that waited for log I/O */
	u64	united[ZJ_NR_KINDS];	/* unions of its own asking, by cause */
	u64	depends[ZJ_NR_KINDS];	/* dependencies on other lanes, by cause */
	u64	wait_locked;	/* handle starts that waited for a drain */
	u64	wait_space;	/* handle starts that waited for log space */
	u64	wait_reserved;	/* handle starts that waited for reserved handles */
	u64	commit_us;	/* seal to commit, microseconds, summed */
	u64	conflicts;	/* accesses that made a commit or themselves wait */
	u64	deferred;	/* commits that were put off for those */
	u64	locked_us;	/* lock to seal, microseconds, summed */
	u64	runs;		/* transactions that shared their flushes, as one */
	u64	depth;		/* transactions on their way at each one's issue, summed */
	u64	max_depth;	/* the most */
	u64	max_copies;	/* frozen copies at a time, the most */
	u64	fsyncs;		/* waits for a transaction */
	u64	fsync_us;	/* microseconds of these, summed */
	u64	fsync[ZJ_NR_LATENCIES];	/* the same, by time */
};

/**
 * struct zj_lane - one per-core journal
 */
struct zj_lane {
	struct zj_journal *journal;	/* immutable */
	int		index;		/* immutable */
	spinlock_t	lock;		/* guards what follows */
	struct zj_txn	*running;	/* running or locked, or NULL */
	struct list_head to_issue;	/* zj_txn.lane_link, sealed, unwritten */
	int		unwritten;	/* to_issue, and what the thread works on now */
	struct list_head flight;	/* zj_txn.lane_link; on their way, in seal order */
	u32		run;		/* number of the run that is open */
	u32		run_len;	/* transactions in it, all of them in flight */
	u32		depth;		/* transactions on their way, not recorded yet */
	atomic_t	copies;		/* frozen copies of its transactions' images */
	u32		ckpt_debt;	/* thread; blocks to bring home for what it logged */
	unsigned long	logged_at;	/* thread; jiffies: when it logged last */
	int		nr_sealed;	/* comp_lock; sealed and not committed */
	u32		sealed_credits;	/* comp_lock; credits of these */
	struct zj_component *last_sealed; /* comp_lock; newest, NULL once reclaimed */

	struct zj_seg	*cur;		/* segment being filled, or NULL */
	u32		cur_off;	/* blocks used in cur */
	struct list_head in_hand;	/* zj_seg.link, empty segments */
	u32		nr_in_hand;	/* length of in_hand */
	u32		promised;	/* log blocks owed to sealed transactions and
					 * reservations
					 */
	int		rsv_credits;	/* of reserved handles not started */
	struct list_head rsv_queue;	/* starts that wait for less of these, in order */
	int		starts_waiting;	/* starts that wait for space: credits that a handle
					 * gives back may do for them
					 */
	int		limit;		/* credits up to which the running transaction
					 * is known to fit; 0 if unknown
					 */

	wait_queue_head_t wait_start;	/* the running transaction has changed */
	wait_queue_head_t wait_work;	/* the lane's thread sleeps here */
	wait_queue_head_t wait_idle;	/* it has written something */
	wait_queue_head_t wait_flush;	/* the flush thread sleeps here */
	u64		flush_expected_since;	/* ns; racy hint: when a call for a flush
						 * was last on its way, or 0
						 */
	struct timer_list timer;	/* wakes the thread at expiry (rule N8) */
	struct task_struct *task;	/* the lane's thread */
	struct task_struct *flusher;	/* its flush thread, if it is pipelined */
	s64		record_ns[2];	/* flush thread, read racily; ns for a record, a
					 * running mean: into the cache, with FUA
					 */
	int		lone_runs_left;	/* flush thread, read racily; it is not long ago
					 * that another run came behind one
					 */
	struct zj_run	*next;		/* flush thread; the run to be flushed next, or NULL */
	struct zj_run	*recorded;	/* flush thread; its records are in the device's
					 * cache, or NULL
					 */
	u64		hints[ZJ_LANE_HINTS]; /* the file system's, racy */

	void		*info;		/* thread, NVM; where it builds a TxnInfo */
	u32		nvm_end;	/* thread, NVM; line behind its newest chunk */
	u64		nvm_stamp;	/* thread, NVM; of that; 0: none */
	u64		nvm_shown;	/* lock, NVM; stamp that its tail in memory names; 0: none */
	struct zj_lane_stats stats;
	struct zj_waits	waits;		/* has a lock of its own */
} ____cacheline_aligned_in_smp;

#endif /* ZJ_LANE_TYPES_H */
