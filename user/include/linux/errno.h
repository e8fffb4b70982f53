/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_ERRNO_H
#define ZJ_USER_LINUX_ERRNO_H

/* Not <errno.h>: that one comes here for the numbers itself. */
#include_next <linux/errno.h>

#endif
