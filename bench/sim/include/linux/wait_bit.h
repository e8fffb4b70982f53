/* SPDX-License-Identifier: GPL-2.0-only */
/* As in the kernel: a table of queues, so that few variables share one. */
#ifndef ZJ_SIM_LINUX_WAIT_BIT_H
#define ZJ_SIM_LINUX_WAIT_BIT_H

#include <linux/wait.h>

wait_queue_head_t *sim_var_queue(const void *var);

#define wait_var_event(var, cond) \
	((void)kl_wait_event(sim_var_queue(var), cond, var, KL_FOREVER))
#define wake_up_var(var)						\
do {									\
	if (waitqueue_active(sim_var_queue(var)))			\
		kl_wake(sim_var_queue(var), var);			\
} while (0)

#endif
