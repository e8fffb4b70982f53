/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_COMMIT_H
#define ZJ_COMMIT_H

#include "core/journal.h"

int zj_lane_thread(void *arg);
bool zj_commits_here(const struct zj_lane *lane);
void zj_commit_here(struct zj_lane *lane);
void zj_txn_logged(struct zj_txn *txn);

#endif /* ZJ_COMMIT_H */
