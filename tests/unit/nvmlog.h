/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A log in memory for the tests of its recovery, beside a device whose home blocks it
 * replays to (memlog.h): a builder for hand-made logs, and what is expected of them.
 */
#ifndef ZJ_NVMLOG_H
#define ZJ_NVMLOG_H

#include "nvm/nvm.h"
#include "memlog.h"

#define SIZE		(1u << 20)
#define BLOCK_SIZE	1024
#define LINES		(BLOCK_SIZE / ZJ_NVM_LINE)
#define ALL		0xffff
#define SEG_LINES	(16 * LINES)
#define FIRST		(ZJ_NVM_LOG_AT / ZJ_NVM_LINE)
#define JOURNAL		8	/* blocks, behind those that may be replayed */
#define HOME		64
#define GENERATION	0x1122334455667788ULL
#define UNTOUCHED	0xee	/* every byte of a home block that was not written */
#define MAX_RECS	8

/**
 * struct nvrec - one chunk; unset fields get sensible values
 */
struct nvrec {
	u64	stamp;
	u32	lane;
	u32	tid;			/* 0: made from stamp and lane */
	u32	members;		/* 0: 1 */
	u32	index;
	bool	more;			/* not the last one of its member */
	u64	deps[4];		/* up to the first 0 */
	u64	revokes[4];		/* up to the first 0 */
	struct {
		u64	block;
		u64	lines;
		u8	val;
	} rec[MAX_RECS];		/* up to the first without lines */
};

/**
 * struct nvlog - memory with a log, and the device beside it
 */
struct nvlog {
	struct memdev	*dev;		/* its home blocks, and what was written */
	struct zj_log_geometry geo;
	struct zj_nvm_area area;
	u32		seed;
	u8		*mem;
	u32		next;		/* first line that is free */
	u32		end[4];		/* of each lane's newest chunk; 0: none */
	u64		stamp[4];	/* the same */
};

extern struct nvlog nv;
/* How often a home block was read; the read that fails from now on, or 0. */
extern u32 home_reads, bad_home_reads;

int read_home(void *ctx, u64 block, void *buf);

/* ---- making a log ---- */

void new_log(void);
void free_log(void);
/* The head of the log, as nv.geo says. */
void put_head(void);
void set_ckpt(u64 stamp);
void set_tail(u32 lane, u32 end, u64 stamp);
void *line(u32 n);
/* The TxnInfo that ends before line @end. */
struct zj_txninfo *info_before(u32 end);
/* Computes its sum again, over as many lines as it says or over @lines. */
void reseal(u32 end);
void reseal_lines(u32 end, u32 lines);
/* Append a chunk to its lane; returns the line behind it. */
u32 put_chunk(const struct nvrec *rec);
#undef PUT
#define PUT(...)	put_chunk(&(const struct nvrec){ __VA_ARGS__ })

/* ---- recovering it ---- */

/* With other operations. */
int recover_with(const struct zj_io_ops *ops, unsigned int flags,
		 struct zj_recovery_stats *stats);
int recover(bool dry_run, struct zj_recovery_stats *stats);
/* Without a write at first; then for good, and with the power cut at every write. */
struct zj_recovery_stats accepted(void);
/* With this in the message, and without a write. */
void refused(const char *text);
/* Every line of a block. */
void expect_block(u64 block, const u8 *vals);
#define EXPECT(block, ...)	expect_block(block, (const u8[LINES]){ __VA_ARGS__ })
#define REST(from)		[from ... LINES - 1] = UNTOUCHED
/* The first byte of a home block. */
u8 val_of(u64 block);

#endif /* ZJ_NVMLOG_H */
