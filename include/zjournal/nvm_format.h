/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The format of a log in byte-addressable memory, layout only; docs/internals/format.md
 * describes every field in words.  Everything is little-endian.  Places and
 * lengths in the log are counted in lines of 64 bytes.
 *
 *   ZJ_NVM_SUPER_AT  struct zj_nvm_super: whose memory this is
 *   ZJ_NVM_HEAD_AT   struct zj_nvm_head: geometry and generation of the log
 *   ZJ_NVM_CKPT_AT   the checkpoint stamp, 8 bytes
 *   ZJ_NVM_TAILS_AT  one line for each lane, its first 8 bytes the lane's tail
 *   ZJ_NVM_LOG_AT    segments of seg_lines lines each
 *
 * A segment holds chunks back to back: the records' lines, then a TxnInfo, which
 * ends with struct zj_txninfo.  A lane's tail word points behind its newest chunk, and
 * each chunk points behind the lane's previous one: recovery goes backwards.
 */
#ifndef ZJOURNAL_NVM_FORMAT_H
#define ZJOURNAL_NVM_FORMAT_H

#include <zjournal/format.h>

/* Set in block 0 in addition to ZJ_JBD2_INCOMPAT_LANES if the log is in memory. */
#define ZJ_JBD2_INCOMPAT_NVM	0x20000000U

/**
 * struct zj_nvm_mark - names the memory, in s_padding of block 0 while the log is live
 */
struct zj_nvm_mark {
	__u8	uuid[16];	/* 0x00 of the memory's super block */
	__be64	generation;	/* 0x10 of the log in it */
};

/* The mark's place in struct zj_jbd2_super.s_padding, which is 0x0d0 of block 0. */
#define ZJ_NVM_MARK_AT		0x74

#define ZJ_NVM_SUPER_MAGIC	0x564e4a5aU	/* "ZJNV" */
#define ZJ_NVM_HEAD_MAGIC	0x484e4a5aU	/* "ZJNH" */
#define ZJ_TXNINFO_MAGIC	0x49544a5aU	/* "ZJTI" */
#define ZJ_NVM_VERSION		1

#define ZJ_NVM_LINE		64

#define ZJ_NVM_SUPER_AT		0
#define ZJ_NVM_HEAD_AT		4096
#define ZJ_NVM_CKPT_AT		8192
#define ZJ_NVM_TAILS_AT		16384
#define ZJ_NVM_LOG_AT		65536

#define ZJ_NVM_MIN_SIZE		(256ULL << 10)
/* A place is a number of lines in 32 bits, which limits the size. */
#define ZJ_NVM_MAX_SIZE		(128ULL << 30)

/**
 * struct zj_nvm_super - says whose memory it is; written by zjctl nvm-format only
 */
struct zj_nvm_super {
	__le32	magic;		/* 0x00 ZJ_NVM_SUPER_MAGIC */
	__le32	csum;		/* 0x04 crc32c of the sector, this field 0 */
	__le32	version;	/* 0x08 ZJ_NVM_VERSION */
	__le32	reserved0;	/* 0x0c zero */
	__u8	uuid[16];	/* 0x10 of this memory, random */
	__u8	fs_uuid[16];	/* 0x20 of the file system that it belongs to */
	__le64	size;		/* 0x30 bytes that may be used */
	__u8	reserved[456];	/* 0x38 zero */
};

static_assert(offsetof(struct zj_nvm_super, fs_uuid) == 0x20);
static_assert(sizeof(struct zj_nvm_super) == ZJ_SECTOR);

/**
 * struct zj_nvm_head - the log in use; counts only if block 0 names it
 */
struct zj_nvm_head {
	__le32	magic;		/* 0x00 ZJ_NVM_HEAD_MAGIC */
	__le32	csum;		/* 0x04 crc32c of the 64 bytes, this field 0 */
	__u8	fs_uuid[16];	/* 0x08 seeds the checksums with the generation */
	__le64	generation;	/* 0x18 in every TxnInfo; random, then counted up */
	__le32	block_size;	/* 0x20 of the file system */
	__le32	total_lines;	/* 0x24 lines in use, from the device's start */
	__le32	log_first;	/* 0x28 line of segment 0 */
	__le32	seg_lines;	/* 0x2c lines in a segment */
	__le32	nr_segs;	/* 0x30 */
	__le32	nr_lanes;	/* 0x34 */
	__le64	reserved;	/* 0x38 zero */
};

static_assert(sizeof(struct zj_nvm_head) == ZJ_NVM_LINE);

/*
 * A lane's tail word: the low half of the newest chunk's stamp, and the line behind that
 * chunk.  0: the log holds nothing of the lane above the checkpoint stamp.
 */
#define ZJ_NVM_TAIL_STAMP	32

/* Flag of the last chunk of a member. */
#define ZJ_TXNINFO_LAST		0x0001U

/**
 * struct zj_txninfo - the end of a TxnInfo, and of a chunk
 *
 * Before it, in the same TxnInfo: nr_deps dependency stamps (__le64), nr_revokes
 * block numbers (__le64), count descriptions (struct zj_nvm_record), zeros up to
 * a full line.  Before the TxnInfo: data_lines lines, the records in their order.
 */
struct zj_txninfo {
	__le64	generation;	/* 0x00 of struct zj_nvm_head */
	__le64	stamp;		/* 0x08 of the component, not 0 */
	__le64	prev_stamp;	/* 0x10 of the lane's previous chunk; 0: none */
	__le32	prev;		/* 0x18 line behind that chunk */
	__le32	start;		/* 0x1c first line of this chunk */
	__le32	tid;		/* 0x20 of the transaction */
	__le32	lane;		/* 0x24 */
	__le32	nr_members;	/* 0x28 members of the component */
	__le32	chunk_index;	/* 0x2c of this member, from 0 on */
	__le32	flags;		/* 0x30 ZJ_TXNINFO_* */
	__le32	nr_deps;	/* 0x34 */
	__le32	nr_revokes;	/* 0x38 */
	__le32	data_lines;	/* 0x3c lines of records */
	__le64	data_hash;	/* 0x40 of these, see docs/internals/format.md */
	__le64	commit_sec;	/* 0x48 wall clock, seconds */
	__u8	reserved[28];	/* 0x50 zero */
	__le32	csum;		/* 0x6c crc32c of the whole TxnInfo, this field 0 */
	__le32	info_lines;	/* 0x70 lines of the whole TxnInfo */
	__le32	end;		/* 0x74 line behind this chunk */
	__le32	count;		/* 0x78 records */
	__le32	magic;		/* 0x7c ZJ_TXNINFO_MAGIC */
};

static_assert(offsetof(struct zj_txninfo, data_hash) == 0x40);
static_assert(offsetof(struct zj_txninfo, magic) == 0x7c);
static_assert(sizeof(struct zj_txninfo) == 2 * ZJ_NVM_LINE);

/**
 * struct zj_nvm_record - the lines of one block that a chunk holds
 */
struct zj_nvm_record {
	__le64	block;		/* 0x00 home block */
	__le64	lines;		/* 0x08 bit n: line n of the block is in the record */
};

static_assert(sizeof(struct zj_nvm_record) == 16);

/*
 * Limits of tune=txninfo_max: bytes of a TxnInfo, a power of two. Without the option a
 * TxnInfo may have ZJ_TXNINFO_BYTES, and a transaction any number of them.
 */
#define ZJ_TXNINFO_MAX_MIN	256U
#define ZJ_TXNINFO_MAX_MAX	131072U
#define ZJ_TXNINFO_BYTES	8192U

#endif /* ZJOURNAL_NVM_FORMAT_H */
