/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_ABORT_H
#define ZJ_ABORT_H

#include "core/journal.h"

void zj_abort(struct zj_journal *zj, int err);

#endif /* ZJ_ABORT_H */
