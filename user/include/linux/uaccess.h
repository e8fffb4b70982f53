/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_UACCESS_H
#define ZJ_USER_LINUX_UACCESS_H

#include <linux/string.h>
#include <linux/types.h>

/* A byte of memory that cannot be read, for tests; NULL: none. One for all objects. */
__attribute__((weak)) const void *kl_poison;
/* Bytes that were copied, for tests that bound them. */
__attribute__((weak)) u64 kl_copied;

/* Returns the number of bytes not copied. */
static inline unsigned long copy_mc_to_kernel(void *to, const void *from, unsigned int len)
{
	unsigned long good = (const u8 *)kl_poison - (const u8 *)from;

	if (!kl_poison || good >= len)
		good = len;
	memcpy(to, from, good);
	kl_copied += good;
	return len - good;
}

#endif
