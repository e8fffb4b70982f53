/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's name for what libxxhash has. */
#ifndef ZJ_USER_LINUX_XXHASH_H
#define ZJ_USER_LINUX_XXHASH_H

/* Its "fallthrough" is the library's own affair. */
#pragma push_macro("fallthrough")
#undef fallthrough
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma pop_macro("fallthrough")

#define xxh64(data, len, seed)	XXH64(data, len, seed)

#endif
