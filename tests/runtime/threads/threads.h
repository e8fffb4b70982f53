/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Real threads behind the Linux layer, real files for disks.
 *
 *   task.c    tasks, kthreads                  cpu.c   virtual CPUs, pauses
 *   futex.c   futexes, the layer's own locks   lock.c  locks and their order
 *   wait.c    sleeping and waking by futex     timer.c the timer interrupt
 *   rcu.c     read sections, grace periods     mem.c   allocation
 *   buffer.c  buffer heads, folios             disk.c  a file, its I/O threads
 *   xarray.c  the index of transactions        message.c messages, failures
 *
 * What the simulator has as well is in ../common; persistent memory is in
 * user/lib/pmem.c.
 *
 * What one thread tells another goes through the atomics of C with the order that the
 * kernel promises, no more, so that the thread sanitizer sees what is ordered.
 */
#ifndef ZJ_THREADS_H
#define ZJ_THREADS_H

#include <pthread.h>
#include <linux/types.h>
#include <linux/sched.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

struct kl_lock;

#define THR_MAX_TASKS	256
#define THR_MAX_HELD	16

/**
 * struct thr_rand - a stream of random numbers (splitmix64)
 */
struct thr_rand {
	u64	state;
};

u64 thr_rand(struct thr_rand *r);
/* 0 .. n - 1 */
static inline u32 thr_below(struct thr_rand *r, u32 n)
{
	return ((thr_rand(r) >> 32) * n) >> 32;
}

/* True in one of n cases. */
static inline bool thr_one_in(struct thr_rand *r, u32 n)
{
	return !thr_below(r, n);
}

/**
 * struct thr_task - a task and its thread
 *
 * Only its own thread touches what no comment says otherwise about.
 */
struct thr_task {
	struct task_struct task;	/* what kernel code sees; first member */
	pthread_t	thread;
	bool		started;	/* by wake_up_process(), atomic */
	bool		should_stop;	/* kthread_stop() was called; atomic */
	int		asleep;		/* a futex: 1 until it is woken; atomic */
	int		(*fn)(void *arg);
	void		*arg;		/* of fn */
	int		ret;		/* of fn; read after the thread's end */
	unsigned int	cpu;		/* atomic: set_cpus_allowed_ptr() */
	bool		pinned;		/* does not migrate; atomic */
	bool		in_irq;		/* in a timer's or a bio's callback */
	struct thr_rand	rand;		/* where it pauses and migrates to */
	struct kl_lock	*held[THR_MAX_HELD]; /* in order of acquisition */
	int		nr_held;
	int		spin_depth;	/* spinlocks held */
	int		rcu_depth;	/* rcu_read_lock() nesting */
	int		rcu_nest;	/* the same with spinlocks */
	u64		rcu_seen;	/* grace period of its section, 0: none; atomic */
};

#define thr_current	((struct thr_task *)kl_current)

/* ---- task.c ---- */

/**
 * struct thr_config - what a run is made of
 */
struct thr_config {
	u64		seed;
	unsigned int	cpus;		/* virtual ones */
	unsigned int	pause;		/* mean points between two pauses; 0: none */
};

extern struct thr_config thr_config;

void thr_start(const struct thr_config *config);
/* All tasks but the caller must be dead, all memory freed. */
void thr_end(void);
struct thr_task *thr_spawn(int (*fn)(void *), void *arg, const char *name);
int thr_join(struct thr_task *task);
/* For every task alive, and for those that are being born. */
void thr_for_each_task(void (*fn)(struct thr_task *task, void *arg), void *arg);
extern bool thr_running;

/* ---- futex.c, wait.c ---- */

void thr_futex_wait(int *word, int value, s64 ns);
void thr_futex_wake(int *word, int nr);
/* A lock that knows nothing but its word; for the layer itself. */
void thr_lock(int *word);
void thr_unlock(int *word);
void thr_sleep_ns(s64 ns);

/* ---- rcu.c ---- */

void thr_rcu_start(void);
void thr_rcu_stop(void);
void thr_rcu_enter(void);
void thr_rcu_leave(void);

/* ---- timer.c ---- */

void thr_timer_start(void);
void thr_timer_stop(void);

/* ---- mem.c ---- */

void thr_memory_check(void);
void thr_free(void *object);

/* ---- message.c ---- */

extern char thr_what[128];	/* printed with every failure: how to repeat it */
extern int thr_verbose;		/* lowest kernel level that is not printed */

#endif
