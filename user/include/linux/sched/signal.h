/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_SCHED_SIGNAL_H
#define ZJ_USER_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

/*
 * A program that is killed is gone, but for tests of what the kernel does then: the n-th
 * question from now on, and all after it, is answered so; 0: none.
 */
__attribute__((weak)) u64 kl_killed_in;
/* Questions so far. */
__attribute__((weak)) u64 kl_asked;

static inline bool fatal_signal_pending(struct task_struct *task)
{
	kl_asked++;
	if (kl_killed_in > 1)
		kl_killed_in--;
	else if (kl_killed_in)
		return true;
	return false;
}

#endif
