/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The journal, and the lock that protects each of its fields.
 *
 * Lock order, outermost first (docs/internals/architecture.md explains it):
 *
 *   buffer lock > journal_head.lock > zj_journal.comp_lock > zj_lane.lock
 *     > zj_journal.pool_lock
 *   jbd2_inode.i_lock > comp_lock
 *   journal_head.lock, comp_lock, zj_block_bucket.lock > zj_txn.list_lock
 *   zj_journal.tenant_lock: no other lock is held with it
 *   zj_waits.lock: innermost of all
 *   mutexes, outside of all these: barrier_lock > ckpt_lock > abort_lock > super_lock
 */
#ifndef ZJ_JOURNAL_TYPES_H
#define ZJ_JOURNAL_TYPES_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <zjournal/jbd2.h>
#include <zjournal/recovery.h>
#include "format/codec.h"
#include "format/journal_map.h"
#include "log/log_types.h"
#include "txn/txn_types.h"

struct zj_lane;
struct block_device;
struct zj_pass;
struct zj_tenant;

/* ---- log space ---- */

/**
 * struct zj_seg - one segment of the log
 *
 * zj_seg_init() allocates all segments as one array, and puts them into
 * zj_journal.pool. A lane takes empty ones to zj_lane.in_hand, and gives back
 * those that it does not need. When its thread begins to fill one, the segment
 * gets the number of a new tenure and is in no list (zj_lane.cur). When it is
 * full, it goes to zj_lane.full. It returns to the pool when the checkpoint
 * stamp has reached its @max_stamp. zj_space_exit() frees the array.
 */
struct zj_seg {
	u32		index;		/* immutable; position in the log */
	u64		seq;		/* lane's lock; number of the current tenure */
	u64		max_stamp;	/* lane's lock, then pool_lock; stamp of the newest record
					 * in it
					 */
	struct list_head link;		/* pool_lock, or the lane's lock while it is in
					 * zj_lane.in_hand
					 */
};

/**
 * struct zj_space_waiter - a handle start that waits for log space
 *
 * It is on the stack of the task that starts the handle, all zero at first.
 * When the start finds no room, zj_space_wait() puts it into
 * zj_journal.space_queue. It keeps its place until the handle has joined a
 * transaction, or has to wait for a barrier; then zj_space_leave() takes it
 * out. While its lane's transaction is locked the waiter is away: it keeps its
 * place, and others are served.
 */
struct zj_space_waiter {
	struct list_head link;		/* pool_lock; in zj_journal.space_queue */
	struct task_struct *task;	/* its task only, with pool_lock while in the queue; the
					 * task, or NULL if it is not in the queue
					 */
	struct zj_lane	*lane;		/* immutable while in the queue; the lane that it waits in */
	bool		away;		/* pool_lock; it waits for its lane at present */
};

/* ---- flushes of a device's cache ---- */

/**
 * struct zj_flush - shared flushes of a device's cache
 *
 * The journal has one for each of its devices. There is no lock: the thread
 * that changes @flying from 0 to 1 leads the next flush. Only the leader changes
 * the fields marked as such; they are read without a lock. Flushes are numbered
 * from 1.
 */
struct zj_flush {
	struct block_device *bdev;	/* immutable; the device that is flushed */
	u32		flying;		/* cmpxchg; 1: a thread leads a flush */
	u64		issued;		/* leader; number of the last flush begun */
	u64		done;		/* leader; number of the last flush that ended */
	int		err;		/* leader; the last error of a flush; it stays */
	u64		mean_ns;	/* leader, read racily; running mean of the time of a
					 * flush, in ns
					 */
	u64		ended;		/* leader, read racily; when the last flush ended, in ns */
	unsigned int	awaited;	/* leader, read racily; index of the lane that it waits
					 * for, while it sleeps in @gather
					 */
	u64		data;		/* cmpxchg, only grows; number of the flush that covers all
					 * file data written, except what was noted in its inode;
					 * not used for the log's own device, nor is @inodes
					 */
	u64		inodes;		/* cmpxchg, only grows; the highest number noted in any
					 * inode
					 */
	u64		missed;		/* cmpxchg; number of the flush that covers what commits
					 * have not flushed, because barriers were off; 0: there is
					 * nothing, or that flush has ended well
					 */
	wait_queue_head_t wait;		/* woken when a flush has ended */
	wait_queue_head_t gather;	/* the leader sleeps here until the lanes that it expects
					 * have come; not used for the log's own device
					 */
};

