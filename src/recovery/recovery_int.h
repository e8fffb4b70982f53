/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The passes of recovery, and what they hand to each other:
 *
 *   recovery.c  log super block, checkpoint slots, the order of the passes
 *   readahead.c blocks of the log that are being read ahead, or kept in memory
 *   scan.c      reads every segment once; leaves chunks, images, entries
 *   graph.c     groups chunks into components, finds the committed ones
 *   replay.c    picks the newest image of every block, then writes
 *
 * For a log in stock's format recovery_jbd2.c does what the first three do. For
 * a log in memory, whose images are parts of blocks, nvm/recovery_nvm.c does what
 * the first two do, and the writing.
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

/* What recovery does for long, as struct zj_io_ops' progress() says it. */
#define ZJ_READING_LOG	"reading the log"
#define ZJ_WRITING_HOME	"writing blocks home"

#define ZJ_PIECE_MAX	1024	/* blocks of a piece: of the largest segment */

/**
 * struct zj_vec - an array that grows
 */
struct zj_vec {
	void	*items;		/* @nr elements; moves when it grows */
	u32	nr;		/* elements in use */
	u32	room;		/* elements allocated */
	u32	size;		/* bytes per element */
};

/* Returns a new, uninitialised element, or NULL without memory. */
void *zj_vec_add(struct zj_vec *v);
/*
 * Sorts the elements and lets other tasks run meanwhile. Returns -EINTR, with
 * the elements in any order, if the task is being killed.
 */
int zj_sort(struct zj_vec *v, int (*cmp)(const void *a, const void *b));

/**
 * struct zj_table - maps numbers to indices of an array
 *
 * A damaged or malicious log may contain any numbers. As the hash is salted,
 * its maker cannot know where they hash to, so that finding one takes few steps
 * in any case.
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

/* Allocates an empty table for @nr numbers; returns 0 or -ENOMEM. */
int zj_table_init(struct zj_table *t, u32 nr);
void zj_table_add(struct zj_table *t, u64 key, u32 index);
/* Returns the index of @key, or -1. */
s64 zj_table_find(struct zj_table *t, u64 key);
void zj_table_free(struct zj_table *t);

/**
 * struct zj_rec_chunk - a valid chunk with a stamp above the checkpoint stamp
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
	u64	lines;		/* bitmap of the block's lines that it contains; JBD2: 0 */
	u64	stamp;		/* of its component */
	u64	revoked;	/* highest stamp of a committed revoke of @block; set for a block's
				 * newest image only
				 */
	void	*kept;		/* a copy in memory of the journal block that has it; NULL: that
				 * has to be read again
				 */
	u32	log_block;	/* journal block of the image, or of the header that has its
				 * lines; NVM: its first line
				 */
	u32	csum;		/* of the image as logged, or of that header */
	u32	data;		/* where in that block its lines begin; 0: it is a whole image */
	u32	order;		/* JBD2: of images with one stamp the one with the highest order
				 * counts
				 */
	u16	flags;		/* ZJ_TAG_* */
	bool	committed:1;	/* its component is committed */
	bool	bad:1;		/* JBD2: wrong checksum, so recovery fails unless the image is
				 * revoked
				 */
	bool	unread:1;	/* JBD2: its block cannot be read, so recovery fails unless the
				 * image is revoked
				 */
};

/**
 * struct zj_rec_component - a component: all chunks with one stamp
 */
struct zj_rec_component {
	u64	stamp;
	u32	first_chunk;	/* index in zj_recovery.chunks, sorted */
	u32	nr_chunks;
	u32	members;	/* lanes with at least one chunk of it */
	bool	committed;	/* it is whole, and everything it depends on is committed */
};

/**
 * struct zj_recovery - the state of one recovery
 *
 * zj_recovery_begin() initialises it, and zj_recovery_end() frees what it
 * holds. Each pass fills in what the next one needs: the scan @chunks, @images
 * and @entries, the graph @components and @by_stamp, zj_choose() @by_block and
 * zj_rec_image.revoked.
 */
