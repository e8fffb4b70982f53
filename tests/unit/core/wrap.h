/* SPDX-License-Identifier: GPL-2.0-only */
/* What the linker sends here (__wrap_*), and the simulator's own (__real_*). */
#ifndef ZJ_UNIT_WRAP_H
#define ZJ_UNIT_WRAP_H

#include "core/core.h"
#include "fixture.h"
#include "txn/txn.h"

void __wrap_kl_printk(int level, const char *fmt, ...);
#define SELDOM	(1 << 29)	/* points between two switches: there are none */

bool __wrap_bdev_read_only(struct block_device *bdev);

void __real_mark_buffer_dirty(struct buffer_head *bh);
void __wrap_mark_buffer_dirty(struct buffer_head *bh);

void *__real_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);

void __real_kl_switch(void);
void __wrap_kl_switch(void);

void __real_kl_spin_lock(struct kl_lock *l);
void __wrap_kl_spin_lock(struct kl_lock *l);

bool __real_zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place);
bool __wrap_zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place);

void __real_kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key);
void __wrap_kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key);

void __real_zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane, enum zj_wait_reason why,
			  const struct zj_txn *txn);
void __wrap_zj_wait_begin(struct zj_wait *wait, struct zj_lane *lane, enum zj_wait_reason why,
			  const struct zj_txn *txn);

void __real_zj_wait_end(struct zj_wait *wait);
void __wrap_zj_wait_end(struct zj_wait *wait);

u64 __real_sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg);
u64 __wrap_sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg);

#endif
