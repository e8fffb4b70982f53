/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_DROP_H
#define ZJ_DROP_H

#include "core/journal.h"

void zj_drop_everything(struct zj_journal *zj);

#endif /* ZJ_DROP_H */
