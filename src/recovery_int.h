/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the passes of recovery hand to each other:
 *
 *   recovery.c  log super block, trim slots, the order of the passes
 *   scan.c      reads every segment once; leaves chunks, images, entries
 *   graph.c     groups chunks to components, finds the valid ones
 *   replay.c    picks the newest image of every block, then writes
 *
 * recovery_jbd2.c does the first three for a log in stock's format; recovery_nvm.c
 * the first two, and the writing, for a log in memory, whose images are parts of blocks.
 *
 * Only the second half of replay.c writes.
 */
#ifndef ZJ_RECOVERY_INT_H
#define ZJ_RECOVERY_INT_H

#include <linux/errno.h>
#include <linux/types.h>
#include <zjournal/recovery.h>
#include "codec.h"

/**
 * struct zj_vec - an array that grows
 */
struct zj_vec {
	void	*items;		/* @nr elements; moves when it grows */
	u32	nr;		/* elements in use */
	u32	room;		/* elements allocated */
	u32	size;		/* bytes per element */
};

/* Returns the new, uninitialised element, or NULL without memory. */
void *zj_vec_add(struct zj_vec *v);

/**
 * struct zj_rec_chunk - a good chunk with a stamp above S
 */
struct zj_rec_chunk {
	u64	stamp;		/* of its component */
	u32	lane;
	u32	tid;
	u32	nr_members;	/* of its component */
	u32	chunk_index;	/* 0 .. nr_chunks - 1 */
	u32	nr_chunks;	/* of its member */
	u32	log_block;	/* journal block of the header */
	u32	first_dep;	/* index in zj_recovery.entries */
	u32	nr_deps;
	u32	first_revoke;	/* index in zj_recovery.entries */
	u32	nr_revokes;
	u32	first_image;	/* index in zj_recovery.images after the scan */
	u32	nr_images;
};

/**
 * struct zj_rec_image - one logged image of one block
 */
struct zj_rec_image {
	u64	block;		/* home block */
	u64	lines;		/* NVM: which lines of the block; else 0 */
	u64	stamp;		/* of its component */
	u64	revoked;	/* highest stamp of a valid revoke of @block */
	void	*kept;		/* the host's copy, NULL: read it again */
	u32	log_block;	/* journal block of the image; NVM: its first line */
	u32	csum;		/* of the image as logged */
	u32	order;		/* JBD2: a later one of the same stamp replaces it */
	u16	flags;		/* ZJ_TAG_* */
	bool	valid;		/* its component is valid */
	bool	bad;		/* JBD2: not what its tag says, so must be revoked */
};

/**
 * struct zj_rec_component - chunks of one stamp
 */
struct zj_rec_component {
	u64	stamp;
	u32	first_chunk;	/* index in zj_recovery.chunks, sorted */
	u32	nr_chunks;
	u32	members;	/* lanes of which there is at least one chunk */
	bool	valid;		/* whole, and all that it depends on is valid */
};

/**
 * struct zj_recovery - one run of recovery
 */
struct zj_recovery {
	const struct zj_io_ops *ops;	/* the host's I/O */
	void		*ctx;		/* passed to @ops */
	struct zj_recovery_stats *stats; /* the caller's */
	struct zj_log_geometry geo;	/* from the log super block */
	u32		journal_blocks;	/* length of the journal, at least geo's */
	u64		home_blocks;	/* home blocks are below this */
	u64		trim_stamp;	/* S */
	u32		seed;		/* of the checksums of this generation */
	u64		whole;		/* zj_rec_image.lines of a whole block; 0 but on NVM */
	void		*buf;		/* one segment; NVM: a block, and a record's lines */
	void		*info;		/* NVM: the TxnInfo of the chunk in question */
	struct zj_vec	chunks;		/* struct zj_rec_chunk */
	struct zj_vec	images;		/* struct zj_rec_image */
	struct zj_vec	entries;	/* u64: dependency stamps and revokes */
	struct zj_vec	components;	/* struct zj_rec_component, by stamp */
};

#define ZJ_GO_ON "docs/format.md (\"Damaged logs\") says how to go on"
#define ZJ_NOTHING_WRITTEN \
	"; nothing was written: copy the device%s before you try anything else, " ZJ_GO_ON

/* Only half of a file system is on the device if its log is in memory. */
static inline const char *zj_and_memory(const struct zj_recovery *r)
{
	return r->whole ? " and the memory" : "";
}

/* Report damage that no crash can cause; evaluates to -EUCLEAN. */
#define zj_corrupt(r, fmt, ...)						\
({									\
	(r)->ops->msg((r)->ctx, 0, "damaged log: " fmt ZJ_NOTHING_WRITTEN, \
		      ##__VA_ARGS__, zj_and_memory(r));			\
	-EUCLEAN;							\
})

int zj_read_log(struct zj_recovery *r, u32 block, u32 nr, void *buf);
int zj_no_memory(struct zj_recovery *r);

/* Segment of a journal block, and the block's place in it. */
static inline u32 zj_seg_of(const struct zj_recovery *r, u32 log_block)
{
	return (log_block - r->geo.log_first) / r->geo.seg_blocks;
}

static inline u32 zj_seg_block_of(const struct zj_recovery *r, u32 log_block)
{
	return (log_block - r->geo.log_first) % r->geo.seg_blocks;
}

static inline int zj_cmp(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

void zj_recovery_begin(struct zj_recovery *r, const struct zj_io_ops *ops,
		       void *ctx, struct zj_recovery_stats *stats);
void zj_recovery_end(struct zj_recovery *r);
int zj_scan(struct zj_recovery *r);
int zj_graph(struct zj_recovery *r);
int zj_choose(struct zj_recovery *r);
int zj_write_home(struct zj_recovery *r);
int zj_write_failed(struct zj_recovery *r, int err, const char *what, u64 block);
int zj_replay(struct zj_recovery *r);

#endif /* ZJ_RECOVERY_INT_H */
