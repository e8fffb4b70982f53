/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TAIL_H
#define ZJ_TAIL_H

#include "core/journal.h"

int zj_checkpoint_thread(void *arg);
int zj_checkpoint(struct zj_journal *zj, bool all);

#endif /* ZJ_TAIL_H */
