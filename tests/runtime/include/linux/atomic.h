/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_ATOMIC_H
#define ZJ_RUNTIME_LINUX_ATOMIC_H

#include <linux/compiler.h>

typedef struct {
	int	counter;
} atomic_t;

#define atomic_read(v)		READ_ONCE((v)->counter)
#define atomic_read_acquire(v)	__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_set(v, i)	WRITE_ONCE((v)->counter, i)

/* As in the kernel: what returns a value orders everything, the rest nothing. */
#define kl_atomic_add(i, v, order)					\
({									\
	kl_point();							\
	int __now = __atomic_add_fetch(&(v)->counter, i, order);	\
	kl_point();							\
	__now;								\
})

static inline int atomic_add_return(int i, atomic_t *v)
{
	return kl_atomic_add(i, v, __ATOMIC_SEQ_CST);
}

#define atomic_add(i, v)	((void)atomic_add_return(i, v))
#define atomic_sub(i, v)	((void)atomic_add_return(-(int)(i), v))
#define atomic_inc_return(v)	atomic_add_return(1, v)
#define atomic_inc(v)		((void)kl_atomic_add(1, v, __ATOMIC_RELAXED))
#define atomic_dec(v)		((void)kl_atomic_add(-1, v, __ATOMIC_RELAXED))
#define atomic_dec_and_test(v)	(!atomic_add_return(-1, v))

#define xchg(p, v)							\
({									\
	kl_point();							\
	__typeof__(*(p)) __old = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); \
	kl_point();							\
	__old;								\
})
#define cmpxchg(p, o, n)						\
({									\
	__typeof__(*(p)) __old = (o);					\
	kl_point();							\
	__atomic_compare_exchange_n(p, &__old, n, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	__old;								\
})
#define try_cmpxchg(p, o, n)						\
({									\
	kl_point();							\
	__atomic_compare_exchange_n(p, o, n, false,			\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
})

#endif
