/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encode and decode what format.h lays out.  Pure functions: no I/O, no locks,
 * no allocation.  Used by the log writer and by recovery.
 */
#ifndef ZJ_CODEC_H
#define ZJ_CODEC_H

#include <linux/types.h>
#include <zjournal/format.h>
#include <zjournal/recovery.h>

/**
 * struct zj_chunk - a chunk header, decoded (entries stay in the block)
 */
struct zj_chunk {
	u64	seg_seq;	/* tenure of the segment */
	u32	seg_index;	/* segment */
	u32	seg_block;	/* block of the header within the segment */
	u64	stamp;		/* of the component */
	u32	tid;		/* of the transaction */
	u32	lane;		/* its lane */
	u32	nr_members;	/* members of the component */
	u32	chunk_index;	/* 0 .. nr_chunks - 1 */
	u32	nr_chunks;	/* chunks of this member */
	u32	nr_deps;	/* dependency stamps in this chunk */
	u32	nr_revokes;	/* revokes in this chunk */
	u32	nr_tags;	/* images in this chunk */
	u64	commit_sec;	/* wall clock at seal */
	u64	committed_stamp;	/* all up to this one was committed; 0: unknown */
};

/* crc32c of @len bytes, the four at @hole (the checksum's own) taken as zero. */
u32 zj_crc_without(u32 seed, const void *buf, u32 len, u32 hole);

/* Checksum seed of a log: crc32c over uuid, then over the generation. */
u32 zj_seed(const u8 *uuid, u64 generation);

void zj_encode_log_super(const struct zj_log_geometry *geo, void *block);
/* NULL if good, else a text that names what is wrong. */
const char *zj_decode_log_super(const void *block, struct zj_log_geometry *geo);

/* Largest sensible geometry for a journal; 0 or -ENOSPC if it is too small. */
int zj_make_geometry(struct zj_log_geometry *geo, u32 journal_blocks,
		     u32 block_size, u32 nr_lanes);
/* Blocks that the largest handle of ext4 may ask for (online resize). */
#define ZJ_LARGEST_HANDLE	1100U
/* What a lane may hold of the log while it has no large handle. */
#define ZJ_SEGS_HELD		3U

/* Log blocks that a transaction of @n images and revoke blocks takes at worst. */
u32 zj_txn_blocks(const struct zj_log_geometry *geo, u32 n);
/*
 * Credits that one handle may ask for: at least what stock JBD2 grants with a journal of
 * so many blocks, a third of them, whatever its features. That counts revokes too, of
 * which stock puts twice as many into a block; no handle of ext4 has more than need 1100
 * of our blocks.
 */
u32 zj_largest_handle(u32 journal_blocks, u32 block_size);
/* The geometry with most lanes, not above @wanted; their number, 0: too small. */
u32 zj_fit_lanes(struct zj_log_geometry *geo, u32 journal_blocks,
		 u32 block_size, u32 wanted);

void zj_encode_ckpt(const struct zj_log_geometry *geo, u64 seq, u64 ckpt_stamp,
		    void *block);
bool zj_decode_ckpt(const struct zj_log_geometry *geo, const void *block,
		    u64 *seq, u64 *ckpt_stamp);

/* Bytes of a header block that entries may use. */
static inline u32 zj_chunk_room(u32 block_size)
{
	return block_size - sizeof(struct zj_chunk_header);
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

/*
 * Fill in header and checksum; the entries must be in the block already, the
 * rest of it zero.
 */
void zj_encode_chunk(const struct zj_log_geometry *geo, u32 seed,
		     const struct zj_chunk *chunk, void *block);
/* True if this log's writer wrote the block as a chunk header, wherever it is. */
bool zj_chunk_sealed(const struct zj_log_geometry *geo, u32 seed,
		     const void *block);
/*
 * True if the block is a chunk header of this log, of segment @seg_index at
 * @seg_block, with counts that fit; @chunk is filled in then.
 */
bool zj_decode_chunk(const struct zj_log_geometry *geo, u32 seed, u32 seg_index,
		     u32 seg_block, const void *block, struct zj_chunk *chunk);

u32 zj_image_csum(u32 seed, const void *image, u32 block_size);
/* Zero a leading magic number in the copy; returns the ZJ_TAG_ESC_* flag. */
u16 zj_escape(void *image);
/* Would zj_escape() change it? */
bool zj_needs_escape(const void *image);
void zj_unescape(void *image, u16 flags);

/* crc32c of block 0 of the journal as stock JBD2 wants it. */
__be32 zj_jbd2_super_csum(const struct zj_jbd2_super *sb);
/* Fill it in if the features ask for it. */
void zj_seal_jbd2_super(struct zj_jbd2_super *sb);
/*
 * NULL if good, unknown features aside, else a text that goes on after "block 0".
 * @in_use: of a mounted file system, where the checksum is made at write-out only.
 */
const char *zj_check_jbd2_super(const struct zj_jbd2_super *sb, u32 block_size,
				u32 journal_blocks, bool in_use);
/* A stock super block with an empty log; not sealed yet. */
void zj_clean_jbd2_super(struct zj_jbd2_super *sb);

#endif /* ZJ_CODEC_H */
