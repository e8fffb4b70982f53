/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_FLUSH_H
#define ZJ_FLUSH_H

#include "core/flush_types.h"
#include "core/journal.h"

/* Returns the flushes of the device that the log is on. */
static inline struct zj_flush *zj_log_cache(struct zj_journal *zj)
{
	return zj_log_apart(zj) ? &zj->log_flush : &zj->flush;
}

void zj_flush_init(struct zj_flush *flush, struct block_device *bdev);
bool zj_needs_flush(struct zj_journal *zj, const struct zj_flush *flush);
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_log_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_home_flush(struct zj_journal *zj);
void zj_log_unflushed(struct zj_journal *zj);
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log);

#endif /* ZJ_FLUSH_H */
