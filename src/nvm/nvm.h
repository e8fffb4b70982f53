/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The log in persistent memory.
 *
 *   codec_nvm.c     encodes and decodes the structures of nvm_format.h, for the log writer and for
 *                   recovery: pure functions, except that some read the memory
 *   recovery_nvm.c  recovery; recovery.h declares it
 *   log_nvm.c       the log's operations
 *
 * The first two are also in user space.
 */
#ifndef ZJ_NVM_H
#define ZJ_NVM_H

#include <linux/types.h>
#include <asm/byteorder.h>
#include <zjournal/nvm_format.h>
#include "format/line_set.h"
#include <zjournal/recovery.h>

/**
 * struct zj_nvm_chunk - a decoded TxnInfo; its entries stay where they are
 */
struct zj_nvm_chunk {
	u64	stamp;		/* of the component */
	u64	prev_stamp;	/* of the lane's previous chunk; 0: none */
	u32	prev;		/* line behind the previous chunk */
	u32	start;		/* first line of the chunk */
	u32	end;		/* line behind the chunk */
	u32	tid;		/* of the transaction */
	u32	lane;		/* its lane */
	u32	nr_members;	/* members of the component */
	u32	chunk_index;	/* number of this member's chunk, from 0 on */
	bool	last;		/* it is the last chunk of this member */
	u32	nr_deps;	/* dependency stamps in this chunk */
	u32	nr_revokes;	/* revokes in this chunk */
	u32	count;		/* records in this chunk */
	u32	data_lines;	/* lines of these records */
	u64	data_hash;	/* hash of these lines */
	u64	commit_sec;	/* wall clock in seconds */
};

static inline u32 zj_nvm_info_bytes(u32 nr_deps, u32 nr_revokes, u32 count)
{
	u32 bytes = 8 * nr_deps + 8 * nr_revokes +
		    sizeof(struct zj_nvm_record) * count +
		    sizeof(struct zj_txninfo);

	return (bytes + ZJ_NVM_LINE - 1) & ~(ZJ_NVM_LINE - 1U);
}

static inline __le64 *zj_nvm_revokes(void *info, u32 nr_deps)
{
	return (__le64 *)info + nr_deps;
}

static inline struct zj_nvm_record *zj_nvm_records(void *info, u32 nr_deps,
						   u32 nr_revokes)
{
	return (void *)(zj_nvm_revokes(info, nr_deps) + nr_revokes);
}

/* codec_nvm.c */

/* Continues @hash, which begins with the log's seed, with one run of lines. */
u64 zj_nvm_hash(u64 hash, const void *run, u32 len);
/* Continues @hash with a whole record as it lies in the log. */
u64 zj_nvm_hash_record(u64 hash, const void *data, u64 lines, u32 unit);

void zj_encode_nvm_super(const u8 *uuid, const u8 *fs_uuid, u64 size,
			 struct zj_nvm_super *sb);
/*
 * Returns NULL if the super block is valid for a device of @size bytes, else a text that
 * continues "it".
 */
const char *zj_check_nvm_super(const struct zj_nvm_super *sb, u64 size);

/*
 * Makes a geometry in units of lines. Returns the number of lanes, which is the greatest up
 * to @wanted that leaves room for a handle of @largest credits, or 0 if there is none.
 */
u32 zj_nvm_fit(struct zj_log_geometry *geo, u64 size, u32 block_size,
	       u32 info_max, u32 largest, u32 wanted);
/* Returns the lines that a transaction of @n images and revoke blocks needs at worst. */
u32 zj_nvm_txn_lines(const struct zj_log_geometry *geo, u32 info_max, u32 n);
void zj_encode_nvm_head(const struct zj_log_geometry *geo,
			struct zj_nvm_head *head);
/* Returns NULL if the head is valid, else a text that names what is wrong. */
const char *zj_decode_nvm_head(const struct zj_nvm_head *head, u64 size,
			       struct zj_log_geometry *geo);

/* Returns the lane's tail word for a newest record that ends before line @end. */
static inline u64 zj_nvm_tail(u32 end, u64 stamp)
{
	return (stamp << ZJ_NVM_TAIL_STAMP) | end;
}

/*
 * Returns whether the record that a lane's tail word names is reclaimed. The word has only
 * the lower half of a stamp. Comparing halves is right, because live stamps span less
 * than 2^31, and a tail word that the checkpoint stamp has passed is set to 0 before the
 * checkpoint stamp advances again.
 */
static inline bool zj_nvm_tail_dead(u64 tail, u64 ckpt_stamp)
{
	return !tail ||
	       (s32)((u32)(tail >> ZJ_NVM_TAIL_STAMP) - (u32)ckpt_stamp) <= 0;
}

/*
 * Fills in the end of a TxnInfo. Its entries must be in it already, and the rest of it must
 * be zero.
 */
void zj_encode_txninfo(const struct zj_log_geometry *geo, u32 seed,
		       const struct zj_nvm_chunk *chunk, void *info);
/*
 * These three steps read the chunk that ends before line @end. They are separate because
 * a caller may have to copy each piece out of the memory first. The first checks that a
 * chunk can end there, the second tells how many lines the TxnInfo that ends with @t
 * has, and the third checks and decodes a TxnInfo of so many lines. They return NULL, or
 * a text that names what is wrong.
 */
const char *zj_txninfo_place(const struct zj_log_geometry *geo, u32 end);
const char *zj_txninfo_length(const struct zj_log_geometry *geo,
			      const struct zj_txninfo *t, u32 end, u32 *lines);
const char *zj_check_txninfo(const struct zj_log_geometry *geo, u32 seed,
			     const void *info, u32 lines, u32 end,
			     struct zj_nvm_chunk *chunk);
/* Does all three steps in place, with the memory at @area. */
const char *zj_read_txninfo(const struct zj_log_geometry *geo, u32 seed,
			    const void *area, u32 end,
			    struct zj_nvm_chunk *chunk);

/* log_nvm.c */
struct zj_log_ops;

extern const struct zj_log_ops zj_log_nvm;

#endif /* ZJ_NVM_H */
