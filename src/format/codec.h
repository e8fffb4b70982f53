/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encodes and decodes the structures of format.h, for the log writer and for recovery.
 * These are pure functions: they do no I/O, take no locks and allocate nothing.
 */
#ifndef ZJ_CODEC_H
#define ZJ_CODEC_H

#include <linux/types.h>
#include <asm/byteorder.h>
#include <zjournal/format.h>
#include <zjournal/nvm_format.h>
#include <zjournal/recovery.h>

/**
 * struct zj_chunk - a decoded chunk header; its entries stay in the block
 */
struct zj_chunk {
	u64	seg_seq;	/* tenure of the segment */
	u32	seg_index;	/* number of the segment */
	u32	seg_block;	/* block of the header within the segment */
	u64	stamp;		/* of the component */
	u32	tid;		/* of the transaction */
	u32	lane;		/* its lane */
	u32	nr_members;	/* members of the component */
	u32	chunk_index;	/* 0 .. nr_chunks - 1 */
	u32	nr_chunks;	/* chunks of this member */
	u32	nr_deps;	/* dependency stamps in this chunk */
	u32	nr_revokes;	/* revokes in this chunk */
	u32	nr_tags;	/* blocks of which this chunk has the image or some lines */
	u32	nr_line_tags;	/* of these, how many have only some lines */
	u64	commit_sec;	/* wall clock in seconds */
	u64	committed_stamp;	/* everything up to it was committed; 0: unknown */
};

/*
 * Returns the crc32c of @len bytes, with the four bytes at @hole, which hold the checksum
 * itself, taken as zero.
 */
u32 zj_crc_without(u32 seed, const void *buf, u32 len, u32 hole);

/* Returns the seed of a log's checksums: crc32c over the uuid, then the generation (L2). */
u32 zj_seed(const u8 *uuid, u64 generation);

void zj_encode_log_super(const struct zj_log_geometry *geo, void *block);
/* Returns NULL if the block is valid, else a text that names what is wrong. */
const char *zj_decode_log_super(const void *block, struct zj_log_geometry *geo);

/*
 * Divides a journal into segments. Returns 0, -ENOSPC if the journal is too small, or
 * -EINVAL for an unsupported block size or number of lanes.
 */
int zj_make_geometry(struct zj_log_geometry *geo, u32 journal_blocks,
		     u32 block_size, u32 nr_lanes);
/* Blocks that the largest handle of ext4 may ask for, which is that of an online resize. */
#define ZJ_LARGEST_HANDLE	1100U
/* Segments that each lane may hold at all times, beside the largest handle of another. */
#define ZJ_SEGS_HELD		3U

/* Returns the log blocks that a transaction of @n images and revoke blocks needs at worst. */
u32 zj_txn_blocks(const struct zj_log_geometry *geo, u32 n);
/*
 * Returns the credits that one handle may ask for. They are at least what stock JBD2 grants
 * with a journal of as many blocks, which is a third of them. Stock counts revokes as
 * well and puts twice as many into a block as we do, so these may need more blocks here,
 * but no handle of ext4 has more revokes than fit 1100 of our blocks (docs/decisions/0034).
 */
u32 zj_largest_handle(u32 journal_blocks, u32 block_size);
/*
 * Makes a geometry with as many lanes as fit, but not more than @wanted. Returns their
 * number, or 0 if the journal is too small for one.
 */
u32 zj_fit_lanes(struct zj_log_geometry *geo, u32 journal_blocks,
		 u32 block_size, u32 wanted);

void zj_encode_ckpt(const struct zj_log_geometry *geo, u64 seq, u64 ckpt_stamp,
		    void *block);
bool zj_decode_ckpt(const struct zj_log_geometry *geo, const void *block,
		    u64 *seq, u64 *ckpt_stamp);

/* Returns the bytes of a header block that entries may use. */
static inline u32 zj_chunk_room(u32 block_size)
{
	return block_size - sizeof(struct zj_chunk_header);
}

/* Returns the number of images that follow the header block. */
static inline u32 zj_chunk_images(const struct zj_chunk *chunk)
{
	return chunk->nr_tags - chunk->nr_line_tags;
}

/*
 * Returns the most bytes of lines that a tag may have. Two tags with their lines fit into a
 * header, so that lines never take more blocks than images would.
 */
static inline u32 zj_lines_max(u32 block_size)
{
	return zj_chunk_room(block_size) / 2 - sizeof(struct zj_tag);
}

