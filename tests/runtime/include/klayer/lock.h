/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all locks have in common: an owner, and a class (one for each place that
 * initialises locks) that the order of locks is learned by.
 */
#ifndef ZJ_RUNTIME_KLAYER_LOCK_H
#define ZJ_RUNTIME_KLAYER_LOCK_H

#include <linux/types.h>

struct task_struct;

/**
 * struct kl_class - locks that take the same place in the order
 */
struct kl_class {
	const char	*name;	/* as in the source */
	int		id;	/* 1 .. ; 0: not seen yet */
};

/**
 * struct kl_lock - base of spinlock_t and struct mutex
 */
struct kl_lock {
	struct task_struct *owner;	/* NULL: free */
	struct kl_class	*class;		/* NULL: never initialised */
	int		waiters;	/* sim: tasks that wait; threads: the futex */
};

void kl_lock_init(struct kl_lock *l, struct kl_class *class);
void kl_spin_lock(struct kl_lock *l);
void kl_spin_unlock(struct kl_lock *l);
void kl_mutex_lock(struct kl_lock *l);
void kl_mutex_unlock(struct kl_lock *l);
bool kl_lock_held(const struct kl_lock *l);
/* The message names the function, so that a test can tell one place from another. */
void kl_assert_held(const struct kl_lock *l, const char *where, const char *what);
/* Fails under a spinlock, in an interrupt, in an RCU read section. */
void kl_might_sleep(const char *file, int line);

#define might_sleep()		kl_might_sleep(__FILE__, __LINE__)
#define lockdep_assert_held(l)	kl_assert_held(&(l)->kl, __func__, #l)
#define lockdep_is_held(l)	kl_lock_held(&(l)->kl)

#endif
