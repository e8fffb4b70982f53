/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_HASH_H
#define ZJ_RUNTIME_LINUX_HASH_H

#include <linux/types.h>

static inline u32 hash_64(u64 val, unsigned int bits)
{
	return (val * 0x9e3779b97f4a7c15ULL) >> (64 - bits);
}

#endif
