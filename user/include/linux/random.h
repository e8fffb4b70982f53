/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_RANDOM_H
#define ZJ_USER_LINUX_RANDOM_H

#include <stdlib.h>
#include <sys/random.h>
#include <linux/types.h>

u64 get_random_u64(void);

/* True randomness everywhere: for what shows in no result. */
static inline u32 get_random_u32(void)
{
	u32 val;

	if (getrandom(&val, sizeof(val), 0) != sizeof(val))
		abort();
	return val;
}

#endif
