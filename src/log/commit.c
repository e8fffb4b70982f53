// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first half of a commit: what is done with a sealed transaction (C1-C5), by
 * its lane's thread, or by a task that syncs and finds the lane idle.
 *
 *   ordered data sent -> all members' data sent -> copies -> issued: group_commit.c
 *
 * Members of one component are written by their own lanes' threads in parallel.
 * A thread takes its lane's transactions in seal order. Two components that
 * have members in the same lanes are in the same order in all of them, so
 * threads that wait for other members' data cannot deadlock.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/kthread.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

/* ---- copies ---- */

/*
 * Prepares one part for the log I/O. If others are likely to want the buffer
 * meanwhile, its image gets a frozen copy, unless an accessor has made one. A
 * part that was never modified is dropped. Without memory for a copy the log is
 * written from the live buffer, and accessors wait.
 */
static void copy_part(struct zj_txn *txn, struct zj_part *part,
		      const struct zj_copying *copying)
{
	struct journal_head *jh = part->jh;
	struct zj_journal *zj = txn_zj(txn);
	enum zj_want want = ZJ_COPY_NO;
	void **copy = &txn->lane->spare[0];

	refcount_inc(&jh->refs);
	if (!*copy)
		*copy = kmem_cache_alloc(zj->frozen_cache, GFP_NOFS |
					 __GFP_NORETRY | __GFP_NOWARN);
	spin_lock(&jh->lock);
	if (zj_part_test(part, ZJ_PART_MODIFIED)) {
		if (!part->frozen_data)
			want = zj_part_wants_copy(part, copying);
	} else if (zj_part_test(part, ZJ_PART_FORGET)) {
		txn->forgets = true;
	} else {
		zj_part_drop(part);
	}
	if (want == ZJ_COPY_MUST && !*copy) {
		spin_unlock(&jh->lock);
		*copy = kmem_cache_alloc(zj->frozen_cache,
					 GFP_NOFS | __GFP_NOFAIL);
		spin_lock(&jh->lock);
	}
	if (want != ZJ_COPY_NO && *copy && !part->frozen_data) {
		zj_part_make_copy(zj, part, copy);
		txn->lane->stats.ahead++;
	}
	spin_unlock(&jh->lock);
	zj_jh_put(jh);
}

/*
 * The transaction is sealed, so no task removes parts; from now on none adds
 * any (invalidate.c).
 */
static void fix_parts(struct zj_txn *txn)
{
	spin_lock(&txn->list_lock);
	zj_txn_advance(txn, ZJ_COPYING);
	spin_unlock(&txn->list_lock);
}

static void copy_all(struct zj_txn *txn)
{
	struct zj_part *part, *tmp;
	struct zj_copying copying;

	zj_copying_begin(&copying, txn);
	fix_parts(txn);
	list_for_each_entry_safe(part, tmp, &txn->parts, txn_link)
		copy_part(txn, part, &copying);
}

/**
 * zj_txn_logged() - let accessors go on, because the images are in the log
 * @txn: sealed
 */
void zj_txn_logged(struct zj_txn *txn)
{
	struct zj_part *part;

	list_for_each_entry(part, &txn->parts, txn_link)
		zj_part_logged(txn_zj(txn), part);
}

/* ---- ordered data ---- */

/* Takes no lock, because comp_lock and the queue are shared with all other components. */
static void mark_submitted(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_component *comp = txn->comp;

	ZJ_ASSERT(zj, atomic_read(&comp->unsubmitted) > 0);
	/*
	 * It is a barrier that pairs with wait_protected(): a thread that sees 0 finds
	 * the folios of all members write-protected.
	 */
	if (atomic_dec_and_test(&comp->unsubmitted) && wq_has_sleeper(&zj->wait_submit))
		wake_up_all(&zj->wait_submit);
}

/*
 * The data is waited for before the transaction's flush, so the log may be
 * written meanwhile.
 */
