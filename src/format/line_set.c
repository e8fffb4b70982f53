// SPDX-License-Identifier: GPL-2.0-only
/* Finds, takes out and puts back the lines of a block that have changed. */
#include <linux/string.h>
#include "format/line_set.h"

/* Blocks are aligned to their size, so lines are to words. */
static bool differ(const u64 *old, const u64 *new, u32 bytes)
{
	u64 change = 0;
	u32 i;

	for (i = 0; i < bytes / sizeof(u64); i++)
		change |= old[i] ^ new[i];
	return change;
}

u64 zj_lines_diff(const void *old, const void *new, u32 block_size)
{
	u32 unit = zj_lines_unit(block_size), i;
	u64 lines = 0;

	for (i = 0; i < block_size / unit; i++, old += unit, new += unit)
		lines |= (u64)differ(old, new, unit) << i;
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
