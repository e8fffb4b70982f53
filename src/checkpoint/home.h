/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_HOME_H
#define ZJ_HOME_H

#include "checkpoint/home_types.h"
#include "core/journal.h"

int zj_checkpoint_init(struct zj_journal *zj);
void zj_checkpoint_exit(struct zj_journal *zj);
bool zj_checkpoint_offers(const struct zj_lane *lane);
void zj_checkpoint_charge(struct zj_lane *lane, u32 blocks);
void zj_checkpoint_help(struct zj_lane *lane);
struct zj_component *zj_comp_next_finished(struct zj_journal *zj,
					   struct zj_component *prev);
bool zj_comp_blocked(struct zj_journal *zj, const struct zj_component *comp);
void zj_pass_begin(struct zj_pass *pass, struct zj_journal *zj, bool all);
void zj_pass_end(struct zj_pass *pass);

#endif /* ZJ_HOME_H */
