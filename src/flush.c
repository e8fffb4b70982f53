// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flushes of the device's cache, shared (design §4): one serves every lane whose
 * writes had completed before it was issued. One that was in flight already may
 * have missed them: it is not joined, the next one is.
 *
 * There is no lock: who finds no flush in flight leads the next one for all who
 * have come meanwhile.
 */
#include "zj.h"

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

/* flying is ours. */
static void lead(struct zj_journal *zj, struct zj_lane *lane)
{
	struct zj_flush *flush = &zj->flush;
	u64 nr = flush->issued + 1;
	int err;

	WRITE_ONCE(flush->issued, nr);
	/* Who still read the old number had completed its writes by now. */
	smp_mb();
	zj_count(&lane->stats.flushes, 1);
	err = blkdev_issue_flush(zj->front.j_fs_dev);
	if (err) {
		WRITE_ONCE(flush->err, err);
		WRITE_ONCE(flush->failed, nr);
	}
	/* Pairs with covered(). */
	smp_store_release(&flush->done, nr);
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
	/* What a failed flush has lost, the next one does not bring back. */
	return READ_ONCE(flush->failed) >= need ? READ_ONCE(flush->err) : 0;
}

/**
 * zj_journal_flush_data() - as zj_dev_flush(), for file data that was written
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
