/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_YARDSTICK_NAP_H
#define ZJ_YARDSTICK_NAP_H

#include <linux/types.h>

/* Lets so much virtual time pass for this task, while others run. */
void nap(s64 ns);

#endif
