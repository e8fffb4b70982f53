/* SPDX-License-Identifier: GPL-2.0-only */
/* zjournal, for the simulated machine, and what zext4 tells it. */
#ifndef ZJ_SIM_JOURNAL_ZJ_H
#define ZJ_SIM_JOURNAL_ZJ_H

#include <klayer/nvm.h>
#include "../core/journal-zj.h"

/* An fsync's little data is written with FUA if no older data of the file waits. */
#define journal_data_flags(journal) \
	(zj_journal_wants_fua(journal, 0) ? REQ_FUA : 0)

/* As bench/core's; the log in memory if there is any (disk.c). copy: enum zj_frozen_copy. */
#undef journal_set_up
#define journal_set_up(journal, options)				\
do {									\
	struct zj_options wanted = {					\
		.lanes = (options)->lanes,				\
		.log = kl_nvm.base ? ZJ_LOG_NVM : ZJ_LOG_LANES,		\
		.nvm_path = kl_nvm.base ? "memory" : NULL,		\
		.live.frozen_copy = (options)->copy,			\
	};								\
									\
	WARN_ON_ONCE(zj_journal_configure(journal, &wanted));		\
} while (0)

#define journal_range_access(handle, bh)	zj_journal_get_range_access(handle, bh)
#define journal_dirty_range(handle, bh, at, n)	zj_journal_dirty_range(handle, bh, at, n)
#define journal_log_data(handle, bh)		zj_journal_dirty_file_block(handle, bh, false)

#define journal_memory(at, bytes)					\
do {									\
	zj_encode_nvm_super((const u8 *)"simulated-memory",		\
			    (const u8 *)"core-file-system", bytes, at); \
	kl_nvm.base = at;						\
	kl_nvm.size = bytes;						\
} while (0)

#define journal_lanes(journal)	to_zj(journal)->nr_lanes

/* What lanes count (struct zj_lane_stats) that says where copies and waits come from. */
#define JOURNAL_COUNTS	"txns", "blocks", "copies", "ahead", "wait_log",

static inline void journal_counts(journal_t *journal, u64 *counts)
{
	struct zj_journal *zj = to_zj(journal);

	for (unsigned int i = 0; i < zj->nr_lanes; i++) {
		const struct zj_lane_stats *st = &zj->lanes[i].stats;

		counts[0] += st->txns;
		counts[1] += st->blocks;
		counts[2] += st->copies;
		counts[3] += st->ahead;
		counts[4] += st->wait_log;
	}
}

static inline void journal_mounted(journal_t *journal, bool data_journal)
{
	journal->j_flags |= data_journal ? ZJ_DATA_JOURNALED : ZJ_DATA_REPORTED;
}

#endif
