/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log as it is on the device, including damaged parts, and what recovery does with
 * each of its records.  Recovery keeps only what it needs; this keeps what users want
 * to see.
 */
#ifndef ZJCTL_LOG_VIEW_H
#define ZJCTL_LOG_VIEW_H

#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "recovery/recovery_int.h"
#include "extimage.h"
#include "memory.h"

/* Why the walk through a segment or the ring ended. */
enum log_end {
	LOG_FULL,	/* at its end */
	LOG_UNUSED,	/* at a block that is not a header */
	LOG_STALE,	/* at a header of an older generation, or another transaction */
	LOG_OLD_TENURE,	/* at a header of an earlier use of the segment */
	LOG_TORN_HEADER, /* at a header of this generation with a wrong checksum */
	LOG_BAD_HEADER,	/* at a header with a correct checksum and impossible contents */
	LOG_UNREADABLE,	/* at a block that cannot be read */
};

/**
 * struct log_segment - one segment
 */
struct log_segment {
	u32	lane;		/* of its records */
	u32	used;		/* blocks up to the end of the walk; 0: free */
	u32	records;	/* records in it */
	u64	seg_seq;	/* tenure */
	u64	newest;		/* stamp of the last record */
	enum log_end end;
};

enum log_record_state {
	LOG_GOOD,
	LOG_TORN,	/* an image has a wrong checksum; memory: one of all images */
	LOG_HIDDEN,	/* after a lost header: recovery does not reach it */
	LOG_UNCOMMITTED, /* ring: no commit block */
};

/**
 * struct log_record - one chunk
 */
struct log_record {
	struct zj_chunk chunk;
	u32	log_block;	/* journal block of the header; memory: first line */
	u32	lines;		/* memory: of images and TxnInfo; else 0 */
	u32	first_entry;	/* in log.entries: dependencies, then revokes */
	u32	first_image;	/* in log.images */
	u32	bad_images;	/* with a wrong checksum */
	enum log_record_state state;
	u32	component;	/* in log.components */
};

/**
 * struct log_image - one image
 */
struct log_image {
	u64	block;		/* home block */
	u64	lines;		/* which lines of the block; log=jbd2: 0 */
	u32	log_block;	/* journal block; memory: first line */
	u32	data;		/* where in this block its lines begin; 0: a whole image */
	u16	flags;		/* ZJ_TAG_* */
	bool	good;		/* checksum as the tag says */
	bool	taken;		/* recovery writes it home */
};

enum log_verdict {
	LOG_HOME,	/* stamp not above the checkpoint stamp: nothing to do */
	LOG_COMMITTED,	/* recovery uses it */
	LOG_CONTRADICTORY, /* its records contradict each other: damage */
	LOG_INCOMPLETE,	/* a member or a part of one is missing */
	LOG_ORPHANED,	/* depends on what is not committed */
};

/**
 * struct log_component - the records of one stamp
 */
struct log_component {
	u64	stamp;
	u32	first;		/* in log.records, sorted */
	u32	nr;		/* records, good or not */
	u32	members;	/* lanes with a good record */
	u32	members_due;	/* as the records say */
	u32	chunks;		/* good records */
	u32	chunks_due;	/* of the members found */
	u32	torn;		/* torn records */
	u32	hidden;		/* hidden records */
	enum log_verdict verdict;
	u64	blocker;	/* LOG_ORPHANED: first dependency that is not committed */
	u64	ancestor;	/* LOG_ORPHANED: where the chain of blockers begins */
};

/**
 * struct log_ring - a log in stock's format
 *
 * Each transaction is a record of one lane and a component, its place in the log is
 * its stamp, its number is its tid. There are no segments.
 */
struct log_ring {
	bool	used;		/* else the log is lanes */
	struct zj_jbd2_geo how;	/* it is written */
	u32	start;		/* ring block of the oldest transaction */
	u32	end;		/* ring block where the walk ended */
	u32	blocks;		/* up to there */
	u32	sequence;	/* number of the oldest transaction */
	enum log_end why;	/* it ended there */
};

/**
 * struct log_tail - a lane of a log in memory, read back from its tail
 */
struct log_tail {
	u64	tail;		/* as stored, 0: the lane has written nothing */
	u32	records;	/* found */
	u32	lines;		/* of these */
	u32	wrong_at;	/* @wrong: line behind the chunk */
	const char *wrong;	/* why the walk ended; NULL: at the checkpoint stamp */
};

/**
 * struct log - a log, read and judged
 */
