/* SPDX-License-Identifier: GPL-2.0-only */
/* A lane: one of several journals of a file system. */
#ifndef ZJ_LANE_TYPES_H
#define ZJ_LANE_TYPES_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <zjournal/jbd2.h>
#include "txn/txn_types.h"

struct zj_lane;
struct zj_component;
struct zj_journal;
struct zj_plan;
struct zj_run;
struct zj_seg;
struct zj_txn;

/* ---- who waits for what, for users who look inside ---- */

/**
 * enum zj_wait_reason - reasons why a task waits
 *
 * zj_wait_names[] has the names that users see; docs/operations.md explains
 * them.
 */
enum zj_wait_reason {
	ZJ_WAIT_SPACE,		/* a handle start: until there is log space */
	ZJ_WAIT_LOCKED,		/* a handle start: until the lane's locked transaction is sealed */
	ZJ_WAIT_RESERVED,	/* a handle start: until reserved handles of the lane have been
				 * used
				 */
	ZJ_WAIT_BARRIER,	/* a handle start: until the barrier ends */
	ZJ_WAIT_DRAIN,		/* a barrier: until the last barrier has ended, those handles
				 * have started that it has held up, and open ones have stopped
				 */
	ZJ_WAIT_IMAGE,		/* write access: until a block's image has been written
				 * to the log
				 */
	ZJ_WAIT_TURN,		/* an fsync: until the lane's thread has time */
	ZJ_WAIT_COMMITTED,	/* an fsync or a synchronous handle: until its transaction is
				 * committed
				 */
	ZJ_WAIT_SUBMIT,		/* a lane's thread: while it submits ordered file data */
	ZJ_WAIT_MEMBERS,	/* a lane's thread: until other members have submitted theirs */
	ZJ_WAIT_DATA,		/* a flush thread: until ordered file data is in the device */
	ZJ_WAIT_LOG,		/* a flush thread: until log blocks are in the device */
	ZJ_WAIT_FLUSH,		/* any thread: until a flush of the device's cache has ended */
	ZJ_WAIT_RECORD,		/* a flush thread: until commit records are written */
	ZJ_WAIT_FILES,		/* a commit: until buffers of files that became committed earlier
				 * are dirty
				 */
	ZJ_WAIT_HOME,		/* a checkpoint: until home writes have completed */
	ZJ_WAIT_CKPT,		/* a checkpoint: until the log's tail has been written durably */
	ZJ_WAIT_PROGRESS,	/* a checkpoint: until components have been committed or finished */
	ZJ_NR_WAITS
};

/**
 * struct zj_wait - one wait
 *
 * It is on the stack of the task that waits. zj_wait_begin() files it in its
 * lane, and zj_wait_end() takes it out and copies it if it was one of the
 * longest. Except for @link it is constant while it is filed.
 */
struct zj_wait {
	struct list_head link;		/* lane->waits.lock; in lane->waits.now */
	struct zj_lane	*lane;		/* immutable; the lane in which it is filed */
	enum zj_wait_reason why;
	enum zj_txn_stage stage;	/* of that transaction when the wait began */
	tid_t		tid;		/* transaction that the wait is about; 0: none */
	u32		tid_lane;	/* index of that transaction's lane */
	pid_t		pid;		/* of the waiting task */
	char		comm[TASK_COMM_LEN]; /* name of the waiting task */
	ktime_t		since;
};

/**
 * struct zj_past_wait - a wait that has ended
 */
struct zj_past_wait {
	struct zj_wait	wait;		/* waits.lock; its link is not used */
	s64		took;		/* waits.lock; in ns; 0: this entry is unused */
};

/* Number of the longest waits of a lane that are kept for each reason. */
#define ZJ_KEPT_WAITS		2

/**
 * enum zj_fsync_phase - phases of an fsync, in their order
 */
