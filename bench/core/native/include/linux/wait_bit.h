/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_NATIVE_LINUX_WAIT_BIT_H
#define ZJ_NATIVE_LINUX_WAIT_BIT_H

#include_next <linux/wait_bit.h>

/* As in the kernel: no lock where nobody waits. The caller has a barrier. */
#undef wake_up_var
#define wake_up_var(var)						\
do {									\
	if (waitqueue_active(&kl_var_queue))				\
		kl_wake(&kl_var_queue, var);				\
} while (0)

#endif
