/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_KTHREAD_H
#define ZJ_RUNTIME_LINUX_KTHREAD_H

#include <linux/sched.h>
#include <linux/cpumask.h>

struct task_struct *kthread_create(int (*fn)(void *), void *arg,
				   const char *fmt, ...);
bool kthread_should_stop(void);
int kthread_stop(struct task_struct *task);

#define kthread_run(fn, arg, fmt, ...)					\
({									\
	struct task_struct *__task = kthread_create(fn, arg, fmt, ##__VA_ARGS__); \
	if (!IS_ERR(__task))						\
		wake_up_process(__task);				\
	__task;								\
})

#endif
