/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_BITOPS_H
#define ZJ_USER_LINUX_BITOPS_H

#include <linux/types.h>

#define hweight32(w)	((unsigned int)__builtin_popcount(w))
#define hweight64(w)	((unsigned int)__builtin_popcountll(w))
#define __ffs(w)	((unsigned long)__builtin_ctzl(w))
#define __ffs64(w)	((unsigned long)__builtin_ctzll(w))

#endif
