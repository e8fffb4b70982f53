/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BIT_SPINLOCK_H
#define ZJ_RUNTIME_LINUX_BIT_SPINLOCK_H

#include <klayer/lock.h>

static inline void bit_spin_lock(int bit, unsigned long *word)
{
	unsigned long mask = 1UL << bit;
	unsigned int turn = 0;

	while (__atomic_fetch_or(word, mask, __ATOMIC_ACQUIRE) & mask)
		kl_spin_slowly(&turn);
}

static inline void bit_spin_unlock(int bit, unsigned long *word)
{
	__atomic_fetch_and(word, ~(1UL << bit), __ATOMIC_RELEASE);
}

#endif
