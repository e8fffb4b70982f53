// SPDX-License-Identifier: GPL-2.0-only
/*
 * A whole journal as text, for the files in debugfs, and for the simulator when
 * a test fails.
 *
 * Nothing here sleeps or takes a mutex that a hanging thread may hold. No lock
 * is held from one lane, or one component, to the next, so parts of the text
 * may be of different moments.
 */
#include "core/space.h"
#include "core/waits.h"
#include "journal/journal_text.h"
#include "txn/txn_text.h"
#include <linux/list.h>

/**
 * zj_lanes_to_text() - print all lanes with their transactions
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_lanes_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_lane_to_text(out, &zj->lanes[i]);
}

/* Prints components that are not sealed, each one where its first member is. */
static void open_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_txn *txn;
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++) {
		spin_lock(&zj->comp_lock);
		/*
		 * Only a seal takes the transaction away, and it needs
		 * comp_lock, which is held.
		 */
		txn = READ_ONCE(zj->lanes[i].running);
		if (txn && list_is_first(&txn->comp_link, &txn->comp->members))
			zj_component_to_text(out, txn->comp);
		spin_unlock(&zj->comp_lock);
	}
}

/* Prints sealed components, the oldest first. */
static void sealed_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_component *comp;
	int left = ZJ_TEXT_MOST;

	spin_lock(&zj->comp_lock);
	list_for_each_entry(comp, &zj->pending, ready_link) {
		if (!left--) {
			seq_buf_printf(out, "more are sealed\n");
			break;
		}
		zj_component_to_text(out, comp);
	}
	spin_unlock(&zj->comp_lock);
}

/* Prints the component that the tail cannot advance past. */
static void oldest_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	const struct zj_component *comp;

	spin_lock(&zj->comp_lock);
	list_for_each_entry(comp, &zj->ckpt_list, ckpt_link) {
		/* It stays for one that is not home. */
		if (comp->stamp <= READ_ONCE(zj->home_stamp))
			continue;
		if (comp->state == ZJ_C_COMMITTED) {
			seq_buf_printf(out, "oldest in the log:\n");
			zj_component_to_text(out, comp);
		}
		break;
	}
	spin_unlock(&zj->comp_lock);
}

/**
 * zj_components_to_text() - print sealed and open components, then the oldest in
 * the log
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_components_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	sealed_to_text(out, zj);
	open_to_text(out, zj);
	oldest_to_text(out, zj);
}

/**
 * zj_all_waits_to_text() - print who waits now, and the longest waits since the
 * mount
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_all_waits_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_waits_to_text(out, &zj->lanes[i]);
}

/**
 * zj_all_fsyncs_to_text() - print the phases of fsyncs, by lane
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_all_fsyncs_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++)
		zj_fsyncs_to_text(out, &zj->lanes[i]);
}

/**
 * zj_journal_to_text() - print all of the above
 * @out: where it is printed
 * @zj: the journal, loaded
 */
void zj_journal_to_text(struct seq_buf *out, struct zj_journal *zj)
{
	zj_lanes_to_text(out, zj);
	zj_components_to_text(out, zj);
	zj_all_waits_to_text(out, zj);
	zj_log_map_to_text(out, zj);
	zj_all_fsyncs_to_text(out, zj);
}
