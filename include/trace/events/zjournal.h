/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the journal: what happens to handles, transactions and components, in the
 * order in which it happens. Their names and fields stay; docs/operations.md explains
 * them. They take pointers to what the caller has at hand, so that one that is off costs a
 * branch that is not taken. Programs in user space compile them to nothing: they have a
 * header of this name of their own.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM zjournal

#if !defined(ZJ_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define ZJ_TRACE_H

#include <linux/blkdev.h>
#include <linux/tracepoint.h>
#include "core/core.h"

/* A transaction, at some step of its way. */
DECLARE_EVENT_CLASS(zj_txn_class,
	TP_PROTO(const struct zj_txn *txn),
	TP_ARGS(txn),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__field(u32, tid)
	),
	TP_fast_assign(
		__entry->dev = txn_zj(txn)->public.j_fs_dev->bd_dev;
		__entry->lane = txn->lane->index;
		__entry->tid = txn->public.t_tid;
	),
	TP_printk("dev %d,%d lane %d tid %u", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->lane, __entry->tid)
);

/* A handle has joined its lane's running transaction: at a start, or at a restart. */
TRACE_EVENT(zj_handle_start,
	TP_PROTO(const struct zj_handle *handle),
	TP_ARGS(handle),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__field(u32, tid)
		__field(unsigned int, credits)
		__field(u8, type)
		__field(u16, line)
	),
	TP_fast_assign(
		const struct zj_txn *txn = to_txn(handle->h_transaction);

		__entry->dev = txn_zj(txn)->public.j_fs_dev->bd_dev;
		__entry->lane = txn->lane->index;
		__entry->tid = txn->public.t_tid;
		__entry->credits = handle->h_requested_credits;
		__entry->type = handle->h_type;
		__entry->line = handle->h_line_no;
	),
	TP_printk("dev %d,%d lane %d tid %u credits %u type %u line %u", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->lane, __entry->tid, __entry->credits,
		  __entry->type, __entry->line)
);

/* A handle is about to leave its transaction: at its last stop, or at a restart. */
TRACE_EVENT(zj_handle_stop,
	TP_PROTO(const struct zj_handle *handle),
	TP_ARGS(handle),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__field(u32, tid)
		__field(int, left)
		__field(unsigned int, open_ms)
	),
	TP_fast_assign(
		const struct zj_txn *txn = to_txn(handle->h_transaction);

		__entry->dev = txn_zj(txn)->public.j_fs_dev->bd_dev;
		__entry->lane = txn->lane->index;
		__entry->tid = txn->public.t_tid;
		__entry->left = handle->h_total_credits;
		__entry->open_ms = jiffies_to_msecs(jiffies - handle->h_start_jiffies);
	),
	TP_printk("dev %d,%d lane %d tid %u left %d open_ms %u", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->lane, __entry->tid, __entry->left,
		  __entry->open_ms)
);

/* Two transactions, at what they met; the kinds are those of enum zj_kind. */
DECLARE_EVENT_CLASS(zj_tie_class,
	TP_PROTO(const struct zj_txn *txn, const struct zj_txn *other, int kind),
	TP_ARGS(txn, other, kind),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__field(u32, tid)
		__field(int, other_lane)
		__field(u32, other_tid)
		__field(int, kind)
	),
	TP_fast_assign(
		__entry->dev = txn_zj(txn)->public.j_fs_dev->bd_dev;
		__entry->lane = txn->lane->index;
		__entry->tid = txn->public.t_tid;
		__entry->other_lane = other->lane->index;
		__entry->other_tid = other->public.t_tid;
		__entry->kind = kind;
	),
	TP_printk("dev %d,%d lane %d tid %u other_lane %d other_tid %u kind %d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->lane, __entry->tid,
		  __entry->other_lane, __entry->other_tid, __entry->kind)
);

/* They close at one point from now on (R2). */
DEFINE_EVENT(zj_tie_class, zj_unite,
	TP_PROTO(const struct zj_txn *txn, const struct zj_txn *other, int kind),
	TP_ARGS(txn, other, kind)
);

/* The first is committed only if the other one, which is sealed, is (R3, R4). */
DEFINE_EVENT(zj_tie_class, zj_depend,
	TP_PROTO(const struct zj_txn *txn, const struct zj_txn *other, int kind),
	TP_ARGS(txn, other, kind)
);

/* A member of a component that has got its stamp: an event for each member. */
TRACE_EVENT(zj_seal,
	TP_PROTO(const struct zj_txn *txn, u64 stamp, int members),
	TP_ARGS(txn, stamp, members),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__field(u32, tid)
		__field(u64, stamp)
		__field(int, members)
	),
	TP_fast_assign(
		__entry->dev = txn_zj(txn)->public.j_fs_dev->bd_dev;
		__entry->lane = txn->lane->index;
		__entry->tid = txn->public.t_tid;
		__entry->stamp = stamp;
		__entry->members = members;
	),
	TP_printk("dev %d,%d lane %d stamp %llu members %d tid %u", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->lane, __entry->stamp, __entry->members,
		  __entry->tid)
);

/* Its file data has been sent out; it has joined a run, and waits for its record. */
DEFINE_EVENT(zj_txn_class, zj_issue,
	TP_PROTO(const struct zj_txn *txn),
	TP_ARGS(txn)
);

/* Its record and those of all members of its component are durable. */
DEFINE_EVENT(zj_txn_class, zj_record_durable,
	TP_PROTO(const struct zj_txn *txn),
	TP_ARGS(txn)
);

/* All that it depends on is durable, too: its fsyncs return. */
DEFINE_EVENT(zj_txn_class, zj_committed,
	TP_PROTO(const struct zj_txn *txn),
	TP_ARGS(txn)
);

/* The log up to this stamp is home and its space free again. */
TRACE_EVENT(zj_tail_moved,
	TP_PROTO(const struct zj_journal *zj, u64 stamp),
	TP_ARGS(zj, stamp),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u64, stamp)
	),
	TP_fast_assign(
		__entry->dev = zj->public.j_fs_dev->bd_dev;
		__entry->stamp = stamp;
	),
	TP_printk("dev %d,%d stamp %llu", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->stamp)
);

/* A wait has ended. The reasons are those of debugfs and of zjctl stalls. */
TRACE_EVENT(zj_wait,
	TP_PROTO(const struct zj_wait *wait, s64 ns),
	TP_ARGS(wait, ns),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, lane)
		__string(reason, zj_wait_names[wait->why])
		__field(u32, tid)
		__field(s64, ns)
	),
	TP_fast_assign(
		__entry->dev = wait->lane->journal->public.j_fs_dev->bd_dev;
		__entry->lane = wait->lane->index;
		__assign_str(reason);
		__entry->tid = wait->tid;
		__entry->ns = ns;
	),
	TP_printk("dev %d,%d lane %d reason %s for %u ns %lld", MAJOR(__entry->dev),
		  MINOR(__entry->dev), __entry->lane, __get_str(reason),
		  __entry->tid, __entry->ns)
);

#endif /* ZJ_TRACE_H */

#include <trace/define_trace.h>
