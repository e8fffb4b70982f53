/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_SCHED_ISOLATION_H
#define ZJ_RUNTIME_LINUX_SCHED_ISOLATION_H

#include <linux/cpumask.h>

#define housekeeping_cpumask(type)	KL_ANY_CPU
#define housekeeping_cpu(cpu, type)	((cpu) != kl_isolated_cpu)

extern unsigned int kl_isolated_cpu;	/* as isolcpus=; KL_ANY_CPU: none */

#endif
