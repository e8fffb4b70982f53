// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes of the device's cache, shared (C4): one serves every lane whose
 * writes had completed before it was issued. One that was in flight already may
 * have missed them: it is not joined, the next one is.
 *
 * There is no lock: who finds no flush in flight leads the next one for all who
 * have come meanwhile, and waits a little for those who are about to come: fsyncs
 * whose data is in flight. Writers that run side by side get in step by that. Who
 * is about to come is a mark in a lane, which is good for the time of one flush:
 * one that nobody takes back costs no more than that.
 */
#include "core/abort.h"
#include "core/flush.h"
#include "core/journal.h"
#include "core/lane_pick.h"
#include "core/waits.h"
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/wait.h>

/* No device is so slow that waiting longer for others would pay. */
#define ZJ_GATHER_MAX_NS	(100 * NSEC_PER_MSEC)

/**
 * zj_needs_flush() - is what the device has completed not durable yet?
 * @zj: the journal
 *
 * May change at any time, by a remount or through sysfs: asked at every commit. Who
 * goes on without a flush, as barriers are off, has noted that by this: before what
 * it commits counts as committed.
 */
bool zj_needs_flush(struct zj_journal *zj)
{
	if (!zj_flag(zj, JBD2_BARRIER)) {
		if (!READ_ONCE(zj->unflushed))
			WRITE_ONCE(zj->unflushed, true);
		return false;
	}
	return bdev_write_cache(zj->public.j_fs_dev);
}

static bool covered(struct zj_flush *flush, u64 need)
{
	/* Pairs with lead(): an error is seen with the flush that met it. */
	return smp_load_acquire(&flush->done) >= need;
}

/* ---- who is about to come ---- */

/*
 * How long a mark holds, and how long a leader waits: as long as a flush takes. Who
 * misses one waits for its end anyway, and who takes longer to come, an fsync with
 * much data or one whose mark was left behind, is not worth the others' time.
 */
static u64 patience(const struct zj_flush *flush)
{
	return min_t(u64, READ_ONCE(flush->mean_ns), ZJ_GATHER_MAX_NS);
}

/* A mark later than @now does not count: the leader was here before. */
static bool flush_is_expected(const struct zj_lane *lane, u64 now)
{
	u64 flush_expected_since = READ_ONCE(lane->flush_expected_since);

	return flush_expected_since && flush_expected_since < now &&
	       now - flush_expected_since < patience(&lane->journal->flush);
}

/**
 * zj_flush_expected() - this lane will soon call for a flush
 * @lane: the lane; forgotten at its next call, and after the time of a flush
 */
void zj_flush_expected(struct zj_lane *lane)
{
	u64 now = ktime_get();

	if (!flush_is_expected(lane, now) && zj_needs_flush(lane->journal))
		WRITE_ONCE(lane->flush_expected_since, now | 1);
}

/**
 * zj_txn_expects_flush() - somebody is about to commit a transaction
 * @txn: referenced by the caller
 *
 * Return: false if it is sealed: then its lane has called for the flush already, or
 * has been marked by whoever closed it.
 */
bool zj_txn_expects_flush(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	bool open;

	/* Before its seal, so that its call for a flush comes after the mark. */
	spin_lock(&lane->lock);
	open = lane->running == txn;
	if (open)
		zj_flush_expected(lane);
	spin_unlock(&lane->lock);
	return open;
}

/**
 * zj_flush_not_expected() - it has come, or will not come
 */
void zj_flush_not_expected(struct zj_lane *lane)
{
	struct zj_flush *flush = &lane->journal->flush;

	if (!READ_ONCE(lane->flush_expected_since))
		return;
	WRITE_ONCE(lane->flush_expected_since, 0);
	if (wq_has_sleeper(&flush->gather))
		wake_up(&flush->gather);
}

/* Who leads is here, whatever its lane's next transactions are about to do. */
static bool all_here(struct zj_journal *zj, struct zj_lane *leader, u64 since)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		if (&zj->lanes[i] != leader && flush_is_expected(&zj->lanes[i], since))
			return false;
	return true;
}

static void gather(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 now = ktime_get();

	wait_event_hrtimeout(flush->gather, all_here(zj, lane, now),
			     ns_to_ktime(patience(flush)));
}

/* ---- what waits for a flush ---- */

static void raise(u64 *word, u64 need)
{
	u64 old = READ_ONCE(*word);

	while (old < need && !try_cmpxchg(word, &old, need))
		;
}

