// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: every object knows where it came from, so that leaks, double frees and
 * writes to freed memory are found.  Freed memory is filled with a pattern and
 * kept for a while; with the address sanitizer it goes back at once instead.
 *
 * What the kernel may refuse is refused on demand; what it may not is checked to
 * be something that it can promise: small, and asked for where it may wait.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include "sim.h"

#define MAGIC_LIVE	0x11fe0b1ec7ULL
#define MAGIC_FREE	0xf4eed0b1ec7ULL
#define POISON_FREE	0x6b
#define POISON_NEW	0x5a
#ifdef __SANITIZE_ADDRESS__
#define QUARANTINE	0
#else
#define QUARANTINE	512
#endif

/**
 * struct kmem_cache - a cache; only counts
 */
struct kmem_cache {
	char		name[48];
	size_t		size;		/* bytes an object */
	size_t		align;
	int		live;		/* objects in use */
};

/**
 * struct header - lies before every object
 */
struct header {
	u64		magic;
	struct kmem_cache *cache;	/* NULL: kmalloc */
	size_t		size;		/* bytes of the object */
	void		*memory;	/* what malloc gave */
	void		*from;		/* return address of the allocation */
	struct list_head link;		/* all live objects */
};

unsigned long zj_fail_alloc;
void (*sim_reclaim)(void);

static u32 fail_in;		/* refusable allocations until one fails; 0: never */
static u32 fail_every;		/* how many until the next one */

static int nr_caches;
static LIST_HEAD(live);
static struct header *quarantine[QUARANTINE + 1];
static unsigned int quarantine_at;

static struct header *header_of(const void *p)
{
	return (struct header *)((char *)p - sizeof(struct header));
}

void sim_fail_allocations(u32 n)
{
	fail_in = n;
	fail_every = n;
}

/* The failures get rarer, so that a task that tries again succeeds in the end. */
bool sim_alloc_fails(gfp_t flags)
{
	if (flags & __GFP_NOFAIL)
		return false;
	if (zj_fail_alloc && !--zj_fail_alloc)
		return true;
	if (!sim_running || !fail_in || --fail_in)
		return false;
	fail_every *= 2;
	fail_in = fail_every;
	return true;
}

static void check_nofail(size_t size, gfp_t flags)
{
	if (!(flags & __GFP_NOFAIL))
		return;
	if (!(flags & __GFP_RECLAIM))
		kl_fail("an allocation must not fail, but may not wait either");
	if (size > 2 * PAGE_SIZE)
		kl_fail("an allocation of %zu bytes must not fail: too large",
			size);
}

static void *alloc(struct kmem_cache *cache, size_t size, size_t align,
		   gfp_t flags, void *from)
{
	size_t before = sizeof(struct header);
	struct header *h;
	char *memory, *p;

	if (flags & ~KL_GFP_ALL)
		kl_fail("an allocation with flags %#x", flags);
	check_nofail(size, flags);
	if (flags & __GFP_RECLAIM) {
		might_sleep();
		if (sim_running && sim_reclaim)
			sim_reclaim();
	}
	kl_point();
	align = max_t(size_t, align, 64);
	before = (before + align - 1) / align * align;
	memory = aligned_alloc(align, before + (size + align - 1) / align * align);
	if (!memory)
		kl_fail("out of memory");
	p = memory + before;
	if (flags & __GFP_ZERO)
		memset(p, 0, size);
	else if (sim_running)
		memset(p, POISON_NEW, size);
	h = header_of(p);
	*h = (struct header){ MAGIC_LIVE, cache, size, memory, from, };
	list_add(&h->link, &live);
	if (cache)
		cache->live++;
	return p;
}

static void check_poison(struct header *h)
{
	unsigned char *p = (void *)(h + 1);

	if (!h->size || (p[0] == POISON_FREE && !memcmp(p, p + 1, h->size - 1)))
		return;
	for (size_t i = 0; i < h->size; i++)
		if (p[i] != POISON_FREE)
			kl_fail("write to freed memory, %zu bytes from %p at +%zu",
				h->size, h->from, i);
}

static void release(struct header *h)
{
	/* Recovery after a cut runs alone: the sanitizer's builds look at it. */
	if (QUARANTINE && sim_running) {
		struct header **slot;

		memset(h + 1, POISON_FREE, h->size);
		slot = &quarantine[quarantine_at++ % (QUARANTINE + 1)];
		if (*slot) {
			check_poison(*slot);
			free((*slot)->memory);
		}
		*slot = h;
	} else {
		free(h->memory);
	}
}

/* Any object, from kmalloc or a cache. */
void sim_free(void *object)
{
	struct header *h = header_of(object);

	if (h->magic != MAGIC_LIVE)
		kl_fail("%s", h->magic == MAGIC_FREE ? "freed twice" :
			"freed what was never allocated");
	h->magic = MAGIC_FREE;
	list_del(&h->link);
	if (h->cache)
		h->cache->live--;
	release(h);
}

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	if (sim_alloc_fails(flags))
		return NULL;
	return alloc(NULL, n * size, 16, flags, __builtin_return_address(0));
}

void zj_user_free(const void *p)
{
	kl_point();
	if (p)
		sim_free((void *)p);
}

/* ---- caches ---- */

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *))
{
	struct kmem_cache *cache;

	if (!size || flags & ~SLAB_RECLAIM_ACCOUNT)
		kl_fail("cache %s: objects of %u bytes, flags %#x", name, size, flags);
	if (sim_alloc_fails(GFP_KERNEL))
		return NULL;
	nr_caches++;
	cache = calloc(1, sizeof(*cache));
	strncpy(cache->name, name, sizeof(cache->name) - 1);
	cache->size = size;
	cache->align = align;
	return cache;
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	if (!cache)
		return;
	sim_rcu_drain();
	if (cache->live)
		kl_fail("%d objects left in cache %s", cache->live, cache->name);
	nr_caches--;
	free(cache);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	if (sim_alloc_fails(flags))
		return NULL;
	return alloc(cache, cache->size, cache->align, flags,
		     __builtin_return_address(0));
}

void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	kl_point();
	if (header_of(p)->cache != cache)
		kl_fail("freed to cache %s, but not from it", cache->name);
	sim_free(p);
}

/* After the last cache is gone. */
void sim_caches_check(void)
{
	if (nr_caches)
		kl_fail("%d caches left", nr_caches);
}

/* Fails if an object is left; empties the quarantine as well. */
void sim_memory_check(void)
{
	struct header *h;

	list_for_each_entry(h, &live, link)
		kl_fail("leak: %zu bytes, allocated from %p", h->size, h->from);
	for (int i = 0; QUARANTINE && i <= QUARANTINE; i++) {
		if (quarantine[i]) {
			check_poison(quarantine[i]);
			free(quarantine[i]->memory);
		}
		quarantine[i] = NULL;
	}
}