/* ---- journal blocks that are read past the buffer cache ---- */

/**
 * struct zj_dev_reads - journal blocks that one task is reading
 *
 * It is zeroed by its task before the first zj_dev_read_start(), and may be
 * used again after zj_dev_read_end().
 */
struct zj_dev_reads {
	bool		begun;		/* task only; zj_dev_read_end() has to wait */
	int		err;		/* cmpxchg; first error of any bio, read when all have
					 * ended
					 */
	atomic_t	pending;	/* bios in flight, plus one for the task */
	struct completion done;		/* completed when all bios have ended */
};

/* ---- live transactions, by their tids ---- */

/*
 * A power of two. Tids are consecutive, so with as many chains as there can be lanes those
 * that work at once rarely meet: what is in a chain is written by its neighbours.
 */
#define ZJ_TID_CHAINS		256

/**
 * struct zj_tid_chain - one chain of the table
 */
struct zj_tid_chain {
	spinlock_t	lock;		/* guards the chain; inside lane->lock */
	struct hlist_head head;		/* lock to change, RCU to read; zj_txn.tid_link */
} ____cacheline_aligned_in_smp;

/* ---- the journal ---- */

/**
 * struct zj_journal - the journal of one file system
 *
 * ext4 allocates it at mount with zj_journal_init_inode(), which reads block 0
 * only. zj_journal_load() chooses the geometry, recovers the log if it is live,
 * and allocates the lanes, the segments and the threads; only then may handles
 * start. The log becomes live with the first commit (zj_make_live()), and clean
 * again when everything is home. An abort sets a bit for good, and no record is
 * written after it. zj_journal_destroy() writes everything home, marks the log
 * as empty, stops the threads and frees the journal; it does so at unmount, and
 * also if zj_journal_load() has failed.
 *
 * "Immutable once loaded" means that zj_journal_load() sets the field, or an
 * option before it.
 */
struct zj_journal {
	struct journal_s public;	/* the journal_t that ext4 sees; first member */
	struct zj_lane	*lanes;		/* immutable once loaded */
	unsigned int	nr_lanes;	/* immutable once loaded */
	struct zj_tenant *tenants;	/* immutable once loaded */