struct log {
	struct ext_image *img;
	struct log_ring ring;
	const struct zj_nvm_area *area;	/* of a log in memory, else NULL */
	struct log_tail *tails;	/* memory: of each lane */
	u64	whole;		/* memory: lines of a whole image; else 0 */
	struct zj_log_geometry geo;
	u32	seed;
	bool	slot_good[ZJ_CKPT_SLOTS];
	u64	slot_seq[ZJ_CKPT_SLOTS];
	u64	slot_stamp[ZJ_CKPT_SLOTS];
	u64	ckpt_stamp;	/* The checkpoint stamp */
	u64	committed_stamp;	/* highest that a good header names; 0: none */
	u64	newest;		/* highest stamp of a good record; 0: none */
	u64	newest_committed;	/* highest stamp of a committed component; 0: none */
	u32	taken;		/* blocks that recovery writes home */
	u8	*buf;		/* one segment; NULL in memory */
	bool	*unread;	/* its blocks that cannot be read */
	struct log_segment *segs;
	struct zj_vec records;	/* struct log_record; by stamp, lane, chunk */
	struct zj_vec images;	/* struct log_image */
	struct zj_vec entries;	/* u64 */
	struct zj_vec components; /* struct log_component, by stamp */
};

/*
 * Lanes, a ring or lanes in memory, as block 0 says. @memory: of the latter. 0; -EUCLEAN
 * if the log super block, block 0, or the head in memory cannot be used; -EIO; -ENOMEM.
 */
int log_read(struct log *log, struct ext_image *img, const struct zj_jbd2_super *block0,
	     const struct zx_memory *memory);
/* ring.c: the first half of it, for a ring. */
int ring_read(struct log *log, const struct zj_jbd2_super *block0);
/* nvm.c: the same for a log in memory. */
int nvm_read(struct log *log, const struct zx_memory *memory);
/* Second half: verdicts, and the images that recovery uses. 0 or -ENOMEM. */
int log_judge(struct log *log);
void log_free(struct log *log);

static inline struct log_record *log_record(const struct log *log, u32 i)
{
	return (struct log_record *)log->records.items + i;
}

static inline struct log_image *log_image(const struct log *log, u32 i)
{
	return (struct log_image *)log->images.items + i;
}

static inline struct log_component *log_component(const struct log *log, u32 i)
{
	return (struct log_component *)log->components.items + i;
}

static inline const u64 *log_deps(const struct log *log, const struct log_record *r)
{
	return (u64 *)log->entries.items + r->first_entry;
}

static inline const u64 *log_revokes(const struct log *log, const struct log_record *r)
{
	return log_deps(log, r) + r->chunk.nr_deps;
}

/* Reads blocks of the log; those that cannot be read are zeros, and true in @unread. */
void log_read_blocks(struct log *log, u32 block, u32 nr, u8 *buf, bool *unread);

/* The component of @stamp, or NULL. */
struct log_component *log_find(const struct log *log, u64 stamp);

/* Explains in @text why a component is not committed. */
void log_why(const struct log *log, const struct log_component *comp,
	     char *text, size_t room);
const char *log_verdict_name(enum log_verdict verdict);
const char *log_state_name(enum log_record_state state);
const char *log_end_name(enum log_end end);
const char *log_tail_name(const struct log_tail *tail);
/* "stamp 5  lane 0  tid 17", or of a ring "transaction 17"; @room about 64. */
const char *log_record_name(const struct log *log, const struct log_record *r, char *text,
			    size_t room);
/* "lanes", "jbd2" or "nvm". */
const char *log_format_name(const struct log *log);

/*
 * The image as it goes home (unescaped), into one block at @buf; lines of a block over
 * what is there. 0 or -EIO.
 */
int log_read_image(struct log *log, const struct log_image *image, void *buf);
/* Only lines of the block? */
static inline bool log_has_lines(const struct log *log, const struct log_image *image)
{
	return image->lines != log->whole;
}

/**
 * struct log_official - the result of recovery itself for the log (a dry run)
 */
struct log_official {
	int	err;		/* of zj_recover(), zj_recover_jbd2(), zj_recover_nvm() */
	char	error[1024];	/* its message, "" if none */
	struct zj_recovery_stats stats;
};

/* Runs recovery without writing; its notes are printed, its error is kept in @o. */
void log_ask_recovery(struct ext_image *img, const struct zj_jbd2_super *block0,
		      const struct zx_memory *memory, struct log_official *o);
/*
 * Of a log that must be replayed: an exit code with a message that says how, or, if it is
 * damaged, that the device must be copied.
 */
int log_refuse_due(struct ext_image *img, struct zj_jbd2_super *block0);
/* Does it end with fast commits, which only the file system can replay? */
bool log_has_fast_commits(const struct log_official *o);
/* The exit status for its error. */
int log_official_code(const struct log_official *o);
/* "good", "damaged", "unreadable", "stock": it has fast commits. */
const char *log_official_verdict(const struct log_official *o);
/* Do @o and our own judgement agree? False with a message. */
bool log_agrees(const struct log *log, const struct log_official *o);

#endif /* ZJCTL_LOG_VIEW_H */
