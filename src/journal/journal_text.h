/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_JOURNAL_TEXT_H
#define ZJ_JOURNAL_TEXT_H

#include <linux/seq_buf.h>
#include "core/journal.h"

void zj_lanes_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_components_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_all_waits_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_all_fsyncs_to_text(struct seq_buf *out, struct zj_journal *zj);
void zj_journal_to_text(struct seq_buf *out, struct zj_journal *zj);

#endif /* ZJ_JOURNAL_TEXT_H */
