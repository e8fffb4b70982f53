/* SPDX-License-Identifier: GPL-2.0-only */
/* Locks as light as the kernel's without lockdep: nothing is learned or checked. */
#ifndef ZJ_RUNTIME_KLAYER_LOCK_H
#define ZJ_RUNTIME_KLAYER_LOCK_H

#include <linux/types.h>

struct task_struct;

#define might_sleep()		do { } while (0)
#define lockdep_assert_held(l)	((void)(l))
#define lockdep_is_held(l)	((void)(l), true)

/* After a failed attempt: the holder may have lost its CPU, which no kernel allows. */
void kl_spin_slowly(unsigned int *turn);

static inline bool kl_try(int *word)
{
	int free = 0;

	return __atomic_compare_exchange_n(word, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

#endif
