/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of references; from or to below zero is a failure. */
#ifndef ZJ_RUNTIME_LINUX_REFCOUNT_H
#define ZJ_RUNTIME_LINUX_REFCOUNT_H

#include <linux/atomic.h>
#include <klayer/bug.h>

typedef struct {
	atomic_t	refs;
} refcount_t;

/* Taking one orders nothing; dropping one releases, the last one acquires. */
static inline int kl_ref_add(refcount_t *r, int i, int stop)
{
	int old = __atomic_load_n(&r->refs.counter, __ATOMIC_RELAXED);
	bool done;

	do {
		if (old == stop)
			return old;
		if (i > 0)
			done = __atomic_compare_exchange_n(&r->refs.counter, &old,
					old + i, true, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED);
		else if (old > 1)
			done = __atomic_compare_exchange_n(&r->refs.counter, &old,
					old + i, true, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED);
		else
			done = __atomic_compare_exchange_n(&r->refs.counter, &old,
					old + i, true, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED);
	} while (!done);
	return old;
}

#define KL_REF_NO_STOP	(-0x7fffffff)

static inline void refcount_set(refcount_t *r, int n)
{
	__atomic_store_n(&r->refs.counter, n, __ATOMIC_RELAXED);
}

static inline void refcount_inc(refcount_t *r)
{
	kl_point();
	if (kl_ref_add(r, 1, KL_REF_NO_STOP) < 1)
		kl_fail("reference taken to what has none");
	kl_point();
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	kl_point();
	return kl_ref_add(r, 1, 0) != 0;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	int old;

	kl_point();
	old = kl_ref_add(r, -1, KL_REF_NO_STOP);
	if (old < 1)
		kl_fail("reference dropped that nobody had");
	kl_point();
	return old == 1;
}

/* True unless it was the last one, which stays. */
static inline bool refcount_dec_not_one(refcount_t *r)
{
	int old;

	kl_point();
	old = kl_ref_add(r, -1, 1);
	if (old < 1)
		kl_fail("reference dropped that nobody had");
	return old != 1;
}

#endif
