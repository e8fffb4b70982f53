/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_WAKE_H
#define ZJ_WAKE_H

#include "core/journal.h"

void zj_checkpoint_kick(struct zj_journal *zj);
void zj_progress(struct zj_journal *zj);
void zj_watch_progress(struct zj_journal *zj);
void zj_unwatch_progress(struct zj_journal *zj);

#endif /* ZJ_WAKE_H */
