/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The on-disk format of the segmented log, layout only: no functions, no
 * in-memory state.  docs/internals/format.md describes every field in words.
 *
 * Everything of ours is little-endian.  Block 0 of the journal stays a stock
 * JBD2 superblock, which is big-endian.
 *
 *   journal block 0     JBD2 superblock
 *   journal block 1     struct zj_log_super
 *   journal blocks 2,3  struct zj_ckpt_slot, written in turns
 *   from log_first      segments of seg_blocks blocks each
 *
 * A segment holds chunks back to back from its block 0.  A chunk is one header
 * block followed by the images that its tags describe.
 */
#ifndef ZJOURNAL_FORMAT_H
#define ZJOURNAL_FORMAT_H

#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>

/* ---- the parts of stock's format that we need ---- */

#define ZJ_JBD2_MAGIC			0xc03b3998U
#define ZJ_JBD2_SUPERBLOCK_V1		3
#define ZJ_JBD2_SUPERBLOCK_V2		4
#define ZJ_JBD2_CRC32C			4

#define ZJ_JBD2_COMPAT_CHECKSUM		0x00000001U
#define ZJ_JBD2_INCOMPAT_REVOKE		0x00000001U
#define ZJ_JBD2_INCOMPAT_64BIT		0x00000002U
#define ZJ_JBD2_INCOMPAT_ASYNC_COMMIT	0x00000004U
#define ZJ_JBD2_INCOMPAT_CSUM_V2	0x00000008U
#define ZJ_JBD2_INCOMPAT_CSUM_V3	0x00000010U
#define ZJ_JBD2_INCOMPAT_FAST_COMMIT	0x00000020U
/* Set while lanes may hold live data; stock tools refuse the file system. */
#define ZJ_JBD2_INCOMPAT_LANES		0x40000000U
#define ZJ_JBD2_INCOMPAT_STOCK		0x0000003fU

/**
 * struct zj_jbd2_super - journal block 0, big-endian, 1024 bytes
 *
 * The names follow the published JBD2 format.
 */
struct zj_jbd2_super {
	__be32	s_magic;		/* 0x000 ZJ_JBD2_MAGIC */
	__be32	s_blocktype;		/* 0x004 superblock version 1 or 2 */
	__be32	s_header_sequence;	/* 0x008 unused */
	__be32	s_blocksize;		/* 0x00c bytes per journal block */
	__be32	s_maxlen;		/* 0x010 blocks in the journal */
	__be32	s_first;		/* 0x014 first block of stock's log */
	__be32	s_sequence;		/* 0x018 first tid stock expects */
	__be32	s_start;		/* 0x01c where stock's log starts; 0: empty */
	__be32	s_errno;		/* 0x020 error recorded by an abort */
	__be32	s_feature_compat;	/* 0x024 */
	__be32	s_feature_incompat;	/* 0x028 */
	__be32	s_feature_ro_compat;	/* 0x02c */
	__u8	s_uuid[16];		/* 0x030 */
	__be32	s_nr_users;		/* 0x040 file systems sharing the journal */
	__be32	s_dynsuper;		/* 0x044 unused */
	__be32	s_max_transaction;	/* 0x048 unused */
	__be32	s_max_trans_data;	/* 0x04c unused */
	__u8	s_checksum_type;	/* 0x050 ZJ_JBD2_CRC32C */
	__u8	s_padding2[3];		/* 0x051 */
	__be32	s_num_fc_blks;		/* 0x054 fast commit blocks */
	__be32	s_head;			/* 0x058 head of stock's clean log */
	__u8	s_padding[160];		/* 0x05c */
	__be32	s_checksum;		/* 0x0fc crc32c with this field 0 */
	__u8	s_users[768];		/* 0x100 */
};

static_assert(offsetof(struct zj_jbd2_super, s_errno) == 0x20);
static_assert(offsetof(struct zj_jbd2_super, s_nr_users) == 0x40);
static_assert(offsetof(struct zj_jbd2_super, s_head) == 0x58);
static_assert(offsetof(struct zj_jbd2_super, s_checksum) == 0xfc);
static_assert(sizeof(struct zj_jbd2_super) == 1024);

/* ---- the segmented log ---- */

#define ZJ_LOG_SUPER_MAGIC	0x42534a5aU	/* "ZJSB" */
#define ZJ_CKPT_MAGIC		0x52544a5aU	/* "ZJTR" */
#define ZJ_CHUNK_MAGIC		0x48434a5aU	/* "ZJCH" */

#define ZJ_FORMAT_VERSION	3
#define ZJ_FORMAT_OLDEST	1	/* read alike: fields that later versions have are zero */

#define ZJ_BLOCK_JBD2_SUPER	0
#define ZJ_BLOCK_LOG_SUPER	1
#define ZJ_BLOCK_CKPT		2	/* and the one after it */
#define ZJ_CKPT_SLOTS		2
#define ZJ_LOG_FIRST		4	/* first block of segment 0 */

#define ZJ_MAX_LANES		256
#define ZJ_SECTOR		512	/* what a device writes whole or not at all */

/**
 * struct zj_log_super - journal block 1, one sector
 *
 * Trusted only while block 0 carries ZJ_JBD2_INCOMPAT_LANES.  Writing it with a
 * new generation empties the whole log at one stroke.
 */