static int submit_ordered(struct zj_txn *txn)
{
	struct zj_wait wait;
	int err;

	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_SUBMIT, txn);
	err = zj_ordered_submit(txn);
	zj_wait_end(&wait);
	mark_submitted(txn);
	if (!err)
		return 0;
	/*
	 * The transaction must not be committed: its record would expose stale
	 * blocks.
	 */
	zj_err(txn_zj(txn), "error %d: file data (data=ordered) could not be submitted to the device\n", err);
	zj_ordered_drop(txn);
	return err;
}

/*
 * A folio may be in one lane's transaction and its inode's entry in another's.
 * So journaled data is copied only after every member has write-protected its
 * folios.
 */
static void wait_protected(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_wait wait;

	if (!txn->jdata)
		return;
	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_MEMBERS, txn);
	/* Pairs with mark_submitted(): the folios are read after this. */
	wait_event(zj->wait_submit, !atomic_read_acquire(&txn->comp->unsubmitted) ||
		   zj_aborted(zj));
	zj_wait_end(&wait);
}

/* ---- one transaction ---- */

/* Sends what the format lets out before the data is durable. */
static int issue_txn(struct zj_txn *txn)
{
	const struct zj_log_ops *log = txn_zj(txn)->log_ops;

	if (log->issue)
		return log->issue(txn);
	spin_lock(&txn->lane->lock);
	zj_run_join(txn);
	spin_unlock(&txn->lane->lock);
	return 0;
}

static int commit_txn(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	int err;

	err = submit_ordered(txn);
	if (!err)
		err = zj_make_live(zj);
	if (err)
		return err;
	/* L1 */
	ZJ_ASSERT(zj, zj->live);
	ZJ_ASSERT(zj, txn->comp->stamp);
	wait_protected(txn);
	copy_all(txn);
	return zj_aborted(zj) ? 0 : issue_txn(txn);
}

/*
 * Wakes waiters even if the lane has more to do, because it may have dealt with
 * the transaction that they wait for. Returns whether there is more.
 */
static bool commit_ended(struct zj_lane *lane)
{
	bool more;

	spin_lock(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->unwritten > 0);
	ZJ_ASSERT(lane->journal, lane->committing);
	lane->unwritten--;
	lane->committing = false;
	more = !list_empty(&lane->to_issue);
	spin_unlock(&lane->lock);
	/* If there is a flush thread, that will still call for a flush. */
	if (!lane->flusher)
		zj_flush_not_expected(lane);
	wake_up_all(&lane->wait_idle);
	return more;
}

/* Returns whether the lane has more to commit. */
static bool commit_next(struct zj_lane *lane, struct zj_txn *txn)
{
	struct zj_journal *zj = lane->journal;
	tid_t tid = txn->public.t_tid;
	int err;

	zj_checkpoint_charge(lane, txn->credits);
	err = commit_txn(txn);
	if (err && !zj_aborted(zj))
		zj_err(zj, "lane %d: commit of transaction %u failed: error %d\n",
		       lane->index, tid, err);
	if (err)
		zj_abort(zj, err);
	if (lane->flusher)
		wake_up(&lane->wait_flush);
	else
		while (zj_flush_run(lane))
			;
	return commit_ended(lane);
}

/* ---- who commits ---- */

static bool may_commit(const struct zj_lane *lane)
{
	lockdep_assert_held(&lane->lock);
	return !lane->committing && !list_empty(&lane->to_issue) && !zj_aborted(lane->journal);
}

/*
 * Tells whether the next commit sends file data. In a task that would have the I/O priority and
 * the cgroup of the task, and zext4 would take it for what an fsync writes, and use FUA.
 */
static bool sends_data(const struct zj_lane *lane)
{
	lockdep_assert_held(&lane->lock);
	return !zj_flag(lane->journal, ZJ_DATA_JOURNALED) &&
	       READ_ONCE(list_first_entry(&lane->to_issue, struct zj_txn, lane_link)->sends_data);
}

