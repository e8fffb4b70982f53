// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second half of a commit: it makes those transactions durable that the
 * lane's thread has issued (docs/decisions/0014).
 *
 *   joins a run -> run closed -> data and log blocks in the device -> flush
 *     -> records -> flush, or FUA -> durable
 *
 * A lane's thread issues one transaction after the other; the flush thread
 * takes all that have gathered meanwhile as one run. They share both flushes,
 * and in stock's format one commit block, so that runs become durable in their
 * order. While another run is on its way, the flush before its records also
 * makes the records of the previous run durable, so that each run costs one
 * flush.
 *
 * In a lane that is not pipelined the lane's thread does this half as well.
 */
#include "core/core.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <trace/events/zjournal.h>

/* ---- runs ---- */

/**
 * zj_run_close() - let nobody join the open run any more
 * @lane: the lane
 *
 * Context: caller holds lane->lock.
 */
void zj_run_close(struct zj_lane *lane)
{
	lockdep_assert_held(&lane->lock);
	if (!lane->run_len)
		return;
	ZJ_ASSERT(lane->journal, lane->run_len <= lane->depth);
	if (lane->journal->log_ops->close)
		lane->journal->log_ops->close(lane);
	lane->run++;
	lane->run_len = 0;
}

/**
 * zj_run_join() - add a transaction to the lane's open run
 * @txn: sealed
 *
 * Context: the lane's thread; holds lane->lock.
 */
void zj_run_join(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;

	lockdep_assert_held(&lane->lock);
	ZJ_ASSERT(lane->journal, list_empty(&txn->lane_link));
	ZJ_ASSERT(lane->journal, !lane->run_len || !list_empty(&lane->flight));
	zj_txn_advance(txn, ZJ_ISSUED);
	txn->run = lane->run;
	txn->issued_at = ktime_get();
	trace_zj_issue(txn);
	lane->run_len++;
	lane->stats.depth += ++lane->depth;
	lane->stats.max_depth = max_t(u64, lane->stats.max_depth, lane->depth);
	list_add_tail(&txn->lane_link, &lane->flight);
	if (lane->run_len >= READ_ONCE(lane->journal->options.live.flush_batch))
		zj_run_close(lane);
}

static bool in_flight(struct zj_lane *lane)
{
	bool any;

	spin_lock(&lane->lock);
	any = !list_empty(&lane->flight);
	spin_unlock(&lane->lock);
	return any;
}

/* Returns the oldest run in flight, which is closed by now, or NULL. */
static struct zj_run *next_run(struct zj_lane *lane)
{
	struct zj_txn *txn, *tmp;
	struct zj_run *run;
	u32 nr;

	if (!in_flight(lane))
		return NULL;
	run = kzalloc(sizeof(*run), GFP_NOFS | __GFP_NOFAIL);
	run->lane = lane;
	INIT_LIST_HEAD(&run->txns);
	spin_lock(&lane->lock);
	txn = list_first_entry(&lane->flight, struct zj_txn, lane_link);
	ZJ_ASSERT(lane->journal, !list_empty(&lane->flight));
	nr = txn->run;
	if (nr == lane->run)
		zj_run_close(lane);
	list_for_each_entry_safe(txn, tmp, &lane->flight, lane_link) {
		if (txn->run != nr)
			break;
		list_move_tail(&txn->lane_link, &run->txns);
	}
	spin_unlock(&lane->lock);
	if (lane->journal->log_ops->begin)
		lane->journal->log_ops->begin(run);
	return run;
}

/*
 * Frees a run in any state. Transactions that an abort has left in it are
 * dropped with their components (drop.c).
 */
static void run_free(struct zj_run *run)
{
	struct zj_txn *txn, *tmp;

	list_for_each_entry_safe(txn, tmp, &run->txns, lane_link)
		list_del_init(&txn->lane_link);
	if (run->record)
		kmem_cache_free(run->lane->journal->frozen_cache, run->record);
	kfree(run);
}

/**
 * zj_run_cached() - check whether log blocks of a run may be in the device's
 * cache
 * @run: closed
 */
bool zj_run_cached(const struct zj_run *run)
{
	const struct zj_txn *txn;

	list_for_each_entry(txn, &run->txns, lane_link)
		if (txn->log_cached)
			return true;
	return false;
}

/* ---- before the flush ---- */

