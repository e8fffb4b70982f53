/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device that the fuzzer's recovery runs on: it watches what recovery reads
 * and writes, in which order, and fails on demand.
 *
 * The journal lies in two pieces among the other blocks, as in a file system, so
 * a write home that hits it does hit it.
 */
#ifndef ZJ_FUZZ_DEVICE_H
#define ZJ_FUZZ_DEVICE_H

#include <linux/types.h>
#include <zjournal/recovery.h>
#include "input.h"

#define DEV_MAX_BLOCKS	(2 * IN_MAX_BLOCKS)
#define DEV_NEVER	(~0U)

struct ref_log;

/* What recovery may do next; it only moves on. */
enum dev_stage {
	DEV_CHECKING,	/* read */
	DEV_WRITING,	/* read, write home */
	DEV_FLUSHED,	/* empty the log */
	DEV_EMPTIED,	/* nothing */
};

/**
 * struct device - a device under recovery
 */
struct device {
	u32	block_size;
	u32	journal_blocks;
	u32	home_blocks;		/* without the journal's */
	const u8 *block[DEV_MAX_BLOCKS]; /* as it reads; NULL: zero */
	const u8 *stable[DEV_MAX_BLOCKS]; /* as a power cut leaves it */
	enum dev_stage stage;
	u32	writes;			/* writes and flushes so far */
	u32	write_error_at;		/* this one and all later ones fail */
	u32	reads;			/* calls of read_log and read_home so far */
	u32	read_error_at;		/* this one fails */
	u32	read_garbled_at;	/* this one has a bit changed */
	u64	blocks_read;
	u64	last_home;		/* block of the last write home */
	bool	patterned;		/* what is home was not zero at first */
	char	error[512];		/* last message of level 0 */
};

/* The journal is the input's, what is home is zero. */
void dev_init(struct device *d, const struct input *in);
/* The journal is zero, what is home is not. */
void dev_init_home(struct device *d, u32 block_size, u32 journal_blocks, u32 home_blocks);
/* Stage and counters as before a run; the blocks stay. */
void dev_rewind(struct device *d);
/* Keeps, loses or tears each unflushed block, by @dice. */
void dev_power_cut(struct device *d, u32 dice);
u32 dev_blocks(const struct device *d);
/* What recovery of such a device has to know. */
struct zj_recovery_args dev_args(struct device *d, const struct zj_io_ops *ops, bool dry_run,
				 struct zj_recovery_stats *s);
u32 dev_log_home(const struct device *d, u32 log_block);
bool dev_is_log(const struct device *d, u64 block);
const u8 *dev_peek(const struct device *d, u32 block);
/* A block that is not the journal's, as it was at first. */
const u8 *dev_first(const struct device *d, u32 block);
/* Gives a reference reader the facts that it needs. */
void dev_ref_log(struct device *d, struct ref_log *log);

/* Print and abort: a finding. */
__printf(1, 2)
void dev_wrong(const char *fmt, ...) __attribute__((noreturn));

/* For a log in the journal, and for one in memory. */
extern const struct zj_io_ops dev_ops, dev_home_ops;

#endif
