/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_NATIVE_LINUX_KTIME_H
#define ZJ_NATIVE_LINUX_KTIME_H

#include_next <linux/ktime.h>

/* In the kernel it is read from memory, too. */
extern unsigned long kl_jiffies;	/* a thread counts it; atomic */
#undef jiffies
#define jiffies		__atomic_load_n(&kl_jiffies, __ATOMIC_RELAXED)

#endif
