// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes of the device's cache, shared (design §4): one serves every lane whose
 * writes had completed before it was issued. One that was in flight already may
 * have missed them: it is not joined, the next one is.
 *
 * There is no lock: who finds no flush in flight leads the next one for all who
 * have come meanwhile, and waits a little for those who are about to come: fsyncs
 * whose data is in flight. Writers that run side by side get in step by that.
 */
#include "zj.h"
#include <linux/ktime.h>

/* No device is so slow that waiting longer for company would pay. */
#define ZJ_GATHER_MAX_NS	(100 * NSEC_PER_MSEC)

bool zj_needs_flush(struct zj_journal *zj)
{
	/* May change at run time through sysfs: asked at every commit. */
	return zj_flag(zj, JBD2_BARRIER) &&
	       bdev_write_cache(zj->front.j_fs_dev);
}

static bool covered(struct zj_flush *flush, u64 need)
{
	/* Pairs with lead(): an error is seen with the flush that met it. */
	return smp_load_acquire(&flush->done) >= need;
}

/* ---- who is about to come ---- */

/**
 * zj_flush_expected() - this lane will soon call for a flush
 * @lane: the lane; forgotten at its next call
 */
void zj_flush_expected(struct zj_lane *lane)
{
	if (!READ_ONCE(lane->coming) && zj_needs_flush(lane->journal))
		WRITE_ONCE(lane->coming, ktime_get() | 1);
}

/**
 * zj_flush_not_expected() - it has come, or will not come
 */
void zj_flush_not_expected(struct zj_lane *lane)
{
	struct zj_flush *flush = &lane->journal->flush;

	if (!READ_ONCE(lane->coming))
		return;
	WRITE_ONCE(lane->coming, 0);
	if (wq_has_sleeper(&flush->gather))
		wake_up(&flush->gather);
}

/* Who leads is here, whatever its lane's next transactions are about to do. */
static bool all_here(struct zj_journal *zj, struct zj_lane *leader, u64 since)
{
	unsigned int i;
	u64 coming;

	for (i = 0; i < zj->nr_lanes; i++) {
		if (&zj->lanes[i] == leader)
			continue;
		coming = READ_ONCE(zj->lanes[i].coming);
		if (coming && coming < since)
			return false;
	}
	return true;
}

/* Who misses this flush waits for its end: no reason to wait longer than that. */
static void gather(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 now = ktime_get();

	wait_event_hrtimeout(flush->gather, all_here(zj, lane, now),
			     ns_to_ktime(min_t(u64, flush->took, ZJ_GATHER_MAX_NS)));
}

/* ---- flushing ---- */

/* flying is ours. */
static void lead(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 nr = flush->issued + 1, start, took;
	int err;

	gather(zj, lane);
	WRITE_ONCE(flush->issued, nr);
	/* Who still read the old number had completed its writes by now. */
	smp_mb();
	zj_count(&lane->stats.flushes, 1);
	start = ktime_get();
	err = blkdev_issue_flush(zj->front.j_fs_dev);
	took = ktime_get() - start;
	WRITE_ONCE(flush->took, (3 * (flush->took ?: took) + took) / 4);
	if (err) {
		WRITE_ONCE(flush->err, err);
		WRITE_ONCE(flush->failed, nr);
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
 * later one.
 */
int zj_dev_flush(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 need;

	zj_flush_not_expected(lane);
	if (!zj_needs_flush(zj))
		return 0;
	/* Pairs with lead(): our writes completed before we read the number. */
	smp_mb();
	need = READ_ONCE(flush->issued) + 1;
	zj_count(&lane->stats.flush_calls, 1);
	while (!covered(flush, need)) {
		if (cmpxchg(&flush->flying, 0, 1)) {
			wait_event(flush->wait, covered(flush, need) ||
				   !READ_ONCE(flush->flying));
			continue;
		}
		if (!covered(flush, need))
			lead(zj, lane);
		/* Pairs with the next leader's cmpxchg(). */
		smp_store_release(&flush->flying, 0);
		wake_up_all(&flush->wait);
	}
	return outcome(flush, need);
}

/* ---- file data ---- */

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
	if (!covered(flush, written) || outcome(flush, written))
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
 *
 * What went out with FUA needs none, if the file system reports the rest.
 *
 * Context: sleeps.
 * Return: as zj_dev_flush().
 */
int zj_data_flush(struct zj_journal *zj, struct zj_lane *lane, u64 written)
{
	struct zj_flush *flush = &zj->flush;
	u64 need;
	int err;

	if (!zj_flag(zj, ZJ_DATA_REPORTED))
		return zj_dev_flush(zj, lane);
	/* The completion that we know of comes after its report. */
	need = max(READ_ONCE(flush->data), written);
	if (!covered(flush, need)) {
		err = zj_dev_flush(zj, lane);
		return err ?: outcome(flush, written);
	}
	zj_flush_not_expected(lane);
	return outcome(flush, written) ?: outcome(flush, need);
}

/**
 * zj_journal_flush_data() - as zj_dev_flush()
 * @journal: the front
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
 * @journal: the front
 * @written: the word of an inode whose data is to be durable, or 0
 *
 * Context: sleeps; no handle open.
 * Return: 0 or a negative error.
 */
int zj_journal_flush_reported(journal_t *journal, u64 written)
{
	struct zj_journal *zj = to_zj(journal);

	return zj_data_flush(zj, zj_lane_pick(zj), written);
}
EXPORT_SYMBOL_GPL(zj_journal_flush_reported);

/**
 * zj_journal_wants_fua() - does file data that goes out with FUA save a flush?
 * @journal: the front, loaded
 *
 * In stock's format only if the log blocks go out with FUA, too.
 */
bool zj_journal_wants_fua(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);

	return zj_flag(zj, ZJ_DATA_REPORTED) &&
	       (!zj->log->written || READ_ONCE(zj->log_fua));
}
EXPORT_SYMBOL_GPL(zj_journal_wants_fua);

/**
 * zj_journal_data_beside() - does a commit send log blocks before data is durable?
 * @journal: the front, loaded
 *
 * Only its commit block waits for the data then. In our own format all of the log
 * does.
 */
bool zj_journal_data_beside(journal_t *journal)
{
	return to_zj(journal)->log->written;
}
EXPORT_SYMBOL_GPL(zj_journal_data_beside);

/**
 * zj_journal_fsync_begin() - an fsync is about to write file data
 * @journal: the front
 * @in: the lane that it will commit in, as for zj_journal_start_in()
 *
 * Its commit will want a flush: others that want one now may wait for it.
 */
void zj_journal_fsync_begin(journal_t *journal, int in)
{
	zj_flush_expected(zj_lane_at(to_zj(journal), in));
}
EXPORT_SYMBOL_GPL(zj_journal_fsync_begin);

/* It is over. */
void zj_journal_fsync_end(journal_t *journal, int in)
{
	zj_flush_not_expected(zj_lane_at(to_zj(journal), in));
}
EXPORT_SYMBOL_GPL(zj_journal_fsync_end);