static int wait_data(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_wait wait;
	int err;

	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_DATA, txn);
	err = zj_ordered_wait(txn);
	zj_wait_end(&wait);
	zj_ordered_drop(txn);
	if (!err)
		return 0;
	zj_err_ratelimited(zj, "error %d while writing file data (data=ordered), which may be lost; see the device's messages\n",
			   err);
	return zj_flag(zj, JBD2_ABORT_ON_SYNCDATA_ERR) ? err : 0;
}

/*
 * Waits for the log first, because accessors of live images wait for that I/O.
 */
static int run_written(struct zj_run *run)
{
	const struct zj_log_ops *log = run->lane->journal->log_ops;
	struct zj_wait wait;
	struct zj_txn *txn;
	int err = 0, err2;

	if (log->log_before_data)
		list_for_each_entry(txn, &run->txns, lane_link) {
			zj_wait_begin(&wait, run->lane, ZJ_WAIT_LOG, txn);
			err2 = log->written(txn);
			zj_wait_end(&wait);
			err = err ?: err2;
		}
	list_for_each_entry(txn, &run->txns, lane_link) {
		err2 = wait_data(txn);
		err = err ?: err2;
	}
	err2 = log->begun ? log->begun(run) : 0;
	return err ?: err2;
}

/*
 * Returns the number of the flush that covers all data that inodes of the run's
 * transactions have noted.
 */
static u64 run_taken(const struct zj_run *run)
{
	const struct zj_txn *txn;
	u64 written = 0;

	list_for_each_entry(txn, &run->txns, lane_link)
		written = max(written, READ_ONCE(txn->public.t_written));
	return written;
}

/*
 * The data must be durable before the record that points at it (R6). Each
 * member flushes its own data. If it waited for another one, whose thread may
 * be busy with an older component, all lanes would wait for each other in a
 * row.
 */
static int flush_before_record(struct zj_lane *lane, struct zj_run *run)
{
	struct zj_journal *zj = lane->journal;
	bool log = lane->recorded || zj_run_cached(run);
	struct zj_txn *txn;

	WRITE_ONCE(lane->records_next, run);
	if (run)
		list_for_each_entry(txn, &run->txns, lane_link)
			zj_txn_advance(txn, ZJ_FLUSHING);
	/*
	 * Pairs with zj_trans_takes_written(): either that sees the stage, or
	 * we see the number that it has noted.
	 */
	smp_mb();
	if (run && !zj_flag(zj, ZJ_DATA_JOURNALED))
		return zj_data_flush(zj, lane, run_taken(run), log);
	if (log)
		return zj_log_dev_flush(zj, lane);
	zj_flush_not_expected(lane);
	return 0;
}

/* ---- after it ---- */

static void keep_promise(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	bool wake;

	spin_lock(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->depth);
	lane->depth--;
	ZJ_ASSERT(lane->journal,
		  lane->promised >= zj_log_blocks(lane->journal, txn->credits));
	lane->promised -= zj_log_blocks(lane->journal, txn->credits);
	zj_space_surplus(lane);
	wake = lane->starts_waiting;
	spin_unlock(&lane->lock);
	if (wake)
		wake_up_all(&lane->wait_space);
}

/*
 * Tells whether this was the component's last record. The lane that writes it
 * reports all members as durable.
 */
static bool last_record(struct zj_journal *zj, struct zj_component *comp)
{
	ZJ_ASSERT(zj, atomic_read(&comp->unlogged) > 0);
	/* This is a full barrier, which pairs with any_cached(). */
	return atomic_dec_and_test(&comp->unlogged);
}

static bool any_cached(const struct zj_component *comp)
{
	const struct zj_txn *member;
	bool cached = false;

	/*
	 * The count in last_record() has ordered this behind what the other
	 * members' threads wrote.
	 */
	list_for_each_entry(member, &comp->members, comp_link)
		cached |= member->cached;
	return cached;
}

static void commit_members(struct zj_component *comp)
{
	struct zj_txn *member, *next;
	int left = comp->nr_members;

	member = list_first_entry(&comp->members, struct zj_txn, comp_link);
	for (; left; left--, member = next) {
		/*
		 * After the last member the component may be committed,
		 * reclaimed and freed.
		 */
		next = left > 1 ? list_next_entry(member, comp_link) : NULL;
		zj_member_durable(member);
	}
}

/*
 * A flush has made the run's records durable, and with them all components
 * whose last record is in this run.
 */
static void run_durable(struct zj_run *run)
{
	struct zj_txn *txn, *tmp;

	list_for_each_entry_safe(txn, tmp, &run->txns, lane_link) {
		list_del_init(&txn->lane_link);
		ZJ_ASSERT(txn_zj(txn), !atomic_read(&txn->comp->unlogged));
		commit_members(txn->comp);
	}
	run_free(run);
}

