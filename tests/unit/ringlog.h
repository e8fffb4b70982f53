/* SPDX-License-Identifier: GPL-2.0-only */
/* Random logs in stock's format, and the result that recovery must have. */
#ifndef ZJ_RINGLOG_H
#define ZJ_RINGLOG_H

#include "format/codec_jbd2.h"
#include "memlog.h"

#define RING_HOMES	40	/* blocks of the file system */
#define RING_SEQUENCE	0xfffffff8u	/* the numbers go over 0 */
#define RING_KINDS	6

/**
 * struct ring - a log under construction, and what it must make of the blocks
 */
struct ring {
	struct memdev	*d;
	struct zj_jbd2_super *sb;
	struct zj_jbd2_geo log;
	u32		rand;
	u32		pos;		/* next block */
	u32		left;		/* blocks */
	u32		sequence;	/* next transaction */
	u8		want[RING_HOMES];	/* pattern, 0: untouched */
	u8		got[64][RING_HOMES];	/* images of each transaction */
	bool		revoked[64][RING_HOMES];
	u32		nr;		/* transactions */
};

/* Features of block 0: the checksums and widths that there are. */
extern const u32 ring_kinds[RING_KINDS];

u32 ring_below(struct ring *r, u32 n);
/* An empty log that starts somewhere, with leftovers in it. */
/* Recovers a device with such a log. */
int ring_recover(struct memdev *d, const struct zj_io_ops *ops, unsigned int flags,
		 struct zj_recovery_stats *stats, u32 *sequence);
void ring_new(struct ring *r, u32 seed, u32 features);
/* The same, longer than the pieces that are read at a time. */
void ring_new_large(struct ring *r, u32 seed, u32 features);
/* Longer than all that is read ahead. */
void ring_new_huge(struct ring *r, u32 seed, u32 features);
/* Its next block, zero. */
void *ring_next(struct ring *r);
/* A revoke block of up to @n numbers, noted in @revoked; few of what is in @got. */
void ring_put_revokes(struct ring *r, u32 n, const u8 *got, bool *revoked);
/* Some transactions, perhaps one that was cut off after them. */
void ring_fill(struct ring *r);

#endif /* ZJ_RINGLOG_H */
