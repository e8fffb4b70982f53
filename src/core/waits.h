/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_WAITS_H
#define ZJ_WAITS_H

#include <linux/seq_buf.h>
#include "core/journal.h"
#include "core/waits_types.h"

/*
 * Entries of one list that are printed at most, because printers hold spinlocks
 * meanwhile.
 */
#define ZJ_TEXT_MOST		32

extern const char *const zj_wait_names[ZJ_NR_WAITS];
extern const char *const zj_stage_names[ZJ_NR_STAGES];

enum zj_txn_stage zj_stage_now(const struct zj_txn *txn);
void zj_waits_init(struct zj_waits *waits);
void zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane,
		   enum zj_wait_reason why, const struct zj_txn *txn);
void zj_wait_end(struct zj_wait *wait);
void zj_fsync_ended(const struct zj_txn *txn, ktime_t begin, ktime_t turn);
void zj_waits_to_text(struct seq_buf *out, struct zj_lane *lane);
void zj_fsyncs_to_text(struct seq_buf *out, struct zj_lane *lane);

#endif /* ZJ_WAITS_H */