/* Number of the flush that covers what has completed by now. */
static u64 next_flush(struct zj_flush *flush)
{
	/* Pairs with lead(), as in zj_dev_flush(). */
	smp_mb();
	return READ_ONCE(flush->issued) + 1;
}

/**
 * zj_log_unflushed() - what was written to the journal need not be durable
 * @zj: the journal
 *
 * As barriers are off. Once they are on again, a record that is durable by itself would
 * outlive what it builds on, so a flush has to come before it. To be called when the write
 * has completed, and before anybody builds on it.
 */
void zj_log_unflushed(struct zj_journal *zj)
{
	/* Without a cache it is durable, barriers or not. */
	if (bdev_write_cache(zj->public.j_fs_dev))
		raise(&zj->flush.journal, next_flush(&zj->flush));
}

/* ---- flushing ---- */

/*
 * Whatever was in the cache may be gone: log blocks, home writes, data of inodes that
 * have left core since. Their owners' next flush would find nothing wrong. So the
 * journal ends before there can be one, whoever has asked for this one.
 */
static void lost_in_cache(struct zj_journal *zj, int err)
{
	if (zj_aborted(zj))
		return;
	zj_err(zj, "error %d: a flush failed, the device may have lost what it had completed\n",
	       err);
	zj_abort(zj, err);
}

/* flying is ours. */
static void lead(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 nr = flush->issued + 1, start, took;
	int err;

	/* C4: one at a time. */
	ZJ_ASSERT(zj, flush->issued == flush->done);
	gather(zj, lane);
	WRITE_ONCE(flush->issued, nr);
	/* Who still read the old number had completed its writes by now. */
	smp_mb();
	zj_count(&lane->stats.flushes, 1);
	start = ktime_get();
	err = blkdev_issue_flush(zj->public.j_fs_dev);
	took = ktime_get() - start;
	WRITE_ONCE(flush->mean_ns, (3 * (flush->mean_ns ?: took) + took) / 4);
	if (err) {
		WRITE_ONCE(flush->err, err);
		WRITE_ONCE(flush->failed, nr);
		lost_in_cache(zj, err);
	}
	/* Pairs with covered(). */
	smp_store_release(&flush->done, nr);
}

/* What a failed flush has lost, the next one does not bring back. */
static int outcome(struct zj_flush *flush, u64 need)
{
	return need && READ_ONCE(flush->failed) >= need ? READ_ONCE(flush->err) : 0;
}

/**
 * zj_dev_flush() - make durable what the file system's device has completed
 * @zj: the journal
 * @lane: counts it
 *
 * Covers every write whose completion the caller knows of. Without a volatile
 * cache, or with barriers off, there is nothing to do.
 *
 * Context: sleeps.
 * Return: 0, or the error of the flush that covers the caller's writes, or of a
 * later one; the journal is aborted then.
 */
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	struct zj_wait wait;
	u64 need;

	zj_flush_not_expected(lane);
	if (!zj_needs_flush(zj)) {
		zj_log_unflushed(zj);
		return 0;
	}
	/* Pairs with lead(): our writes completed before we read the number. */
	smp_mb();
	need = READ_ONCE(flush->issued) + 1;
	zj_count(&lane->stats.flush_calls, 1);
	zj_wait_begin(&wait, lane, ZJ_WAIT_FLUSH, NULL);
	while (!covered(flush, need)) {
		if (cmpxchg(&flush->flying, 0, 1)) {
			wait_event(flush->wait, covered(flush, need) ||
				   !READ_ONCE(flush->flying));
			continue;
		}
		ZJ_ASSERT(zj, READ_ONCE(flush->flying));
		if (!covered(flush, need))
			lead(zj, lane);
		/* Pairs with the next leader's cmpxchg(). */
		smp_store_release(&flush->flying, 0);
		wake_up_all(&flush->wait);
	}
	zj_wait_end(&wait);
	return outcome(flush, need);
}

/**
 * zj_log_flush() - make durable what was written while barriers were off
 * @zj: the journal
 * @lane: counts the flush
 *
 * Nothing to do while they are, nor once that has been done.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush().
 */
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 need = READ_ONCE(flush->journal);
	int err;

	if (!need)
		return 0;
	err = covered(flush, need) ? outcome(flush, need) :
				     zj_dev_flush(zj, lane);
	/* What it has covered no later one has to. */
	if (!err && covered(flush, need))
		cmpxchg(&flush->journal, need, 0);
	return err;
}

