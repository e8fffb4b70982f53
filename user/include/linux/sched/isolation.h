/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_SCHED_ISOLATION_H
#define ZJ_USER_LINUX_SCHED_ISOLATION_H

#include <linux/cpumask.h>

#define housekeeping_cpumask(type)	KL_ANY_CPU

#endif
