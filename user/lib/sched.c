// SPDX-License-Identifier: GPL-2.0-only
/* For programs without a scheduler. */
#include <linux/sched.h>

int cond_resched(void)
{
	return 0;
}
