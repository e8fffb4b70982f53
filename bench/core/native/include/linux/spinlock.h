/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As on x86: a spinlock costs a compare-and-exchange and a plain store, a reader's side
 * of a rwlock an addition and a subtraction. Waiters are in no order.
 */
#ifndef ZJ_RUNTIME_LINUX_SPINLOCK_H
#define ZJ_RUNTIME_LINUX_SPINLOCK_H

#include <klayer/lock.h>
#include <klayer/bug.h>

typedef struct {
	int	word;	/* 1: held; atomic */
} spinlock_t;

static inline void spin_lock_init(spinlock_t *l)
{
	l->word = 0;
}

static inline void spin_lock(spinlock_t *l)
{
	unsigned int turn = 0;

	while (__builtin_expect(!kl_try(&l->word), 0))
		kl_spin_slowly(&turn);
}

static inline void spin_unlock(spinlock_t *l)
{
	__atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
}

#define KL_WRITER	(1 << 30)

typedef struct {
	int	word;	/* readers, and KL_WRITER; atomic */
} rwlock_t;

static inline void rwlock_init(rwlock_t *l)
{
	l->word = 0;
}

static inline void read_unlock(rwlock_t *l)
{
	__atomic_fetch_sub(&l->word, 1, __ATOMIC_RELEASE);
}

static inline void read_lock(rwlock_t *l)
{
	unsigned int turn = 0;

	while (__builtin_expect(__atomic_fetch_add(&l->word, 1, __ATOMIC_ACQUIRE) >=
				KL_WRITER, 0)) {
		read_unlock(l);
		while (__atomic_load_n(&l->word, __ATOMIC_RELAXED) >= KL_WRITER)
			kl_spin_slowly(&turn);
	}
}

static inline void write_lock(rwlock_t *l)
{
	unsigned int turn = 0;
	int none = 0;

	while (!__atomic_compare_exchange_n(&l->word, &none, KL_WRITER, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		none = 0;
		kl_spin_slowly(&turn);
	}
}

/* Readers that are about to give up have added themselves. */
static inline void write_unlock(rwlock_t *l)
{
	__atomic_fetch_sub(&l->word, KL_WRITER, __ATOMIC_RELEASE);
}

#endif
