/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_IOPRIO_H
#define ZJ_USER_LINUX_IOPRIO_H

#include <linux/sched.h>

static inline int set_task_ioprio(struct task_struct *task, int ioprio)
{
	return 0;
}

#endif
