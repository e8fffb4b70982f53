/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulated machine: up to 256 virtual CPUs in one thread.
 *
 * The journals are compiled with the compiler's hooks for the thread sanitizer, which
 * machine.c defines: every load, store, atomic operation and call comes through here.
 * Each is priced by who has the cache line, and moves the clock of the task that does it.
 * Of all tasks that could run, the one whose clock is lowest runs next, so that what they
 * do to shared lines happens in the order of virtual time.  Everything follows from the
 * options and the seed; there is no real clock.
 *
 *   machine.c  cache lines, the compiler's hooks     lock.c   spinlocks, rwlocks, mutexes
 *   sched.c    tasks, virtual CPUs, events, futexes  system.c RCU, timers, wait queues
 *   disk.c     the device                            profile.c where the time went
 *   load.c     what the CPUs do                      main.c   options, result
 *
 * Time is in picoseconds, but for ktime_get().
 */
#ifndef ZJ_SIM_MACHINE_H
#define ZJ_SIM_MACHINE_H

#include "threads.h"

#define SIM_CPUS	256u
#define SIM_SYSTEM	SIM_CPUS	/* the CPU of what is no part of the machine */
#define SIM_MAX_HELD	16u
#define SIM_LINE	64u
#define PS		1000LL		/* in a nanosecond */

/* ---- costs ---- */

enum sim_cost {
#define COST(name, ns, source)	COST_##name,
#include "costs.h"
#undef COST
	NR_COSTS,
};

extern s64 sim_cost[NR_COSTS];		/* picoseconds */
#define cost_of(name)		(sim_cost[COST_##name])
/* Returns false if there is no such cost. */
bool sim_set_cost(const char *name, double ns);
void sim_print_costs(void);

/* ---- sched.c ---- */

enum sim_state {
	SIM_NEW,
	SIM_READY,	/* runs, or will as soon as its clock is the lowest */
	SIM_QUEUED,	/* could run, but another task has the CPU */
	SIM_SPINNING,	/* waits for a lock on its CPU */
	SIM_ASLEEP,
	SIM_DEAD,
};

/**
 * struct sim_task - a task, or what a CPU does in interrupts
 */
struct sim_task {
	struct thr_task	thr;		/* what the layer sees; first member */
	enum sim_state	state;
	s64		clock;
	s64		drain;		/* when its stores so far are visible */
	unsigned int	cpu;
	bool		pinned;
	bool		irq;		/* of interrupts */
	int		depth;		/* spinlocks held, which keep it on the CPU */
	bool		in_mutex;	/* SIM_SPINNING for a mutex: may sleep instead */
	s64		wants_since;	/* when it first asked for the mutex */
	void		*sp;		/* saved stack pointer */
	struct kl_reader *reader;	/* its RCU read sections */
	const void	*waits_on;	/* futex word */
	u64		sleep;		/* number of its sleep, for time-outs */
	s64		run;		/* CPU time in this turn */
	s64		vruntime;	/* as in the kernel's scheduler */
	s64		turn;		/* clock at which it got the CPU */
	s64		since;		/* clock at which it began to wait */
	struct sim_task	*next;		/* of a queue that it is in */
	const void	*site;		/* code that waits */
	int		kind;		/* in a lock's queue */
	u32		nr_held;
	struct {
		const void	*word;
		s64		since;
	} held[SIM_MAX_HELD];		/* spinlocks, in the order in which they were taken */
};

extern struct sim_task *sim_current;

/* Lets other tasks run whose clock is lower. */
void sim_point(void);
/* The task's clock is further ahead of others than it may be. */
void sim_yield(void);
extern s64 sim_horizon;
/* The current task spends CPU time. */
static inline void sim_spend(s64 ps)
{
	sim_current->clock += ps;
	if (sim_current->clock >= sim_horizon)
		sim_yield();
}

void sim_machine_start(unsigned int cpus);
struct sim_task *sim_spawn(int (*fn)(void *), void *arg, const char *name,
			   unsigned int cpu);
/* Call fn(arg) at that time in an interrupt of the CPU, or if that is SIM_SYSTEM, for nothing. */
void sim_event(s64 at, unsigned int cpu, void (*fn)(void *), void *arg);
/* The current task waits for a lock; the next one runs. */
void sim_spin(void);
/* A task that was in sim_spin() has the lock from this time on. */
void sim_go_on(struct sim_task *t, s64 at);
/* The current task sleeps until sim_wake(). */
void sim_sleep(const void *word, s64 until, const void *site);
void sim_wake(struct sim_task *t);
/* Whether another task wants the current one's CPU. */
bool sim_cpu_wanted(void);
/* Whether the owner of a mutex has a CPU. */
bool sim_owner_runs(const struct sim_task *owner);
unsigned int sim_cpus(void);
extern u64 sim_switches;

/* ---- machine.c ---- */

void *sim_arena(size_t align, size_t size);
void sim_forget_lines(void);
void sim_touch(const void *p, size_t bytes, bool write, const void *pc);
extern u64 sim_seed;		/* of what varies; the same one repeats a run exactly */
u32 sim_random(void);
/* What the transfer of a line takes, this time. */
s64 sim_transfer(void);
/* The line of a lock is @cpu's from that time on. */
void sim_line_to(const void *p, unsigned int cpu, s64 at);
void sim_rmw(const void *p, const void *pc);

/* ---- lock.c ---- */

void sim_lock_name(const void *word, const char *name);
void sim_spin_lock(int *word);
void sim_spin_unlock(int *word);

/* ---- system.c ---- */

void sim_system_start(void);

/* ---- profile.c ---- */

enum sim_what { WHAT_LINE, WHAT_LOCK, WHAT_SLEEP, NR_WHATS };

/* The current task, or @t, has lost so much time at @site. @object: the line or lock. */
void prof_add(enum sim_what what, const void *site, const void *object, s64 ps);
/* A lock was held for so long, by the current task. */
void prof_held(const void *word, s64 ps);
void prof_name(const void *word, const char *name);
const char *prof_name_of(const void *word);
void prof_reset(void);
/* As members of a JSON object; @total: picoseconds of all CPUs. */
void prof_print(s64 total);

#endif
