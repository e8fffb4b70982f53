/* SPDX-License-Identifier: GPL-2.0-only */
/* The lane of a CPU. */
#ifndef ZJ_LANE_PICK_H
#define ZJ_LANE_PICK_H

#include "core/journal.h"

static inline struct zj_lane *zj_lane_pick(struct zj_journal *zj)
{
	unsigned int cpu = raw_smp_processor_id();

	/* One lane a CPU as a rule: no division then. */
	return &zj->lanes[cpu < zj->nr_lanes ? cpu : cpu % zj->nr_lanes];
}

/* As the caller says; negative: by CPU. */
static inline struct zj_lane *zj_lane_at(struct zj_journal *zj, int lane)
{
	return lane < 0 ? zj_lane_pick(zj) : &zj->lanes[lane % zj->nr_lanes];
}

#endif /* ZJ_LANE_PICK_H */
