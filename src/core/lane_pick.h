/* SPDX-License-Identifier: GPL-2.0-only */
/* The choice of a lane. */
#ifndef ZJ_LANE_PICK_H
#define ZJ_LANE_PICK_H

#include "core/journal.h"

static inline struct zj_lane *zj_lane_pick(struct zj_journal *zj)
{
	unsigned int cpu = raw_smp_processor_id();

	/* Usually each CPU has a lane; this saves the division then. */
	return &zj->lanes[cpu < zj->nr_lanes ? cpu : cpu % zj->nr_lanes];
}

/*
 * Returns the lane that the caller names, or that of the current CPU if @lane
 * is negative.
 */
static inline struct zj_lane *zj_lane_at(struct zj_journal *zj, int lane)
{
	return lane < 0 ? zj_lane_pick(zj) : &zj->lanes[lane % zj->nr_lanes];
}

#endif /* ZJ_LANE_PICK_H */
