// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel has for each CPU, or in tables: RCU, timers, queues of variables, jiffies. */
#include <stdint.h>
#include <stdlib.h>
#include <klayer/bug.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait_bit.h>
#include "native.h"
#include "sim.h"

#define GRACE		(5000000 * PS)	/* from one grace period to the next */
#define TICK		(NSEC_PER_JIFFY * PS)
#define VAR_QUEUES	256u
#define TIMER_NS	40		/* of mod_timer() */

/* ---- jiffies ---- */

unsigned long kl_jiffies;

static void tick(void *arg)
{
	kl_jiffies++;
	sim_event(sim_current->clock + TICK, SIM_SYSTEM, tick, NULL);
}

/* ---- queues of variables ---- */

static wait_queue_head_t *var_queue;

wait_queue_head_t *sim_var_queue(const void *var)
{
	return &var_queue[(uintptr_t)var * 0x9e3779b97f4a7c15ULL >> 56];
}

/* ---- starting threads ---- */

int layer_wake_up_process(struct task_struct *task);

int wake_up_process(struct task_struct *task)
{
	struct sim_task *t = (struct sim_task *)task;

	if (t->state != SIM_NEW)
		return layer_wake_up_process(task);
	sim_wake(t);
	return 1;
}

/* ---- RCU ---- */

__thread struct kl_reader *kl_reader;
u64 kl_period = 1;

static struct kl_reader *readers;
static struct rcu_head *queue;		/* since the last grace period began */
static struct rcu_head *waiting;	/* for this one to end */
static u64 begun;

struct kl_reader *kl_new_reader(void)
{
	struct kl_reader *r = sim_arena(64, sizeof(*r));

	r->next = readers;
	readers = r;
	return kl_reader = r;
}

void kl_kfree_rcu(struct rcu_head *head, void *object)
{
	/* A batch frees it later, on this CPU. */
	sim_spend(2 * cost_of(alloc));
	head->object = object;
	head->next = queue;
	queue = head;
}

static bool all_have_left(void)
{
	for (struct kl_reader *r = readers; r; r = r->next)
		if (r->seen && r->seen < begun)
			return false;
	return true;
}

static void end_of_grace(void)
{
	while (waiting) {
		struct rcu_head *next = waiting->next;

		kfree(waiting->object);
		waiting = next;
	}
}

static void grace(void *arg)
{
	if (all_have_left()) {
		end_of_grace();
		waiting = queue;
		queue = NULL;
		begun = ++kl_period;
	}
	sim_event(sim_current->clock + GRACE, SIM_SYSTEM, grace, NULL);
}

void rcu_barrier(void)
{
	while (queue || waiting)
		thr_sleep_ns(GRACE / PS);
}

/* ---- timers ---- */

/**
 * struct arming - one arming of a timer; only the last one counts
 */
struct arming {
	struct timer_list *timer;
	u64		number;
};

static u64 armings;

void timer_setup(struct timer_list *timer, void (*function)(struct timer_list *),
		 unsigned int flags)
{
	*timer = (struct timer_list){ .function = function };
}

static void fire(void *arg)
{
	struct arming *a = arg;

	if (a->timer->armed == a->number) {
		a->timer->armed = 0;
		a->timer->function(a->timer);
	}
	free(a);
}

void mod_timer(struct timer_list *timer, unsigned long expires)
{
	struct arming *a = malloc(sizeof(*a));

	sim_spend(TIMER_NS * PS);
	sim_touch(timer, sizeof(*timer), true, __builtin_return_address(0));
	if (timer->dead)
		return;
	timer->armed = ++armings;
	*a = (struct arming){ timer, timer->armed };
	sim_event(max_t(s64, (s64)expires * TICK, sim_current->clock), sim_current->cpu, fire, a);
}

void timer_shutdown_sync(struct timer_list *timer)
{
	timer->dead = true;
	timer->armed = 0;
}

void del_timer_sync(struct timer_list *timer)
{
	sim_spend(TIMER_NS * PS);
	timer->armed = 0;
}

void sim_system_start(void)
{
	var_queue = sim_arena(64, VAR_QUEUES * sizeof(*var_queue));
	for (u32 i = 0; i < VAR_QUEUES; i++)
		init_waitqueue_head(&var_queue[i]);
	kl_jiffies = ktime_get() / NSEC_PER_JIFFY;
	sim_event(sim_current->clock + TICK, SIM_SYSTEM, tick, NULL);
	sim_event(sim_current->clock + GRACE, SIM_SYSTEM, grace, NULL);
}

/* ---- what the layer's files define or call, and nothing here does ---- */

struct timespec;
int sim_nanosleep(const struct timespec *ts, struct timespec *left);
void kl_spin_slowly(unsigned int *turn);

int sim_nanosleep(const struct timespec *ts, struct timespec *left)
{
	kl_fail("a real sleep");
}

/* The allocator's locks: nothing else runs while it does. */
void kl_spin_slowly(unsigned int *turn)
{
	kl_fail("a lock of the allocator is held by another task");
}
