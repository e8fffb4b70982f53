/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_IOPRIO_H
#define ZJ_RUNTIME_LINUX_IOPRIO_H

#include <linux/sched.h>

/* Calls that named a task, for tests; one for all objects. */
__attribute__((weak)) int kl_ioprio_calls;

static inline int set_task_ioprio(struct task_struct *task, int ioprio)
{
	kl_ioprio_calls += task && ioprio;
	return 0;
}

#endif