enum zj_fsync_phase {
	ZJ_FSYNC_TURN,		/* until the lane's thread has time for it */
	ZJ_FSYNC_DRAIN,		/* until open handles have stopped, and the transaction is sealed */
	ZJ_FSYNC_ISSUE,		/* until file data has been sent, and log blocks if the format
				 * allows it
				 */
	ZJ_FSYNC_RECORD,	/* until the commit record is written */
	ZJ_FSYNC_COMMITTED,	/* until other members and predecessors are durable */
	ZJ_NR_FSYNC_PHASES
};

/**
 * struct zj_past_fsync - an fsync that has ended successfully
 */
struct zj_past_fsync {
	tid_t		tid;		/* waits.lock for all; transaction that it has waited for */
	pid_t		pid;		/* of the task */
	char		comm[TASK_COMM_LEN]; /* name of the task */
	s64		took;		/* in ns; 0: this entry is unused */
	s64		phase[ZJ_NR_FSYNC_PHASES]; /* time in each phase, in ns */
};

/**
 * struct zj_waits - tasks that wait in a lane, and the longest waits there were
 *
 * A handle that does not wait writes nothing here.
 */
struct zj_waits {
	spinlock_t	lock;		/* protects the fields below; innermost */
	struct list_head now;		/* zj_wait.link, the oldest first */
	struct zj_past_wait longest[ZJ_NR_WAITS][ZJ_KEPT_WAITS];
	u64		fsyncs;		/* number of fsyncs summed up in @phase_ns */
	s64		phase_ns[ZJ_NR_FSYNC_PHASES]; /* time of these in each phase, in ns */
	struct zj_past_fsync slowest[ZJ_KEPT_WAITS];
};

/* ---- the lane ---- */

/*
 * Number of buckets for fsyncs by latency: below 64 us, 128 us ... 1 s, and the
 * rest.
 */
#define ZJ_NR_LATENCIES		16

/**
 * struct zj_lane_stats - counters of a lane
 *
 * They are approximate: tasks of one lane may count at once without a lock.
 */
struct zj_lane_stats {
	u64	txns;		/* transactions committed */
	u64	handles;	/* handles in them */
	u64	blocks;		/* images logged */
	u64	nvm_bytes;	/* NVM: bytes stored for records and TxnInfos */
	u64	nvm_full;	/* NVM: transactions closed for a full TxnInfo (txninfo_max) */
	u64	headers;	/* header blocks logged */
	u64	flushes;	/* cache flushes issued */
	u64	flush_calls;	/* calls for a cache flush; several may share one flush */
	u64	copies;		/* frozen copies made by accessors */
	u64	ahead;		/* frozen copies made by the lane's thread */
	u64	wait_log;	/* accesses that waited for log I/O */
	u64	file_blocks;	/* blocks of file data that handles have logged */
	u64	file_merged;	/* of these, with an older image that was not home yet */
	u64	file_syncs;	/* fsyncs that have logged all their data */
	u64	united[ZJ_NR_KINDS];	/* unions that handles of this lane asked for, by cause */
	u64	depends[ZJ_NR_KINDS];	/* dependencies on other lanes' transactions, by cause */
	u64	wait_locked;	/* handle starts that waited until a locked transaction
				 * was sealed
				 */
	u64	wait_space;	/* handle starts that waited for log space */
	u64	wait_reserved;	/* handle starts that waited for reserved handles */
	u64	commit_us;	/* time from the seal to the commit, in microseconds, summed */
	u64	conflicts;	/* accesses that made a commit or themselves wait */
	u64	deferred;	/* commits that were deferred because of such conflicts */
	u64	locked_us;	/* time from lock to seal, in microseconds, summed */
	u64	runs;		/* runs whose records were written */
	u64	depth;		/* transactions in flight, counted whenever one is issued, summed */
	u64	max_depth;	/* the most transactions in flight */
	u64	max_copies;	/* the most frozen copies at a time */
	u64	fsyncs;		/* waits of fsyncs for a transaction */
	u64	fsync_us;	/* time of these, in microseconds, summed */
	u64	fsync[ZJ_NR_LATENCIES];	/* number of these, by latency */
};

