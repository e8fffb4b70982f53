/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TXN_TEXT_H
#define ZJ_TXN_TEXT_H

#include <linux/seq_buf.h>
#include "core/journal.h"

void zj_txn_to_text(struct seq_buf *out, const struct zj_txn *txn);
void zj_component_to_text(struct seq_buf *out, const struct zj_component *comp);
void zj_lane_to_text(struct seq_buf *out, struct zj_lane *lane);

#endif /* ZJ_TXN_TEXT_H */
