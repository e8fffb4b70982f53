/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fuzzer's input: a device with a log, in a sparse encoding.
 *
 *   u8   block size: 1024 << (value % 3); value / 3: further parameters of the format
 *   u8   failure that one of the runs meets, see target.c
 *   le16 journal blocks
 *   le16 blocks of the device that are not the journal's
 *   le16 when that failure comes
 *   then, to the end: le16 journal block, le16 bytes, that many bytes
 *
 * Blocks that are not there, and the rest of those that are, are zero.
 */
#ifndef ZJ_FUZZ_INPUT_H
#define ZJ_FUZZ_INPUT_H

#include <linux/types.h>

#define IN_MAX_BYTES		65536	/* of an input */
#define IN_MAX_BLOCKS		1024	/* of the journal, and of the rest */
#define IN_MAX_BLOCK_SIZE	8192	/* of the rest; of the journal half of it */

/**
 * struct input - one input, unpacked
 */
struct input {
	u32	block_size;
	u32	journal_blocks;
	u32	home_blocks;		/* without the journal's */
	u8	extra;			/* further parameters of the format */
	u8	failure;
	u16	when;
	u8	*block[IN_MAX_BLOCKS];	/* of the journal; NULL: zero */
};

/* The buffers last until the next in_reset(). */
void in_reset(void);
u8 *in_new_block(void);
void in_unpack(struct input *in, const u8 *data, size_t size);
/* Returns the bytes used, at most @room. */
size_t in_pack(const struct input *in, u8 *data, size_t room);
/* The block, made if it is not there. */
u8 *in_block(struct input *in, u32 at);
const u8 *in_peek(const struct input *in, u32 at);

#endif
