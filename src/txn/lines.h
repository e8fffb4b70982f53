/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LINES_H
#define ZJ_LINES_H

#include "core/journal.h"
#include "txn/jhead_types.h"
#include "txn/part_types.h"

bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh);
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare);
void zj_part_set_base(struct zj_part *part, struct zj_spare *spare);
bool zj_part_has_lines(const struct zj_part *part);
bool zj_part_is_brief(const struct zj_part *part);
u64 zj_part_lines(const struct zj_part *part);
int zj_part_check(struct zj_journal *zj, const struct zj_part *part);
void zj_part_no_base(struct zj_journal *zj, struct zj_part *part);
void zj_part_note_known(struct zj_journal *zj, struct zj_part *part);
void zj_jh_unknown(struct zj_journal *zj, struct journal_head *jh);
void zj_bh_unknown(struct buffer_head *bh);

#endif /* ZJ_LINES_H */
