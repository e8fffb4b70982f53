/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_RANDOM_H
#define ZJ_USER_LINUX_RANDOM_H

#include <linux/types.h>

u64 get_random_u64(void);

#endif
