/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_FLUSH_H
#define ZJ_FLUSH_H

#include "core/flush_types.h"
#include "core/journal.h"

bool zj_needs_flush(struct zj_journal *zj);
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane);
void zj_log_unflushed(struct zj_journal *zj);
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane);
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log);

#endif /* ZJ_FLUSH_H */
