/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_CURSOR_H
#define ZJ_CURSOR_H

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

#endif /* ZJ_CURSOR_H */
