/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator behind the Linux layer: one thread, tasks as fibers, virtual
 * time.  Everything that happens follows from the seed.
 *
 *   sched.c  tasks, time, events     lock.c  locks, waiting, RCU
 *   mem.c    allocation              disk.c  the disk and its write log
 *   buffer.c buffer heads, folios    crash.c what a power cut leaves
 *   pmem.c   persistent memory       lib.c    messages, xarray
 */
#ifndef ZJ_SIM_H
#define ZJ_SIM_H

#include <linux/types.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

struct kl_lock;

#ifndef SIM_MAX_TASKS
#define SIM_MAX_TASKS	320
#endif
#define SIM_MAX_HELD	16
#define SIM_SLOW	32	/* how much slower a slow task is */

/**
 * struct sim_rand - a stream of random numbers (splitmix64)
 */
struct sim_rand {
	u64	state;
};

u64 sim_rand(struct sim_rand *r);
/* 0 .. n - 1 */
static inline u32 sim_below(struct sim_rand *r, u32 n)
{
	return ((sim_rand(r) >> 32) * n) >> 32;
}

/* True in one of n cases. */
static inline bool sim_one_in(struct sim_rand *r, u32 n)
{
	return !sim_below(r, n);
}

/* ---- sched.c ---- */

enum sim_state { SIM_UNUSED, SIM_NEW, SIM_RUNNABLE, SIM_SPINNING, SIM_ASLEEP,
		 SIM_DEAD };

/**
 * struct sim_task - a task and its fiber
 */
struct sim_task {
	struct task_struct task;	/* what kernel code sees; first member */
	enum sim_state	state;
	int		slot;		/* place among the runnable; -1: none */
	void		*sp;		/* saved stack pointer */
	void		*stack;		/* its memory, or NULL: the main thread's */
	void		*fake_stack;	/* of the address sanitizer */
	int		(*fn)(void *arg);
	void		*arg;		/* of fn */
	int		ret;		/* of fn */
	unsigned int	cpu;
	unsigned int	allowed;	/* of set_cpus_allowed_ptr() */
	u32		slow;		/* so much slower than others; 0: it is not */
	bool		pinned;		/* does not migrate */
	bool		should_stop;	/* kthread_stop() was called */
	wait_queue_head_t exit_wait;	/* tasks that wait for its end */
	bool		sleepy;		/* about to sleep; a wake-up clears it */
	u64		alarm;		/* number of its timeout event; 0: none */
	void		*spins_on;	/* the lock, while SIM_SPINNING */
	struct kl_lock	*held[SIM_MAX_HELD]; /* in order of acquisition */
	int		nr_held;
	int		spin_depth;	/* spinlocks held */
	int		rcu_depth;	/* rcu_read_lock() nesting */
	int		rcu_nest;	/* the same with spinlocks */
	int		rcu_side;	/* counter that it is counted in */
};

#define sim_current	((struct sim_task *)kl_current)

/**
 * struct sim_config - what a run is made of
 */
struct sim_config {
	u64		seed;
	unsigned int	cpus;
	unsigned int	granularity;	/* mean points between two switches */
	u32		slow;		/* one in so many tasks is slow; 0: none */
	s64		deadline;	/* ns of virtual time; later is a failure */
};

void sim_start(const struct sim_config *config);
/* Sets sim_config.granularity anew, from the next switch on. */
void sim_set_granularity(unsigned int points);
/* All tasks but the caller must be dead, all memory freed. */
void sim_end(void);
struct sim_task *sim_spawn(int (*fn)(void *), void *arg, const char *name,
			   unsigned int cpu);
void sim_join(struct sim_task *task);
void sim_migrate(void);
/*
 * From now on the current task stops at every other point, while others do so many times
 * as much; 0: it is as fast as they. Returns what was before.
 */
u32 sim_slow_down(u32 times);
extern s64 sim_now;
extern int sim_in_irq;
extern bool sim_running;

/* Call fn(arg) in interrupt context after @ns; returns the event's number. */
u64 sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg);
void sim_make_runnable(struct sim_task *t);
void sim_reschedule(enum sim_state state);
void sim_wake(struct sim_task *t);
void sim_wake_spinners(void *lock);
void sim_print_tasks(void);

/* ---- lock.c ---- */

void sim_locks_reset(void);
void sim_rcu_enter(void);
void sim_rcu_leave(void);
void sim_rcu_drain(void);

/* ---- mem.c ---- */

void sim_memory_check(void);
void sim_caches_check(void);
void sim_free(void *object);
/* The n-th allocation that the kernel may refuse fails, and later ones; 0: none. */
void sim_fail_allocations(u32 n);
bool sim_alloc_fails(gfp_t flags);
/* Called where an allocation may reclaim memory; or NULL. */
extern void (*sim_reclaim)(void);

/* ---- lib.c ---- */

extern char sim_what[128];	/* printed with every failure: how to repeat it */
/*
 * Prints the state after a failure, or NULL. No other task runs by then, so it ignores
 * locks.
 */
extern void (*sim_report)(void);
extern bool sim_stopped;	/* a failure is being reported */
extern int sim_verbose;		/* lowest kernel level that is not printed */

#endif
