// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared flushes of a device's cache (C4). One flush serves every lane whose
 * writes had completed before it was issued. A flush that is in flight already
 * may have missed them, so a thread that comes now waits for the next one.
 *
 * If the log has a device of its own, each of the two devices has its flushes,
 * and no flush of one makes anything durable on the other (C6).
 *
 * There is no lock: a thread that finds no flush in flight leads the next one,
 * for all that have come meanwhile, and for those that it waits for (gather.c).
 */
#include "core/core.h"
#include <linux/blkdev.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/wait.h>

/**
 * zj_flush_init() - set up the flushes of a device
 * @flush: zeroed, with the journal
 * @bdev: the device
 */
void zj_flush_init(struct zj_flush *flush, struct block_device *bdev)
{
	flush->bdev = bdev;
	init_waitqueue_head(&flush->wait);
	init_waitqueue_head(&flush->gather);
}

/**
 * zj_needs_flush() - check whether completed writes may be lost by a power cut
 * @zj: the journal
 * @flush: flushes of the device that they went to
 *
 * The answer may change at any time, by a remount or through sysfs, so every
 * commit asks. If barriers are off, this also notes that the caller goes on
 * without a flush: before what it commits counts as committed.
 */
bool zj_needs_flush(struct zj_journal *zj, const struct zj_flush *flush)
{
	if (!zj_flag(zj, JBD2_BARRIER)) {
		if (!READ_ONCE(zj->unflushed))
			WRITE_ONCE(zj->unflushed, true);
		return false;
	}
	return bdev_write_cache(flush->bdev);
}

static bool flush_covers(struct zj_flush *flush, u64 need)
{
	/*
	 * Pairs with lead_flush(): a caller that sees the flush as done also sees its
	 * error.
	 */
	return smp_load_acquire(&flush->done) >= need;
}

/* ---- numbers of flushes ---- */

static void raise_number(u64 *word, u64 need)
{
	u64 old = READ_ONCE(*word);

	while (old < need && !try_cmpxchg(word, &old, need))
		;
}

/* Returns the number of the flush that covers all writes completed by now. */
static u64 next_flush(struct zj_flush *flush)
{
	/* Pairs with lead_flush(), as in zj_dev_flush(). */
	smp_mb();
	return READ_ONCE(flush->issued) + 1;
}

/*
 * Notes that completed writes may not be durable, because barriers are off.
 * When they are switched on again, a record written with FUA would be durable
 * before what it builds on, so a flush has to come first. Nothing builds on the
 * caller's writes yet.
 */
static void note_missed(struct zj_flush *flush)
{
	/*
	 * Without a volatile cache a completed write is durable, with barriers
	 * or without.
	 */
	if (bdev_write_cache(flush->bdev))
		raise_number(&flush->missed, next_flush(flush));
}

/**
 * zj_log_unflushed() - note that a write to the log may not be durable
 * @zj: the journal
 */
void zj_log_unflushed(struct zj_journal *zj)
{
	note_missed(zj_log_cache(zj));
}

/* ---- flushing ---- */

/*
 * After a failed flush any write that was in the cache may be lost: log blocks,
 * home writes, or data of inodes that have been evicted since. The device
 * reports this once, so a later flush would succeed and hide the loss.
 * Therefore the journal is aborted at once, no matter who asked for the flush
 * (C4).
 */
static void lost_in_cache(struct zj_journal *zj, int err)
{
	if (zj_aborted(zj))
		return;
	zj_err(zj, "error %d: a flush of the device's cache failed, so writes that it had reported as complete may be lost\n",
	       err);
	zj_abort(zj, err);
}

/* Issues one flush. Caller has set flying. */
static void lead_flush(struct zj_journal *zj, struct zj_flush *flush,
		       struct zj_lane *lane)
{
	u64 nr = flush->issued + 1, start, took;
	int err;

	/* C4: one at a time. */
	ZJ_ASSERT(zj, flush->issued == flush->done);
	if (flush == &zj->flush)
		zj_gather(zj, lane);
	WRITE_ONCE(flush->issued, nr);
	/*
	 * Pairs with next_flush() and zj_dev_flush(): a thread that still reads
	 * the old number had completed its writes before this flush is issued.
	 */
	smp_mb();
	zj_count(&lane->stats.flushes, 1);
	start = ktime_get();
	err = zj_issue_flush(zj, flush->bdev);
	WRITE_ONCE(flush->ended, ktime_get());
	took = flush->ended - start;
	WRITE_ONCE(flush->mean_ns, zj_mean(flush->mean_ns, took));
	if (err) {
		WRITE_ONCE(flush->err, err);
		lost_in_cache(zj, err);
	}
	/*
	 * Pairs with flush_covers(): a caller that sees the flush as done also sees
	 * its error.
	 */
	smp_store_release(&flush->done, nr);
}

