/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options that a file system gives to its journal: one struct, handed over before the
 * load (zj_journal_configure()); a part of it may change later (zj_journal_reconfigure()).
 */
#ifndef ZJOURNAL_OPTIONS_H
#define ZJOURNAL_OPTIONS_H

#include <linux/types.h>

/* The log's format and where it is. */
enum zj_log_format {
	ZJ_LOG_LANES,		/* our own, in the journal inode */
	ZJ_LOG_JBD2,		/* stock's, one lane: stock ext4 and e2fsck replay it */
	ZJ_LOG_NVM,		/* our own, in byte-addressable memory */
	ZJ_NR_LOG_FORMATS
};

/* The buffers that a commit copies before it writes the log, besides those that it must copy. */
enum zj_frozen_copy {
	ZJ_FROZEN_COPY_AUTO,	/* buffers that handles are likely to want meanwhile */
	ZJ_FROZEN_COPY_ALWAYS,	/* all buffers: no handle waits for log I/O */
	ZJ_FROZEN_COPY_NEVER,	/* none: a handle that wants a buffer copies it, or waits */
};

#define ZJ_FLUSH_BATCH	16	/* the default of zj_live_options.flush_batch */
/* The default of zj_live_options.versions: with 5 hardly a conflict is left (CJFS, papers.md). */
#define ZJ_VERSIONS	5

/**
 * struct zj_live_options - what may change while the journal is loaded
 *
 * All zeroes are the defaults. All fields are words: zj_journal_reconfigure() stores
 * each word of the journal's own copy at once, and readers use READ_ONCE() and may see
 * old and new words mixed. So no lock protects them, but only one caller may change them
 * at a time.
 */
struct zj_live_options {
	enum zj_frozen_copy frozen_copy; /* what is copied ahead of the log I/O */
	u32	unpinned;	/* 1: handles start in lanes that the caller names, so a lane's
				 * thread runs near the task that wakes it, not on the lane's
				 * CPU; a change forgets all tenants
				 */
	u32	log_fua;	/* 1: few log blocks of a log in stock's format go out with
				 * FUA where the device has it, and no flush stands between
				 * them and their commit block
				 */
	u32	flush_batch;	/* most transactions that share their flushes; 0: the default */
	u32	versions;	/* most images of one buffer on their way to the log; 0: the
				 * default; 1: a buffer is not committed again before its
				 * image is in the log
				 */
	u32	by_thread;	/* 1: only lanes' threads commit; 0: a task that syncs does, if its
				 * lane is idle
				 */
	u32	no_coalesce;	/* 1: a transaction whose commit must wait takes no more handles */
};

/**
 * struct zj_options - the choices that are made when the journal is configured
 *
 * All zeroes are the defaults. The fields outside @live do not change once the journal
 * is loaded, and need no lock.
 */
struct zj_options {
	u32	lanes;		/* 1 to ZJ_MAX_LANES; 0: one for each CPU that is online */
	enum zj_log_format log;	/* ZJ_LOG_JBD2 has one lane: @lanes is 0 or 1 */
	u32	pipeline;	/* 1: each lane has a flush thread, too, and the lane's thread
				 * begins the next transaction as soon as one is on its way to
				 * the log; 0: only when it is durable, as in stock jbd2
				 */
	u32	data_reported;	/* 1: the file system calls zj_journal_data_written() and
				 * zj_journal_inode_written(); 0: every commit in which data
				 * is not journaled flushes the device
				 */
	u32	data_journaled;	/* 1: handles rely on no data outside the log, as with
				 * data=journal, so that a commit needs no flush before its
				 * record. If the file system zeroes blocks in place, it has to
				 * flush them itself before a handle makes use of them
				 */
	u32	one_head;	/* 1: the file system's disk needs a seek for each request, so
				 * home writes are to be few requests rather than few blocks
				 */

	u32	log_blocks;	/* 1: log whole blocks; 0: the lines that have changed, unless the
				 * format is stock's
				 */
	u32	log_check;	/* 1: compare declared ranges with a copy of the block, and abort
				 * if something else has changed, too
				 */

	/* With ZJ_LOG_NVM only. */
	const char *nvm_path;	/* of the device; the caller keeps it while the journal exists */
	u32	txninfo_max;	/* bytes of a TxnInfo, a power of two; one that is full closes
				 * its transaction. 0: a transaction may have any number of them
				 */

	struct zj_live_options live;
};

#endif /* ZJOURNAL_OPTIONS_H */
