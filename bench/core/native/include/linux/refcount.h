/* SPDX-License-Identifier: GPL-2.0-only */
/* As in the kernel: one addition, but for the conditional ones. */
#ifndef ZJ_RUNTIME_LINUX_REFCOUNT_H
#define ZJ_RUNTIME_LINUX_REFCOUNT_H

#include <linux/atomic.h>
#include <klayer/bug.h>

typedef struct {
	atomic_t	refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	__atomic_store_n(&r->refs.counter, n, __ATOMIC_RELAXED);
}

static inline void refcount_inc(refcount_t *r)
{
	if (__atomic_fetch_add(&r->refs.counter, 1, __ATOMIC_RELAXED) < 1)
		kl_fail("reference taken to what has none");
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	int old = __atomic_fetch_sub(&r->refs.counter, 1, __ATOMIC_ACQ_REL);

	if (old < 1)
		kl_fail("reference dropped that nobody had");
	return old == 1;
}

/* Adds @i unless the count is @stop; returns whether it did. */
static inline bool kl_ref_unless(refcount_t *r, int i, int stop)
{
	int old = __atomic_load_n(&r->refs.counter, __ATOMIC_RELAXED);

	do {
		if (old == stop)
			return false;
	} while (!__atomic_compare_exchange_n(&r->refs.counter, &old, old + i, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return true;
}

#define refcount_inc_not_zero(r)	kl_ref_unless(r, 1, 0)
#define refcount_dec_not_one(r)		kl_ref_unless(r, -1, 1)

#endif
