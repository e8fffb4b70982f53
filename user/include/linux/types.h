/* SPDX-License-Identifier: GPL-2.0-only */
/* The C library's kernel types, and the short names that kernel code uses. */
#ifndef ZJ_USER_LINUX_TYPES_H
#define ZJ_USER_LINUX_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/compiler.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#ifndef U32_MAX
#define U32_MAX	((u32)~0U)
#define U64_MAX	((u64)~0ULL)
#endif

#endif
