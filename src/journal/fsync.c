// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for earlier changes: fsync, sync, flush.
 *
 * Everything here waits until a transaction is committed. Durable is not
 * enough: recovery would discard a durable transaction whose predecessor is
 * lost (V2).
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/wait.h>

/*
 * Tells whether to leave a transaction open, because its lane is busy:
 * closing it now would not get it written earlier, and other handles could not
 * join it.
 */
static bool too_early(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	bool early;

	spin_lock(&lane->lock);
	early = lane->running == txn && txn->stage == ZJ_RUNNING && lane->unwritten &&
		!zj_aborted(lane->journal);
	spin_unlock(&lane->lock);
	return early;
}

/*
 * Several tasks may count at once without a lock, so that a count may get lost.
 */
static void count_fsync(struct zj_lane *lane, u64 us)
{
	int i = us < 64 ? 0 : min(ilog2(us) - 5, ZJ_NR_LATENCIES - 1);

	zj_count(&lane->stats.fsyncs, 1);
	zj_count(&lane->stats.fsync_us, us);
	zj_count(&lane->stats.fsync[i], 1);
}

static void wait_turn(struct zj_txn *txn)
{
	struct zj_wait wait;

	if (!too_early(txn))
		return;
	zj_wait_begin(&wait, txn->lane, ZJ_WAIT_TURN, txn);
	wait_event(txn->lane->wait_idle, !too_early(txn));
	zj_wait_end(&wait);
}

/**
 * zj_complete_transaction() - commit a transaction, and wait until it is
 * committed
 * @journal: the journal
 * @tid: as handed over by zj_journal_sync_tid(); the transaction may be gone
 *
 * Closes the transaction's component and nothing else, because everything that
 * this depends on is already sealed. While the lane is busy the component stays open,
 * so that other handles can share its commit. Else the caller's task commits.
 *
 * Context: sleeps; no handle open, no folio lock.
 * Return: 0, or -EIO if the journal was aborted before.
 */
int zj_complete_transaction(journal_t *journal, tid_t tid)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_txn *txn = zj_txn_find(zj, tid);
	ktime_t begin = ktime_get(), turn;
	int err;

	if (!txn)
		return zj_aborted(zj) ? -EIO : zj_log_flush(zj, &zj->lanes[0]);
	wait_turn(txn);
	turn = ktime_get();
	zj_txn_expects_flush(txn);
	if (!zj_commits_here(txn->lane))
		zj_commit_request(zj, txn);
	else if (zj_commit_request_here(zj, txn))
		zj_commit_here(txn->lane);
	err = zj_txn_wait_finished(txn);
	count_fsync(txn->lane, ktime_us_delta(ktime_get(), begin));
	if (!err)
		zj_fsync_ended(txn, begin, turn);
	zj_txn_put(txn);
	return err;
}
EXPORT_SYMBOL_GPL(zj_complete_transaction);

/**
 * zj_journal_commit_early() - begin a commit that an fsync will soon ask for
 * @journal: the journal
 * @tid: as for zj_complete_transaction(), which is to follow
 *
 * This is a hint: while the lane's thread is busy, nothing is done.
 *
 * Context: no handle open, no folio lock. Does not wait.
 */
void zj_journal_commit_early(journal_t *journal, tid_t tid)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_txn *txn = zj_txn_find(zj, tid);

	if (!txn)
		return;
	if (!too_early(txn))
		zj_commit_request(zj, txn);
	zj_txn_put(txn);
}
EXPORT_SYMBOL_GPL(zj_journal_commit_early);

/* Waits like zj_complete_transaction(), for a commit that was requested already. */
int zj_log_wait_commit(journal_t *journal, tid_t tid)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_txn *txn = zj_txn_find(zj, tid);
	int err;

	if (!txn)
		return zj_log_flush(zj, &zj->lanes[0]);
	err = zj_txn_wait_finished(txn);
	zj_txn_put(txn);
	return err;
}
EXPORT_SYMBOL_GPL(zj_log_wait_commit);

static bool anything_live(struct zj_journal *zj)
{
	return !zj_tids_empty(zj);
}

/**
 * zj_journal_start_commit() - close all running transactions, without waiting
 * @journal: the journal
 * @tid: set to the newest tid if not NULL
 *
 * Return: 1 if there is something to wait for, else 0.
 */
int zj_journal_start_commit(journal_t *journal, tid_t *tid)
{
	struct zj_journal *zj = to_zj(journal);

	if (tid)
		*tid = zj_get_latest_transaction(journal);
	zj_commit_request_all(zj);
	return anything_live(zj);
}
EXPORT_SYMBOL_GPL(zj_journal_start_commit);

