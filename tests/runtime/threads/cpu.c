// SPDX-License-Identifier: GPL-2.0-only
/* CPUs are numbers that a task may lose at any point, where it also may have to pause. */
#include <sched.h>
#include <klayer/lock.h>
#include <linux/cpumask.h>
#include "threads.h"

#define NEVER	(1 << 30)

kl_thread_local int kl_budget;

static void migrate(struct thr_task *t)
{
	if (!__atomic_load_n(&t->pinned, __ATOMIC_RELAXED))
		__atomic_store_n(&t->cpu, thr_below(&t->rand, kl_nr_cpus),
				 __ATOMIC_RELAXED);
}

/* At a point: now and then let others in, also in the middle of a section. */
void kl_switch(void)
{
	struct thr_task *t = thr_current;

	if (!t || !thr_config.pause) {
		kl_budget = NEVER;
		return;
	}
	kl_budget = thr_below(&t->rand, 2 * thr_config.pause + 1);
	if (thr_one_in(&t->rand, 8))
		migrate(t);
	if (thr_one_in(&t->rand, 16))
		thr_sleep_ns(1000 + thr_below(&t->rand, 50000));
	else
		sched_yield();
}

int cond_resched(void)
{
	might_sleep();
	return 0;
}

unsigned int raw_smp_processor_id(void)
{
	struct thr_task *t = thr_current;

	kl_point();
	if (thr_one_in(&t->rand, 8))
		migrate(t);
	return __atomic_load_n(&t->cpu, __ATOMIC_RELAXED);
}

int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu)
{
	struct thr_task *t = (struct thr_task *)task;

	__atomic_store_n(&t->pinned, cpu != KL_ANY_CPU, __ATOMIC_RELAXED);
	if (cpu != KL_ANY_CPU)
		__atomic_store_n(&t->cpu, cpu, __ATOMIC_RELAXED);
	return 0;
}
