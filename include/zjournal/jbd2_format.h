/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks of a stock JBD2 log, layout only; its superblock is in format.h.
 * Everything is big-endian.
 *
 * From s_start on, wrapping round from the journal's last block to s_first, the
 * log is a sequence of transactions with consecutive numbers, s_sequence first:
 *
 *   revoke blocks, then descriptor blocks with the images that their tags
 *   describe after each, then one commit block
 *
 * The log ends at the first block that is none of these, or has another number.
 */
#ifndef ZJOURNAL_JBD2_FORMAT_H
#define ZJOURNAL_JBD2_FORMAT_H

#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>

/* zj_jbd2_header.type */
#define ZJ_JBD2_DESCRIPTOR		1
#define ZJ_JBD2_COMMIT			2
#define ZJ_JBD2_REVOKE			5

/* Flags of a tag. */
#define ZJ_JBD2_TAG_ESCAPED		0x1U	/* the image began with ZJ_JBD2_MAGIC */
#define ZJ_JBD2_TAG_SAME_UUID		0x2U	/* no uuid follows this tag */
#define ZJ_JBD2_TAG_LAST		0x8U	/* of its descriptor block */

#define ZJ_JBD2_UUID_BYTES		16U	/* after the first tag */
#define ZJ_JBD2_CRC32			1	/* zj_jbd2_commit.chksum_type, version 1 */
#define ZJ_JBD2_FC_BLOCKS		256	/* if s_num_fc_blks is 0 */

/**
 * struct zj_jbd2_header - the beginning of every block of the log that is no image
 */
struct zj_jbd2_header {
	__be32	magic;		/* 0x00 ZJ_JBD2_MAGIC */
	__be32	type;		/* 0x04 */
	__be32	sequence;	/* 0x08 number of the transaction */
};

static_assert(sizeof(struct zj_jbd2_header) == 12);

/**
 * struct zj_jbd2_tag - one image; without checksums, or with those of version 2
 *
 * Without checksums csum is 0, and the tag has 8 bytes, or 12 with 64-bit block numbers.
 * With checksums of version 2 it has 2 more bytes, which are not used.
 */
struct zj_jbd2_tag {
	__be32	block;		/* 0x00 home block, low half */
	__be16	csum;		/* 0x04 low half of the checksum */
	__be16	flags;		/* 0x06 ZJ_JBD2_TAG_* */
	__be32	block_high;	/* 0x08 only with 64-bit block numbers */
};

static_assert(sizeof(struct zj_jbd2_tag) == 12);

/**
 * struct zj_jbd2_tag3 - one image, checksums of version 3
 */
struct zj_jbd2_tag3 {
	__be32	block;		/* 0x00 home block, low half */
	__be32	flags;		/* 0x04 ZJ_JBD2_TAG_* */
	__be32	block_high;	/* 0x08 0 without 64-bit block numbers */
	__be32	csum;		/* 0x0c crc32c over sequence and image as logged */
};

static_assert(sizeof(struct zj_jbd2_tag3) == 16);

/**
 * struct zj_jbd2_tail - the end of descriptor and revoke blocks, with checksums 2 and 3
 */
struct zj_jbd2_tail {
	__be32	csum;		/* crc32c of the block, this field 0 */
};

/**
 * struct zj_jbd2_revoke - the beginning of a revoke block; block numbers follow
 */
struct zj_jbd2_revoke {
	struct zj_jbd2_header header;
	__be32	used;		/* 0x0c bytes in use, this header included */
};

static_assert(sizeof(struct zj_jbd2_revoke) == 16);

/**
 * struct zj_jbd2_commit - the beginning of a commit block; the rest of it is 0
 */
struct zj_jbd2_commit {
	struct zj_jbd2_header header;
	__u8	chksum_type;	/* 0x0c version 1: ZJ_JBD2_CRC32; else 0 */
	__u8	chksum_size;	/* 0x0d version 1: 4; else 0 */
	__u8	padding[2];	/* 0x0e */
	__be32	chksum[8];	/* 0x10 the first: crc32c of this block, this field 0 */
	__be64	sec;		/* 0x30 wall clock */
	__be32	nsec;		/* 0x38 */
};

static_assert(offsetof(struct zj_jbd2_commit, chksum) == 0x10);
static_assert(offsetof(struct zj_jbd2_commit, sec) == 0x30);
static_assert(offsetof(struct zj_jbd2_commit, nsec) == 0x38);

#endif /* ZJOURNAL_JBD2_FORMAT_H */