/*
 * Reports members whose records are durable already. Records that are in the
 * device's cache wait for the next flush.
 */
static void run_recorded(struct zj_run *run)
{
	struct zj_lane *lane = run->lane;
	struct zj_component *comp;
	struct zj_txn *txn, *tmp;
	ktime_t now = ktime_get();
	LIST_HEAD(cached);

	ZJ_ASSERT(lane->journal, !lane->recorded);
	lane->stats.runs++;
	list_for_each_entry_safe(txn, tmp, &run->txns, lane_link) {
		txn->recorded_at = now;
		zj_txn_advance(txn, ZJ_RECORDED);
		keep_promise(txn);
		lane->stats.txns++;
		comp = txn->comp;
		list_del_init(&txn->lane_link);
		/*
		 * Unless this record is the component's last one, another lane
		 * may now complete the component, and free it.
		 */
		if (!last_record(lane->journal, comp))
			continue;
		if (any_cached(comp))
			list_add_tail(&txn->lane_link, &cached);
		else
			commit_members(comp);
	}
	list_splice(&cached, &run->txns);
	if (list_empty(&run->txns))
		run_free(run);
	else
		lane->recorded = run;
}

static bool knows_fua(struct zj_journal *zj)
{
	return zj_needs_flush(zj, zj_log_cache(zj)) && bdev_fua(zj->public.j_dev);
}

/* Returns by how many ns writing a record takes longer with FUA. */
static s64 fua_price(const struct zj_lane *lane)
{
	return READ_ONCE(lane->record_ns[1]) - READ_ONCE(lane->record_ns[0]);
}

/**
 * zj_log_wants_fua() - check whether a transaction's log blocks are to be
 * written with FUA
 * @lane: the lane
 * @blocks: their number
 *
 * If the record is written with FUA as well, this saves the flush between them.
 * With many runs on their way that is one flush for each run.
 *
 * Context: the lane's thread.
 */
bool zj_log_wants_fua(struct zj_lane *lane, u32 blocks)
{
	struct zj_journal *zj = lane->journal;

	if (!READ_ONCE(zj->options.live.log_fua) || blocks > ZJ_FUA_BLOCKS || !knows_fua(zj))
		return false;
	if (!READ_ONCE(lane->lone_runs_left))
		return true;
	return fua_price(lane) <= (s64)READ_ONCE(zj_log_cache(zj)->mean_ns) / 2;
}

/*
 * Tells whether anything is in flight behind the run at hand, and whether log
 * blocks of that are in the device's cache.
 */
static bool run_followed(struct zj_lane *lane, bool *cached)
{
	const struct zj_txn *txn;
	bool any;

	*cached = false;
	spin_lock(&lane->lock);
	any = !list_empty(&lane->flight);
	list_for_each_entry(txn, &lane->flight, lane_link)
		*cached |= txn->log_cached;
	spin_unlock(&lane->lock);
	return any;
}

/*
 * If another run is on its way or expected, the flush before its records also
 * covers the records of this one. FUA, which delays this run, has to be much
 * faster then. If the next run's log blocks were written with FUA, that flush
 * would serve the records of this run only, so FUA may cost more. Without a flush
 * thread each run comes alone.
 */
static bool use_fua(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	s64 flush = READ_ONCE(zj_log_cache(zj)->mean_ns);
	bool cached;

	if (!knows_fua(zj))
		return false;
	if (run_followed(lane, &cached)) {
		WRITE_ONCE(lane->lone_runs_left, ZJ_LONE_RUNS);
		cached |= !zj->log_ops->log_before_data;
		return fua_price(lane) <= flush / (cached ? 8 : 2);
	}
	if (!lane->lone_runs_left)
		return true;
	WRITE_ONCE(lane->lone_runs_left, lane->lone_runs_left - 1);
	return fua_price(lane) <= flush / 2;
}

/**
 * zj_run_ahead() - close the next run while records are being written
 * @lane: the lane
 * @fua: the records are written with FUA
 * @done: completed when they have been written
 *
 * Threads that the previous run has woken start their next transactions just
 * now. The next run stays open for them a little, because they would always
 * come just too late otherwise.
 *
 * Context: the flush thread; sleeps.
 */
