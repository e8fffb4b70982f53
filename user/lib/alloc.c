// SPDX-License-Identifier: GPL-2.0-only
/* Memory for kernel code in user space, with failures on demand. */
#include <stdlib.h>
#include <linux/slab.h>

unsigned long zj_fail_alloc;

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;
	void *p;

	if (zj_fail_alloc && !--zj_fail_alloc)
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	if (flags & __GFP_ZERO)
		return calloc(1, bytes);
	/* Large memory begins with a page, as in the kernel: devices read into it. */
	return bytes < 4096 || posix_memalign(&p, 4096, bytes) ? malloc(bytes) : p;
}

void zj_user_free(const void *p)
{
	free((void *)p);
}
