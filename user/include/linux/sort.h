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

/* The C library has it, but shows it to programs of GNU's only. */
void qsort_r(void *base, size_t num, size_t size,
	     int (*cmp)(const void *, const void *, void *), void *priv);

/* The same with something for the comparisons to know. */
static inline void sort_r(void *base, size_t num, size_t size,
			  int (*cmp)(const void *, const void *, const void *priv),
			  void (*swap)(void *, void *, int size, const void *priv),
			  const void *priv)
{
	assert(!swap);
	if (num)
		qsort_r(base, num, size, (int (*)(const void *, const void *, void *))cmp,
			(void *)priv);
}

#endif
