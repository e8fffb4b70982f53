/* SPDX-License-Identifier: GPL-2.0-only */
/* The log's format. */
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
 * Code outside a format's own file asks for a property or calls an operation, and never
 * for the format itself. No operation is NULL: log_default.c has one for each that a
 * format may have no use for.
 *
 * @name: as in the mount option
 * @log_before_data: @issue sends log blocks out beside the data, and only the record
 *	that @record writes waits for both; else the whole log waits for the data
 * @logs_lines: the log has of a block the lines that changed, and recovery puts them over
 *	what it finds: what a buffer held before is kept, or what changed is told
 * @in_memory: the log is in memory of its own (zj_journal.nvm), not in the journal inode,
 *	where stock's would be: a handle needs no room for more than ext4 asks for
 * @obeys_features: how the log is written and read follows from the features of block 0,
 *	so these must not change while it is live
 * @counts_images: zj_txn.used counts what a transaction modifies, and @full is asked
 *	before a handle joins it; else neither, so that a start costs nothing for it
 * @max_lanes: lanes that it can have, whatever the option says
 * @max_age: jiffies after which the oldest is brought home, space or no; 0: never
 *
 * @open: at load, block 0 is known, nothing has been recovered: open what the log is
 *	in, or refuse, with a message, if what is live is out of reach
 * @release: undo @open and what else the format has allocated; no thread runs any more.
 *	Also without @open, or after its failure
 * @fit: at load, max_credits is known: fill in the geometry for so many lanes or
 *	fewer; 0: too small
 * @blocks: log blocks that a transaction of so many images takes at worst
 * @room: blocks that a lane may fill; gets it more if @need is more, 0: what it has
 *	in hand. lane->lock held
 * @init: set up the space; all of it is free
 * @go_live: make block 0 and what else there is say that the log is in use,
 *	durably; super_lock held
 * @advance_tail: everything up to component @last is home: say so durably; ckpt_lock held
 * @issue: a sealed member joins a run (zj_run_join()), and what may be written of
 *	it before its data is durable is sent out; by its lane's thread
 * @written: wait until that is in the device
 * @close: a run gets no more members; lane->lock held
 * @begin: send out what a closed run needs in the device before its flush
 * @begun: wait until that is in the device
 * @record: with data and log blocks durable: write the records of a run and wait
 *	for them
 * @full: is a running transaction to be closed; lane->lock held
 */
struct zj_log_ops {
	const char *name;
	bool log_before_data;
	bool logs_lines;
	bool in_memory;
	bool obeys_features;
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
 * struct zj_ring - a log in stock's format, used round and round
 */
struct zj_ring {
	struct zj_jbd2_geo geo;		/* super_lock, while not live */
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
	bool		check;		/* option; are declared ranges all that changed? */
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
 * struct zj_run - transactions of a lane that share their flushes
 *
 * Its flush thread's.
 */
struct zj_run {
	struct zj_lane	*lane;		/* immutable */
	struct list_head txns;		/* zj_txn.lane_link, in seal order */
	void		*record;	/* block that @begin has made for the record, or NULL */
	struct zj_log_io io;		/* log=jbd2; that block's zeros on their way */
};

#endif /* ZJ_LOG_TYPES_H */
