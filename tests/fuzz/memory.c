// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/crc32c.h>
#include <linux/slab.h>
#include "device.h"
#include "memory.h"

/* Before each allocation, as long as malloc()'s alignment wants. */
struct mem_head {
	_Alignas(16) size_t bytes;
};

unsigned long zj_fail_alloc;
struct mem_use mem_use;

void mem_rewind(void)
{
	if (mem_use.now)
		dev_wrong("%zu bytes leaked", mem_use.now);
	memset(&mem_use, 0, sizeof(mem_use));
}

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	struct mem_head *head;
	size_t bytes;

	if (zj_fail_alloc && !--zj_fail_alloc)
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	head = malloc(sizeof(*head) + bytes);
	if (!head)
		return NULL;
	head->bytes = bytes;
	/* Not zero by chance. */
	memset(head + 1, flags & __GFP_ZERO ? 0 : 0xa5, bytes);
	mem_use.allocs++;
	mem_use.now += bytes;
	if (mem_use.now > mem_use.peak)
		mem_use.peak = mem_use.now;
	return head + 1;
}

void zj_user_free(const void *p)
{
	struct mem_head *head = (struct mem_head *)p;

	if (!p)
		return;
	head--;
	mem_use.now -= head->bytes;
	free(head);
}

/* The linker puts these before crc32c() and zj_image_csum(): --wrap. */
u32 __real_crc32c(u32 crc, const void *buf, unsigned int len);
u32 __wrap_crc32c(u32 crc, const void *buf, unsigned int len);

u32 __wrap_crc32c(u32 crc, const void *buf, unsigned int len)
{
	mem_use.summed += len;
	return __real_crc32c(crc, buf, len);
}

u32 __real_zj_image_csum(u32 seed, const void *image, u32 block_size);
u32 __wrap_zj_image_csum(u32 seed, const void *image, u32 block_size);

u32 __wrap_zj_image_csum(u32 seed, const void *image, u32 block_size)
{
	mem_use.summed += block_size;
	return __real_zj_image_csum(seed, image, block_size);
}
