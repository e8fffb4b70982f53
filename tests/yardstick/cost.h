/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before the journals' sources: their spinlocks, atomics and reference
 * counts cost what cpu.c says.
 */
#ifndef ZJ_YARDSTICK_COST_H
#define ZJ_YARDSTICK_COST_H

#include <linux/atomic.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>

/* This CPU writes to what @p points to. */
void cpu_writes(const void *p);

#undef kl_atomic_add
#define kl_atomic_add(i, v, order)					\
({									\
	cpu_writes(v);							\
	__atomic_add_fetch(&(v)->counter, i, order);			\
})
#define atomic_add_return(i, v)	(cpu_writes(v), (atomic_add_return)(i, v))
#define refcount_inc(r)		(cpu_writes(r), (refcount_inc)(r))
#define refcount_inc_not_zero(r) (cpu_writes(r), (refcount_inc_not_zero)(r))
#define refcount_dec_and_test(r) (cpu_writes(r), (refcount_dec_and_test)(r))
#define refcount_dec_not_one(r)	(cpu_writes(r), (refcount_dec_not_one)(r))
#define kl_spin_lock(l)		(cpu_writes(l), (kl_spin_lock)(l))
#define kl_spin_unlock(l)	(cpu_writes(l), (kl_spin_unlock)(l))

#endif
