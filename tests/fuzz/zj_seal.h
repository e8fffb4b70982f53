/* SPDX-License-Identifier: GPL-2.0-only */
/* Corrects the checksums of an input, as the author of a manipulated log would. */
#ifndef ZJ_FUZZ_ZJ_SEAL_H
#define ZJ_FUZZ_ZJ_SEAL_H

#include <asm/byteorder.h>
#include <zjournal/recovery.h>
#include "input.h"

#define SEAL_SUPER	1	/* the log super block's */
#define SEAL_CKPT	2	/* the checkpoint slots' */
#define SEAL_IMAGES	4	/* those in the tags */
#define SEAL_HEADERS	8	/* the chunk headers' */
#define SEAL_GENERATION	16	/* and the generation in them */
#define SEAL_ALL	31

/* The geometry in the log super block, valid or not. */
struct zj_log_geometry seal_geometry(const struct input *in);
bool seal_is_header(const struct input *in, u32 at);
/* All entries are within the header block. */
bool seal_counts_fit(const struct input *in, const struct zj_chunk_header *h);
/* The images that follow the header, if its counts are right. */
u32 seal_images(const struct zj_chunk_header *h);
/* First block of segment @seg, modulo the number of segments. */
u32 seal_segment_start(const struct input *in, u32 seg);
/* Write its place into the header in block @at. */
void seal_place(struct input *in, u32 at);
/* Write the input's block size into the log super block. */
void seal_block_size(struct input *in);
void seal(struct input *in, u32 what);

static inline void le32_add(__le32 *p, u32 val)
{
	*p = cpu_to_le32(le32_to_cpu(*p) + val);
}

static inline void le64_add(__le64 *p, u64 val)
{
	*p = cpu_to_le64(le64_to_cpu(*p) + val);
}

#endif
