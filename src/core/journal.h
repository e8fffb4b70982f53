/* SPDX-License-Identifier: GPL-2.0-only */
/* Small accessors of the journal that all folders use. */
#ifndef ZJ_JOURNAL_H
#define ZJ_JOURNAL_H

#include <linux/kernel.h>
#include "core/assert.h"
#include "core/journal_types.h"
#include "core/lane_types.h"
#include "core/tids_types.h"
#include "txn/txn_types.h"

static inline struct zj_journal *txn_zj(const struct zj_txn *txn)
{
	return txn->lane->journal;
}

static inline struct zj_txn *handle_txn(const handle_t *handle)
{
	return to_txn(handle->h_transaction);
}

/*
 * Reads with READ_ONCE(), because ext4 changes some flags while the journal is
 * in use.
 */
static inline bool zj_flag(const struct zj_journal *zj, unsigned long flag)
{
	return READ_ONCE(zj->public.j_flags) & flag;
}

/*
 * The log takes only the lines of a block that changed, as its format can and
 * tune=log_unit says.
 */
static inline bool zj_logs_lines(const struct zj_journal *zj)
{
	return zj->log_ops->logs_lines && !zj->options.log_blocks;
}

static inline bool zj_aborted(const struct zj_journal *zj)
{
	return zj_flag(zj, JBD2_ABORT);
}

/*
 * Several tasks may count in one lane at once without a lock, so that a count
 * may get lost.
 */
static inline void zj_count(u64 *counter, u64 n)
{
	WRITE_ONCE(*counter, READ_ONCE(*counter) + n);
}

/* Returns a running mean of times or sizes with one more in it; 0: there was none so far. */
static inline s64 zj_mean(s64 mean, s64 value)
{
	return mean ? (3 * mean + value) / 4 : value;
}

/* Tells whether the log has a device of its own (C6). */
static inline bool zj_log_apart(const struct zj_journal *zj)
{
	return zj->public.j_dev != zj->public.j_fs_dev;
}

/* Walks all live transactions; caller holds the RCU read lock. */
#define zj_for_each_live(zj, chain, txn)				\
	for (chain = (zj)->tids; chain < (zj)->tids + ZJ_TID_CHAINS; chain++)	\
		hlist_for_each_entry_rcu(txn, &chain->head, tid_link)

#define zj_err(zj, fmt, ...) \
	pr_err("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)
/* For what may happen again and again: ten times in five seconds at most. */
#define zj_err_ratelimited(zj, fmt, ...) \
	pr_err_ratelimited("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)
#define zj_notice(zj, fmt, ...) \
	pr_notice("zjournal %s: " fmt, (zj)->public.j_devname, ##__VA_ARGS__)

#endif /* ZJ_JOURNAL_H */