/*
 * Takes the lane's oldest sealed transaction. NULL: there is none, or somebody else commits, or
 * it is not for a task, which is @here.
 */
static struct zj_txn *next_sealed(struct zj_lane *lane, bool here)
{
	struct zj_txn *txn = NULL;

	spin_lock(&lane->lock);
	if (may_commit(lane) && !(here && sends_data(lane))) {
		txn = list_first_entry(&lane->to_issue, struct zj_txn, lane_link);
		list_del_init(&txn->lane_link);
		lane->committing = true;
	}
	spin_unlock(&lane->lock);
	return txn;
}

/**
 * zj_commits_here() - check whether the current task may commit in place of a lane's thread
 * @lane: the lane
 *
 * That saves two changes of task for an fsync. All that comes after its transaction in the lane
 * waits for the task then. So it must not have a lower priority than the thread, which would be
 * waited for as well, and must not be one that frees memory. With a flush thread, commits overlap.
 */
bool zj_commits_here(const struct zj_lane *lane)
{
	return !lane->flusher && !READ_ONCE(lane->journal->options.live.by_thread) &&
	       !(current->flags & PF_MEMALLOC) && current->policy != SCHED_IDLE &&
	       task_nice(current) <= 0;
}

/**
 * zj_commit_here() - commit a lane's oldest sealed transaction in place of its thread
 * @lane: the lane, in which zj_commit_request_here() has sealed one
 *
 * The thread commits those that were sealed later, and those with file data to send; and it does
 * the lane's part of home writes, which follows each commit.
 *
 * Context: sleeps for I/O; no handle open, no folio lock.
 */
void zj_commit_here(struct zj_lane *lane)
{
	unsigned int nofs = memalloc_nofs_save();
	struct zj_txn *txn = next_sealed(lane, true);

	if (!txn || commit_next(lane, txn) || zj_checkpoint_offers(lane))
		wake_up(&lane->wait_work);
	memalloc_nofs_restore(nofs);
}

/* ---- the thread ---- */

/* N8: the timer belongs to the transaction, not to the lane. */
static void close_expired(struct zj_lane *lane)
{
	struct zj_txn *txn;

	spin_lock(&lane->lock);
	txn = lane->running;
	if (txn && txn->stage == ZJ_RUNNING &&
	    time_after_eq(jiffies, READ_ONCE(txn->expires)))
		refcount_inc(&txn->refs);
	else
		txn = NULL;
	spin_unlock(&lane->lock);
	if (!txn)
		return;
	zj_commit_request(lane->journal, txn);
	zj_txn_put(txn);
}

static bool lane_has_work(struct zj_lane *lane)
{
	bool work;

	if (kthread_should_stop() || zj_checkpoint_offers(lane))
		return true;
	spin_lock(&lane->lock);
	work = may_commit(lane);
	if (lane->running && lane->running->stage == ZJ_RUNNING)
		work |= time_after_eq(jiffies,
				      READ_ONCE(lane->running->expires));
	spin_unlock(&lane->lock);
	return work;
}

/**
 * zj_lane_thread() - issue what its lane seals, and close transactions that
 * expire
 * @arg: the lane
 *
 * It is not freezable (E24): whatever is to be frozen may wait for a commit. A
 * hibernation holds its writes instead (L3).
 */
int zj_lane_thread(void *arg)
{
	struct zj_lane *lane = arg;
	unsigned int nofs = memalloc_nofs_save();
	struct zj_txn *txn;

	while (!kthread_should_stop()) {
		wait_event_interruptible(lane->wait_work, lane_has_work(lane));
		close_expired(lane);
		/*
		 * The lane takes part in a checkpoint after each transaction,
		 * so that it writes home in proportion to what it logs.
		 */
		do {
			txn = next_sealed(lane, false);
			if (txn)
				commit_next(lane, txn);
			zj_checkpoint_help(lane);
		} while (txn);
	}
	memalloc_nofs_restore(nofs);
	return 0;
}
