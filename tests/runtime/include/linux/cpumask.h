/* SPDX-License-Identifier: GPL-2.0-only */
/* A mask has one CPU here. */
#ifndef ZJ_RUNTIME_LINUX_CPUMASK_H
#define ZJ_RUNTIME_LINUX_CPUMASK_H

#include <linux/sched.h>

extern unsigned int kl_nr_cpus;

#define nr_cpu_ids		kl_nr_cpus
#define num_online_cpus()	kl_nr_cpus
#define cpu_online(cpu)		((cpu) < kl_nr_cpus)
#define cpumask_of(cpu)		(cpu)

#define KL_ANY_CPU		(~0u)	/* no mask at all */

int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu);

#endif
