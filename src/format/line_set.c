// SPDX-License-Identifier: GPL-2.0-only
/* Finds, takes out and puts back the lines of a block that have changed. */
#include <linux/string.h>
#include "format/line_set.h"

/* Compares a line, or several. Blocks are aligned to their size, so lines are to words. */
static bool words_differ(const u64 *old, const u64 *new, u32 bytes)
{
	const u64 *end = old + bytes / sizeof(u64);
	u64 change = 0;

	for (; old < end; old += 8, new += 8)
		change |= (old[0] ^ new[0]) | (old[1] ^ new[1]) | (old[2] ^ new[2]) |
			  (old[3] ^ new[3]) | (old[4] ^ new[4]) | (old[5] ^ new[5]) |
			  (old[6] ^ new[6]) | (old[7] ^ new[7]);
	return change;
}

u64 zj_lines_diff(const void *old, const void *new, u32 block_size)
{
	u32 unit = zj_lines_unit(block_size), i;
	u64 lines = 0;

	for (i = 0; i < block_size / unit; i++, old += unit, new += unit)
		lines |= (u64)words_differ(old, new, unit) << i;
	return lines;
}

void zj_lines_gather(const void *image, void *data, u64 lines, u32 block_size)
{
	u32 unit = zj_lines_unit(block_size), first, nr;

	while ((nr = zj_lines_run(&lines, &first))) {
		memcpy(data, image + first * unit, nr * unit);
		data += nr * unit;
	}
}

void zj_lines_apply(void *block, const void *data, u64 lines, u32 block_size)
{
	u32 unit = zj_lines_unit(block_size), first, nr;

	while ((nr = zj_lines_run(&lines, &first))) {
		memcpy(block + first * unit, data, nr * unit);
		data += nr * unit;
	}
}
