/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_KERNEL_H
#define ZJ_USER_LINUX_KERNEL_H

#include <linux/types.h>

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#define ERR_PTR(err)	((void *)(long)(err))
#define PTR_ERR(p)	((long)(p))
#define IS_ERR(p)	((unsigned long)(p) > -4096UL)

#endif
