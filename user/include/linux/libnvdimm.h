/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_LIBNVDIMM_H
#define ZJ_USER_LINUX_LIBNVDIMM_H

#include <linux/types.h>

/* Write lines back from the CPU's caches; durable after the next pmem_wmb(). */
void arch_wb_cache_pmem(void *addr, size_t size);

#endif
