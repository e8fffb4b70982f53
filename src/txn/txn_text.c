// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transactions, components and lanes as text.
 *
 * There is one printer for each object, for debugfs and for the simulator's reports of
 * failures. Printers never sleep. They print at most ZJ_TEXT_MOST entries of a list, so
 * that the caller's locks are not held for long on a busy journal.
 */
#include "core/waits.h"
#include "txn/txn_text.h"
#include <linux/ktime.h>
#include <linux/list.h>

/**
 * zj_txn_to_text() - print a transaction in one line
 * @out: where it is printed
 * @txn: the transaction
 *
 * Context: comp_lock and the lock of its lane held.
 */
void zj_txn_to_text(struct seq_buf *out, const struct zj_txn *txn)
{
	seq_buf_printf(out, "  transaction %u: lane %d, %s, %d open handles, %u handles, %d credits",
		       txn->public.t_tid, txn->lane->index,
		       zj_stage_names[zj_stage_now(txn)], txn->updates,
		       txn->handles, txn->credits);
	if (atomic_read(&txn->crowded))
		seq_buf_printf(out, ", %d crowded parts", atomic_read(&txn->crowded));
	seq_buf_printf(out, "\n");
}

static void members_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	const struct zj_txn *txn;
	int left = ZJ_TEXT_MOST;

	list_for_each_entry(txn, &comp->members, comp_link) {
		if (!left--) {
			seq_buf_printf(out, "  more\n");
			break;
		}
		spin_lock(&txn->lane->lock);
		zj_txn_to_text(out, txn);
		spin_unlock(&txn->lane->lock);
	}
}

static void deps_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	const struct zj_dep *dep;
	int left = ZJ_TEXT_MOST;

	list_for_each_entry(dep, &comp->deps, comp_link) {
		if (!dep->on)
			continue;
		if (!left--) {
			seq_buf_printf(out, "  more\n");
			break;
		}
		seq_buf_printf(out, "  waits for stamp %llu through lane %u\n",
			       dep->stamp, dep->lane);
	}
}

/**
 * zj_component_to_text() - print a component, its members, and what it waits for
 * @out: where it is printed
 * @comp: the component
 *
 * Context: comp_lock held; takes the locks of the members' lanes.
 */
void zj_component_to_text(struct seq_buf *out, const struct zj_component *comp)
{
	ktime_t now = ktime_get();

	lockdep_assert_held(&comp->journal->comp_lock);
	seq_buf_printf(out, "component %llu: %s, %d members", comp->stamp,
		       zj_stage_names[comp->stage], comp->nr_members);
	if (comp->stage == ZJ_LOCKED)
		seq_buf_printf(out, ", locked for %lld us",
			       (s64)ktime_us_delta(now, comp->locked_at));
	if (comp->stage == ZJ_SEALED)
		seq_buf_printf(out, ", sealed for %lld us, %d with data to submit, %d without a record",
			       (s64)ktime_us_delta(now, comp->sealed_at),
			       atomic_read(&comp->unsubmitted), atomic_read(&comp->unlogged));
	if (comp->stage < ZJ_COMMITTED)
		seq_buf_printf(out, ", %d missing", comp->missing);
	if (comp->deferred)
		seq_buf_printf(out, ", deferred");
	if (comp->stage == ZJ_COMMITTED)
		seq_buf_printf(out, READ_ONCE(comp->finished) ? ", to be written home" :
			       ", being finished");
	seq_buf_printf(out, "\n");
	members_to_text(out, comp);
	deps_to_text(out, comp);
}

/* Caller holds lane->lock. */
static void lane_state_to_text(struct seq_buf *out, const struct zj_lane *lane)
{
	seq_buf_printf(out, "lane %d: %d not written yet, %u being written, %d sealed with %u credits",
		       lane->index, lane->unwritten, lane->depth, lane->nr_sealed,
		       lane->sealed_credits);
	seq_buf_printf(out, ", %u blocks promised, %u segments in hand",
		       lane->promised, lane->nr_in_hand);
	if (lane->rsv_credits)
		seq_buf_printf(out, ", %d credits reserved", lane->rsv_credits);
	if (lane->starts_waiting)
		seq_buf_printf(out, ", %d handle starts wait for space", lane->starts_waiting);
	seq_buf_printf(out, "\n");
}

/**
 * zj_lane_to_text() - print a lane and its transactions that are running or being written
 * @out: where it is printed
 * @lane: the lane
 *
 * Context: takes comp_lock and lane->lock.
 */
void zj_lane_to_text(struct seq_buf *out, struct zj_lane *lane)
{
	const struct zj_txn *txn;

	/* Of what is sealed a lane has few enough to show all (N7). */
	static_assert(ZJ_MAX_FLIGHT <= ZJ_TEXT_MOST);
	spin_lock(&lane->journal->comp_lock);
	spin_lock(&lane->lock);
	lane_state_to_text(out, lane);
	if (lane->running)
		zj_txn_to_text(out, lane->running);
	list_for_each_entry(txn, &lane->to_issue, lane_link)
		zj_txn_to_text(out, txn);
	list_for_each_entry(txn, &lane->flight, lane_link)
		zj_txn_to_text(out, txn);
	spin_unlock(&lane->lock);
	spin_unlock(&lane->journal->comp_lock);
}
