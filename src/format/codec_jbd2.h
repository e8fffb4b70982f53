/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encodes and decodes the structures of jbd2_format.h, for the writer of such a log and for
 * its recovery. These are pure functions.
 */
#ifndef ZJ_CODEC_JBD2_H
#define ZJ_CODEC_JBD2_H

#include <linux/types.h>
#include <zjournal/format.h>
#include <zjournal/jbd2_format.h>

/**
 * struct zj_jbd2_geo - geometry and features of a log in stock's format, from block 0
 */
struct zj_jbd2_geo {
	u32	block_size;	/* bytes */
	u32	first;		/* first block of the ring */
	u32	last;		/* first block behind the ring */
	u32	tag_bytes;	/* size of a tag, without the uuid */
	u32	tail_bytes;	/* size of zj_jbd2_tail; 0 without checksums of version 2 or 3 */
	u32	revoke_bytes;	/* size of a block number in a revoke block */
	u32	seed;		/* seed of all checksums */
	bool	b64;		/* block numbers have 64 bits */
	bool	csum1;		/* checksums of version 1: a CRC in the commit block */
	bool	csum3;		/* checksums of version 3; else of 2 if tail_bytes is set */
	u8	uuid[16];	/* uuid of the journal */
};

/**
 * struct zj_jbd2_image - a decoded tag
 */
struct zj_jbd2_image {
	u64	block;		/* home block */
	u32	flags;		/* ZJ_JBD2_TAG_* */
	u32	csum;		/* checksum as it is in the tag */
};

void zj_jbd2_geo_of(const struct zj_jbd2_super *sb, struct zj_jbd2_geo *log);

/* Returns the block @n places after @block in the ring; @n is below the ring's length. */
static inline u32 zj_jbd2_step(const struct zj_jbd2_geo *log, u32 block, u32 n)
{
	block += n;
	return block < log->last ? block : block - (log->last - log->first);
}

/* Return how many tags a descriptor block, and block numbers a revoke block, can hold. */
u32 zj_jbd2_tags_per_block(const struct zj_jbd2_geo *log);
u32 zj_jbd2_revokes_per_block(const struct zj_jbd2_geo *log);

/* Returns the checksum for the tag of an image of transaction @sequence, as logged. */
u32 zj_jbd2_image_csum(const struct zj_jbd2_geo *log, u32 sequence,
		       const void *image);

/* Zeroes a leading magic number in the copy (C3). Returns false if there is none. */
bool zj_jbd2_escape(void *image);

void zj_jbd2_put_header(void *block, u32 type, u32 sequence);
/*
 * Writes tag @i of a descriptor block, after those before it. @image->flags may only say
 * that the image is escaped.
 */
void zj_jbd2_put_tag(const struct zj_jbd2_geo *log, void *block, u32 i,
		     bool last, const struct zj_jbd2_image *image);
/* Writes block number @i of a revoke block, and how much of the block is in use. */
void zj_jbd2_put_revoke(const struct zj_jbd2_geo *log, void *block, u32 i,
			u64 revoked);
/* Writes the checksum of a descriptor or revoke block. */
void zj_jbd2_set_csum(const struct zj_jbd2_geo *log, void *block);
/* Writes a whole commit block; @block must be zero before. */
void zj_jbd2_put_commit(const struct zj_jbd2_geo *log, void *block, u32 sequence,
			u64 sec, u32 nsec);

/* Returns the type of a block of transaction @sequence, or 0 if it is none. */
u32 zj_jbd2_type(const void *block, u32 sequence);
/*
 * Decodes the tag at offset @at of a descriptor block; 0 stands for the first tag. Returns
 * false if there is none. @at advances to the next tag, or to the end of the block
 * after the last one.
 */
bool zj_jbd2_get_tag(const struct zj_jbd2_geo *log, const void *block, u32 *at,
		     struct zj_jbd2_image *image);
/* Returns how many numbers a revoke block has, or -1 if it cannot hold that many. */
int zj_jbd2_nr_revokes(const struct zj_jbd2_geo *log, const void *block);
u64 zj_jbd2_get_revoke(const struct zj_jbd2_geo *log, const void *block, u32 i);
bool zj_jbd2_csum_good(const struct zj_jbd2_geo *log, const void *block);
/* Returns whether a commit block is valid, for logs with checksums of version 2, 3 or none. */
bool zj_jbd2_commit_good(const struct zj_jbd2_geo *log, const void *block);

#endif /* ZJ_CODEC_JBD2_H */
