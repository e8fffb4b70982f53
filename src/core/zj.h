/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of the journal, and which lock guards what.
 *
 * Lock order, outermost first (docs/architecture.md explains it):
 *
 *   buffer lock > journal_head.lock > zj_journal.comp_lock > zj_lane.lock
 *     > zj_journal.pool_lock
 *   jbd2_inode.i_lock > comp_lock
 *   journal_head.lock, comp_lock, revoke bucket lock > zj_txn.list_lock
 *   zj_journal.tenant_lock: alone
 *   mutexes, outside of all these: barrier_lock > ckpt_lock > abort_lock > super_lock
 */
#ifndef ZJ_H
#define ZJ_H

#include <zjournal/jbd2.h>
#include <zjournal/nvm_dev.h>
#include <zjournal/recovery.h>
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "format/codec_nvm.h"

#define ZJ_REVOKE_HASH_BITS	12
/* Components of a lane that are frozen and not yet valid (rule N7). */
#define ZJ_MAX_FROZEN		4
/* The same in a pipelined lane, as long as they are small. */
#define ZJ_MAX_FLIGHT		32
/* Commits are put off so long at most, while handles go on. */
#define ZJ_PUT_OFF		max(HZ / 100, 1)
/* Runs that come alone until none is expected to follow. */
#define ZJ_COMPANY		4
/* A part of the time that a record takes, in which more may join the next run. */
#define ZJ_PATIENCE		8
#define ZJ_PATIENCE_MIN_NS	(100 * NSEC_PER_USEC)
#define ZJ_PATIENCE_MAX_NS	(10 * NSEC_PER_MSEC)
/* More log blocks of a transaction than these are not worth FUA. */
#define ZJ_FUA_BLOCKS		64
/* Fsyncs by latency: below 64 us, 128 us ... 1 s, and the rest. */
#define ZJ_NR_LATENCIES		16
/* Components of 1, 2-3, 4-7 ... ZJ_MAX_LANES members, for the statistics. */
#define ZJ_NR_SIZES		9
/* Buffers that a checkpoint sends home together, in the order of their blocks. */
#define ZJ_BATCH_SIZE		128
/* Buffers of a pass: 128 KiB of pointers. */
#define ZJ_MAX_PASS		16384

struct zj_journal;
struct zj_lane;
struct zj_txn;
struct zj_component;
struct zj_run;

/* ---- what a transaction owns of a block ---- */

enum zj_part_bits {
	ZJ_PART_MODIFIED,	/* has an image to log */
	ZJ_PART_LIVE,		/* the log is written from the live buffer */
	ZJ_PART_LOGGED,		/* the image is in the log, the copy is gone */
	ZJ_PART_FORGET,		/* no image: supersedes older parts once valid */
	ZJ_PART_HOMEWARD,	/* valid, processed: the buffer's dirty bit tells */
	ZJ_PART_NEEDS_DIRTY,	/* valid, not home, dirty bit taken by a newer part */
	ZJ_PART_ELSEWHERE,	/* the buffer is mapped anew: nothing goes home from it */
	ZJ_PART_WAS_DIRTY,	/* buffer was dirty outside the journal before */
	ZJ_PART_LINES,		/* what is in the log are lines: needs what is older */
	ZJ_PART_CROWDED,	/* over as many unlogged images as there may be:
				 * its transaction cannot be frozen
				 */
	ZJ_PART_TOLD,		/* zj->fine: @lines are all that has changed since
				 * recovery knows the buffer
				 */
};

/**
 * struct zj_part - what one transaction owns of one block
 */
struct zj_part {
	struct journal_head *jh;	/* immutable; holds a reference */
	struct zj_txn	*txn;		/* jh->lock; its owner */
	struct list_head jh_link;	/* jh->lock; in jh->parts, oldest first */
	struct list_head txn_link;	/* txn->list_lock; in txn->parts or txn->late */
	unsigned long	flags;		/* jh->lock; zj_part_bits */
	void		*frozen;	/* jh->lock; the image to log, or NULL */
	void		*image;		/* lane's thread; what goes to the log */
	void		*base;		/* jh->lock; zj->fine: what the buffer held
					 * before, known to recovery; or NULL
					 */
	u64		lines;		/* jh->lock to change; ZJ_PART_TOLD: what the
					 * file system told to have changed
					 */
	struct rcu_head	rcu;		/* lockless readers of jh->newest */
};

/**
 * struct journal_head - the journal's view of one buffer
 */
struct journal_head {
	struct buffer_head *bh;		/* immutable; holds a reference */
	refcount_t	refs;		/* one a part, one a user; 0 under JH bit lock */
	spinlock_t	lock;		/* guards what follows */
	struct list_head parts;		/* zj_part.jh_link, oldest first */
	struct zj_part	*newest;	/* last of parts; read under RCU */
	struct jbd2_buffer_trigger_type *triggers; /* or NULL */
	u8		conflicts;	/* a bit for each of the last commits: it was
					 * wanted while its image was not logged yet
					 */
	bool		first_used;	/* @first is in parts */
	struct zj_part	first;		/* the usual buffer has one part at a time */
	struct rcu_head	rcu;		/* lockless readers of b_private */
};

