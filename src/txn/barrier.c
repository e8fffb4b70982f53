// SPDX-License-Identifier: GPL-2.0-only
/*
 * The barrier: while a thread holds it, no handle is open and none can start.
 */
#include "core/journal.h"
#include "core/waits.h"
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/wait.h>

static bool lane_drained(struct zj_lane *lane)
{
	bool drained;

	spin_lock(&lane->lock);
	drained = !lane->rsv_credits &&
		  !(lane->running && lane->running->updates);
	spin_unlock(&lane->lock);
	return drained;
}

/**
 * zj_journal_lock_updates() - take the barrier and wait until no handle is open
 * @journal: the journal
 *
 * Reserved handles may still start, and the barrier waits until they have stopped. Only
 * one thread at a time can hold the barrier. Handle starts that it has held up are served before
 * the next one begins (N11).
 *
 * Context: sleeps; the caller has no handle open.
 */
void zj_journal_lock_updates(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_wait wait;
	unsigned int i;

	zj_wait_begin(&wait, &zj->lanes[0], ZJ_WAIT_DRAIN, NULL);
	mutex_lock(&zj->barrier_lock);
	/* Otherwise starts would wait as long as one barrier follows another. */
	wait_event(zj->wait_barrier, !atomic_read(&zj->held_up));
	zj_wait_end(&wait);
	ZJ_ASSERT(zj, !zj->barrier);
	WRITE_ONCE(zj->barrier, 1);
	for (i = 0; i < zj->nr_lanes; i++) {
		if (lane_drained(&zj->lanes[i]))
			continue;
		zj_wait_begin(&wait, &zj->lanes[i], ZJ_WAIT_DRAIN, NULL);
		wait_event(zj->wait_barrier, lane_drained(&zj->lanes[i]));
		zj_wait_end(&wait);
	}
}
EXPORT_SYMBOL_GPL(zj_journal_lock_updates);

void zj_journal_unlock_updates(journal_t *journal)
{
	struct zj_journal *zj = to_zj(journal);

	ZJ_ASSERT(zj, zj->barrier);
	/* Pairs with join_locked(): a handle sees what was changed under the barrier. */
	smp_store_release(&zj->barrier, 0);
	mutex_unlock(&zj->barrier_lock);
	wake_up_all(&zj->wait_barrier);
}
EXPORT_SYMBOL_GPL(zj_journal_unlock_updates);
