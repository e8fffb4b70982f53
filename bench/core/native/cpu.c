// SPDX-License-Identifier: GPL-2.0-only
/* CPUs are numbers that tasks are given; jiffies are counted by a thread. */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include "native.h"

__thread unsigned int kl_cpu;
unsigned long kl_jiffies;

static bool stopping;	/* atomic */
static struct thr_task *ticker;

/* Where lanes' threads run is left to the kernel, as it is where stock's runs. */
int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu)
{
	return 0;
}

int cond_resched(void)
{
	return 0;
}

static int tick(void *arg)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		__atomic_store_n(&kl_jiffies, ktime_get() / NSEC_PER_JIFFY,
				 __ATOMIC_RELAXED);
		thr_sleep_ns(NSEC_PER_JIFFY);
	}
	return 0;
}

void native_start(unsigned int cpus)
{
	struct thr_config config = { .seed = 1, .cpus = cpus };

	kl_jiffies = ktime_get() / NSEC_PER_JIFFY;
	thr_start(&config);
	ticker = thr_spawn(tick, NULL, "ticker");
}

void native_end(void)
{
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	thr_join(ticker);
	thr_end();
}