/* ---- ordered data ---- */

/**
 * struct zj_inode_entry - what one transaction has of an inode's data
 */
struct zj_inode_entry {
	struct jbd2_inode proxy;	/* for callbacks; range under jinode lock */
	struct jbd2_inode *jinode;	/* immutable */
	struct zj_txn	*txn;		/* immutable */
	struct list_head inode_link;	/* jinode->i_lock */
	struct list_head txn_link;	/* txn->list_lock */
	bool		write;		/* jinode->i_lock; submit the range at commit */
	bool		busy;		/* txn->list_lock; a commit thread is at it */
};

/* ---- revokes ---- */

/**
 * struct zj_revoke - a revoked block; in the index until its owner is valid
 */
struct zj_revoke {
	u64		block;		/* immutable */
	struct zj_txn	*txn;		/* bucket lock; the owner */
	struct hlist_node hash;		/* bucket lock; RCU readers */
	struct list_head txn_link;	/* txn->list_lock */
	struct rcu_head	rcu;
};

/**
 * struct zj_revoke_bucket - one chain of the index
 */
struct zj_revoke_bucket {
	spinlock_t	lock;		/* guards the chain */
	struct hlist_head head;
};

/* ---- transactions ---- */

/**
 * struct zj_dep - one component depends on another
 *
 * At most one for each lane: R7 makes the newest imply the older ones.
 */
struct zj_dep {
	struct zj_component *comp;	/* comp_lock; the dependent one */
	struct zj_component *on;	/* comp_lock; NULL once that is valid */
	u64		stamp;		/* comp_lock; of @on, kept when resolved */
	u32		lane;		/* comp_lock; lane through which it came */
	bool		embedded;	/* immutable; part of a zj_txn */
	struct list_head comp_link;	/* comp_lock; in comp->deps */
	struct list_head on_link;	/* comp_lock; in on->dependants */
};

/**
 * struct zj_txn - one transaction of one lane
 */
struct zj_txn {
	struct transaction_s pub;	/* what ext4 sees; first member */
	struct zj_lane	*lane;		/* immutable */
	struct zj_component *comp;	/* comp_lock to change; RCU to read */
	struct list_head comp_link;	/* comp_lock; in comp->members */
	struct list_head lane_link;	/* lane->lock; in lane->pipeline, lane->flight;
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
	bool		freezing;	/* lane->lock; within try_freeze only */
	bool		full;		/* lane->lock; closed as the log has it full */
	unsigned long	expires;	/* jiffies; comp_lock to change */
	unsigned int	handles;	/* lane->lock; handles started, statistics */
	atomic_t	crowded;	/* jh->lock of each to change; parts that are */

	spinlock_t	list_lock;	/* guards the lists below */
	struct list_head parts;		/* zj_part.txn_link; from parts_fixed on until its
					 * component is valid only the thread that
					 * writes it changes the list, and walks it
					 * without the lock
					 */
	struct list_head late;		/* zj_part.txn_link; parts without an image that
					 * came meanwhile; joins parts when valid
					 */
	struct list_head revokes;	/* zj_revoke.txn_link */
	struct list_head inodes;	/* zj_inode_entry.txn_link */
	int		nr_revokes;	/* list_lock to change */
	bool		jdata;		/* list_lock; has file-mapped parts */
	bool		parts_fixed;	/* list_lock; frozen, its thread is at the parts */
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
	bool		valid;		/* release store; waiters may go on */
	struct rcu_head	rcu;		/* tid lookups */
};

#define to_txn(t)	container_of(t, struct zj_txn, pub)

enum zj_comp_state {
	ZJ_C_RUNNING,	/* open to handles */
	ZJ_C_LOCKED,	/* no new handles, drains */
	ZJ_C_FROZEN,	/* closed: stamp, members, dependencies are fixed */
	ZJ_C_VALID,	/* recovery is certain to replay it */
};

/**
 * struct zj_component - transactions that close and commit together
 */
struct zj_component {
	struct zj_journal *journal;	/* immutable */
	enum zj_comp_state state;	/* comp_lock to change; acquire to read */
	u64		stamp;		/* set at the freeze point */
	int		nr_members;	/* comp_lock */
	int		missing;	/* comp_lock; unresolved dependencies, and
					 * from the freeze on uncommitted members
					 */
	int		unsubmitted;	/* comp_lock; members with data to submit */
	int		unlogged;	/* comp_lock; members with a record to write */
	bool		wanted;		/* comp_lock; a commit was put off */
	bool		now;		/* comp_lock; a member is full: it is not put off, and
					 * is not frozen before its lanes have room for it
					 */
	unsigned long	wanted_by;	/* comp_lock; jiffies: not for longer */
	bool		finished;	/* comp_lock; both phases of validity done */
	bool		jdata;		/* comp_lock; has images of files whose buffers are
					 * not dirty yet
					 */
	struct list_head finish_link;	/* comp_lock; in zj_journal.finishing */
	ktime_t		locked_at;	/* comp_lock; statistics */
	ktime_t		frozen_at;	/* immutable once frozen; statistics */
	struct list_head members;	/* comp_lock; zj_txn.comp_link */
	struct list_head deps;		/* comp_lock; zj_dep.comp_link */
	DECLARE_BITMAP(dep_lanes, ZJ_MAX_LANES); /* comp_lock; zj_dep.lane of deps */
	struct list_head dependants;	/* comp_lock; zj_dep.on_link */
	struct list_head trim_link;	/* comp_lock; zj_journal.trim_list */
	struct list_head ready_link;	/* comp_lock; zj_journal.pending while frozen, then
					 * the thread's that made it valid
					 */
	tid_t		blocker;	/* ckpt_lock; covers one of its blocks anew, 0: none */
	struct rcu_head	rcu;		/* readers of zj_txn.comp */
};

