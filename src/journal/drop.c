// SPDX-License-Identifier: GPL-2.0-only
/* Frees what an aborted journal leaves in memory. */
#include "core/core.h"
#include "journal/journal.h"
#include "txn/txn.h"
#include <linux/refcount.h>

static void drop_parts(struct zj_journal *zj, struct zj_txn *txn)
{
	struct zj_part *part, *tmp;

	list_splice_tail_init(&txn->late, &txn->parts);
	list_for_each_entry_safe(part, tmp, &txn->parts, txn_link) {
		struct journal_head *jh = part->jh;

		zj_part_logged(zj, part);
		refcount_inc(&jh->refs);
		/*
		 * Not every home write has somebody who waits for it. One that ended after the
		 * unmount could end after what the next mount writes to this block.
		 */
		wait_on_buffer(jh->bh);
		spin_lock(&jh->lock);
		/*
		 * Only recovery may write committed images home now, so the
		 * buffer must not become dirty.
		 */
		zj_part_clear(part, BIT(ZJ_PART_WAS_DIRTY));
		/*
		 * Write-back does not see a block of file data (zj_part_make_dirty()). It would
		 * keep its folio in the cache, with changes of the blocks beside it that no
		 * recovery undoes there.
		 */
		if (zj_part_test(part, ZJ_PART_FILE_BLOCK))
			clear_buffer_dirty(jh->bh);
		if (!list_is_first(&part->jh_link, &jh->parts))
			zj_part_clear(list_prev_entry(part, jh_link),
				      BIT(ZJ_PART_NEEDS_DIRTY));
		clear_buffer_jbddirty(jh->bh);
		zj_part_drop(part);
		spin_unlock(&jh->lock);
		zj_jh_put(jh);
	}
}

static void drop_txn(struct zj_journal *zj, struct zj_txn *txn)
{
	drop_parts(zj, txn);
	zj_revoke_retire(txn);
	zj_ordered_drop(txn);
	if (txn->stage < ZJ_FINISHED) {
		/*
		 * ext4 frees in this callback what it has queued for the tid.
		 */
		if (zj->public.j_commit_callback)
			zj->public.j_commit_callback(&zj->public, &txn->public);
		zj_txn_set_finished(txn);
	}
}

/*
 * Drops components from the newest on, so that nothing depends on the one that
 * is dropped.
 */
static void drop_component(struct zj_journal *zj, struct zj_component *comp)
{
	struct zj_txn *txn;

	ZJ_ASSERT(zj, list_empty(&comp->dependants));
	list_for_each_entry(txn, &comp->members, comp_link)
		drop_txn(zj, txn);
	zj_component_free(zj, comp);
}

/**
 * zj_drop_everything() - free what an aborted journal holds
 * @zj: the journal, its threads stopped, no handle open
 */
void zj_drop_everything(struct zj_journal *zj)
{
	struct zj_component *comp, *tmp;
	unsigned int i;

	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		struct zj_lane *lane = &zj->lanes[i];
		struct zj_txn *txn = lane->running;

		if (!txn)
			continue;
		/* Any other journal has committed all, and written it home. */
		ZJ_ASSERT(zj, zj_aborted(zj));
		/* All members of a component are dropped with it, once. */
		comp = txn->comp;
		list_for_each_entry(txn, &comp->members, comp_link)
			txn->lane->running = NULL;
		drop_component(zj, comp);
	}
	ZJ_ASSERT(zj, zj_aborted(zj) || list_empty(&zj->ckpt_list));
	list_for_each_entry_safe_reverse(comp, tmp, &zj->ckpt_list, ckpt_link) {
		list_del_init(&comp->ckpt_link);
		list_del_init(&comp->ready_link);
		drop_component(zj, comp);
	}
}
