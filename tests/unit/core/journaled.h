/* SPDX-License-Identifier: GPL-2.0-only */
/* A file of journaled data: one folio, which is written, truncated and reclaimed. */
#ifndef ZJ_UNIT_JOURNALED_H
#define ZJ_UNIT_JOURNALED_H

#include "fixture.h"

#define DATA	600	/* the file's first block */

extern struct file file;

void open_file(void);
/* A fresh journal, whose first lane has committed 1 as the file's first block; its buffer. */
struct buffer_head *open_committed_file(void);
/* Frees the file's folio, and closes the journal. */
void close_file(void);
/* Writes the first block of the file in one handle. */
tid_t change_file(u32 lane, u8 val);
/* Invalidates the folio as ext4 does in a truncation, whose tid is @tid. */
int invalidate(size_t offset, size_t length, tid_t tid);
int invalidate_all(tid_t tid);
/* Reclaims the folio as the kernel does; true if the buffers are gone. */
bool reclaim(void);
/* The buffer has no mapping any more, and is not dirty. */
void expect_void(const struct buffer_head *bh);

#endif
