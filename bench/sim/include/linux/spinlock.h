/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As the kernel's queued locks: waiters are served in the order in which they came, and
 * each handing-over costs the transfer of a line.
 */
#ifndef ZJ_RUNTIME_LINUX_SPINLOCK_H
#define ZJ_RUNTIME_LINUX_SPINLOCK_H

#include <klayer/lock.h>
#include <klayer/bug.h>

typedef struct {
	int	word;	/* 1: held */
} spinlock_t;

typedef struct {
	int	word;	/* readers; -1: a writer */
} rwlock_t;

void sim_spin_lock(int *word);
void sim_spin_unlock(int *word);
void sim_read_lock(int *word);
void sim_read_unlock(int *word);
void sim_write_lock(int *word);
void sim_write_unlock(int *word);

#define spin_lock_init(l)	((l)->word = 0, sim_lock_name(&(l)->word, #l))
#define spin_lock(l)		sim_spin_lock(&(l)->word)
#define spin_unlock(l)		sim_spin_unlock(&(l)->word)
#define rwlock_init(l)		((l)->word = 0, sim_lock_name(&(l)->word, #l))
#define read_lock(l)		sim_read_lock(&(l)->word)
#define read_unlock(l)		sim_read_unlock(&(l)->word)
#define write_lock(l)		sim_write_lock(&(l)->word)
#define write_unlock(l)		sim_write_unlock(&(l)->word)

#endif