/*
 * A failed flush may have lost the caller's writes even if these need a later
 * one, since a thread that comes while a flush is in flight needs the next. No
 * later flush brings anything back, so the error is everybody's from then on.
 */
static int flush_outcome(const struct zj_flush *flush)
{
	return READ_ONCE(flush->err);
}

/*
 * Shares the next flush of a device. Lanes are waited for only before one of the
 * file system's device, which is what their commits share if both devices have a
 * cache: their data is flushed at the same time, their records follow each when
 * it is ready.
 */
static int flush_cache(struct zj_journal *zj, struct zj_flush *flush,
		       struct zj_lane *lane)
{
	struct zj_wait wait;
	u64 need;

	if (!zj_needs_flush(zj, flush)) {
		note_missed(flush);
		return 0;
	}
	/* Pairs with lead_flush(): our writes completed before we read the number. */
	smp_mb();
	need = READ_ONCE(flush->issued) + 1;
	if (flush == &zj->flush)
		zj_gather_join(lane, need);
	zj_count(&lane->stats.flush_calls, 1);
	zj_wait_begin(&wait, lane, ZJ_WAIT_FLUSH, NULL);
	while (!flush_covers(flush, need)) {
		if (cmpxchg(&flush->flying, 0, 1)) {
			wait_event(flush->wait, flush_covers(flush, need) ||
				   !READ_ONCE(flush->flying));
			continue;
		}
		ZJ_ASSERT(zj, READ_ONCE(flush->flying));
		if (!flush_covers(flush, need))
			lead_flush(zj, flush, lane);
		/*
		 * Pairs with the next leader's cmpxchg(): it sees all that we
		 * have written to @flush.
		 */
		smp_store_release(&flush->flying, 0);
		wake_up_all(&flush->wait);
	}
	zj_wait_end(&wait);
	return flush_outcome(flush);
}

/**
 * zj_dev_flush() - make completed writes to the file system's device durable
 * @zj: the journal
 * @lane: the lane whose statistics count it
 *
 * Covers every write whose completion the caller knows of; those to the log only
 * if it is on this device. There is nothing to do without a volatile cache, or
 * with barriers off.
 *
 * Context: sleeps.
 * Return: 0, or the error of any flush of that device so far; the journal is
 * aborted then.
 */
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	zj_flush_not_expected(lane);
	return flush_cache(zj, &zj->flush, lane);
}

/**
 * zj_log_dev_flush() - make completed writes to the log durable
 * @zj: the journal
 * @lane: the lane whose statistics count it
 *
 * Covers file data and home writes only if the log is on their device.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush().
 */
int zj_log_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	if (!zj_log_apart(zj))
		return zj_dev_flush(zj, lane);
	zj_flush_not_expected(lane);
	return flush_cache(zj, &zj->log_flush, lane);
}

/**
 * zj_home_flush() - make home writes durable before a write to the log that
 * relies on them
 * @zj: the journal
 *
 * That write has a pre-flush, so there is nothing to do if the log is on the
 * file system's device. Otherwise the flush is not shared, so that a caller may
 * hold super_lock, which an abort by the leader of a shared flush would take.
 *
 * Context: sleeps.
 * Return: 0, or the flush's error; the caller then leaves out that write.
 */
int zj_home_flush(struct zj_journal *zj)
{
	return zj_log_apart(zj) ? zj_issue_flush(zj, zj->public.j_fs_dev) : 0;
}

static int flush_missed(struct zj_journal *zj, struct zj_flush *flush,
			struct zj_lane *lane)
{
	u64 need = READ_ONCE(flush->missed);
	int err;

	if (!need)
		return 0;
	err = flush_covers(flush, need) ? flush_outcome(flush) :
				     flush_cache(zj, flush, lane);
	/* Later commits need not flush what this flush has covered. */
	if (!err && flush_covers(flush, need))
		cmpxchg(&flush->missed, need, 0);
	return err;
}

/**
 * zj_log_flush() - make durable what was written while barriers were off
 * @zj: the journal
 * @lane: the lane whose statistics count the flush
 *
 * This is the log, and the file data that its records make reachable. Does
 * nothing while barriers are off, nor when a flush has covered those writes
 * already.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush().
 */
