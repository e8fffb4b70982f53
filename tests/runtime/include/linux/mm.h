/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_MM_H
#define ZJ_RUNTIME_LINUX_MM_H

#include <linux/pagemap.h>

/* Pages; so few that data which can be read again is not kept. */
static inline long si_mem_available(void)
{
	return 256;
}

/* Pages: 4 GiB, no limit to small logs. A test may change it; all files share one value. */
__attribute__((weak)) unsigned long kl_totalram_pages = 1UL << 20;

static inline unsigned long totalram_pages(void)
{
	return kl_totalram_pages;
}

#endif
