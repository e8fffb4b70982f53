/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_STDDEF_H
#define ZJ_USER_LINUX_STDDEF_H

#include <stddef.h>

#endif