/* ---- log space ---- */

/**
 * struct zj_seg - one segment of the log
 */
struct zj_seg {
	u32		index;		/* immutable */
	u64		seq;		/* owner lane->lock; of this tenure */
	u64		max_stamp;	/* lane->lock, then pool_lock; newest inside */
	struct list_head link;		/* pool_lock, or lane->lock in hand */
};

/**
 * struct zj_space_waiter - a handle start that waits for log space; on its stack
 *
 * All zero until the start finds no room. From then on it has a place in the queue,
 * until it has joined a transaction, or meets a barrier. It is away while its lane is
 * closed.
 */
struct zj_space_waiter {
	struct list_head link;		/* pool_lock; in zj->space_queue */
	struct task_struct *task;	/* who starts; NULL: not in the queue; its own */
	bool		away;		/* pool_lock; it waits for its lane just now */
};

/* ---- lanes ---- */

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
	u64	commit_us;	/* freeze to validity, microseconds, summed */
	u64	conflicts;	/* accesses that made a commit or themselves wait */
	u64	put_off;	/* commits that were put off for those */
	u64	locked_us;	/* lock to freeze, microseconds, summed */
	u64	runs;		/* transactions that shared their flushes, as one */
	u64	depth;		/* transactions on their way at each one's issue, summed */
	u64	max_depth;	/* the most */
	u64	max_copies;	/* frozen copies at a time, the most */
	u64	fsyncs;		/* waits for a transaction */
	u64	fsync_us;	/* microseconds of these, summed */
	u64	fsync[ZJ_NR_LATENCIES];	/* the same, by time */
};

/**
 * struct zj_comp_stats - what components are made of; comp_lock for all
 *
 * With nothing under way, arrivals = members + awaited and awaited = resolved:
 * that is all the work that validity takes.
 */
struct zj_comp_stats {
	u64	closed;		/* components frozen */
	u64	members;	/* transactions in them */
	u64	sizes[ZJ_NR_SIZES]; /* components by log2 of their members */
	u64	deps;		/* dependencies they have in the log */
	u64	awaited;	/* dependencies to wait for, the superseded not */
	u64	resolved;	/* of these, those that became valid */
	u64	arrivals;	/* members durable and dependencies resolved */
	u32	max_members;	/* of one component */
	u32	max_deps;	/* the same */
};

/**
 * struct zj_lane - one per-core journal
 */
struct zj_lane {
	struct zj_journal *journal;	/* immutable */
	int		index;		/* immutable */
	spinlock_t	lock;		/* guards what follows */
	struct zj_txn	*running;	/* running or locked, or NULL */
	struct list_head pipeline;	/* zj_txn.lane_link, frozen, unwritten */
	int		unwritten;	/* pipeline, and what the thread works on now */
	struct list_head flight;	/* zj_txn.lane_link; on their way, in freeze order */
	u32		run;		/* number of the run that is open */
	u32		run_len;	/* transactions in it, all of them in flight */
	u32		depth;		/* transactions on their way, not recorded yet */
	atomic_t	copies;		/* frozen copies of its transactions' images */
	u32		owes;		/* thread; blocks to bring home for what it logged */
	unsigned long	committed;	/* thread; jiffies: when it logged last */
	int		nr_frozen;	/* comp_lock; frozen and not valid */
	u32		frozen;		/* comp_lock; credits of these */
	struct zj_component *last_frozen; /* comp_lock; newest, NULL once trimmed */

	struct zj_seg	*cur;		/* segment being filled, or NULL */
	u32		cur_off;	/* blocks used in cur */
	struct list_head in_hand;	/* zj_seg.link, empty segments */
	u32		nr_in_hand;	/* length of in_hand */
	u32		promised;	/* log blocks owed to frozen transactions and
					 * reservations
					 */
	int		rsv_credits;	/* of reserved handles not started */
	int		hungry;		/* starts that wait for space: credits that a handle
					 * gives back may do for them
					 */
	int		limit;		/* credits up to which the running transaction
					 * is known to fit; 0 if unknown
					 */

