/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_COMPONENT_H
#define ZJ_COMPONENT_H

#include "core/journal.h"
#include "txn/component_types.h"

static inline struct zj_cause zj_at_block(struct buffer_head *bh)
{
	return (struct zj_cause){ .bh = bh };
}

static inline struct zj_cause zj_at(enum zj_kind kind)
{
	return (struct zj_cause){ .kind = kind };
}

struct zj_component *zj_component_alloc(void);
void zj_component_add(struct zj_component *comp, struct zj_txn *txn);
void zj_component_advance(struct zj_component *comp, enum zj_txn_stage to);
bool zj_unite(struct zj_txn *txn, struct zj_txn *other, struct zj_cause at);
bool zj_depend(struct zj_txn *txn, struct zj_txn *on, struct zj_cause at,
	       struct zj_dep **spare);
void zj_tie(struct zj_txn *txn, struct zj_txn *other, enum zj_kind kind);
void zj_commit_request(struct zj_journal *zj, struct zj_txn *txn);
bool zj_commit_request_here(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_now(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_again(struct zj_txn *txn);
void zj_try_seal(struct zj_journal *zj, struct zj_txn *txn);
void zj_try_seal_lane(struct zj_lane *lane, u64 stamp, struct zj_sealed *sealed);
void zj_wake_sealed(struct zj_journal *zj, const struct zj_sealed *sealed);
struct zj_comp_stats *zj_comp_stats_of(const struct zj_component *comp);
void zj_comp_count_closed(struct zj_component *comp);
void zj_comp_count_locked(struct zj_component *comp, ktime_t now);
void zj_comp_stats(struct zj_journal *zj, struct zj_comp_stats *sum);
void zj_component_free(struct zj_journal *zj, struct zj_component *comp);

#endif /* ZJ_COMPONENT_H */
