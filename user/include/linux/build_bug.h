/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_BUILD_BUG_H
#define ZJ_USER_LINUX_BUILD_BUG_H

/* First, so that its static_assert does not replace ours later. */
#include <assert.h>
#undef static_assert
#define static_assert(expr, ...)	_Static_assert(expr, #expr)

#endif
