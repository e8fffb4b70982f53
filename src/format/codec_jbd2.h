/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encode and decode what jbd2_format.h lays out.  Pure functions, used by the
 * writer of such a log and by its recovery.
 */
#ifndef ZJ_CODEC_JBD2_H
#define ZJ_CODEC_JBD2_H

#include <linux/types.h>
#include <zjournal/format.h>
#include <zjournal/jbd2_format.h>

/**
 * struct zj_jbd2_geo - how one log is written; follows from block 0
 */
struct zj_jbd2_geo {
	u32	block_size;	/* bytes */
	u32	first;		/* first block of the ring */
	u32	last;		/* first block behind the ring */
	u32	tag_bytes;	/* of a tag, without the uuid */
	u32	tail_bytes;	/* of zj_jbd2_tail; 0 without checksums 2 and 3 */
	u32	revoke_bytes;	/* of one block number in a revoke block */
	u32	seed;		/* of all checksums */
	bool	b64;		/* 64-bit block numbers */
	bool	csum1;		/* checksums of version 1: a CRC in the commit block */
	bool	csum3;		/* checksums of version 3, else 2 if tail_bytes */
	u8	uuid[16];	/* of the journal */
};

/**
 * struct zj_jbd2_image - a tag, decoded
 */
struct zj_jbd2_image {
	u64	block;		/* home block */
	u32	flags;		/* ZJ_JBD2_TAG_* */
	u32	csum;		/* as the tag holds it */
};

void zj_jbd2_geo_of(const struct zj_jbd2_super *sb, struct zj_jbd2_geo *log);

/* The block @n places after @block, @n below the ring's length. */
static inline u32 zj_jbd2_step(const struct zj_jbd2_geo *log, u32 block, u32 n)
{
	block += n;
	return block < log->last ? block : block - (log->last - log->first);
}

/* Tags of a full descriptor block, numbers in a full revoke block. */
u32 zj_jbd2_tags_per_block(const struct zj_jbd2_geo *log);
u32 zj_jbd2_revokes_per_block(const struct zj_jbd2_geo *log);

/* What a tag says of an image of transaction @sequence, as logged. */
u32 zj_jbd2_image_csum(const struct zj_jbd2_geo *log, u32 sequence,
		       const void *image);

/* Zero a leading magic number in the copy; false if there is none. */
bool zj_jbd2_escape(void *image);

void zj_jbd2_put_header(void *block, u32 type, u32 sequence);
/* Tag @i of a descriptor block, the others before it; @image->flags: escaped. */
void zj_jbd2_put_tag(const struct zj_jbd2_geo *log, void *block, u32 i,
		     bool last, const struct zj_jbd2_image *image);
/* Number @i of a revoke block, and how much of it is in use. */
void zj_jbd2_put_revoke(const struct zj_jbd2_geo *log, void *block, u32 i,
			u64 revoked);
/* The checksum of a descriptor or revoke block. */
void zj_jbd2_seal(const struct zj_jbd2_geo *log, void *block);
/* A whole commit block; @block is zero. */
void zj_jbd2_put_commit(const struct zj_jbd2_geo *log, void *block, u32 sequence,
			u64 sec, u32 nsec);

/* The type of a block of transaction @sequence, 0 if it is none. */
u32 zj_jbd2_type(const void *block, u32 sequence);
/*
 * The tag at @at in a descriptor block, 0 at first; false if there is none. @at
 * goes on to the next one, or to the block's end after the last.
 */
bool zj_jbd2_get_tag(const struct zj_jbd2_geo *log, const void *block, u32 *at,
		     struct zj_jbd2_image *image);
/* Numbers in a revoke block; -1 if it cannot hold as many as it says. */
int zj_jbd2_nr_revokes(const struct zj_jbd2_geo *log, const void *block);
u64 zj_jbd2_get_revoke(const struct zj_jbd2_geo *log, const void *block, u32 i);
bool zj_jbd2_sealed(const struct zj_jbd2_geo *log, const void *block);
/* A commit block with checksum 2 or 3, or no checksum at all. */
bool zj_jbd2_commit_good(const struct zj_jbd2_geo *log, const void *block);

#endif /* ZJ_CODEC_JBD2_H */
