/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_SLAB_H
#define ZJ_USER_LINUX_SLAB_H

#include <limits.h>
#include <stdlib.h>
#include <linux/types.h>

typedef unsigned int gfp_t;

#define __GFP_NOWARN	0u
#define __GFP_NORETRY	0u
#define __GFP_RETRY_MAYFAIL 0u
#define __GFP_ZERO	1u
#define __GFP_NOFAIL	2u
#define __GFP_RECLAIM	4u	/* may sleep */
#define KL_GFP_ALL	(__GFP_ZERO | __GFP_NOFAIL | __GFP_RECLAIM)
#define GFP_KERNEL	__GFP_RECLAIM
#define GFP_NOFS	__GFP_RECLAIM
#define GFP_ATOMIC	0u

/*
 * All memory comes through here, so that a test may make it fail: the n-th
 * allocation from now on fails if zj_fail_alloc is n; 0: none does.
 */
extern unsigned long zj_fail_alloc;
void *zj_user_alloc(size_t n, size_t size, gfp_t flags);
void zj_user_free(const void *p);

/* The kernel gives no more than this at once, however much there is. */
static inline void *zj_user_kvmalloc(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > INT_MAX)
		return NULL;
	return zj_user_alloc(1, bytes, flags);
}

#define kvmalloc(size, flags)		zj_user_kvmalloc(1, size, flags)
#define kvzalloc(size, flags)		zj_user_kvmalloc(1, size, (flags) | __GFP_ZERO)
#define kvmalloc_array(n, size, flags)	zj_user_kvmalloc(n, size, flags)
#define kvcalloc(n, size, flags)	zj_user_kvmalloc(n, size, (flags) | __GFP_ZERO)
#define kmalloc(size, flags)		zj_user_alloc(1, size, flags)
#define kzalloc(size, flags)		zj_user_alloc(1, size, (flags) | __GFP_ZERO)

static inline void kvfree(const void *p)
{
	zj_user_free(p);
}

static inline void kfree(const void *p)
{
	zj_user_free(p);
}

/* Caches: only with a scheduler (tests/runtime). */
struct kmem_cache;

#define SLAB_RECLAIM_ACCOUNT	0x20000u

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *));
/* Fails if objects are left. */
void kmem_cache_destroy(struct kmem_cache *cache);
void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
void kmem_cache_free(struct kmem_cache *cache, void *p);

#define kmem_cache_zalloc(c, flags)	kmem_cache_alloc(c, (flags) | __GFP_ZERO)
#define KMEM_CACHE(s, flags) \
	kmem_cache_create(#s, sizeof(struct s), __alignof__(struct s), flags, NULL)

#endif
