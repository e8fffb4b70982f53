/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device in memory with a log on it, for the tests of recovery: a builder for
 * hand-made logs, and I/O operations that count, fail and lose power on demand.
 */
#ifndef ZJ_MEMLOG_H
#define ZJ_MEMLOG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <zjournal/recovery.h>
#include "format/codec.h"

#define ML_ENTRIES	16	/* of each kind in one struct rec */
#define ML_NEVER	(~0U)

/**
 * struct memdev - a device: journal, file system, and what was asked of it
 */
struct memdev {
	struct zj_log_geometry geo;
	u32	seed;
	u64	home_blocks;
	u64	log_home;	/* home block of the journal's first; 0: home_blocks */
	u8	*log;		/* journal; writes to it are durable */
	u8	*home;		/* file system as it reads, cache included */
	u8	*stable;	/* file system as it is after a power cut */
	u8	*dirty;		/* per home block: written since the last flush */
	u32	next[32];	/* builder: next free block of each segment */
	u64	seg_seq[32];	/* builder: tenure of each segment */

	u32	writes;		/* writes and flushes so far */
	u32	power_cut_at;	/* that many succeed; ML_NEVER */
	u32	reads;		/* calls of read_log so far */
	u32	read_error_at;	/* this call fails; ML_NEVER */
	u64	blocks_read;
	bool	ahead;		/* the host can read ahead */
	u64	room;		/* bytes for copies, with @ahead */
	u32	bad_block;	/* of the journal: cannot be read; ML_NEVER */
	u32	bad_too;	/* the same */
	u32	in_flight;	/* blocks that were asked for and not waited for */
	u32	most_in_flight;
	struct ml_read *begun;	/* what they were asked for */
	u32	rand;		/* state of the power cut's dice */
	u32	told_log, told_home;	/* calls of progress: the log is read; blocks go home */
	u32	notices;
	char	error[1024];	/* last message of level 0 */
	char	unread[1024];	/* message of blocks that are not missed */
};

/**
 * struct rec - what one chunk says; unset fields get sensible values
 */
struct rec {
	u64	stamp;
	u32	lane;
	u32	tid;			/* 0: made from stamp and lane */
	u32	members;		/* 0: 1 */
	u32	index;
	u32	chunks;			/* 0: 1 */
	u64	durable;		/* committed stamp */
	u64	deps[ML_ENTRIES];	/* up to the first 0 */
	u64	revokes[ML_ENTRIES];	/* up to the first 0 */
	struct {
		u64	block;
		u8	val;		/* the pattern */
	} img[ML_ENTRIES];		/* up to the first val 0 */
	struct {
		u64	block;
		u64	lines;
		u8	val;		/* each of their bytes */
	} lines[ML_ENTRIES];		/* before the images; up to the first val 0 */
};

extern const struct zj_io_ops mem_ops;
/* Those, and if the device can read ahead what that takes. */
const struct zj_io_ops *ml_ops(const struct memdev *d);
extern const u8 mem_uuid[16];

struct memdev *ml_new(u32 nr_segs, u32 seg_blocks, u64 home_blocks);
void ml_free(struct memdev *d);
/* The same contents and counters at zero. */
struct memdev *ml_clone(const struct memdev *d);
void ml_copy(struct memdev *to, const struct memdev *from);
void ml_power_cut(struct memdev *d);

void *ml_block(struct memdev *d, u32 log_block);
u32 ml_seg_block(const struct memdev *d, u32 seg, u32 block);
void ml_tenure(struct memdev *d, u32 seg, u64 seg_seq);
/* Append a chunk to a segment; returns the journal block of its header. */
u32 ml_put(struct memdev *d, u32 seg, const struct rec *rec);
#define PUT(d, seg, ...)	ml_put(d, seg, &(const struct rec){ __VA_ARGS__ })
void ml_ckpt(struct memdev *d, u64 seq, u64 stamp);
void ml_log_super(struct memdev *d);
/* Make a header's checksum right again after it was changed. */
void ml_reseal(struct memdev *d, u32 log_block);
void ml_pattern(const struct memdev *d, void *buf, u64 block, u8 val);

/* What recovery of such a device has to know. */
struct zj_recovery_args ml_args(struct memdev *d, const struct zj_io_ops *ops,
				unsigned int flags, struct zj_recovery_stats *stats);
/* Recovers a log of lanes with that. */
int ml_recover_with(struct memdev *d, const struct zj_io_ops *ops, unsigned int flags,
		    struct zj_recovery_stats *stats);
int ml_recover(struct memdev *d, bool dry_run, struct zj_recovery_stats *stats);
/*
 * Recover, and on copies: dry run first, power cut at every write, recovery of
 * the recovered.  Everything must agree.
 */
void ml_recover_ok(struct memdev *d, struct zj_recovery_stats *stats);
/* The same with ZJ_RECOVER_DROP_DAMAGED. */
int ml_recover_dropping(struct memdev *d, struct zj_recovery_stats *stats);
/* Recovery must refuse with @text in its message and write nothing. */
void ml_recover_refused(struct memdev *d, const char *text);
/* The block holds this pattern; val 0: it was never written. */
void ml_expect(struct memdev *d, u64 block, u8 val);
/* The same, but for lines that hold what the string says, where that is not a blank. */
void ml_expect_lines(struct memdev *d, u64 block, u8 val, const char *lines);

u32 ml_rand(u32 *state);

#endif /* ZJ_MEMLOG_H */
