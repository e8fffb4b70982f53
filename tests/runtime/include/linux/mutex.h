/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_MUTEX_H
#define ZJ_RUNTIME_LINUX_MUTEX_H

#include <klayer/lock.h>

struct mutex {
	struct kl_lock	kl;
};

#define mutex_init(l)							\
do {									\
	static struct kl_class __class = { .name = #l };		\
	kl_lock_init(&(l)->kl, &__class);				\
} while (0)
#define mutex_lock(l)							\
do {									\
	might_sleep();							\
	kl_mutex_lock(&(l)->kl);					\
} while (0)
#define mutex_unlock(l)	kl_mutex_unlock(&(l)->kl)

#endif
