// SPDX-License-Identifier: GPL-2.0-only
/* Memory for kernel code in user space, with failures on demand. */
#include <stdlib.h>
#include <linux/slab.h>

unsigned long zj_fail_alloc;

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	if (zj_fail_alloc && !--zj_fail_alloc)
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return flags & __GFP_ZERO ? calloc(1, bytes) : malloc(bytes);
}

void zj_user_free(const void *p)
{
	free((void *)p);
}
