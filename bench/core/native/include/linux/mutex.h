/* SPDX-License-Identifier: GPL-2.0-only */
/* A free one costs two atomic operations, as in the kernel; waiters sleep on a futex. */
#ifndef ZJ_RUNTIME_LINUX_MUTEX_H
#define ZJ_RUNTIME_LINUX_MUTEX_H

#include <klayer/lock.h>

struct mutex {
	int	word;	/* of thr_lock() */
};

void thr_lock(int *word);
void thr_unlock(int *word);

#define mutex_init(l)	((void)((l)->word = 0))
#define mutex_lock(l)	thr_lock(&(l)->word)
#define mutex_unlock(l)	thr_unlock(&(l)->word)

#endif
