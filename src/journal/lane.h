/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LANE_H
#define ZJ_LANE_H

#include "core/journal.h"

int zj_lanes_start(struct zj_journal *zj);
void zj_lanes_place(struct zj_journal *zj);
void zj_lanes_stop(struct zj_journal *zj);
void zj_lanes_free(struct zj_journal *zj);

#endif /* ZJ_LANE_H */
