// SPDX-License-Identifier: GPL-2.0-only
/* Wake-ups of checkpoints. */
#include "core/journal.h"
#include "core/wake.h"
#include <linux/wait.h>

/**
 * zj_progress() - tell checkpoints that a component was finished or reclaimed
 */
void zj_progress(struct zj_journal *zj)
{
	spin_lock(&zj->comp_lock);
	zj->progress++;
	spin_unlock(&zj->comp_lock);
	wake_up_all(&zj->wait_progress);
}

void zj_checkpoint_kick(struct zj_journal *zj)
{
	WRITE_ONCE(zj->ckpt_wanted, true);
	wake_up(&zj->wait_ckpt);
}
