/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_VMALLOC_H
#define ZJ_USER_LINUX_VMALLOC_H

#include <linux/slab.h>

/* Of any size; freed by kvfree(). */
#define __vmalloc(size, flags)	zj_user_alloc(1, size, flags)

#endif
