/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_ASM_BARRIER_H
#define ZJ_USER_ASM_BARRIER_H

/* What this task has written back, or stored past the caches, is durable after it. */
void pmem_wmb(void);

#endif