void zj_run_ahead(struct zj_lane *lane, bool fua, struct completion *done)
{
	s64 patience = READ_ONCE(lane->record_ns[fua]) / ZJ_PATIENCE;

	/* With a fast device they would come too late even so. */
	if (lane->flusher && patience >= ZJ_PATIENCE_MIN_NS)
		wait_event_hrtimeout(lane->wait_flush, completion_done(done),
				     ns_to_ktime(min_t(s64, patience,
						       ZJ_PATIENCE_MAX_NS)));
	lane->next = next_run(lane);
}

/*
 * Decides after the records have been written whether they need a flush,
 * because a remount may have switched barriers on meanwhile.
 */
static void no_flush_needed(struct zj_journal *zj, struct zj_run *run)
{
	struct zj_txn *txn;

	if (zj_needs_flush(zj, zj_log_cache(zj)))
		return;
	list_for_each_entry(txn, &run->txns, lane_link)
		txn->cached = false;
	zj_log_unflushed(zj);
}

static int record_run(struct zj_lane *lane, struct zj_run *run)
{
	struct zj_journal *zj = lane->journal;
	struct zj_txn *txn;
	struct zj_wait wait;
	ktime_t begin;
	int err = 0;
	bool fua;

	ZJ_ASSERT(zj, !list_empty(&run->txns));
	fua = use_fua(lane);
	list_for_each_entry(txn, &run->txns, lane_link) {
		/* R6: its data was waited for and flushed. */
		ZJ_ASSERT(zj, list_empty(&txn->inodes));
		ZJ_ASSERT(zj, txn->stage == ZJ_FLUSHING);
		txn->cached = !fua;
	}
	/* If barriers are off, the first call notes it, and the second does nothing. */
	if (zj_needs_flush(zj, zj_log_cache(zj)) || zj_log_apart(zj))
		err = zj_log_flush(zj, lane);
	begin = ktime_get();
	txn = list_first_entry(&run->txns, struct zj_txn, lane_link);
	zj_wait_begin(&wait, lane, ZJ_WAIT_RECORD, txn);
	if (!err)
		err = zj->log_ops->record(run, fua);
	zj_wait_end(&wait);
	WRITE_ONCE(lane->record_ns[fua], zj_mean(lane->record_ns[fua], ktime_get() - begin));
	if (!fua)
		no_flush_needed(zj, run);
	/*
	 * An aborted journal does not drop the members: recovery may still find
	 * them committed.
	 */
	if (err || zj_aborted(zj))
		run_free(run);
	else
		run_recorded(run);
	return err;
}

/*
 * Aborts the journal, and makes nothing durable any more. What is in flight is
 * waited for by the next calls.
 */
static void give_up(struct zj_lane *lane, struct zj_run *run, int err)
{
	struct zj_journal *zj = lane->journal;

	if (err && !zj_aborted(zj))
		zj_err(zj, "lane %d: commit failed: error %d\n", lane->index, err);
	if (err)
		zj_abort(zj, err);
	if (run)
		run_free(run);
	if (lane->recorded)
		run_free(lane->recorded);
	lane->recorded = NULL;
}

/**
 * zj_flush_run() - take the lane's oldest run one step further
 * @lane: the lane
 *
 * Context: the flush thread, or in a lane without one who commits; sleeps.
 * Return: false if there was nothing to do.
 */
bool zj_flush_run(struct zj_lane *lane)
{
	struct zj_run *run = lane->next ?: next_run(lane), *before;
	struct zj_journal *zj = lane->journal;
	int err = 0;

	lane->next = NULL;
	if (!run && !lane->recorded)
		return false;
	if (run)
		err = run_written(run);
	if (!err && !zj_aborted(zj))
		err = flush_before_record(lane, run);
	if (err || zj_aborted(zj)) {
		give_up(lane, run, err);
		return true;
	}
	before = lane->recorded;
	lane->recorded = NULL;
	if (before)
		run_durable(before);
	if (run)
		err = record_run(lane, run);
	if (err)
		give_up(lane, NULL, err);
	return true;
}

/* ---- the thread ---- */

/**
 * zj_flush_thread() - make durable what its lane's thread has issued
 * @arg: the lane
 *
 * It is stopped after the lane's thread, and then waits for all that is in
 * flight. It is not freezable, as zj_lane_thread() is not.
 */
int zj_flush_thread(void *arg)
{
	struct zj_lane *lane = arg;
	unsigned int nofs = memalloc_nofs_save();

	while (!kthread_should_stop()) {
		wait_event_interruptible(lane->wait_flush,
					 in_flight(lane) ||
					 kthread_should_stop());
		while (zj_flush_run(lane))
			;
	}
	while (zj_flush_run(lane))
		;
	memalloc_nofs_restore(nofs);
	return 0;
}
