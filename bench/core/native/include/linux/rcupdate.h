/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read sections that cost stores to the thread's own memory and no barrier, as in the
 * kernel; the barrier is the grace period's (membarrier()).
 */
#ifndef ZJ_RUNTIME_LINUX_RCUPDATE_H
#define ZJ_RUNTIME_LINUX_RCUPDATE_H

#include <linux/compiler.h>

struct rcu_head {
	struct rcu_head	*next;		/* of the same grace period */
	void		*object;	/* to be freed */
};

/**
 * struct kl_reader - a thread's read sections; stays after the thread
 */
struct kl_reader {
	struct kl_reader *next;		/* of all threads' */
	int		nest;		/* sections that are open; only its own thread's */
	u64		seen;		/* grace period of its section, 0: none; atomic */
};

extern __thread struct kl_reader *kl_reader;
extern u64 kl_period;			/* number of the grace period; atomic */
struct kl_reader *kl_new_reader(void);

static inline void rcu_read_lock(void)
{
	struct kl_reader *r = kl_reader;

	if (__builtin_expect(!r, 0))
		r = kl_new_reader();
	if (!r->nest++)
		WRITE_ONCE(r->seen, __atomic_load_n(&kl_period, __ATOMIC_RELAXED));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void rcu_read_unlock(void)
{
	struct kl_reader *r = kl_reader;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!--r->nest)
		smp_store_release(&r->seen, 0);
}

#define rcu_read_lock_sched()	rcu_read_lock()
#define rcu_read_unlock_sched()	rcu_read_unlock()
void rcu_barrier(void);
void kl_kfree_rcu(struct rcu_head *head, void *object);

/* A kernel without lockdep does not look. */
#define kl_assert_rcu(where, held)	((void)0)

#define kfree_rcu(p, field)	kl_kfree_rcu(&(p)->field, p)

#endif
