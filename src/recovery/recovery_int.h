/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the passes of recovery hand to each other:
 *
 *   recovery.c  log super block, checkpoint slots, the order of the passes
 *   readahead.c what is on its way from the log into memory, or stays there
 *   scan.c      reads every segment once; leaves chunks, images, entries
 *   graph.c     groups chunks to components, finds the committed ones
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
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/types.h>
#include <zjournal/recovery.h>
#include "format/codec.h"

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
/* Sort the elements; others run meanwhile. -EINTR, and any order, for who is killed. */
int zj_sort(struct zj_vec *v, int (*cmp)(const void *a, const void *b));

/**
 * struct zj_table - which element of an array has a number
 *
 * Whoever made the log has chosen the numbers, but cannot know where they hash to:
 * to find one takes a few steps, whatever the log holds.
 */
struct zj_table {
	struct zj_table_slot {
		u64	key;
		u32	at;		/* index plus 1; 0: the slot is free */
	}	*slots;			/* at least half of them are free */
	unsigned int bits;		/* log2 of the number of slots */
	u64	salt;			/* random */
	u64	steps;			/* slots looked at so far */
};

/* Room for @nr numbers, none of them in it yet; -ENOMEM. */
int zj_table_init(struct zj_table *t, u32 nr);
void zj_table_add(struct zj_table *t, u64 key, u32 index);
/* The index of @key, or -1. */
s64 zj_table_find(struct zj_table *t, u64 key);
void zj_table_free(struct zj_table *t);

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
	u64	revoked;	/* highest stamp of a committed revoke of @block */
	void	*kept;		/* a copy, NULL: read it again */
	u32	log_block;	/* journal block of the image; NVM: its first line */
	u32	csum;		/* of the image as logged */
	u32	order;		/* JBD2: a later one of the same stamp replaces it */
	u16	flags;		/* ZJ_TAG_* */
	bool	committed;	/* its component is committed */
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
	bool	committed;	/* whole, and all that it depends on is committed */
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
	u64		ckpt_stamp;	/* S */
	u64		committed_stamp;	/* the highest that a chunk names */
	u64		torn_stamp;	/* lowest stamp of a torn chunk; 0: none */
	u32		torn_block;	/* journal block of that one's header */
	unsigned int	flags;		/* ZJ_RECOVER_* */
	u32		seed;		/* of the checksums of this generation */
	u64		whole;		/* zj_rec_image.lines of a whole block; 0 but on NVM */
	void		*buf;		/* @depth pieces; NVM: a block, and a record's lines */
	u32		piece;		/* blocks that are read at a time: a segment, or less of a ring */
	u32		depth;		/* pieces at hand and ahead; 1: nothing is read ahead */
	u32		asked[ZJ_READ_SLOTS]; /* blocks of each piece that are on their way */
	struct zj_rec_image **again;	/* images to be read again at one time */
	u32		again_room;	/* elements allocated */
	u64		room;		/* bytes that may still be taken for copies of images */
	u32		kept_left;	/* bytes free in the last item of @kept */
	void		*info;		/* NVM: the TxnInfo of the chunk in question */
	struct zj_vec	chunks;		/* struct zj_rec_chunk */
	struct zj_vec	images;		/* struct zj_rec_image */
	struct zj_vec	kept;		/* void *: memory that holds the copies */
	struct zj_vec	entries;	/* u64: dependency stamps and revokes */
	struct zj_vec	components;	/* struct zj_rec_component, by stamp */
	struct zj_table	by_stamp;	/* indices in @components */
	struct zj_table	by_block;	/* indices in @images: the newest of each block */
};

#define ZJ_GO_ON "docs/format.md (\"Damaged logs\") says how to go on"
#define ZJ_NOTHING_WRITTEN \
	"; nothing was written: copy the device%s before you try anything else, " ZJ_GO_ON

#define ZJ_HOW_TO_DROP "zjctl recover --drop-damaged keeps what is older and gives up the rest"

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
int zj_ahead_begin(struct zj_recovery *r, u32 piece, u32 nr);
void zj_ahead_ask(struct zj_recovery *r, u32 slot, u32 block, u32 nr);
u32 zj_ahead_end(struct zj_recovery *r, u32 slot);
void zj_ahead_stop(struct zj_recovery *r);
void *zj_keep_image(struct zj_recovery *r, const void *image);
int zj_read_images(struct zj_recovery *r, u32 first, u32 *nr);

/* Memory of the piece that @slot stands for. */
static inline void *zj_piece(const struct zj_recovery *r, u32 slot)
{
	return r->buf + (size_t)slot * r->piece * r->geo.block_size;
}

/* Segment of a journal block, and the block's place in it. */
static inline u32 zj_seg_of(const struct zj_recovery *r, u32 log_block)
{
	return (log_block - r->geo.log_first) / r->geo.seg_blocks;
}

static inline u32 zj_seg_block_of(const struct zj_recovery *r, u32 log_block)
{
	return (log_block - r->geo.log_first) % r->geo.seg_blocks;
}

static inline u32 zj_seg_first(const struct zj_recovery *r, u32 seg)
{
	return r->geo.log_first + seg * r->geo.seg_blocks;
}

/* For long loops: others run, and a mount that is being killed ends with -EINTR. */
static inline int zj_yield(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
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
