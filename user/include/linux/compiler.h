/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_COMPILER_H
#define ZJ_USER_LINUX_COMPILER_H

#include <klayer/point.h>

#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#define __init
#define __exit
#define noinline
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((__fallthrough__))
#define ____cacheline_aligned_in_smp __attribute__((__aligned__(64)))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* A pointer orders what is read through it; C has only "consume" for that. */
#define KL_POINTER_CLASS	5
#define kl_once_order(x)						\
	(__builtin_classify_type(x) == KL_POINTER_CLASS ?		\
	 __ATOMIC_CONSUME : __ATOMIC_RELAXED)

/* What other CPUs may see change: the scheduler may switch before each. */
#define READ_ONCE(x)							\
({									\
	kl_point();							\
	__atomic_load_n(&(x), kl_once_order(x));			\
})
#define WRITE_ONCE(x, val)						\
do {									\
	kl_point();							\
	__atomic_store_n(&(x), val, __ATOMIC_RELAXED);			\
} while (0)
#define smp_load_acquire(p)						\
({									\
	kl_point();							\
	__atomic_load_n(p, __ATOMIC_ACQUIRE);				\
})
#define smp_store_release(p, v)						\
do {									\
	kl_point();							\
	__atomic_store_n(p, v, __ATOMIC_RELEASE);			\
	kl_point();							\
} while (0)
#define smp_mb()	({ __atomic_thread_fence(__ATOMIC_SEQ_CST); kl_point(); })
#define smp_rmb()	({ __atomic_thread_fence(__ATOMIC_ACQUIRE); kl_point(); })
#define smp_wmb()	({ __atomic_thread_fence(__ATOMIC_RELEASE); kl_point(); })

/* For sparse only. */
#define __acquires(lock)
#define __releases(lock)

#endif
