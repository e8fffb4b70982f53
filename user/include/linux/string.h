/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_STRING_H
#define ZJ_USER_LINUX_STRING_H

#include <string.h>
#include <linux/types.h>

/* First byte of the @size at @p that is not @c, or NULL. */
static inline void *memchr_inv(const void *p, int c, size_t size)
{
	const u8 *byte = p;

	for (; size; byte++, size--)
		if (*byte != (u8)c)
			return (void *)byte;
	return NULL;
}

/* Copy as much of a string as fits, always with its 0. */
static inline void strscpy(char *dst, const char *src, size_t size)
{
	size_t len = strnlen(src, size - 1);

	memcpy(dst, src, len);
	dst[len] = 0;
}

/* Past the CPU's caches to persistent memory; durable after the next pmem_wmb(). */
void memcpy_flushcache(void *dst, const void *src, size_t n);

#endif
