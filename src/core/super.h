/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_SUPER_H
#define ZJ_SUPER_H

#include "core/journal.h"

int zj_super_read(struct zj_journal *zj, sector_t block);
void zj_super_put(struct zj_journal *zj);
int zj_super_write(struct zj_journal *zj);
int zj_super_note_errno(struct zj_journal *zj);
int zj_make_live(struct zj_journal *zj);
int zj_lanes_go_live(struct zj_journal *zj);
void zj_new_generation(struct zj_journal *zj);
int zj_make_clean(struct zj_journal *zj);
int zj_ckpt_write(struct zj_journal *zj, u64 ckpt_stamp);

#endif /* ZJ_SUPER_H */
