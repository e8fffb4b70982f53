/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What prints the journal. This is the top layer, which may read everything, and which
 * nothing below calls.
 */
#ifndef ZJ_SHOW_H
#define ZJ_SHOW_H

#include <linux/seq_buf.h>
#include "core/core.h"

/*
 * Entries of one list that are printed at most, because printers hold spinlocks
 * meanwhile.
 */
#define ZJ_TEXT_MOST		32

/* text.c */
void zj_txn_to_text(struct seq_buf *out, const struct zj_txn *txn);
void zj_component_to_text(struct seq_buf *out, const struct zj_component *comp);
void zj_lane_to_text(struct seq_buf *out, struct zj_lane *lane);
void zj_log_map_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_waits_to_text(struct seq_buf *out, struct zj_lane *lane);
void zj_fsyncs_to_text(struct seq_buf *out, struct zj_lane *lane);
void zj_lanes_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_components_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_all_waits_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_all_fsyncs_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_journal_to_text(struct seq_buf *out, struct zj_journal *zj);

#endif /* ZJ_SHOW_H */
