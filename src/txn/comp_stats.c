// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics of components. Each lane has counters of its own, since they would be shared
 * by all commits otherwise.
 */
#include "core/journal.h"
#include "txn/component.h"
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/log2.h>

/*
 * Returns the counters of the component's first member's lane. A union may change which
 * one that is, so only sums over all lanes mean something. Caller holds comp_lock.
 */
struct zj_comp_stats *zj_comp_stats_of(const struct zj_component *comp)
{
	return &list_first_entry(&comp->members, struct zj_txn, comp_link)->lane->comp_stats;
}

/**
 * zj_comp_stats() - sum up the statistics of components over all lanes
 * @zj: the journal, loaded
 * @sum: the result
 *
 * Context: takes comp_lock.
 */
void zj_comp_stats(struct zj_journal *zj, struct zj_comp_stats *sum)
{
	unsigned int i, size;

	*sum = (struct zj_comp_stats){};
	spin_lock(&zj->comp_lock);
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		const struct zj_comp_stats *st = &zj->lanes[i].comp_stats;

		sum->closed += st->closed;
		sum->members += st->members;
		for (size = 0; size < ZJ_NR_SIZES; size++)
			sum->sizes[size] += st->sizes[size];
		sum->deps += st->deps;
		sum->awaited += st->awaited;
		sum->resolved += st->resolved;
		sum->arrivals += st->arrivals;
		sum->max_members = max(sum->max_members, st->max_members);
		sum->max_deps = max(sum->max_deps, st->max_deps);
	}
	spin_unlock(&zj->comp_lock);
}

/* Counts a component that is being sealed. Caller holds comp_lock. */
void zj_comp_count_closed(struct zj_component *comp)
{
	u32 members = comp->nr_members;
	u32 deps = bitmap_weight(comp->dep_lanes, ZJ_MAX_LANES);
	struct zj_comp_stats *st = zj_comp_stats_of(comp);

	static_assert(ZJ_MAX_LANES == 1 << (ZJ_NR_SIZES - 1));
	if (!ZJ_ASSERT(comp->journal, members && members <= ZJ_MAX_LANES))
		return;
	st->closed++;
	st->members += members;
	st->sizes[ilog2(members)]++;
	st->deps += deps;
	st->max_members = max(st->max_members, members);
	st->max_deps = max(st->max_deps, deps);
}

/* Counts for how long handles could not start because the component was locked. */
void zj_comp_count_locked(struct zj_component *comp, ktime_t now)
{
	struct zj_txn *txn;

	list_for_each_entry(txn, &comp->members, comp_link)
		zj_count(&txn->lane->stats.locked_us,
			 ktime_us_delta(now, comp->locked_at));
}
