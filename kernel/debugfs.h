/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_DEBUGFS_H
#define ZJ_DEBUGFS_H

#include "core/core.h"

void zj_debugfs_init(void);
void zj_debugfs_exit(void);
void zj_debugfs_add(struct zj_journal *zj);
void zj_debugfs_remove(struct zj_journal *zj);

#endif /* ZJ_DEBUGFS_H */
