/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One journal, and which lock guards what.
 *
 * Lock order, outermost first (docs/architecture.md explains it):
 *
 *   buffer lock > journal_head.lock > zj_journal.comp_lock > zj_lane.lock
 *     > zj_journal.pool_lock
 *   jbd2_inode.i_lock > comp_lock
 *   journal_head.lock, comp_lock, revoke bucket lock > zj_txn.list_lock
 *   zj_journal.tenant_lock: alone
 *   zj_waits.lock: innermost of all
 *   mutexes, outside of all these: barrier_lock > ckpt_lock > abort_lock > super_lock
 */
#ifndef ZJ_JOURNAL_TYPES_H
#define ZJ_JOURNAL_TYPES_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <zjournal/jbd2.h>
#include <zjournal/recovery.h>
#include "core/flush_types.h"
#include "format/codec.h"
#include "log/log_types.h"
#include "txn/component_types.h"

struct zj_lane;
struct zj_pass;
struct zj_revoke_bucket;
struct zj_seg;
struct zj_tenant;

/**
 * struct zj_journal - one journal
 */
struct zj_journal {
	struct journal_s public;	/* what ext4 sees; first member */
	struct zj_lane	*lanes;		/* immutable once loaded */
	unsigned int	nr_lanes;	/* immutable once loaded */
	struct zj_tenant *tenants;	/* immutable once loaded */

	const struct zj_log_ops *log_ops;	/* immutable once loaded */
	struct zj_log_geometry geo;	/* super_lock to change; jbd2: segments of a block */
	u32		seed;		/* checksum seed; super_lock to change */
	u64		*map;		/* immutable; device block of journal block */
	struct buffer_head *sb_bh;	/* journal block 0 */
	bool		live;		/* super_lock to change */
	int		barrier;	/* barrier_lock to change; starts wait if set */
	errseq_t	wb_err;		/* immutable once loaded; the mapping's, then */
	struct zj_revoke_bucket *revoke; /* immutable; 1 << ZJ_REVOKE_HASH_BITS */
	struct kmem_cache *frozen_cache; /* immutable; frozen copies, one block each */
	u32		revokes_per_block; /* immutable */
	u32		max_credits;	/* immutable; of one handle, at its start */
	u32		max_txn;	/* immutable; up to which a transaction is extended
					 * and granted more
					 */
	u32		budget;		/* immutable; credits of all that runs, about */
	u32		grant;		/* immutable; credits that are granted at a time */
	u32		low_pool;	/* immutable; free segments that hold one budget */
	struct zj_options options;	/* immutable once loaded, but for .live; defaults are
					 * filled in
					 */
	u32		max_copies;	/* immutable; of a lane, ahead of its log I/O */
	u32		batch_size;	/* immutable; buffers sent home together */
	u32		credit_units;	/* immutable; units of log space of one image */

	/* Above: read by every handle, so kept apart from what is written below. */
	struct mutex	super_lock ____cacheline_aligned_in_smp;
					/* live bit, super blocks, generation */

	spinlock_t	comp_lock ____cacheline_aligned_in_smp;
					/* components, dependencies, stamps */
	u64		stamp;		/* comp_lock; G: last stamp given out */
	struct zj_comp_stats comp_stats; /* comp_lock */
	struct list_head ckpt_list;	/* comp_lock; by stamp, sealed and up */
	struct list_head pending;	/* comp_lock; by stamp, sealed and not committed */
	struct list_head finishing;	/* comp_lock; committed and not finished, in the order in
					 * which they became committed
					 */
	u32		undirty;	/* comp_lock to change; so many of these have
					 * zj_component.jdata
					 */
	u64		committed_stamp;	/* comp_lock to change; end of the committed prefix */
	bool		unflushed;	/* set without barriers: nothing is known durable
					 * until the log's next generation
					 */
	bool		stamped;	/* set by who writes a chunk that names a committed
					 * stamp; until the next generation
					 */
	wait_queue_head_t wait_submit;	/* a member has submitted its data */
	wait_queue_head_t wait_progress;	/* a component was finished or reclaimed,
					 * or its files are dirty
					 */
	u64		progress;	/* comp_lock; counts both */

	atomic_t	next_tid ____cacheline_aligned_in_smp;
					/* once a transaction, not a handle */
	atomic_t	granted;	/* credits of what runs; written when a transaction
					 * is opened, grows, or is sealed
					 */
	atomic_t	nr_running;	/* transactions that run: lanes that are at work */
	struct xarray	tids;		/* live transactions; RCU readers */

	spinlock_t	pool_lock ____cacheline_aligned_in_smp;
					/* guards the segments in no lane's hand */
	struct zj_seg	*segs;		/* all of them */
	struct list_head pool;		/* free ones */
	u32		nr_pool;	/* length of pool; jbd2: free blocks of the ring */
	struct list_head full;		/* filled ones, until reclaimed */
	u64		seg_seq;	/* last tenure given out */
	struct zj_ring	ring;		/* log=jbd2 */
	struct zj_nvm	nvm;		/* journal_nvm= */
	wait_queue_head_t wait_space;	/* segments came back */
	atomic_t	space_waiters;	/* handle starts that wait for space */
	struct list_head space_queue;	/* pool_lock; zj_space_waiter.link, first come first */
	struct task_struct *space_first; /* pool_lock to change; of the first that is
					 * there, or NULL
					 */
	struct zj_pass	*pass;		/* pool_lock; being brought home, or NULL */
	u32		pass_left;	/* pool_lock to change; of it, taken by nobody yet */

	struct zj_flush	flush ____cacheline_aligned_in_smp;

	struct mutex	ckpt_lock;	/* one checkpoint at a time */
	struct buffer_head **found;	/* ckpt_lock; memory for what a pass finds */
	u32		max_found;	/* immutable; so many */
	bool		found_none;	/* ckpt_lock; the last pass found nothing to bring home */
	u32		helper;		/* ckpt_lock; the lane that is woken next to help */
	u64		ckpt_stamp;	/* ckpt_lock; S as on disk */
	u64		ckpt_seq;	/* ckpt_lock; of the slot written last */
	struct task_struct *ckpt_task;	/* background checkpoint */
	wait_queue_head_t wait_ckpt;	/* it sleeps here */
	bool		ckpt_wanted;	/* set to wake it */

	struct mutex	barrier_lock;	/* held from lock_updates to unlock */
	wait_queue_head_t wait_barrier;	/* both sides of the barrier */

	struct zj_recovery_stats recovered; /* of the last recovery */
	struct proc_dir_entry *proc;	/* /proc/fs/zjournal/<dev> */
	struct dentry	*debug_dir;	/* zjournal/<dev> in debugfs, or NULL */
	struct mutex	abort_lock;	/* serialises aborts */
	bool		errno_owed;	/* an assertion has failed: the checkpoint's thread
					 * is to record the error in block 0
					 */
	spinlock_t	tenant_lock;	/* guards the table of tenants; innermost */
};

#define to_zj(j)	container_of(j, struct zj_journal, public)

#endif /* ZJ_JOURNAL_TYPES_H */