	wait_queue_head_t wait_start;	/* the running transaction has changed */
	wait_queue_head_t wait_work;	/* the lane's thread sleeps here */
	wait_queue_head_t wait_idle;	/* it has written something */
	wait_queue_head_t wait_flush;	/* the flush thread sleeps here */
	u64		coming;		/* ns: since when a call for a flush is on its
					 * way, if that is not long ago; 0: none; a
					 * hint, racy
					 */
	struct timer_list timer;	/* wakes the thread at expiry (rule N8) */
	struct task_struct *task;	/* the lane's thread */
	struct task_struct *flusher;	/* its flush thread, if it is pipelined */
	s64		record_took[2];	/* flush thread, read racily; ns for a record, a
					 * running mean: into the cache, with FUA
					 */
	int		company;	/* flush thread, read racily; it is not long ago
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
} ____cacheline_aligned_in_smp;

/**
 * struct zj_tenant - who has a lane of its own; any value does no harm
 */
struct zj_tenant {
	u32		tag;	/* tenant_lock to change; hash of its number, 0: free */
	u32		lane;	/* tenant_lock to change; below nr_lanes */
	unsigned long	used;	/* racy; jiffies, a minute behind at most */
};

/* ---- flushes ---- */

/**
 * struct zj_flush - who flushes the device's cache for whom
 */
struct zj_flush {
	u32		flying;		/* cmpxchg; 1: somebody leads one */
	u64		issued;		/* the leader's to change; flushes begun */
	u64		done;		/* the same; number of the last one ended */
	u64		failed;		/* the same; number of the last that failed */
	int		err;		/* the same; its error */
	u64		took;		/* the same; ns, a running mean; read racily */
	u64		data;		/* cmpxchg, grows; flush that covers file data written,
					 * but for what was noted in its inode
					 */
	u64		inodes;		/* cmpxchg, grows; the highest noted in any inode */
	u64		log;		/* cmpxchg; flush that covers what was written to the
					 * journal without one, as barriers were off; 0: there
					 * is nothing, or it has ended well
					 */
	wait_queue_head_t wait;		/* one has ended */
	wait_queue_head_t gather;	/* who leads waits for those to come */
};

/* ---- the log's format ---- */

/**
 * struct zj_log_ops - what differs between the log's formats
 * @name: as in the mount option
 * @fit: at load, max_credits is known: fill in the geometry for so many lanes or
 *	fewer; 0: too small
 * @blocks: log blocks that a transaction of so many images takes at worst
 * @room: blocks that a lane may fill; gets it more if @need is more, 0: what it has
 *	in hand. lane->lock held
 * @init: set up the space; all of it is free
 * @go_live: make block 0 and what else there is say that the log is in use,
 *	durably; super_lock held
 * @trim: everything up to component @last is home: say so durably; ckpt_lock held
 * @issue: a frozen member joins a run (zj_run_join()), and what may be written of
 *	it before its data is durable is sent out; by its lane's thread
 * @written: wait until that is in the device, if there was any
 * @close: a run gets no more members, or NULL; lane->lock held
 * @begin: send out what a closed run needs before its flush, or NULL
 * @record: with data and log blocks durable: write the records of a run and wait
 *	for them
 * @full: is a running transaction to be closed, or NULL; lane->lock held
 * @max_age: jiffies after which the oldest is brought home, space or no; 0: never
 */
struct zj_log_ops {
	const char *name;
	u32 (*fit)(struct zj_journal *zj, u32 lanes);
	u32 (*blocks)(const struct zj_journal *zj, u32 credits);
	u32 (*room)(struct zj_lane *lane, u32 need);
	int (*init)(struct zj_journal *zj);
	int (*go_live)(struct zj_journal *zj);
	int (*trim)(struct zj_journal *zj, const struct zj_component *last);
	int (*issue)(struct zj_txn *txn);
	int (*written)(struct zj_txn *txn);
	void (*close)(struct zj_lane *lane);
	void (*begin)(struct zj_run *run);
	int (*record)(struct zj_run *run, bool fua);
	bool (*full)(const struct zj_txn *txn);
	unsigned long max_age;
};

/**
 * struct zj_ring - a log in stock's format, used round and round
 */
struct zj_ring {
	struct zj_jbd2_log log;		/* super_lock, while not live */
	u32		sequence;	/* immutable; number of a run 0 */
	u32		head;		/* pool_lock; next block to be written */
	u32		run_at;		/* lane->lock; first block of the open run */
	bool		run_revokes;	/* lane->lock; a member of it has revokes */
	u32		tail;		/* ckpt_lock; oldest block that is needed */
	u32		tail_run;	/* ckpt_lock; run that begins there */
};

/**
 * struct zj_nvm - memory that the log is in; immutable once loaded
 */
struct zj_nvm {
	const char	*path;		/* option, the caller's until load; NULL: none */
	struct zj_nvm_map map;		/* NULL in it: not open */
	u8		uuid[16];	/* of the memory's super block */
	u32		info_max;	/* option; bytes of a TxnInfo */
	bool		blocks;		/* option; log whole blocks */
	bool		check;		/* option; are told ranges all that changed? */
};

/**
 * struct zj_log_io - blocks on their way to the log; on a thread's stack
 */
struct zj_log_io {
	struct zj_journal *zj;		/* immutable */
	struct bio	*bio;		/* being filled, or NULL */
	u64		next;		/* device block that continues it */
	blk_opf_t	opf;		/* of all bios */
	atomic_t	pending;	/* bios in flight, and one for the builder */
	struct completion done;		/* all bios have ended */
	int		err;		/* of any bio */
	struct blk_plug	plug;
};

/**
 * struct zj_dev_reads - journal blocks on their way into memory; one task's
 */
struct zj_dev_reads {
	bool		begun;		/* to be waited for */
	int		err;		/* of any bio */
	atomic_t	pending;	/* bios in flight, and one for the task */
	struct completion done;		/* all bios have ended */
};

/**
 * struct zj_run - transactions of a lane that share their flushes
 *
 * Its flush thread's.
 */
struct zj_run {
	struct zj_lane	*lane;		/* immutable */
	struct list_head txns;		/* zj_txn.lane_link, in freeze order */
	void		*record;	/* log=jbd2; its commit block */
	struct zj_log_io io;		/* log=jbd2; that block's zeros on their way */
};

/* ---- the journal ---- */

/**
 * struct zj_journal - everything behind one front
 */
struct zj_journal {
	struct journal_s front;		/* what ext4 sees; first member */
	struct zj_lane	*lanes;		/* immutable once loaded */
	unsigned int	nr_lanes;	/* immutable once loaded */
	unsigned int	lanes_wanted;	/* option, before load; 0: one per CPU */
	struct zj_tenant *tenants;	/* immutable once loaded */

