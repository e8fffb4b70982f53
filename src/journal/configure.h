/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_CONFIGURE_H
#define ZJ_CONFIGURE_H

#include "core/journal.h"

void zj_options_default(struct zj_journal *zj);

#endif /* ZJ_CONFIGURE_H */
