/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TAIL_H
#define ZJ_TAIL_H

#include "core/journal.h"

int zj_checkpoint_thread(void *arg);
int zj_checkpoint(struct zj_journal *zj, bool all);
void zj_checkpoint_up_to(struct zj_journal *zj, u64 stamp);

#endif /* ZJ_TAIL_H */