	const struct zj_log_ops *log;	/* immutable once loaded */
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
	u8		frozen_copy;	/* any time; enum zj_frozen_copy */
	bool		pipelined;	/* immutable once loaded; lanes have flush threads */
	bool		log_fua;	/* any time; log=jbd2: few log blocks with FUA */
	bool		coalesce;	/* any time; commits are put off at conflicts */
	u32		flush_batch;	/* any time; transactions of a run at most */
	u32		versions;	/* any time; images of a buffer in flight, at most */
	u32		max_copies;	/* immutable; of a lane, ahead of its log I/O */
	u32		batch_size;	/* immutable; buffers sent home together */
	u32		credit_units;	/* immutable; units of log space of one image */
	bool		fine;		/* immutable; only changed lines are logged */

	/* Above: read by every handle, so kept apart from what is written below. */
	struct mutex	super_lock ____cacheline_aligned_in_smp;
					/* live bit, super blocks, generation */

	spinlock_t	comp_lock ____cacheline_aligned_in_smp;
					/* components, dependencies, stamps */
	u64		stamp;		/* comp_lock; G: last stamp given out */
	struct zj_comp_stats comp_stats; /* comp_lock */
	struct list_head trim_list;	/* comp_lock; by stamp, frozen and up */
	struct list_head pending;	/* comp_lock; by stamp, frozen and not valid */
	struct list_head finishing;	/* comp_lock; valid and not finished, in the order in
					 * which they became valid
					 */
	u32		undirty;	/* comp_lock to change; so many of these have
					 * zj_component.jdata
					 */
	u64		valid_stamp;	/* comp_lock to change; all up to this is valid */
	bool		unflushed;	/* set without barriers: nothing is known durable
					 * until the log's next generation
					 */
	bool		stamped;	/* set by who writes a chunk that names a durable
					 * stamp; until the next generation
					 */
	wait_queue_head_t wait_submit;	/* a member has submitted its data */
	wait_queue_head_t wait_trim;	/* a component was finished or trimmed,
					 * or its files are dirty
					 */
	u64		progress;	/* comp_lock; counts both */

	atomic_t	next_tid ____cacheline_aligned_in_smp;
					/* once a transaction, not a handle */
	atomic_t	granted;	/* credits of what runs; written when a transaction
					 * is opened, grows, or is frozen
					 */
	atomic_t	nr_running;	/* transactions that run: lanes that are at work */
	struct xarray	tids;		/* live transactions; RCU readers */

	spinlock_t	pool_lock ____cacheline_aligned_in_smp;
					/* guards the segments in no lane's hand */
	struct zj_seg	*segs;		/* all of them */
	struct list_head pool;		/* free ones */
	u32		nr_pool;	/* length of pool; jbd2: free blocks of the ring */
	struct list_head full;		/* filled ones, until trimmed */
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
	u32		homeward;	/* pool_lock to change; of it, taken by nobody yet */

	struct zj_flush	flush ____cacheline_aligned_in_smp;

	struct mutex	ckpt_lock;	/* one checkpoint at a time */
	struct buffer_head **found;	/* ckpt_lock; memory for what a pass finds */
	u32		max_found;	/* immutable; so many */
	bool		found_none;	/* ckpt_lock; the last pass found nothing to bring home */
	u32		helper;		/* ckpt_lock; the lane that is woken next to help */
	u64		trimmed;	/* ckpt_lock; S as on disk */
	u64		trim_seq;	/* ckpt_lock; of the slot written last */
	struct task_struct *ckpt_task;	/* background checkpoint */
	wait_queue_head_t wait_ckpt;	/* it sleeps here */
	bool		ckpt_wanted;	/* set to wake it */

