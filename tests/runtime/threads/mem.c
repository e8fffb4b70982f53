// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: every object knows which cache it came from; what is left at the end is
 * counted here, and named by the address sanitizer.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include "threads.h"

#define MAGIC_LIVE	0x11fe0b1ec7ULL
#define MAGIC_FREE	0xf4eed0b1ec7ULL
#define POISON_FREE	0x6b
#define POISON_NEW	0x5a

/**
 * struct kmem_cache - a cache; only counts
 */
struct kmem_cache {
	char		name[48];
	size_t		size;		/* bytes an object */
	size_t		align;
	int		live;		/* objects in use; atomic */
};

/**
 * struct header - lies before every object
 */
struct header {
	u64		magic;		/* atomic */
	struct kmem_cache *cache;	/* NULL: kmalloc */
	size_t		size;		/* bytes of the object */
	void		*memory;	/* what malloc gave */
};

unsigned long zj_fail_alloc;	/* set while no task allocates */

static struct kmem_cache kmalloc_cache = { .name = "kmalloc" };

static struct header *header_of(const void *p)
{
	return (struct header *)((char *)p - sizeof(struct header));
}

static void *alloc(struct kmem_cache *cache, size_t size, size_t align,
		   gfp_t flags)
{
	size_t before = sizeof(struct header);
	char *memory, *p;

	if (flags & __GFP_RECLAIM)
		might_sleep();
	kl_point();
	align = max_t(size_t, align, 64);
	before = (before + align - 1) / align * align;
	memory = aligned_alloc(align, before + (size + align - 1) / align * align);
	if (!memory)
		kl_fail("out of memory");
	p = memory + before;
	memset(p, flags & __GFP_ZERO ? 0 : POISON_NEW, size);
	*header_of(p) = (struct header){ MAGIC_LIVE, cache, size, memory };
	__atomic_fetch_add(&cache->live, 1, __ATOMIC_RELAXED);
	return p;
}

/* Any object, from kmalloc or a cache. */
void thr_free(void *object)
{
	struct header *h = header_of(object);
	u64 was = __atomic_exchange_n(&h->magic, MAGIC_FREE, __ATOMIC_RELAXED);

	if (was != MAGIC_LIVE)
		kl_fail("%s", was == MAGIC_FREE ? "freed twice" :
			"freed what was never allocated");
	__atomic_fetch_sub(&h->cache->live, 1, __ATOMIC_RELAXED);
	memset(object, POISON_FREE, h->size);
	free(h->memory);
}

static bool fails(gfp_t flags)
{
	if (flags & __GFP_NOFAIL ||
	    !__atomic_load_n(&zj_fail_alloc, __ATOMIC_RELAXED))
		return false;
	return __atomic_fetch_sub(&zj_fail_alloc, 1, __ATOMIC_RELAXED) == 1;
}

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	if (fails(flags))
		return NULL;
	return alloc(&kmalloc_cache, n * size, 16, flags);
}

void zj_user_free(const void *p)
{
	kl_point();
	if (p)
		thr_free((void *)p);
}

/* ---- caches ---- */

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *))
{
	struct kmem_cache *cache = calloc(1, sizeof(*cache));

	strncpy(cache->name, name, sizeof(cache->name) - 1);
	cache->size = size;
	cache->align = align;
	return cache;
}

static void fail_if_live(const struct kmem_cache *cache)
{
	int live = __atomic_load_n(&cache->live, __ATOMIC_RELAXED);

	if (live)
		kl_fail("%d objects left in cache %s", live, cache->name);
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	if (!cache)
		return;
	fail_if_live(cache);
	free(cache);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	return alloc(cache, cache->size, cache->align, flags);
}

void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	kl_point();
	if (header_of(p)->cache != cache)
		kl_fail("freed to cache %s, but not from it", cache->name);
	thr_free(p);
}

void thr_memory_check(void)
{
	fail_if_live(&kmalloc_cache);
}