/**
 * struct zj_write_time - running means of what writes of log blocks took
 */
struct zj_write_time {
	s64	ns;		/* from sending them to the end of the last one; 0: none so far */
	u32	bytes;		/* mean size of these writes */
};

/**
 * struct zj_lane - one of several journals of a file system
 *
 * All lanes are allocated as one array by zj_lanes_start(), in
 * zj_journal_load(), with a thread each, and a flush thread as well if the lane
 * is pipelined. A lane has at most one running or locked transaction. At the
 * seal point this moves to @to_issue; the lane's thread takes it from there,
 * and with zj_run_join() it comes to @flight. The flush thread (or the lane's,
 * if there is no other) takes whole runs from @flight, writes their records and
 * makes them durable. Segments come to @in_hand from the journal's pool, become
 * @cur when the lane's thread needs one, and go to @full when they are
 * filled. zj_lanes_stop() stops the threads, and zj_lanes_free() frees all
 * lanes.
 *
 * In the comments below "lane's thread" and "flush thread" mean that only this
 * thread uses the field, or the task that commits in the lane (@committing).
 */
struct zj_lane {
	struct zj_journal *journal;	/* immutable */
	int		index;		/* immutable */
	spinlock_t	lock;		/* protects the fields below where nothing else is said */
	struct zj_txn	*running;	/* running or locked transaction, or NULL */
	struct list_head to_issue;	/* zj_txn.lane_link; sealed, the lane's thread has not
					 * taken them yet
					 */
	int		unwritten;	/* length of @to_issue, plus the transaction that is being
					 * committed
					 */
	bool		committing;	/* the lane's thread commits a transaction, or a task that
					 * syncs does; nobody else takes one meanwhile
					 */
	struct list_head flight;	/* zj_txn.lane_link; joined a run that the flush thread has
					 * not taken; in seal order
					 */
	u32		run;		/* number of the open run */
	u32		run_len;	/* transactions in the open run; all of them are
					 * in @flight
					 */
	u32		depth;		/* transactions that joined a run and have no record in the
					 * log yet
					 */
	atomic_t	copies;		/* no lock; frozen copies of images of its transactions */
	u32		conflicts;	/* racy hint; ZJ_CONFLICT_NOW if a handle has wanted a
					 * buffer before its image was logged; else the number
					 * of copies that will still be made ahead, in addition
					 * to those that the buffers' own history asks for
					 */
	u32		ckpt_debt;	/* racy hint; blocks that the lane's thread has to write
					 * home in return for what was logged
					 */
	unsigned long	logged_at;	/* racy hint; in jiffies: when the lane logged last */
	int		nr_sealed;	/* comp_lock; transactions that are sealed and not
					 * committed
					 */
	u32		sealed_credits;	/* comp_lock; credits of the transactions in @nr_sealed */
	struct zj_component *last_sealed; /* comp_lock; newest sealed one, NULL once reclaimed */

	struct zj_seg	*cur;		/* segment that is being filled, or NULL */
	u32		cur_off;	/* blocks used in @cur */
	struct list_head in_hand;	/* zj_seg.link; empty segments */
	u32		nr_in_hand;	/* length of @in_hand */
	struct list_head full;		/* pool_lock; zj_seg.link; filled segments until they are
					 * reclaimed, oldest first
					 */
	u32		promised;	/* log blocks promised to sealed transactions and to
					 * reserved handles
					 */
	int		rsv_credits;	/* credits of reserved handles that have not started */
	struct list_head rsv_queue;	/* zj_start_place.reserve; handle starts that wait until
					 * @rsv_credits gets smaller, first come first
					 */
	struct list_head start_queue;	/* zj_start_place.link; handle starts that no other start of
					 * the lane may pass, first come first
					 */
	u32		opened;		/* how often a locked transaction has been sealed, or opened
					 * again; read racily
					 */
	int		starts_waiting;	/* handle starts that wait for space; credits that a handle
					 * gives back may suffice for them
					 */
	int		limit;		/* number of credits with which the running transaction is
					 * known to fit; 0: unknown
					 */

