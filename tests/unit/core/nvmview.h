/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A journal whose log is in persistent memory: changes of lines, and a look at what
 * stands in memory. A block of the simulator has 16 lines.
 */
#ifndef ZJ_UNIT_NVMVIEW_H
#define ZJ_UNIT_NVMVIEW_H

#include "fixture.h"

#define NVM(...)	OPEN(.nvm = 1 << 20, .journal = 400, ##__VA_ARGS__)
#define LINES		(DISK_BLOCK / ZJ_NVM_LINE)
#define ALL		((1u << LINES) - 1)

/* ---- changes ---- */

/* A line of a block that the handle has access to; dirty. */
void fill_line(handle_t *h, u32 block, u32 line, u8 val);
/* Changes one line in one handle, and commits it. */
void change_line(u32 ln, u32 block, u32 line, u8 val);
/* Access for declared changes, and such a change. */
void range_access(handle_t *h, u32 block);
void change_range(handle_t *h, u32 block, u32 offset, u32 len, u8 val);
/* Recovery can restore BLOCK as all 7, and a handle of the first lane has access to it. */
handle_t *start_known(void);
/* Does both in one handle, and commits it. */
void declare_range(u32 ln, u32 block, u32 offset, u32 len, u8 val);
/* A block whose contents recovery has. */
void make_known(u32 block, u8 val);

/* ---- the log ---- */

const void *memory(u32 line);
/* The tail word of lane @ln; the checkpoint stamp. */
u64 tail(u32 ln);
u64 ckpt_word(void);
/* The newest chunk of a lane. */
struct zj_nvm_chunk newest(u32 ln);
const struct zj_nvm_record *record(const struct zj_nvm_chunk *c, u32 i);
/* The lines of a block that the lane's newest chunk has; 0: none. */
u64 logged(u32 ln, u32 block);
/* Checks that one line of a recovered block is @val and all others are @rest. */
void expect_lines(const struct image *image, u32 block, u32 line, u8 val, u8 rest);

#endif
