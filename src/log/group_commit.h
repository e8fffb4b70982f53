/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_GROUP_COMMIT_H
#define ZJ_GROUP_COMMIT_H

#include "core/journal.h"

/*
 * After so many runs in a row with no other one behind them the flush thread
 * stops expecting a follower, and pays for FUA instead of leaving the records
 * to the next run's flush.
 */
#define ZJ_LONE_RUNS		4
/*
 * The next run stays open for 1/ZJ_PATIENCE of the time that writing a record
 * takes, so that threads woken by the previous run can join it.
 */
#define ZJ_PATIENCE		8
#define ZJ_PATIENCE_MIN_NS	(100 * NSEC_PER_USEC)
#define ZJ_PATIENCE_MAX_NS	(10 * NSEC_PER_MSEC)
/*
 * A transaction with more log blocks than these writes them without FUA, and
 * leaves them to one flush.
 */
#define ZJ_FUA_BLOCKS		64

int zj_flush_thread(void *arg);
void zj_run_close(struct zj_lane *lane);
void zj_run_join(struct zj_txn *txn);
bool zj_flush_run(struct zj_lane *lane);
bool zj_log_wants_fua(struct zj_lane *lane, u32 blocks);
bool zj_run_cached(const struct zj_run *run);
void zj_run_ahead(struct zj_lane *lane, bool fua, struct completion *done);

#endif /* ZJ_GROUP_COMMIT_H */
