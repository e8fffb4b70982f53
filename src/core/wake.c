// SPDX-License-Identifier: GPL-2.0-only
/* Wake-ups of checkpoints. */
#include "core/journal.h"
#include "core/wake.h"
#include <linux/wait.h>

/**
 * zj_progress() - tell checkpoints that a component was finished or reclaimed
 * @zj: the journal
 *
 * Every commit calls it, so it writes nothing unless a checkpoint watches.
 */
void zj_progress(struct zj_journal *zj)
{
	/*
	 * Pairs with zj_watch_progress(): either we see that it watches, or it sees what
	 * the component has become.
	 */
	smp_mb();
	if (!atomic_read(&zj->watchers))
		return;
	atomic_inc(&zj->progress);
	wake_up_all(&zj->wait_progress);
}

/**
 * zj_watch_progress() - have progress counted
 * @zj: the journal
 *
 * Components that are finished from now on change zj_journal.progress, and the caller sees
 * the others as finished. zj_unwatch_progress() ends it.
 */
void zj_watch_progress(struct zj_journal *zj)
{
	atomic_inc(&zj->watchers);
	/* Pairs with zj_progress(). */
	smp_mb();
}

void zj_unwatch_progress(struct zj_journal *zj)
{
	ZJ_ASSERT(zj, atomic_read(&zj->watchers) > 0);
	atomic_dec(&zj->watchers);
}

void zj_checkpoint_kick(struct zj_journal *zj)
{
	WRITE_ONCE(zj->ckpt_wanted, true);
	wake_up(&zj->wait_ckpt);
}
