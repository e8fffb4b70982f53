/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_STDDEF_H
#define ZJ_RUNTIME_LINUX_STDDEF_H

#include <stddef.h>

#endif
