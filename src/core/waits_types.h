/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of who waits for what, for users who look inside. */
#ifndef ZJ_WAITS_TYPES_H
#define ZJ_WAITS_TYPES_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <zjournal/jbd2.h>
#include "txn/component_types.h"

struct zj_lane;

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

/* So many of the longest waits of a lane are kept for each reason. */
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

#endif /* ZJ_WAITS_TYPES_H */