	const struct zj_log_ops *log_ops;	/* immutable once loaded */
	struct zj_log_geometry geo;	/* super_lock to change; with log=jbd2 a segment is one
					 * block
					 */
	u32		seed;		/* super_lock to change; of this generation's checksums */
	struct zj_map	map;		/* immutable once loaded; where the journal is */
	u32		dev_blocks;	/* immutable; blocks of the journal's own device; 0: it has
					 * none
					 */
	struct buffer_head *sb_bh;	/* immutable; buffer of journal block 0 */
	bool		live;		/* super_lock to change; block 0 says that the log is in
					 * use
					 */
	int		barrier;	/* barrier_lock to change; handle starts wait while it is
					 * not 0
					 */
	errseq_t	wb_err;		/* immutable once loaded; the device's errseq_t at mount,
					 * to tell errors that came later
					 */
	struct zj_block_index revokes;	/* immutable once loaded, but for what is in it */
	struct zj_block_index file_blocks; /* immutable once loaded, but for what is in it */
	bool		logs_file_blocks; /* no lock, set once; file_blocks is in use */
	struct kmem_cache *frozen_cache; /* immutable once loaded; one block each for
					 * frozen copies
					 */
	u32		revokes_per_block; /* immutable once loaded */
	u32		max_credits;	/* immutable once loaded; the most that a handle may ask
					 * for at its start
					 */
	u32		max_txn;	/* immutable once loaded; a transaction is not granted more
					 * credits than this
					 */
	u32		budget;		/* immutable once loaded; credits that all running
					 * transactions may have together, roughly
					 */
	u32		grant;		/* immutable once loaded; a running transaction gets its
					 * credits in such shares
					 */
	u32		low_pool;	/* immutable once loaded; with fewer free segments the
					 * checkpoint thread works ahead
					 */
	struct zj_options options;	/* immutable once loaded, except .live; defaults are filled
					 * in
					 */
	u32		max_copies;	/* immutable once loaded; most frozen copies that a lane
					 * may have made ahead of its log I/O
					 */
	u32		batch_size;	/* immutable; buffers that one thread sends home together */
	u32		credit_units;	/* immutable once loaded; units of log space that one image
					 * takes
					 */
	int		log_ioprio;	/* racy; I/O priority of log writes */
	struct zj_tid_chain *tids;	/* immutable; ZJ_TID_CHAINS chains of live transactions,
					 * by their tids
					 */

	/*
	 * Every handle reads the fields above, so they share no cache line with
	 * those below, which are written.
	 */

	/* Protects the live bit, both super blocks and the generation. */
	struct mutex	super_lock ____cacheline_aligned_in_smp;

	/* Protects components, dependencies and stamps. */
	spinlock_t	comp_lock ____cacheline_aligned_in_smp;
	u64		stamp;		/* comp_lock; the last one given out */
	struct list_head ckpt_list;	/* comp_lock; zj_component.ckpt_link, by stamp; from the
					 * seal point until reclaimed
					 */
	struct list_head pending;	/* comp_lock; zj_component.ready_link, by stamp; sealed and
					 * not committed
					 */
	struct list_head finishing;	/* comp_lock; zj_component.finish_link; committed and not
					 * finished, in the order in which they became
					 * committed; only those that have journaled file
					 * data or may depend on some
					 */
	u32		undirty;	/* comp_lock to change; number of components in @finishing
					 * with zj_component.jdata
					 */
	u64		committed_stamp;	/* comp_lock to change; everything up to this stamp
						 * is committed
						 */
	bool		unflushed;	/* racy; set when barriers are off: until the log's next
					 * generation no committed stamp is known to be durable
					 */
	bool		stamped;	/* racy; a chunk of this generation names a
					 * committed stamp
					 */
	wait_queue_head_t wait_submit;	/* a lane's thread sleeps here until all members have
					 * submitted their ordered data
					 */
	wait_queue_head_t wait_progress;	/* checkpoints sleep here until a component is
						 * finished or reclaimed, or its files are dirty
						 */
	atomic_t	watchers;	/* checkpoints that watch @progress; read by each commit */
	atomic_t	progress;	/* counts these events while there are watchers */

	/* Changed once for each transaction, not for each handle. */
	atomic_t	next_tid ____cacheline_aligned_in_smp;
	atomic_t	granted;	/* credits of running transactions; changed when one is
					 * opened, grows, or is sealed
					 */
	atomic_t	nr_running;	/* running transactions, so also the number of lanes at
					 * work
					 */
	atomic_t	max_file_blocks; /* upper bound of the number of blocks in file_blocks:
					 * each transaction adds its blocks, rounded up to
					 * ZJ_FILE_BLOCK_STEP, and takes them away when its
					 * entries go
					 */

