/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_SORT_H
#define ZJ_USER_LINUX_SORT_H

#include <assert.h>
#include <stdlib.h>
#include <linux/types.h>

/* The kernel's sort(); the C library needs no swap function, so none is taken. */
static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *),
			void (*swap)(void *, void *, int size))
{
	assert(!swap);
	if (num)
		qsort(base, num, size, cmp);
}

#endif
