/* SPDX-License-Identifier: GPL-2.0-only */
/* A journal whose log on a disk has lines of blocks: changes of lines, and a look at the log. */
#ifndef ZJ_UNIT_LINESVIEW_H
#define ZJ_UNIT_LINESVIEW_H

#include "nvmview.h"

#define MOST		6	/* lines that a tag may have: zj_lines_max() of this block size */
#define WHOLE		ZJ_TAG_ALL_LINES

/* Access to a block, and some lines of it, dirty; all of that in one handle, and committed. */
void change_lines(handle_t *h, u32 block, u32 first, u32 nr, u8 val);
void commit_lines(u32 ln, u32 block, u32 first, u32 nr, u8 val);

/* The lines of a block that a component has in the log; 0: none. */
u64 lines_of(u64 stamp, u32 block);
/* The newest component. */
u64 newest_lines(u32 block);
/* The parts that transactions have of a block. */
u32 parts_of(u32 block);
/* Recovers what a power cut leaves; each line of the block is as told: 16 characters. */
void expect_after_crash(u32 block, const char *lines);

#endif
