/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_WAITS_H
#define ZJ_WAITS_H

#include "core/journal.h"
#include "core/waits_types.h"

extern const char *const zj_wait_names[ZJ_NR_WAITS];
extern const char *const zj_comp_state_names[ZJ_NR_COMP_STATES];

void zj_waits_init(struct zj_waits *waits);
void zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane,
		   enum zj_wait_reason why, const struct zj_txn *txn);
void zj_wait_end(struct zj_wait *wait);
void zj_fsync_ended(const struct zj_txn *txn, ktime_t begin, ktime_t turn);
void zj_checkpoint_kick(struct zj_journal *zj);
void zj_progress(struct zj_journal *zj);
void zj_watch_progress(struct zj_journal *zj);
void zj_unwatch_progress(struct zj_journal *zj);

#endif /* ZJ_WAITS_H */