tid_t zj_get_latest_transaction(journal_t *journal)
{
	return atomic_read(&to_zj(journal)->next_tid);
}
EXPORT_SYMBOL_GPL(zj_get_latest_transaction);

/**
 * zj_trans_takes_written() - check whether a commit will make an inode's data
 * durable
 * @journal: the journal
 * @tid: the transaction
 * @written: what the inode has noted (zj_journal_inode_written()), or 0
 *
 * Before its records a commit flushes what all tasks have reported, and what it
 * has taken from inodes. So the answer is yes for data written before this
 * call, if that flush has not begun. If all data is in the log, no commit
 * flushes, and none has to.
 */
bool zj_trans_takes_written(journal_t *journal, tid_t tid, u64 written)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_txn *txn;
	bool will;

	if (!zj_flag(zj, JBD2_BARRIER))
		return false;
	if (zj_flag(zj, ZJ_DATA_JOURNALED))
		return true;
	txn = zj_txn_find(zj, tid);
	if (!txn)
		return false;
	zj_txn_take_written(&txn->public, written);
	/*
	 * Pairs with flush_before_record() in group_commit.c: either we see that it has begun, or
	 * that sees what the transaction has just taken.
	 */
	smp_mb();
	will = READ_ONCE(txn->stage) < ZJ_FLUSHING;
	zj_txn_put(txn);
	return will;
}
EXPORT_SYMBOL_GPL(zj_trans_takes_written);

/*
 * As zj_trans_takes_written(), for what all tasks have reported
 * (zj_journal_written_by_all()).
 */
int zj_trans_will_send_data_barrier(journal_t *journal, tid_t tid)
{
	return zj_trans_takes_written(journal, tid, 0);
}
EXPORT_SYMBOL_GPL(zj_trans_will_send_data_barrier);

int zj_transaction_committed(journal_t *journal, tid_t tid)
{
	bool live;

	if (!tid)
		return true;
	rcu_read_lock();
	live = zj_tids_find(to_zj(journal), tid);
	rcu_read_unlock();
	return !live;
}
EXPORT_SYMBOL_GPL(zj_transaction_committed);

/*
 * Returns a live transaction of a chain, with a reference, that is not newer than @last, or
 * NULL if there is none.
 */
static struct zj_txn *live_in(const struct zj_tid_chain *chain, tid_t last,
			      bool sealed_only)
{
	struct zj_txn *txn;

	rcu_read_lock();
	hlist_for_each_entry_rcu(txn, &chain->head, tid_link)
		if (!tid_gt(txn->public.t_tid, last) &&
		    (!sealed_only || zj_txn_comp_stage(txn) >= ZJ_SEALED) &&
		    refcount_inc_not_zero(&txn->refs))
			break;
	rcu_read_unlock();
	return txn;
}

/*
 * Waits for live transactions, with @sealed_only for sealed ones only. Returns
 * true if there was any.
 */
static bool wait_live(struct zj_journal *zj, bool sealed_only, int *err)
{
	tid_t last = zj_get_latest_transaction(&zj->public);
	struct zj_txn *txn;
	bool any = false;
	unsigned int i;

	for (i = 0; i < ZJ_TID_CHAINS; i++) {
		/* What is finished has left its chain. */
		while ((txn = live_in(&zj->tids[i], last, sealed_only))) {
			any = true;
			if (!sealed_only)
				zj_commit_request(zj, txn);
			*err = zj_txn_wait_finished(txn);
			zj_txn_put(txn);
			if (*err)
				return any;
		}
	}
	*err = zj_log_flush(zj, &zj->lanes[0]);
	return any;
}

/**
 * zj_journal_force_commit() - commit everything so far, and wait for it
 * @journal: the journal
 *
 * Context: sleeps; no handle open.
 * Return: 0, or -EIO if aborted.
 */
int zj_journal_force_commit(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	int err = 0;

	WARN_ON_ONCE(journal_current_handle());
	zj_commit_request_all(zj);
	wait_live(zj, false, &err);
	return zj_aborted(zj) ? -EIO : err;
}
EXPORT_SYMBOL_GPL(zj_journal_force_commit);

/**
 * zj_journal_force_commit_nested() - wait for commits, so that freed blocks can
 * be used
 * @journal: the journal
 *
 * Without an open handle: as zj_journal_force_commit(). With one, waits for
 * sealed components only: these depend on sealed ones, never on the open
 * handle.
 *
 * Return: 1 if something was waited for.
 */
