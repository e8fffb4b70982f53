/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_DEFAULT_H
#define ZJ_LOG_DEFAULT_H

#include "core/journal.h"

int zj_log_default_open(struct zj_journal *zj);
void zj_log_default_release(struct zj_journal *zj);
int zj_log_default_issue(struct zj_txn *txn);
void zj_log_default_close(struct zj_lane *lane);
void zj_log_default_begin(struct zj_run *run);
int zj_log_default_begun(struct zj_run *run);
bool zj_log_default_can_leave(const struct zj_component *comp);
bool zj_log_default_full(const struct zj_txn *txn);

#endif /* ZJ_LOG_DEFAULT_H */