	wait_queue_head_t wait_space;	/* handle starts sleep here until the lane or the pool has
					 * log space for them
					 */
	wait_queue_head_t wait_start;	/* woken when the lane's running transaction changes */
	wait_queue_head_t wait_work;	/* the lane's thread sleeps here */
	wait_queue_head_t wait_idle;	/* woken when the lane's thread has dealt with a
					 * transaction
					 */
	wait_queue_head_t wait_flush;	/* the flush thread sleeps here */
	u64		flush_expected_since;	/* racy hint, in ns: when a thread announced that
						 * it will soon ask for a flush, or 0
						 */
	u64		flush_need;	/* racy hint; number of the flush that will serve the
					 * lane's last call, or has served it
					 */
	u64		turnaround_ns[2];	/* racy hints; time from the end of a flush to the
						 * lane's next call, as it was last: [1] if
						 * records were written between the two
						 */
	bool		missed_one;	/* racy hint; a flush had begun when the lane called last,
					 * so it waits for the one after that
					 */
	bool		records_follow;	/* racy hint; the lane writes records after the flush that
					 * it called for last
					 */
	bool		records_next;	/* flush thread, read racily; the lane will write records
					 * after the flush that it calls for next
					 */
	struct timer_list timer;	/* lock or comp_lock to set; wakes the lane's thread when a
					 * transaction expires (N8)
					 */
	struct task_struct *task;	/* immutable once loaded, until the thread is stopped; the
					 * lane's thread
					 */
	struct task_struct *flusher;	/* like @task; the flush thread, NULL if the lane is not
					 * pipelined
					 */
	s64		record_ns[2];	/* flush thread, read racily; running means in ns of the
					 * time to write records: [0] into the cache, [1] with FUA
					 */
	struct zj_write_time write_time[2]; /* racy hints; of log writes: small ones, others */
	int		lone_runs_left;	/* flush thread, read racily; number of runs that still
					 * have to come alone until no follower is expected
					 */
	struct zj_run	*next;		/* flush thread; the run to be flushed next, or NULL */
	struct zj_run	*recorded;	/* flush thread; run whose records are in the device's
					 * cache and wait for a flush, or NULL
					 */
	u64		hints[ZJ_LANE_HINTS]; /* racy; the file system's, for its allocator */

	void		*spare[2];	/* memory for the next copy of an image, or NULL: [0] lane's
					 * thread; [1] the thread that writes its records
					 */
	struct zj_plan	*plan;		/* the thread that writes its records, log=zj; memory for the
					 * next chunk, or NULL
					 */
	void		*info;		/* lane's thread, NVM; memory where it builds a TxnInfo */
	u32		nvm_end;	/* lane's thread, NVM; number of the line behind its newest
					 * chunk
					 */
	u64		nvm_stamp;	/* lane's thread, NVM; stamp of that chunk; 0: there is
					 * none
					 */
	u64		nvm_shown;	/* lock, NVM; stamp of the record that the lane's tail word
					 * names; 0: none
					 */
	struct zj_lane_stats stats;	/* no lock; see there */
	struct zj_comp_stats comp_stats; /* comp_lock; components whose first member is here */
	struct zj_waits	waits;		/* has a lock of its own */
} ____cacheline_aligned_in_smp;

/* ---- containers or directories that have lanes of their own ---- */

/**
 * struct zj_tenant - a tenant and the lane that it was given
 *
 * The table is allocated when the journal is loaded. A place is taken by the first
 * handle of a new tenant, and lost when the tenant has been idle for long and another one
 * needs the place. Readers take no lock: a wrong value costs only locality.
 */
struct zj_tenant {
	u32		tag;	/* tenant_lock to change; hash of its number, 0: free place */
	u32		lane;	/* tenant_lock to change; below nr_lanes */
	unsigned long	used;	/* racy; jiffies of a recent handle, up to a minute behind */
};

#endif /* ZJ_LANE_TYPES_H */
