/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_SPINLOCK_H
#define ZJ_RUNTIME_LINUX_SPINLOCK_H

#include <klayer/lock.h>
#include <klayer/bug.h>

typedef struct {
	struct kl_lock	kl;
} spinlock_t;

#define spin_lock_init(l)						\
do {									\
	static struct kl_class __class = { .name = #l };		\
	kl_lock_init(&(l)->kl, &__class);				\
} while (0)
#define spin_lock(l)	kl_spin_lock(&(l)->kl)
#define spin_unlock(l)	kl_spin_unlock(&(l)->kl)

/* Readers exclude each other here: fewer schedules, the same rules. */
typedef spinlock_t rwlock_t;

#define rwlock_init(l)	spin_lock_init(l)
#define read_lock(l)	spin_lock(l)
#define read_unlock(l)	spin_unlock(l)
#define write_lock(l)	spin_lock(l)
#define write_unlock(l)	spin_unlock(l)

#endif
