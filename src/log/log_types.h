/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the journal knows of its log: the operations of the log's format, and
 * its state.
 */
#ifndef ZJ_LOG_TYPES_H
#define ZJ_LOG_TYPES_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <zjournal/nvm_dev.h>
#include "format/codec_jbd2.h"

struct zj_component;
struct zj_journal;
struct zj_lane;
struct zj_run;
struct zj_txn;

/**
 * struct zj_log_ops - what differs between the log's formats
 *
 * Code outside a format's own file asks for a property or calls an operation,
 * and never for the format itself. What a format has no use for is NULL, where that is said.
 *
 * @name: as in the mount option
 * @log_before_data: @issue sends log blocks beside the data, and only the
 *	record that @record writes waits for both; otherwise the whole log waits
 *	for the data
 * @logs_lines: the log can take only the lines of a block that changed, and
 *	recovery puts them over what it finds; so the journal keeps what a
 *	buffer held before, or ext4 declares what it changes. zj_logs_lines()
 *	tells whether it does
 * @in_memory: the log is in persistent memory (zj_journal.nvm), not in the
 *	journal inode; stock ext4 has no such log, so a handle need not be
 *	larger than what ext4 asks for
 * @obeys_features: the features in block 0 decide how the log is written and
 *	read, so they must not change while the log is live
 * @stock_numbers: if the journal has a device of its own, its blocks are
 *	numbered as those of the device, as in stock's log; otherwise from block 0
 *	on (map_device())
 * @counts_images: zj_txn.used counts what a transaction modifies, and @full is
 *	asked before a handle joins it; otherwise neither happens, so that a
 *	handle start does not pay for it
 * @max_lanes: the most lanes that it can have, whatever the option says
 * @max_age: in jiffies; a checkpoint runs at least this often, even if space is
 *	not short; 0: only when space is short, or while file data is in the log
 *
 * @open: opens what the log is in, or refuses with a message if a live log is
 *	out of reach; called at load, when block 0 is known and nothing has been
 *	recovered. NULL: the log is in the journal's own blocks
 * @release: undoes @open and frees what else the format has allocated; no
 *	thread runs any more. Also called without @open, or after it has failed.
 *	NULL: there is nothing of that kind
 * @fit: fills in the geometry for at most that many lanes, and returns their
 *	number, or 0 if the log is too small; called at load, when max_credits
 *	is known
 * @blocks: returns the log blocks that a transaction of that many images takes
 *	at worst
 * @room: returns the blocks that a lane may fill, after it has got more if it
 *	has less than @need; with @need 0 it gets no more. Caller holds the
 *	lane's lock
 * @init: sets up the space, all of it free
 * @go_live: makes block 0, and what else there is, say durably that the log is
 *	in use. Caller holds super_lock
 * @can_leave: tells whether the log can be without the images of a component that
 *	is home, as are all older ones; otherwise they stay until a younger one can
 *	leave. Caller holds ckpt_lock. NULL: it always can
 * @advance_tail: records durably that everything up to component @last is home,
 *	and @can_leave. Caller holds ckpt_lock
 * @issue: makes a sealed member join a run (zj_run_join()), and sends out what
 *	may be written of it before its data is durable; called by its lane's
 *	thread. NULL: nothing may be, so it only joins
 * @written: only with @log_before_data, otherwise NULL: waits until the writes that
 *	@issue has sent for this transaction are completed, and returns their error.
 *	They may still be in the device's cache
 * @close: ends a run, which gets no more members. Caller holds the lane's lock. NULL: a
 *	run has no log blocks of its own
 * @begin: sends out the writes that a closed run needs in addition to those of its
 *	members, and that the flush before its records has to cover. NULL: there are none
 * @begun: waits until the writes that @begin has sent are completed, and returns
 *	their error. They may still be in the device's cache. NULL: as @begin
 * @record: writes the records of a run, whose data and log blocks are durable,
 *	and waits for them
 * @full: tells whether a running transaction has to be closed. Caller holds the
 *	lane's lock. Only with @counts_images, otherwise NULL
 */
struct zj_log_ops {
	const char *name;
	bool log_before_data;
	bool logs_lines;
	bool in_memory;
	bool obeys_features;
	bool stock_numbers;
	bool counts_images;
	u32 max_lanes;
	unsigned long max_age;

