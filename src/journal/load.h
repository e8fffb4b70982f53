/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOAD_H
#define ZJ_LOAD_H

#include "core/journal.h"

int zj_recover_device(struct zj_journal *zj);

#endif /* ZJ_LOAD_H */