/* ---- file data ---- */

void zj_journal_data_written(journal_t *journal)
{
	struct zj_flush *flush = &to_zj(journal)->flush;

	raise(&flush->data, next_flush(flush));
}
EXPORT_SYMBOL_GPL(zj_journal_data_written);

void zj_journal_inode_written(journal_t *journal, u64 *written)
{
	struct zj_flush *flush = &to_zj(journal)->flush;
	u64 need = next_flush(flush);

	raise(written, need);
	raise(&flush->inodes, need);
}
EXPORT_SYMBOL_GPL(zj_journal_inode_written);

void zj_journal_written_by_all(journal_t *journal, u64 written)
{
	struct zj_flush *flush = &to_zj(journal)->flush;

	written = min(written, READ_ONCE(flush->inodes));
	/* Covered and lost: zj_data_flush() tells all whose data is not newer. */
	if (!covered(flush, written))
		raise(&flush->data, written);
}
EXPORT_SYMBOL_GPL(zj_journal_written_by_all);

/**
 * zj_txn_take_written() - a commit waits for a flush
 * @txn: a transaction whose commit has not called for its flush yet
 * @written: number of the flush
 */
void zj_txn_take_written(transaction_t *txn, u64 written)
{
	raise(&txn->t_written, written);
}
EXPORT_SYMBOL_GPL(zj_txn_take_written);

/**
 * zj_data_flush() - make durable the file data whose completion the caller knows of
 * @zj: the journal
 * @lane: counts the flush
 * @written: what inodes have noted that the caller sees to; 0: none
 * @log: the log wants a flush in any case
 *
 * What went out with FUA needs none, if the file system reports the rest.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush(); also if an older flush has lost that data: the next one
 * does not bring it back.
 */
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log)
{
	struct zj_flush *flush = &zj->flush;
	int err = 0;
	u64 need;

	if (!zj_flag(zj, ZJ_DATA_REPORTED))
		return zj_dev_flush(zj, lane);
	/* The completion that we know of comes after its report. */
	need = max(READ_ONCE(flush->data), written);
	if (log || !covered(flush, need))
		err = zj_dev_flush(zj, lane);
	else
		zj_flush_not_expected(lane);
	return err ?: outcome(flush, written) ?: outcome(flush, need);
}

/**
 * zj_journal_flush_data() - as zj_dev_flush()
 * @journal: the journal
 *
 * Context: sleeps; no handle open.
 * Return: 0 or a negative error.
 */
int zj_journal_flush_data(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);

	return zj_dev_flush(zj, zj_lane_pick(zj));
}
EXPORT_SYMBOL_GPL(zj_journal_flush_data);

/**
 * zj_journal_flush_reported() - as zj_data_flush()
 * @journal: the journal
 * @written: the word of an inode whose data is to be durable, or 0
 *
 * Context: sleeps; no handle open.
 * Return: 0 or a negative error.
 */
int zj_journal_flush_reported(journal_t *journal, u64 written)
{
	struct zj_journal *zj = to_zj(journal);

	return zj_data_flush(zj, zj_lane_pick(zj), written, false);
}
EXPORT_SYMBOL_GPL(zj_journal_flush_reported);

/**
 * zj_journal_wants_fua() - does file data that goes out with FUA save a flush?
 * @journal: the journal, loaded
 * @written: what the file's inode has noted
 *
 * Not if older data waits for one. So no block goes out with FUA over an older write of
 * it that is in the device's cache: recorders that log the cache when it is flushed
 * (dm-log-writes) would take the older one for the newer. In stock's format only if the
 * log blocks go out with FUA, too.
 */
bool zj_journal_wants_fua(journal_t *journal, u64 written)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_flush *flush = &zj->flush;

	return zj_flag(zj, ZJ_DATA_REPORTED) &&
	       (!zj->log_ops->log_before_data || READ_ONCE(zj->options.live.log_fua)) &&
	       covered(flush, max(READ_ONCE(flush->data), written));
}
EXPORT_SYMBOL_GPL(zj_journal_wants_fua);

/**
 * zj_journal_data_beside() - does a commit send log blocks before data is durable?
 * @journal: the journal, loaded
 *
 * Only its commit block waits for the data then. In our own format all of the log
 * does.
 */
bool zj_journal_data_beside(journal_t *journal)
{
	return to_zj(journal)->log_ops->log_before_data;
}
EXPORT_SYMBOL_GPL(zj_journal_data_beside);