	int (*open)(struct zj_journal *zj);
	void (*release)(struct zj_journal *zj);
	u32 (*fit)(struct zj_journal *zj, u32 lanes);
	u32 (*blocks)(const struct zj_journal *zj, u32 credits);
	u32 (*room)(struct zj_lane *lane, u32 need);
	int (*init)(struct zj_journal *zj);
	int (*go_live)(struct zj_journal *zj);
	bool (*can_leave)(const struct zj_component *comp);
	int (*advance_tail)(struct zj_journal *zj, const struct zj_component *last);
	int (*issue)(struct zj_txn *txn);
	int (*written)(struct zj_txn *txn);
	void (*close)(struct zj_lane *lane);
	void (*begin)(struct zj_run *run);
	int (*begun)(struct zj_run *run);
	int (*record)(struct zj_run *run, bool fua);
	bool (*full)(const struct zj_txn *txn);
};

/**
 * struct zj_ring - a log in stock's format
 *
 * It is part of zj_journal. @head moves on when a transaction is issued or a
 * run is closed, @tail when the checkpoint has brought runs home.
 */
struct zj_ring {
	struct zj_jbd2_geo geo;		/* super_lock to change; constant while the log is live */
	u32		sequence;	/* immutable once loaded; run N has stock's sequence number
					 * @sequence + N; block 0 said at load that run 1 comes next
					 */
	u32		head;		/* pool_lock to change; next block that is free */
	bool		run_revokes;	/* lane's lock to change; a member of the open run has
					 * revokes, set by the lane's thread only
					 */
	u32		tail;		/* ckpt_lock; oldest block that is still needed */
	u32		tail_run;	/* ckpt_lock; number of the run that begins at @tail */
};

/**
 * struct zj_nvm - the persistent memory that the log is in; immutable once
 * loaded
 */
struct zj_nvm {
	const char	*path;		/* option; belongs to the caller until the journal is
					 * loaded; NULL: the log is not in memory
					 */
	struct zj_nvm_map map;		/* its address is NULL while the memory is not open */
	u8		uuid[16];	/* from the memory's super block */
	u32		info_max;	/* bytes that a TxnInfo may have */
	bool		one_info;	/* option; a transaction whose TxnInfo is full is closed;
					 * otherwise it gets another one
					 */
};

/**
 * struct zj_log_io - blocks that are being written to the log
 *
 * It is embedded in the state of the transaction or run that is being written.
 * One task, the adding task, calls zj_log_io_begin(), zj_log_io_add() and
 * zj_log_io_send(); another may call zj_log_io_wait(). After that the user may
 * free it, or begin again.
 */
struct zj_log_io {
	struct zj_lane	*lane;		/* immutable; whose log it is */
	ktime_t		sent;		/* adding task; when the last bio was submitted */
	u32		bytes;		/* adding task; that were added */
	u32		left;		/* adding task; blocks that are still to be added */
	struct bio	*bio;		/* adding task; the bio that blocks are added to, or NULL */
	u64		next;		/* adding task; device block that would continue @bio */
	blk_opf_t	opf;		/* adding task; operation and flags of all bios */
	atomic_t	pending;	/* bios in flight, plus one for the adding task */
	struct completion done;		/* completed when all bios have ended */
	int		err;		/* cmpxchg; first error of any bio, read when all have
					 * ended
					 */
	struct blk_plug	plug;		/* adding task; holds bios back until zj_log_io_send() */
};

/**
 * struct zj_run - transactions of a lane that share their flushes
 *
 * A run begins as a number only (zj_lane.run), which transactions in
 * zj_lane.flight get when they are issued. The flush thread allocates the
 * struct in next_run() when it takes the oldest run from there, and is the only
 * one to use it (or the lane's thread, if there is no other). It is
 * zj_lane.next while the records of the run before are being written, and
 * zj_lane.recorded if its own records wait for the next flush. It is freed when
 * all its transactions have been reported as durable, or handed to the lane
 * that writes their component's last record; or by an abort.
 */
struct zj_run {
	struct zj_lane	*lane;		/* immutable */
	struct list_head txns;		/* flush thread; zj_txn.lane_link; in seal order */
	void		*record;	/* flush thread, log=jbd2; block for the commit block,
					 * allocated by @begin; else NULL
					 */
	struct zj_log_io io;		/* flush thread, log=jbd2; output of the zeros in the commit
					 * block's place, then of the commit block
					 */
};

#endif /* ZJ_LOG_TYPES_H */