struct zj_recovery {
	const struct zj_io_ops *ops;	/* the host's I/O */
	void		*ctx;		/* passed to @ops */
	struct zj_recovery_stats *stats; /* the caller's */
	struct zj_log_geometry geo;	/* from the log super block */
	u32		journal_blocks;	/* length of the journal, at least what @geo says */
	u64		home_blocks;	/* number of blocks of the file system's device */
	u64		ckpt_stamp;	/* the checkpoint stamp */
	u64		committed_stamp;	/* the highest committed stamp that a chunk names */
	u64		torn_stamp;	/* lowest stamp of a torn chunk; 0: none */
	u32		torn_block;	/* journal block of that chunk's header */
	u64		unread_stamp;	/* lowest stamp of a chunk with an image that cannot be read;
					 * 0: none
					 */
	u32		unread_image;	/* journal block of that image */
	u32		unread_first;	/* first journal block that cannot be read; 0: none */
	u32		doubt;		/* first journal block that cannot be read, and may hold
					 * the beginning of what is durable; 0: none
					 */
	u32		unread_slot;	/* checkpoint slot that cannot be read; 0: none */
	u32		overwritten;	/* then: torn header of a segment, which may have taken the
					 * place of what was reclaimed; 0: none
					 */
	u64		nameless;	/* then: newest stamp that may have been overwritten by what
					 * names no committed stamp; 0: none
					 */
	u64		unread[ZJ_PIECE_MAX / 64]; /* bitmap of the current piece: blocks that
						    * cannot be read
						    */
	unsigned int	flags;		/* ZJ_RECOVER_* */
	u32		seed;		/* all checksums of this generation start with it */
	u64		whole;		/* zj_rec_image.lines of a whole block; JBD2: 0 */
	bool		memory;		/* the log is in memory */
	void		*buf;		/* @depth pieces; NVM: room for a block, and for a record's
					 * lines
					 */
	void		*built;		/* log=zj: a block that is put together from its images */
	u32		piece;		/* blocks that are read at a time: a segment, or less of a
					 * ring
					 */
	u32		depth;		/* number of pieces in @buf; 1: nothing is read ahead */
	u32		asked[ZJ_READ_SLOTS]; /* blocks of each piece that are being read */
	struct zj_rec_image **again;	/* images that are read again together */
	u32		again_room;	/* elements allocated */
	u64		room;		/* bytes that may still be used for copies of images */
	u32		kept_left;	/* bytes free in the last item of @kept */
	void		*info;		/* NVM: the TxnInfo of the current chunk */
	struct zj_vec	chunks;		/* struct zj_rec_chunk */
	struct zj_vec	images;		/* struct zj_rec_image */
	struct zj_vec	kept;		/* void *: memory blocks that hold the copies */
	struct zj_vec	entries;	/* u64: dependency stamps and revokes */
	struct zj_vec	components;	/* struct zj_rec_component, by stamp */
	struct zj_table	by_stamp;	/* stamp to index in @components */
	struct zj_table	by_block;	/* block to index in @images of its newest image */
};

#define ZJ_GO_ON "zjournal-messages(7), \"A damaged log\", says what to do then"
#define ZJ_NOTHING_WRITTEN \
	"; nothing was written: copy the device%s before you try anything else, " ZJ_GO_ON

#define ZJ_HOW_TO_DROP "zjctl recover --drop-damaged recovers what is older and discards the rest"

/*
 * If the log is in memory, the device has only half of the file system, so both
 * must be copied.
 */
static inline const char *zj_and_memory(const struct zj_recovery *r)
{
	return r->memory ? " and the memory" : "";
}

/* Reports damage that no crash can cause; evaluates to -EUCLEAN. */
#define zj_corrupt(r, fmt, ...)						\
({									\
	(r)->ops->msg((r)->ctx, 0, "damaged log: " fmt ZJ_NOTHING_WRITTEN, \
		      ##__VA_ARGS__, zj_and_memory(r));			\
	-EUCLEAN;							\
})

/* recovery.c */
int zj_read_log(struct zj_recovery *r, u32 block, u32 nr, void *buf);
int zj_read_blocks(struct zj_recovery *r, u32 block, u32 nr, u32 at, void *buf);
int zj_no_memory(struct zj_recovery *r);
void zj_report_unread(struct zj_recovery *r);
void zj_recovery_begin(struct zj_recovery *r, const struct zj_recovery_args *args);
void zj_recovery_end(struct zj_recovery *r);

/* readahead.c */
int zj_ahead_begin(struct zj_recovery *r, u32 piece, u32 nr);
void zj_ahead_ask(struct zj_recovery *r, u32 slot, u32 block, u32 nr);
u32 zj_ahead_end(struct zj_recovery *r, u32 slot);
void zj_ahead_stop(struct zj_recovery *r);
void *zj_keep_image(struct zj_recovery *r, const void *image);
int zj_read_images(struct zj_recovery *r, u32 first, u32 *nr);

/* Tells whether block @at of the current piece could not be read. */
static inline bool zj_is_unread(const struct zj_recovery *r, u32 at)
{
	return r->unread[at / 64] >> at % 64 & 1;
}

/* Returns the memory of the piece that @slot stands for. */
static inline void *zj_piece(const struct zj_recovery *r, u32 slot)
{
	return r->buf + (size_t)slot * r->piece * r->geo.block_size;
}

/*
 * These return the segment of a journal block, the block's place in it, and a
 * segment's first block.
 */
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

/*
 * For long loops: lets other tasks run, and returns -EINTR if the mount is
 * being killed.
 */
static inline int zj_yield(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static inline void zj_tell(struct zj_recovery *r, const char *what, u32 done,
			   u32 total)
{
	if (r->ops->progress)
		r->ops->progress(r->ctx, what, done, total);
}

static inline int zj_cmp(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

/* scan.c */
int zj_scan(struct zj_recovery *r);
int zj_keep_entries(struct zj_recovery *r, const __le64 *from, u32 nr);

/* graph.c */
int zj_graph(struct zj_recovery *r);

/* replay.c */
int zj_choose(struct zj_recovery *r);
int zj_flush_home(struct zj_recovery *r);
int zj_write_home(struct zj_recovery *r);
int zj_write_failed(struct zj_recovery *r, int err, const char *what, u64 block);
int zj_replay(struct zj_recovery *r);

#endif /* ZJ_RECOVERY_INT_H */
