// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>
#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "device.h"
#include "memory.h"

/* Before each allocation, as long as malloc()'s alignment wants. */
struct mem_head {
	_Alignas(16) size_t bytes;
};

unsigned long zj_fail_alloc;
struct mem_use mem_use;

/* Large buffers come and go: new memory for each of them costs more than all the rest. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1";
}

void mem_rewind(void)
{
	if (mem_use.now)
		dev_wrong("%zu bytes leaked", mem_use.now);
	memset(&mem_use, 0, sizeof(mem_use));
	kl_copied = 0;
	kl_asked = 0;
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
	/* Fill it, so that it is not zero by chance. */
	memset(head + 1, flags & __GFP_ZERO ? 0 : 0xa5,
	       flags & __GFP_ZERO ? bytes : min(bytes, (size_t)4096));
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
