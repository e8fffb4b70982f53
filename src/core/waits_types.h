/* SPDX-License-Identifier: GPL-2.0-only */
/* Who waits for what. */
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
 * enum zj_wait_reason - what a task waits for
 *
 * zj_wait_names[] has the names that users see; docs/looking-inside.md explains them.
 */
enum zj_wait_reason {
	ZJ_WAIT_SPACE,		/* a handle start: log space */
	ZJ_WAIT_LOCKED,		/* a handle start: the lane's transaction is being closed */
	ZJ_WAIT_RESERVED,	/* a handle start: reserved handles of the lane to be used */
	ZJ_WAIT_BARRIER,	/* a handle start: the end of a barrier */
	ZJ_WAIT_DRAIN,		/* a barrier: open handles */
	ZJ_WAIT_IMAGE,		/* write access: a block that is on its way to the log */
	ZJ_WAIT_TURN,		/* an fsync: the lane's thread is busy */
	ZJ_WAIT_COMMITTED,	/* an fsync or a synchronous handle: its transaction */
	ZJ_WAIT_SUBMIT,		/* a lane's thread: it sends ordered file data out */
	ZJ_WAIT_MEMBERS,	/* a lane's thread: other members do the same */
	ZJ_WAIT_DATA,		/* a flush thread: ordered file data */
	ZJ_WAIT_LOG,		/* a flush thread: log blocks */
	ZJ_WAIT_FLUSH,		/* a flush of the device's cache */
	ZJ_WAIT_RECORD,		/* a flush thread: commit records */
	ZJ_WAIT_FILES,		/* commit: buffers of files that became committed before */
	ZJ_WAIT_HOME,		/* a checkpoint: home writes */
	ZJ_WAIT_CKPT,		/* a checkpoint: the log's tail, written durably */
	ZJ_WAIT_PROGRESS,	/* a checkpoint: components that are being committed */
	ZJ_NR_WAITS
};

/**
 * struct zj_wait - one wait; on the stack of the task that waits
 *
 * Written before it is filed and constant from then on.
 */
struct zj_wait {
	struct list_head link;		/* lane->waits.lock; in lane->waits.now */
	struct zj_lane	*lane;		/* where it is filed */
	enum zj_wait_reason why;
	enum zj_comp_state state;	/* of that transaction's component at the begin */
	tid_t		tid;		/* transaction that it is about; 0: none */
	u32		tid_lane;	/* the lane of that one */
	pid_t		pid;		/* of the task */
	char		comm[TASK_COMM_LEN]; /* the same */
	ktime_t		since;
};

/**
 * struct zj_past_wait - a wait that has ended
 */
struct zj_past_wait {
	struct zj_wait	wait;		/* waits.lock; its link is not in use */
	s64		took;		/* waits.lock; ns, 0: there is none */
};

/* The longest ones of a lane that are kept for each reason. */
#define ZJ_KEPT_WAITS		2

/**
 * enum zj_fsync_phase - where the time of an fsync goes, in this order
 */
enum zj_fsync_phase {
	ZJ_FSYNC_TURN,		/* until the lane's thread has time for it */
	ZJ_FSYNC_DRAIN,		/* until open handles have stopped: the seal */
	ZJ_FSYNC_ISSUE,		/* until file data has been sent, and log blocks if
				 * the format may
				 */
	ZJ_FSYNC_RECORD,	/* until the commit record is written */
	ZJ_FSYNC_COMMITTED,	/* until other members and predecessors are durable */
	ZJ_NR_FSYNC_PHASES
};

/**
 * struct zj_past_fsync - an fsync that has ended well
 */
struct zj_past_fsync {
	tid_t		tid;		/* of the transaction that it has committed */
	pid_t		pid;		/* of the task */
	char		comm[TASK_COMM_LEN]; /* the same */
	s64		took;		/* ns, 0: there is none */
	s64		phase[ZJ_NR_FSYNC_PHASES]; /* ns of each */
};

/**
 * struct zj_waits - who waits in a lane, and who has waited longest
 *
 * Nothing here is written by a handle that does not wait.
 */
struct zj_waits {
	spinlock_t	lock;		/* guards what follows; innermost */
	struct list_head now;		/* zj_wait.link, the oldest first */
	struct zj_past_wait longest[ZJ_NR_WAITS][ZJ_KEPT_WAITS];
	u64		fsyncs;		/* that are in @phase_ns */
	s64		phase_ns[ZJ_NR_FSYNC_PHASES]; /* summed over these */
	struct zj_past_fsync slowest[ZJ_KEPT_WAITS];
};

#endif /* ZJ_WAITS_TYPES_H */