static inline __le64 *zj_chunk_deps(void *block)
{
	return block + sizeof(struct zj_chunk_header);
}

static inline __le64 *zj_chunk_revokes(void *block, u32 nr_deps)
{
	return zj_chunk_deps(block) + nr_deps;
}

static inline struct zj_tag *zj_chunk_tags(void *block, u32 nr_deps,
					   u32 nr_revokes)
{
	return (void *)(zj_chunk_revokes(block, nr_deps) + nr_revokes);
}

static inline bool zj_tag_has_lines(const struct zj_tag *tag)
{
	return tag->lines != cpu_to_le64(ZJ_TAG_ALL_LINES);
}

/**
 * struct zj_tag_walk - goes over the tags of a chunk
 *
 * zj_tag_walk_begin() sets it, and zj_tag_walk_next() goes to the first tag, or to the next.
 */
struct zj_tag_walk {
	const struct zj_tag *tag;	/* the current tag */
	u32	left;			/* tags behind it */
	u32	image;			/* whole images so far; if the tag has one, it is in that
					 * block behind the header block
					 */
	u32	data;			/* where the last lines begin in the header block; if the tag
					 * has lines, its own
					 */
	u32	block_size;
};

void zj_tag_walk_begin(struct zj_tag_walk *walk, const struct zj_log_geometry *geo,
		       const struct zj_chunk *chunk, const void *block);
/* Returns false if there is no tag left. */
bool zj_tag_walk_next(struct zj_tag_walk *walk);

/*
 * Fills in the header and its checksum. The entries must be in the block already, and the
 * rest of the block must be zero, because the checksum covers all of it.
 */
void zj_encode_chunk(const struct zj_log_geometry *geo, u32 seed,
		     const struct zj_chunk *chunk, void *block);
/* Returns whether the block was written as a chunk header of this log, at any place. */
bool zj_chunk_csum_good(const struct zj_log_geometry *geo, u32 seed,
			const void *block);
/*
 * Returns whether the block is a chunk header of this log for block @seg_block of segment
 * @seg_index, with counts that a writer can have written. It fills in @chunk then.
 */
bool zj_decode_chunk(const struct zj_log_geometry *geo, u32 seed, u32 seg_index,
		     u32 seg_block, const void *block, struct zj_chunk *chunk);

u32 zj_image_csum(u32 seed, const void *image, u32 block_size);
/* Zeroes a leading magic number (C3). Returns the ZJ_TAG_ESC_* flag for the image's tag. */
u16 zj_escape(void *image);
/* Returns whether zj_escape() would change the image. */
bool zj_needs_escape(const void *image);
void zj_unescape(void *image, u16 flags);

/* Returns the checksum of block 0 of the journal as stock JBD2 computes it. */
__be32 zj_jbd2_super_csum(const struct zj_jbd2_super *sb);
/* Fills in the checksum if the features ask for one. */
void zj_jbd2_super_set_csum(struct zj_jbd2_super *sb);
/*
 * Returns NULL if block 0 is valid, else a text that continues "block 0". Features are not
 * checked. With @in_use the file system is mounted, and the checksum is not checked,
 * because it is correct only when the block is written out.
 */
const char *zj_check_jbd2_super(const struct zj_jbd2_super *sb, u32 block_size,
				u32 journal_blocks, bool in_use);
/*
 * Returns whether the journal has fewer blocks than stock makes do with; ext4's handles
 * would not fit in its transactions.
 */
bool zj_jbd2_too_short(const struct zj_jbd2_super *sb);
/*
 * Makes a valid block 0 of version 1 one of version 2, in memory. Version 1 has no
 * features, whatever is in their place.
 */
void zj_upgrade_jbd2_super(struct zj_jbd2_super *sb);
/* Makes it a stock super block with an empty log. The caller has to seal it. */
void zj_clean_jbd2_super(struct zj_jbd2_super *sb);

/* Returns the mark in block 0 of the journal that names the memory that has the log. */
static inline struct zj_nvm_mark *zj_nvm_mark_of(struct zj_jbd2_super *sb)
{
	return (struct zj_nvm_mark *)(sb->s_padding + ZJ_NVM_MARK_AT);
}

static inline bool zj_is_nvm_log(const struct zj_jbd2_super *sb)
{
	return sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_NVM);
}

void zj_set_nvm_mark(struct zj_jbd2_super *sb, const u8 *uuid, u64 generation);

#endif /* ZJ_CODEC_H */