struct zj_log_super {
	__le32	magic;		/* 0x00 ZJ_LOG_SUPER_MAGIC */
	__le32	csum;		/* 0x04 crc32c of the sector, this field 0 */
	__le32	version;	/* 0x08 ZJ_FORMAT_VERSION */
	__le32	block_size;	/* 0x0c bytes */
	__u8	uuid[16];	/* 0x10 uuid of the file system */
	__le64	generation;	/* 0x20 in every record; random, then counted up */
	__le32	total_blocks;	/* 0x28 journal blocks in use, block 0 included */
	__le32	log_first;	/* 0x2c journal block of segment 0 */
	__le32	seg_blocks;	/* 0x30 blocks per segment */
	__le32	nr_segs;	/* 0x34 segments */
	__le32	nr_lanes;	/* 0x38 lanes that write this log */
	__le32	reserved0;	/* 0x3c zero */
	__le64	ckpt_stamp;	/* 0x40 stamps up to this one belong to older generations */
	__u8	reserved[440];	/* 0x48 zero */
};

static_assert(offsetof(struct zj_log_super, uuid) == 0x10);
static_assert(offsetof(struct zj_log_super, generation) == 0x20);
static_assert(offsetof(struct zj_log_super, ckpt_stamp) == 0x40);
static_assert(sizeof(struct zj_log_super) == ZJ_SECTOR);

/**
 * struct zj_ckpt_slot - the checkpoint stamp, in journal blocks 2 and 3
 *
 * Of the slots with a good checksum and the log's generation the one with the
 * higher @seq counts; if there is none, the log super block's ckpt_stamp does.
 */
struct zj_ckpt_slot {
	__le32	magic;		/* 0x00 ZJ_CKPT_MAGIC */
	__le32	csum;		/* 0x04 crc32c of the sector, this field 0 */
	__le64	generation;	/* 0x08 */
	__le64	seq;		/* 0x10 counts checkpoint writes; parity picks the slot */
	__le64	ckpt_stamp;	/* 0x18 stamps up to this one are home */
	__u8	reserved[480];	/* 0x20 zero */
};

static_assert(offsetof(struct zj_ckpt_slot, ckpt_stamp) == 0x18);
static_assert(sizeof(struct zj_ckpt_slot) == ZJ_SECTOR);

/**
 * struct zj_chunk_header - first block of every chunk
 *
 * A member of a component (one transaction of one lane) is @nr_chunks chunks
 * with the same lane, tid and stamp.  After the header follow, without gaps and
 * each starting at a multiple of 8: nr_deps dependency stamps (__le64),
 * nr_revokes block numbers (__le64), nr_tags tags (struct zj_tag).  Whole
 * images follow in the blocks after the header block, in the order of their
 * tags.  The lines of a tag that has only some are in the header block itself:
 * those of the first such tag end with the block, those of each further one
 * end where the last ones begin.
 */
struct zj_chunk_header {
	__le32	magic;		/* 0x00 ZJ_CHUNK_MAGIC */
	__le32	csum;		/* 0x04 crc32c of the header block, this field 0 */
	__le64	generation;	/* 0x08 of the log super block */
	__le64	seg_seq;	/* 0x10 tenure of the segment, never used twice */
	__le32	seg_index;	/* 0x18 segment that this was written to */
	__le32	seg_block;	/* 0x1c block within the segment */
	__le64	stamp;		/* 0x20 of the component */
	__le32	tid;		/* 0x28 of the transaction */
	__le32	lane;		/* 0x2c */
	__le32	nr_members;	/* 0x30 members of the component that wrote chunks */
	__le32	chunk_index;	/* 0x34 0 .. nr_chunks - 1 */
	__le32	nr_chunks;	/* 0x38 chunks of this member */
	__le32	nr_deps;	/* 0x3c dependency stamps in this chunk */
	__le32	nr_revokes;	/* 0x40 revoked blocks in this chunk */
	__le32	nr_tags;	/* 0x44 blocks of which this chunk has the image or some lines */
	__le64	commit_sec;	/* 0x48 wall clock at seal, seconds */
	__le32	flags;		/* 0x50 zero */
	__le32	nr_line_tags;	/* 0x54 tags that have only some lines of their blocks */
	__le64	committed_stamp;	/* 0x58 all up to this one were committed; 0: unknown */
	__u8	reserved[32];	/* 0x60 zero */
};

static_assert(offsetof(struct zj_chunk_header, stamp) == 0x20);
static_assert(offsetof(struct zj_chunk_header, nr_deps) == 0x3c);
static_assert(offsetof(struct zj_chunk_header, commit_sec) == 0x48);
static_assert(offsetof(struct zj_chunk_header, committed_stamp) == 0x58);
static_assert(sizeof(struct zj_chunk_header) == 128);

/* The image's first 4 bytes were a magic number and are zero in the log. */
#define ZJ_TAG_ESC_JBD2		0x0001	/* put ZJ_JBD2_MAGIC (big-endian) back */
#define ZJ_TAG_ESC_CHUNK	0x0002	/* put ZJ_CHUNK_MAGIC (little-endian) back */
#define ZJ_TAG_FLAGS		0x0003

#define ZJ_TAG_ALL_LINES	(~0ULL)

/**
 * struct zj_tag - one image of one block, or some lines of it
 */
struct zj_tag {
	__le64	block;		/* 0x00 home block */
	__le64	lines;		/* 0x08 its lines; all ones: a whole image */
	__le32	csum;		/* 0x10 of a whole image as logged: low half of XXH64; else 0 */
	__le16	flags;		/* 0x14 ZJ_TAG_* */
	__le16	reserved;	/* 0x16 zero */
};

static_assert(sizeof(struct zj_tag) == 24);

#endif /* ZJOURNAL_FORMAT_H */
