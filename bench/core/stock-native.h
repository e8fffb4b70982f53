/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The yardstick's layer for stock jbd2, over the native one: what it looks for inside
 * locks, and what it makes slower than the kernel does.
 */
#ifndef ZJ_CORE_STOCK_NATIVE_H
#define ZJ_CORE_STOCK_NATIVE_H

#include "stock.h"

#undef DEFINE_MUTEX
#define DEFINE_MUTEX(name)	struct mutex name
#undef mutex_is_locked
#define mutex_is_locked(l)	(READ_ONCE((l)->word) != 0)
#undef spin_needbreak
#define spin_needbreak(l)	false

/* Atomic operations of x86 order everything. */
#undef smp_mb__after_atomic
#define smp_mb__after_atomic()	__atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The kernel has pages at hand for each CPU; here slabs have. */
#undef __get_free_pages
#define __get_free_pages(flags, size)	((unsigned long)kmalloc(size, flags))
#undef free_pages
#define free_pages(p, size)	kfree((void *)(p))

#endif