int zj_journal_force_commit_nested(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	bool nested = journal_current_handle();
	bool any;
	int err = 0;

	zj_commit_request_all(zj);
	any = wait_live(zj, nested, &err);
	return any && !err;
}
EXPORT_SYMBOL_GPL(zj_journal_force_commit_nested);

/* ---- announcements of an fsync ---- */

/**
 * zj_journal_fsync_begin() - announce that an fsync is about to write file data
 * @journal: the journal
 * @in: the lane that it will probably commit in, as for zj_journal_start_in()
 *
 * Its commit will need a flush, so a thread that leads one now may wait for it.
 *
 * Return: the lane, for zj_journal_fsync_written().
 */
int zj_journal_fsync_begin(journal_t *journal, int in)
{
	struct zj_lane *lane = zj_lane_at(to_zj(journal), in);

	zj_flush_expected(lane);
	return lane->index;
}
EXPORT_SYMBOL_GPL(zj_journal_fsync_begin);

/**
 * zj_journal_fsync_written() - tell that the fsync's data is written
 * @journal: the journal
 * @expected: return value of zj_journal_fsync_begin(); the task may be on
 *	another CPU by now
 * @tid: the transaction that the fsync will commit, or 0 if there is none
 *
 * From now on that transaction's lane is expected to call for the flush. If
 * there is no open transaction, nobody need wait for this fsync any more.
 */
void zj_journal_fsync_written(journal_t *journal, int expected, tid_t tid)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_lane *lane = &zj->lanes[expected];
	struct zj_txn *txn = zj_txn_find(zj, tid);

	if (!txn || !zj_txn_expects_flush(txn) || txn->lane != lane)
		zj_flush_not_expected(lane);
	if (txn)
		zj_txn_put(txn);
}
EXPORT_SYMBOL_GPL(zj_journal_fsync_written);

/* ---- flush ---- */

static int erase_log(struct zj_journal *zj, unsigned int flags)
{
	struct block_device *bdev = zj->public.j_dev;
	u32 sectors = zj->public.j_blocksize >> SECTOR_SHIFT;
	u32 i, n, len = zj->public.j_total_len;
	int err = 0;
	u64 block;

	for (i = zj->geo.log_first; i < len && !err; i += n) {
		n = zj_map_look(&zj->map, i, len - i, &block);
		if (flags & JBD2_JOURNAL_FLUSH_DISCARD)
			err = blkdev_issue_discard(bdev, block * sectors,
						   (sector_t)n * sectors,
						   GFP_KERNEL);
		else
			err = blkdev_issue_zeroout(bdev, block * sectors,
						   (sector_t)n * sectors,
						   GFP_KERNEL, 0);
	}
	return err;
}

/*
 * The write begins with a flush of the device. If that fails, whatever was in the cache
 * may be lost, data of other tasks included, and no later flush tells of it (C4).
 */
static int mark_clean(struct zj_journal *zj)
{
	int err = zj_make_clean(zj);

	if (!err)
		return 0;
	zj_err(zj, "error %d marking the log as empty, so writes that the device had reported as complete may be lost\n",
	       err);
	zj_abort(zj, err);
	return err;
}

/**
 * zj_journal_write_home() - commit what has been changed so far, and write it home
 * @journal: the journal
 *
 * Who then takes the barrier for zj_journal_flush() finds little left to do under it. Errors
 * abort the journal, or are found by that function.
 *
 * Context: sleeps; no handle open.
 */
void zj_journal_write_home(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);

	if (!zj_journal_force_commit(journal))
		zj_checkpoint_up_to(zj, READ_ONCE(zj->stamp));
}
EXPORT_SYMBOL_GPL(zj_journal_write_home);

/**
 * zj_journal_flush() - write everything home, and mark the log as empty
 * @journal: the journal, under the barrier
 * @flags: JBD2_JOURNAL_FLUSH_DISCARD or _ZEROOUT: erase the log as well
 *
 * Return: 0, or a negative error.
 */
int zj_journal_flush(journal_t *journal, unsigned int flags)
{
	struct zj_journal *zj = to_zj(journal);
	int err;

	if (flags & ~JBD2_JOURNAL_FLUSH_VALID ||
	    flags == JBD2_JOURNAL_FLUSH_VALID)
		return -EINVAL;
	err = zj_journal_force_commit(journal);
	if (!err)
		err = zj_checkpoint(zj, true);
	if (!err)
		err = mark_clean(zj);
	if (!err && flags)
		err = erase_log(zj, flags);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_flush);
