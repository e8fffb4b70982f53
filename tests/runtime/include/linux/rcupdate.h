/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A grace period ends as soon as every section that was open at its begin has
 * ended, so that a reader outside of a section meets freed memory.
 */
#ifndef ZJ_RUNTIME_LINUX_RCUPDATE_H
#define ZJ_RUNTIME_LINUX_RCUPDATE_H

#include <linux/compiler.h>

struct rcu_head {
	struct rcu_head	*next;		/* of the same grace period */
	void		*object;	/* to be freed */
};

void rcu_read_lock(void);
void rcu_read_unlock(void);
#define rcu_read_lock_sched()	rcu_read_lock()
#define rcu_read_unlock_sched()	rcu_read_unlock()
void rcu_barrier(void);
/* As lockdep does for a walk: fails outside of a section, unless @held, the walk's own lock. */
void kl_assert_rcu(const char *where, bool held);
void kl_kfree_rcu(struct rcu_head *head, void *object);

#define kfree_rcu(p, field)	kl_kfree_rcu(&(p)->field, p)

#endif
