/* SPDX-License-Identifier: GPL-2.0-only */
/* As in the kernel: a waiter spins while the owner runs, else it sleeps. */
#ifndef ZJ_RUNTIME_LINUX_MUTEX_H
#define ZJ_RUNTIME_LINUX_MUTEX_H

#include <klayer/lock.h>

struct mutex {
	int	word;	/* 1: held */
};

void sim_mutex_lock(int *word);
void sim_mutex_unlock(int *word);

#define mutex_init(l)	((l)->word = 0, sim_lock_name(&(l)->word, #l))
#define mutex_lock(l)	sim_mutex_lock(&(l)->word)
#define mutex_unlock(l)	sim_mutex_unlock(&(l)->word)

#endif