int zj_log_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	int err = flush_missed(zj, &zj->flush, lane);

	if (!err && zj_log_apart(zj))
		err = flush_missed(zj, &zj->log_flush, lane);
	return err;
}

/* ---- file data ---- */

void zj_journal_data_written(journal_t *journal)
{
	struct zj_flush *flush = &to_zj(journal)->flush;

	raise_number(&flush->data, next_flush(flush));
}
EXPORT_SYMBOL_GPL(zj_journal_data_written);

void zj_journal_inode_written(journal_t *journal, u64 *written)
{
	struct zj_flush *flush = &to_zj(journal)->flush;
	u64 need = next_flush(flush);

	raise_number(written, need);
	raise_number(&flush->inodes, need);
}
EXPORT_SYMBOL_GPL(zj_journal_inode_written);

void zj_journal_written_by_all(journal_t *journal, u64 written)
{
	struct zj_flush *flush = &to_zj(journal)->flush;

	/* Pairs with raise_number(), as in zj_data_flush(). */
	smp_rmb();
	written = min(written, READ_ONCE(flush->inodes));
	if (!flush_covers(flush, written))
		raise_number(&flush->data, written);
}
EXPORT_SYMBOL_GPL(zj_journal_written_by_all);

/**
 * zj_txn_take_written() - let a commit's flush cover what an inode has noted
 * @txn: a transaction whose commit has not called for its flush yet
 * @written: number of the flush that the inode needs
 */
void zj_txn_take_written(transaction_t *txn, u64 written)
{
	raise_number(&txn->t_written, written);
}
EXPORT_SYMBOL_GPL(zj_txn_take_written);

/**
 * zj_data_flush() - make file data durable whose completion the caller knows of
 * @zj: the journal
 * @lane: the lane whose statistics count the flush
 * @written: number of the flush that the caller's inodes need; 0: none
 * @log: the log needs a flush in any case
 *
 * Data written with FUA needs no flush, if the file system reports all other
 * data (ZJ_DATA_REPORTED). A log on a device of its own is flushed after the
 * data.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush(), also if no flush is needed any more.
 */
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written,
		  bool log)
{
	struct zj_flush *flush = &zj->flush;
	int err = 0;
	u64 need;

	/*
	 * The completion that the caller knows of comes after its report, so
	 * the numbers include it. Pairs with raise_number(): a wait may have ended with
	 * a plain read of a folio's flag.
	 */
	smp_rmb();
	need = max(READ_ONCE(flush->data), written);
	if (!zj_flag(zj, ZJ_DATA_REPORTED) || !flush_covers(flush, need) ||
	    (log && !zj_log_apart(zj)))
		err = zj_dev_flush(zj, lane);
	else
		zj_flush_not_expected(lane);
	if (!err && log && zj_log_apart(zj))
		err = zj_log_dev_flush(zj, lane);
	return err ?: flush_outcome(flush);
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
 * zj_journal_flush_reported() - make file data durable whose writes were reported
 * @journal: the journal
 * @written: the word of an inode whose data is to be durable as well, or 0
 *
 * See zj_data_flush().
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
 * zj_journal_wants_fua() - check whether writing file data with FUA saves a
 * flush
 * @journal: the journal, loaded
 * @written: the word of the file's inode
 *
 * It does not if older data waits for a flush. So no block is written with FUA
 * over an older write of it that is in the device's cache: dm-log-writes, which
 * logs cached writes when they are flushed, would take the older one for the
 * newer. In stock's format FUA only helps if the log blocks are written with
 * it, too, or need no flush of the data's device.
 */
bool zj_journal_wants_fua(journal_t *journal, u64 written)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_flush *flush = &zj->flush;

	return zj_flag(zj, ZJ_DATA_REPORTED) &&
	       (!zj->log_ops->log_before_data || zj_log_apart(zj) ||
		READ_ONCE(zj->options.live.log_fua)) &&
	       flush_covers(flush, max(READ_ONCE(flush->data), written));
}
EXPORT_SYMBOL_GPL(zj_journal_wants_fua);

/**
 * zj_journal_data_beside() - check whether a commit sends log blocks before data
 * is durable
 * @journal: the journal, loaded
 *
 * If so, only the commit block waits for the data. In our own format all of the
 * log does.
 */
bool zj_journal_data_beside(journal_t *journal)
{
	return to_zj(journal)->log_ops->log_before_data;
}
EXPORT_SYMBOL_GPL(zj_journal_data_beside);
