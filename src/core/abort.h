/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_ABORT_H
#define ZJ_ABORT_H

#include "core/journal.h"

extern bool zj_panic_on_assert;

void zj_abort(struct zj_journal *zj, int err);
void zj_abort_finish(struct zj_journal *zj);

#endif /* ZJ_ABORT_H */