	struct mutex	barrier_lock;	/* held from lock_updates to unlock */
	wait_queue_head_t wait_barrier;	/* both sides of the barrier */

	struct zj_recovery_stats recovered; /* of the last recovery */
	struct proc_dir_entry *proc;	/* /proc/fs/zjournal/<dev> */
	struct mutex	abort_lock;	/* serialises aborts */
	spinlock_t	tenant_lock;	/* guards the table of tenants; innermost */
	bool		roaming;	/* one caller at a time; lanes are not of CPUs */
};

#define to_zj(j)	container_of(j, struct zj_journal, front)

static inline struct zj_journal *txn_zj(const struct zj_txn *txn)
{
	return txn->lane->journal;
}

static inline struct zj_txn *handle_txn(const handle_t *handle)
{
	return to_txn(handle->h_transaction);
}

/* Caller is in an RCU read section or holds comp_lock. */
static inline enum zj_comp_state zj_txn_state(const struct zj_txn *txn)
{
	/* Pairs with freeze() and arrive(). */
	return smp_load_acquire(&READ_ONCE(txn->comp)->state);
}

static inline bool zj_txn_is_valid(const struct zj_txn *txn)
{
	bool valid;

	rcu_read_lock();
	valid = zj_txn_state(txn) == ZJ_C_VALID;
	rcu_read_unlock();
	return valid;
}

/* ext4 changes some of them while we run. */
static inline bool zj_flag(const struct zj_journal *zj, unsigned long flag)
{
	return READ_ONCE(zj->front.j_flags) & flag;
}

static inline bool zj_aborted(const struct zj_journal *zj)
{
	return zj_flag(zj, JBD2_ABORT);
}

static inline bool zj_part_test(const struct zj_part *part, int bit)
{
	return READ_ONCE(part->flags) & BIT(bit);
}

/* part->jh->lock held; the test of ownership looks without it. */
static inline void zj_part_set(struct zj_part *part, unsigned long bits)
{
	WRITE_ONCE(part->flags, part->flags | bits);
}

/* The same. */
static inline void zj_part_clear(struct zj_part *part, unsigned long bits)
{
	WRITE_ONCE(part->flags, part->flags & ~bits);
}

/* Handles of one lane may count at once: one of them may get lost. */
static inline void zj_count(u64 *counter, u64 n)
{
	WRITE_ONCE(*counter, READ_ONCE(*counter) + n);
}

/* Buffers of file folios carry journaled data; others are metadata. */
bool zj_bh_is_file(const struct buffer_head *bh);

/* Where ext4's super block lies: in block 0, or 1 with blocks of 1 KiB. */
#define ZJ_SUPER_OFFSET		1024
#define ZJ_SUPER_SIZE		1024

static inline bool zj_bh_is_super(const struct buffer_head *bh)
{
	return bh->b_blocknr == ZJ_SUPER_OFFSET / bh->b_size;
}

/* ---- jhead.c, part.c, version.c, lines.c ---- */

/* Memory that a touch may need, allocated before locks are taken. */
struct zj_spare {
	struct zj_part	*part;		/* for R1, R3 */
	void		*frozen;	/* for a copy by the accessor */
	void		*base;		/* for the contents before the first change */
	struct zj_dep	*dep;		/* for R3 */
	bool		told;		/* asked for: the caller tells what it changes */
};

/* A bit of journal_head.conflicts: in the commit under way. */
#define ZJ_CONFLICT_NOW		1U

extern struct kmem_cache *zj_handle_cache;
extern struct kmem_cache *zj_part_cache;

int zj_caches_init(void);
void zj_caches_exit(void);
bool zj_frozen_caches_init(void);
void zj_frozen_caches_exit(void);
struct kmem_cache *zj_frozen_cache(u32 block_size);
struct journal_head *zj_jh_get(struct buffer_head *bh);
struct journal_head *zj_jh_attach(struct buffer_head *bh);
void zj_jh_put(struct journal_head *jh);
void zj_spare_fill(struct zj_journal *zj, struct zj_spare *spare, bool more);
void zj_spare_free(struct zj_journal *zj, struct zj_spare *spare);
struct zj_part *zj_part_take(struct journal_head *jh, struct zj_spare *spare);
void zj_part_untake(struct journal_head *jh, struct zj_part *part,
		    struct zj_spare *spare);
void zj_part_file(struct zj_part *part, struct journal_head *jh,
		  struct zj_txn *txn);
bool zj_part_file_late(struct zj_part *part, struct journal_head *jh,
		       struct zj_txn *txn);
void zj_part_move(struct zj_part *part, struct zj_txn *txn);
void zj_part_drop(struct zj_part *part);
bool zj_part_retire(struct journal_head *jh, bool locked);
void zj_txn_walk(struct zj_txn *txn,
		 void (*fn)(struct zj_txn *txn, struct journal_head *jh,
			    void *arg), void *arg);
void zj_part_logged(struct zj_journal *zj, struct zj_part *part);
void zj_part_freeze(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_part_crowd(struct zj_part *part);
void zj_part_uncrowd(struct zj_part *part);

/* Is a frozen copy to be made ahead of the log I/O? */
enum zj_want { ZJ_COPY_NO, ZJ_COPY_MAY, ZJ_COPY_MUST };

enum zj_want zj_part_wants_copy(struct zj_journal *zj, struct zj_part *part);
void zj_jh_conflict(struct journal_head *jh);
bool zj_part_image(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_jh_wait_live(struct journal_head *jh);
bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh);
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare);
void zj_part_set_base(struct zj_part *part, struct zj_spare *spare);
void zj_part_no_base(struct zj_journal *zj, struct zj_part *part);
void zj_part_note_known(struct zj_journal *zj, struct zj_part *part);
void zj_jh_unknown(struct zj_journal *zj, struct journal_head *jh);
void zj_bh_unknown(struct buffer_head *bh);

/* ---- component.c ---- */

/**
 * struct zj_cause - where two transactions meet
 */
struct zj_cause {
	struct buffer_head *bh;		/* the block, or NULL */
	enum zj_kind	kind;		/* without a block */
};

static inline struct zj_cause zj_at_block(struct buffer_head *bh)
{
	return (struct zj_cause){ .bh = bh };
}

static inline struct zj_cause zj_at(enum zj_kind kind)
{
	return (struct zj_cause){ .kind = kind };
}

struct zj_component *zj_component_alloc(void);
void zj_component_add(struct zj_component *comp, struct zj_txn *txn);
bool zj_unite(struct zj_txn *txn, struct zj_txn *other, struct zj_cause at);
bool zj_depend(struct zj_txn *txn, struct zj_txn *on, struct zj_cause at,
	       struct zj_dep **spare);
void zj_tie(struct zj_txn *txn, struct zj_txn *other, enum zj_kind kind);
void zj_commit_request(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_now(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_again(struct zj_txn *txn);
void zj_commit_request_lane(struct zj_lane *lane);
void zj_commit_request_all(struct zj_journal *zj);
void zj_try_freeze(struct zj_journal *zj, struct zj_txn *txn);
void zj_try_freeze_lane(struct zj_lane *lane);
void zj_component_free(struct zj_journal *zj, struct zj_component *comp);

/* ---- txn.c ---- */

struct zj_txn *zj_txn_alloc(struct zj_lane *lane);
void zj_txn_publish(struct zj_txn *txn);
void zj_txn_free_unused(struct zj_txn *txn);
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid);
void zj_txn_put(struct zj_txn *txn);
void zj_txn_set_valid(struct zj_txn *txn);
int zj_txn_wait_valid(struct zj_txn *txn);

/* ---- space.c ---- */

u32 zj_log_blocks(const struct zj_journal *zj, int credits);
bool zj_space_take(struct zj_lane *lane, int credits, int rsv);

/**
 * zj_space_get() - does the lane have room for more credits?
 * @lane: the lane
 * @credits: images to add to its running transaction
 * @rsv: images of a reserved handle besides, or 0
 *
 * Context: lane->lock held; takes pool_lock when the lane's own space is short.
 * Return: true if there is room; the caller accounts for it.
 */
static inline bool zj_space_get(struct zj_lane *lane, int credits, int rsv)
{
	int running = lane->running ? lane->running->credits : 0;

	lockdep_assert_held(&lane->lock);
	/* A handle without credits needs a header all the same. */
	if (likely(lane->limit && !rsv && running + credits <= lane->limit))
		return true;
	return zj_space_take(lane, credits, rsv);
}

int zj_space_wait(struct zj_lane *lane, int credits, int rsv,
		  struct zj_space_waiter *waiter);
void zj_space_leave(struct zj_journal *zj, struct zj_space_waiter *waiter);
void zj_space_away(struct zj_journal *zj, struct zj_space_waiter *waiter, bool away);
bool zj_space_grow(struct zj_txn *txn);
bool zj_space_next(struct zj_lane *lane);
void zj_space_trim(struct zj_journal *zj, u64 trim_stamp);
void zj_space_surplus(struct zj_lane *lane);
u32 zj_seg_room(struct zj_lane *lane, u32 need);
int zj_seg_init(struct zj_journal *zj);
void zj_space_exit(struct zj_journal *zj);
u32 zj_space_share(struct zj_journal *zj);
void zj_space_frozen(struct zj_txn *txn);
bool zj_space_low(struct zj_journal *zj);
static inline bool zj_space_awaited(struct zj_journal *zj)
{
	return atomic_read(&zj->space_waiters);
}


/* ---- commit.c, pipeline.c, log.c, log_jbd2.c, log_nvm.c, log_io.c ---- */

extern const struct zj_log_ops zj_log_lanes, zj_log_jbd2, zj_log_nvm;

int zj_lane_thread(void *arg);
int zj_flush_thread(void *arg);
void zj_run_close(struct zj_lane *lane);
void zj_run_join(struct zj_txn *txn);
int zj_issue_later(struct zj_txn *txn);
bool zj_flush_run(struct zj_lane *lane);
bool zj_log_wants_fua(struct zj_lane *lane, u32 blocks);
bool zj_run_cached(const struct zj_run *run);
void zj_run_ahead(struct zj_lane *lane, bool fua, struct completion *done);
void zj_txn_logged(struct zj_txn *txn);
bool zj_settle_images(struct zj_txn *txn);
struct zj_part *zj_first_image(struct zj_txn *txn);
struct zj_part *zj_next_image(struct zj_txn *txn, struct zj_part *part);
void zj_log_io_begin(struct zj_log_io *io, struct zj_journal *zj,
		     blk_opf_t flags);
void zj_log_io_add(struct zj_log_io *io, u32 log_block, void *data);
void zj_log_io_send(struct zj_log_io *io);
int zj_log_io_wait(struct zj_log_io *io);
int zj_dev_rw(struct zj_journal *zj, u32 block, u32 nr, void *buf,
	      blk_opf_t opf);
void zj_dev_read_start(struct zj_journal *zj, struct zj_dev_reads *reads,
		       u32 block, u32 nr, void *buf);
int zj_dev_read_end(struct zj_dev_reads *reads);

/* ---- log_nvm.c ---- */

int zj_nvm_load(struct zj_journal *zj);
void zj_nvm_exit(struct zj_journal *zj);

/* ---- flush.c ---- */

bool zj_needs_flush(struct zj_journal *zj);
void zj_flush_expected(struct zj_lane *lane);
void zj_flush_not_expected(struct zj_lane *lane);
bool zj_txn_expects_flush(struct zj_txn *txn);
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
void zj_log_unflushed(struct zj_journal *zj);
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log);

/* ---- validity.c ---- */

void zj_member_committed(struct zj_txn *txn);

/* ---- home.c, tail.c ---- */

int zj_checkpoint_thread(void *arg);
int zj_checkpoint(struct zj_journal *zj, bool all);
int zj_checkpoint_init(struct zj_journal *zj);
void zj_checkpoint_exit(struct zj_journal *zj);
bool zj_checkpoint_offers(const struct zj_lane *lane);
void zj_checkpoint_owe(struct zj_lane *lane, u32 blocks);
void zj_checkpoint_help(struct zj_lane *lane);
void zj_checkpoint_kick(struct zj_journal *zj);
void zj_progress(struct zj_journal *zj);

/* ---- revoke.c ---- */

int zj_revoke_init(struct zj_journal *zj);
void zj_revoke_exit(struct zj_journal *zj);
void zj_revoke_touch(handle_t *handle, u64 block);
void zj_revoke_retire(struct zj_txn *txn);

/* ---- ordered.c ---- */

int zj_ordered_submit(struct zj_txn *txn);
int zj_ordered_wait(struct zj_txn *txn);
void zj_ordered_drop(struct zj_txn *txn);

/* ---- super.c, load.c ---- */

int zj_super_read(struct zj_journal *zj, sector_t block);
int zj_super_write(struct zj_journal *zj);
int zj_make_live(struct zj_journal *zj);
int zj_lanes_go_live(struct zj_journal *zj);
void zj_new_generation(struct zj_journal *zj);
int zj_make_clean(struct zj_journal *zj);
int zj_trim_write(struct zj_journal *zj, u64 trim_stamp);
int zj_recover_device(struct zj_journal *zj);

/* ---- lane.c ---- */

int zj_lanes_start(struct zj_journal *zj);
void zj_lanes_stop(struct zj_journal *zj);
void zj_lanes_free(struct zj_journal *zj);
static inline struct zj_lane *zj_lane_pick(struct zj_journal *zj)
{
	unsigned int cpu = raw_smp_processor_id();

	/* One lane a CPU as a rule: no division then. */
	return &zj->lanes[cpu < zj->nr_lanes ? cpu : cpu % zj->nr_lanes];
}

/* As the caller says; negative: by CPU. */
static inline struct zj_lane *zj_lane_at(struct zj_journal *zj, int lane)
{
	return lane < 0 ? zj_lane_pick(zj) : &zj->lanes[lane % zj->nr_lanes];
}

/* ---- tenant.c ---- */

int zj_tenants_init(struct zj_journal *zj);
void zj_tenants_exit(struct zj_journal *zj);
void zj_tenants_forget(struct zj_journal *zj);

/* ---- abort.c ---- */

void zj_abort(struct zj_journal *zj, int err);
void zj_drop_everything(struct zj_journal *zj);

/* ---- kernel/procfs.c ---- */

int zj_proc_init(void);
void zj_proc_exit(void);
void zj_proc_add(struct zj_journal *zj);
void zj_proc_remove(struct zj_journal *zj);

#define zj_err(zj, fmt, ...) \
	pr_err("zjournal %s: " fmt, (zj)->front.j_devname, ##__VA_ARGS__)
#define zj_notice(zj, fmt, ...) \
	pr_notice("zjournal %s: " fmt, (zj)->front.j_devname, ##__VA_ARGS__)

#endif /* ZJ_H */
