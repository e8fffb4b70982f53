/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_WAIT_BIT_H
#define ZJ_RUNTIME_LINUX_WAIT_BIT_H

#include <linux/wait.h>

#define wait_var_event(var, cond) \
	((void)kl_wait_event(&kl_var_queue, cond, var, KL_FOREVER))
#define wake_up_var(var)	kl_wake(&kl_var_queue, var)

#endif
