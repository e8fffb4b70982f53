/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of the journal: nothing in user space, but their arguments are checked. */
#ifndef ZJ_USER_TRACE_EVENTS_ZJOURNAL_H
#define ZJ_USER_TRACE_EVENTS_ZJOURNAL_H

#include <linux/types.h>

struct zj_handle;
struct zj_journal;
struct zj_txn;
struct zj_wait;

static inline void trace_zj_handle_start(const struct zj_handle *handle) { }
static inline void trace_zj_handle_stop(const struct zj_handle *handle) { }
static inline void trace_zj_unite(const struct zj_txn *txn, const struct zj_txn *other,
				  int kind) { }
static inline void trace_zj_depend(const struct zj_txn *txn, const struct zj_txn *other,
				   int kind) { }
static inline void trace_zj_seal(const struct zj_txn *txn, u64 stamp, int members) { }
static inline void trace_zj_issue(const struct zj_txn *txn) { }
static inline void trace_zj_record_durable(const struct zj_txn *txn) { }
static inline void trace_zj_committed(const struct zj_txn *txn) { }
static inline void trace_zj_tail_moved(const struct zj_journal *zj, u64 stamp) { }
static inline void trace_zj_wait(const struct zj_wait *wait, s64 ns) { }

#endif
