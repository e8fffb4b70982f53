/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A second reader of each format's logs, written from docs/internals/format.md alone: slow,
 * simple, and sharing nothing with src/. A program has that of its format.
 */
#ifndef ZJ_FUZZ_REFERENCE_H
#define ZJ_FUZZ_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#define REF_MAX_BLOCKS	1024	/* of the journal; chunks of a log in memory */

/**
 * struct ref_log - what to read
 */
struct ref_log {
	uint32_t block_size;		/* of the file system */
	uint32_t journal_blocks;
	uint64_t device_blocks;
	const uint8_t *memory;		/* that holds the log; NULL: the journal does */
	uint64_t memory_bytes;
	uint64_t generation;		/* of the log in memory */
	const void *(*block)(void *ctx, uint32_t at);	/* of the journal */
	const void *(*home)(void *ctx, uint64_t block);	/* as it was before */
	bool	(*is_log)(void *ctx, uint64_t block);	/* a block of the journal's? */
	void	*ctx;
};

/**
 * struct ref_write - a block that must be written home
 */
struct ref_write {
	uint64_t block;		/* home block */
	uint32_t log_block;	/* journal block of the image; with lines: the first of its images */
	uint32_t flags;		/* of its tag; with lines: number of images */
};

/**
 * struct ref_result - what recovery must do
 */
struct ref_result {
	const char *damage;	/* why it must refuse; NULL: it must not */
	bool	either;		/* the page leaves it open: it may refuse */
	uint64_t ckpt_stamp, committed_stamp, newest_stamp;
	uint32_t chunks, torn, components, committed, transactions, discarded;
	uint32_t images, revoked;
	uint32_t entries;	/* dependencies and revokes of @chunks */
	uint32_t seg_blocks;
	uint32_t sequence;	/* stock's format: of the transaction after the last */
	uint32_t fast_blocks;	/* stock's format: of fast commits that jbd2.c's host takes */
	uint32_t nr_writes;
	struct ref_write write[REF_MAX_BLOCKS];	/* in block order */
};

void ref_read(const struct ref_log *log, struct ref_result *res);
/* What @w writes. */
void ref_image(const struct ref_log *log, const struct ref_write *w, uint8_t *image);

#endif
