/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_IO_H
#define ZJ_LOG_IO_H

#include "core/journal.h"
#include "txn/block_index_types.h"
#include "txn/part_types.h"

/**
 * struct zj_cursor - how far a member has been written to the log
 *
 * It belongs to the thread that writes, and is part of that thread's state for
 * the member. A copy goes on from the same place by itself, so a copy made
 * earlier can take the same pieces again.
 */
struct zj_cursor {
	struct zj_dep	*dep;		/* taken last */
	struct zj_block_entry *revoke;	/* taken last */
	struct zj_part	*part;		/* taken last */
	u32		nr_deps;	/* dependencies not taken yet */
	u32		nr_revokes;	/* revokes not taken yet */
	u32		nr_images;	/* images not taken yet */
};

void zj_cursor_init(struct zj_cursor *cursor, struct zj_txn *txn);
u64 zj_cursor_dep(struct zj_cursor *cursor);
u64 zj_cursor_revoke(struct zj_cursor *cursor);
struct zj_part *zj_cursor_peek(const struct zj_cursor *cursor);
struct zj_part *zj_cursor_image(struct zj_cursor *cursor);
bool zj_settle_images(struct zj_txn *txn);
void zj_log_io_begin(struct zj_log_io *io, struct zj_lane *lane, blk_opf_t flags, u32 blocks);
void zj_log_io_add(struct zj_log_io *io, u32 log_block, void *data);
void zj_log_io_send(struct zj_log_io *io);
int zj_log_io_wait(struct zj_log_io *io);

#endif /* ZJ_LOG_IO_H */
