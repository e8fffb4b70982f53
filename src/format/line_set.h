/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of lines: which ones of a block a record in memory, or a header on a disk, holds. The data
 * of a set has the lines one after the other, in their order.
 */
#ifndef ZJ_LINE_SET_H
#define ZJ_LINE_SET_H

#include <linux/bitops.h>
#include <linux/types.h>

#define ZJ_LINE		64	/* bytes; the unit in which changes are logged */

/*
 * Returns the bytes that one bit of a set of lines stands for: a line, or a 64th of the block if
 * that has more than 64 lines.
 */
static inline u32 zj_lines_unit(u32 block_size)
{
	return block_size > 64 * ZJ_LINE ? block_size / 64 : ZJ_LINE;
}

/* Returns the bits of a whole block. */
static inline u64 zj_lines_all(u32 block_size)
{
	return ~0ULL >> (64 - block_size / zj_lines_unit(block_size));
}

/* Returns the bits of a range, which must have at least one byte. */
static inline u64 zj_lines_of(u32 offset, u32 len, u32 block_size)
{
	/* All sizes are powers of two, and each change of an inode comes here: no division. */
	u32 shift = __ffs64(zj_lines_unit(block_size));
	u32 first = offset >> shift, last = (offset + len - 1) >> shift;

	return (~0ULL << first) & (~0ULL >> (63 - last));
}

/**
 * zj_lines_run() - take the first run of neighbouring lines out of a set
 * @lines: the set; the run is removed from it
 * @first: gets the first bit of the run
 *
 * Return: length of the run; 0 if the set is empty.
 */
static inline u32 zj_lines_run(u64 *lines, u32 *first)
{
	u64 rest;
	u32 nr;

	if (!*lines)
		return 0;
	*first = __ffs64(*lines);
	rest = ~(*lines >> *first);
	nr = rest ? __ffs64(rest) : 64;
	*lines &= nr == 64 ? 0 : ~(((1ULL << nr) - 1) << *first);
	return nr;
}

/* Returns the bytes of a set's data. */
static inline u32 zj_lines_bytes(u64 lines, u32 block_size)
{
	return hweight64(lines) * zj_lines_unit(block_size);
}

/* Returns the lines in which two images differ. */
u64 zj_lines_diff(const void *old, const void *new, u32 block_size);
/* Copies the lines of an image to where a set's data begins. */
void zj_lines_gather(const void *image, void *data, u64 lines, u32 block_size);
/* Copies a set's data to the places in the block. */
void zj_lines_apply(void *block, const void *data, u64 lines, u32 block_size);

#endif /* ZJ_LINE_SET_H */