	/* Protects segments that are in no lane's hand, and the queue for space. */
	spinlock_t	pool_lock ____cacheline_aligned_in_smp;
	struct zj_seg	*segs;		/* immutable once loaded; array of all segments */
	struct list_head pool;		/* pool_lock; zj_seg.link; free segments */
	u32		nr_pool;	/* pool_lock to change; length of @pool; log=jbd2: free
					 * blocks of the ring
					 */
	u64		seg_seq;	/* pool_lock; last tenure given out */
	struct zj_ring	ring;		/* log=jbd2; each field says its own lock */
	struct zj_nvm	nvm;		/* journal_nvm=; immutable once loaded */
	atomic_t	space_waiters;	/* handle starts that wait for space and are not away */
	struct list_head space_queue;	/* pool_lock; zj_space_waiter.link, in the order
					 * of arrival
					 */
	struct task_struct *space_first; /* pool_lock to change; task of the first waiter in
					 * @space_queue that is not away, or NULL
					 */
	struct zj_lane	*space_first_lane; /* pool_lock to change; the lane that @space_first
					    * waits in, or NULL
					    */
	struct zj_pass	*pass;		/* pool_lock; the pass whose slices may be taken, or NULL */
	struct zj_pass	*walked;	/* pool_lock to change; the pass whose members may be
					 * taken, or NULL
					 */
	u32		pass_left;	/* pool_lock to change; buffers of it that no thread has
					 * taken yet
					 */

	/* Of the file system's device; also of the log, if that is on the same one. */
	struct zj_flush	flush ____cacheline_aligned_in_smp;

	/* Of the log's device, if that is another one (zj_log_cache()). */
	struct zj_flush	log_flush ____cacheline_aligned_in_smp;

	struct mutex	ckpt_lock;	/* held during one pass of a checkpoint, and while the tail
					 * advances
					 */
	struct buffer_head **found;	/* ckpt_lock; memory for the buffers that a pass finds */
	u32		max_found;	/* immutable once loaded; length of @found */
	bool		found_none;	/* ckpt_lock; the last pass found no buffer to write home */
	u32		helper;		/* ckpt_lock; index of the lane to be woken next to help
					 * with a pass
					 */
	u64		ckpt_stamp;	/* ckpt_lock to change; checkpoint stamp that is durable in
					 * the log
					 */
	u64		home_stamp;	/* ckpt_lock to change; all up to it is known to be home, but
					 * may have to stay in the log (zj_log_ops.can_leave)
					 */
	u64		ckpt_seq;	/* ckpt_lock; sequence number of the checkpoint slot that
					 * was written last
					 */
	struct task_struct *ckpt_task;	/* immutable once loaded, until the thread is stopped; the
					 * checkpoint thread
					 */
	wait_queue_head_t wait_ckpt;	/* the checkpoint thread sleeps here */
	bool		ckpt_wanted;	/* no lock; any task sets it before it wakes @wait_ckpt, the
					 * checkpoint thread clears it before it works
					 */

	struct mutex	barrier_lock;	/* held from zj_journal_lock_updates() to
					 * zj_journal_unlock_updates()
					 */
	atomic_t	held_up;	/* handle starts that a barrier has held up, and that have not
					 * joined a transaction yet
					 */
	wait_queue_head_t wait_barrier;	/* starts wait here for the barrier's end, the barrier for
					 * open handles
					 */

	struct zj_recovery_stats recovered; /* immutable once loaded; counts of the recovery at
					 * mount
					 */
	struct proc_dir_entry *proc;	/* only load and destroy use it; /proc/fs/zjournal/<dev>, or
					 * NULL
					 */
	struct dentry	*debug_dir;	/* only load and destroy use it; zjournal/<dev> in debugfs,
					 * or NULL
					 */
	struct mutex	abort_lock;	/* one abort at a time */
	bool		errno_owed;	/* j_state_lock to set, abort_lock to clear; an assertion
					 * has failed where nothing could sleep, so the checkpoint
					 * thread has to write the error to block 0
					 */
	spinlock_t	tenant_lock;	/* protects the table of tenants; no other lock is taken
					 * under it
					 */
};

#define to_zj(j)	container_of(j, struct zj_journal, public)

#endif /* ZJ_JOURNAL_TYPES_H */
