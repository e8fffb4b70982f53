// SPDX-License-Identifier: GPL-2.0-only
/*
 * A slab allocator: each thread has some free objects of each cache at hand, as each CPU
 * has in the kernel, and gets more from a slab that is its own for a while.  Slabs are aligned, so
 * that kfree() finds an object's cache, and stay until the end, so that an object's memory
 * is always one of its cache (SLAB_TYPESAFE_BY_RCU).
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "native.h"

#define MAX_CACHES	64
#define AT_HAND		64	/* free objects that a thread keeps at most */
#define BATCH		32	/* that it gets or gives back at once */
#define SLAB_BYTES	65536u
#define PAGE_BYTES	4096u
#define MAX_KEPT	16u	/* large objects of up to so many slabs are kept when freed */

/**
 * struct kmem_cache - objects of one size
 */
struct kmem_cache {
	u32		id;		/* of its objects at hand */
	u32		size;		/* bytes of an object */
	u32		align;
	spinlock_t	lock;		/* of what follows, and of its slabs */
	struct slab	*partial;	/* a list of slabs with free objects that no thread has */
};

/**
 * struct slab - the head of SLAB_BYTES, or of one large object
 */
struct slab {
	struct kmem_cache *cache;	/* NULL: a large object */
	size_t		size;		/* bytes of the large object */
	struct slab	*next;		/* of cache->partial; of free large objects */
	void		*free;		/* objects, through their first word */
	bool		taken;		/* it is a thread's, or in cache->partial */
};

/**
 * struct kept - large objects of one size that are free
 *
 * Memory from the system costs page faults, which the kernel's allocator has none of.
 */
struct kept {
	spinlock_t	lock;
	struct slab	*free;		/* lock; a list, by slab.next */
};

/**
 * struct at_hand - a thread's objects of one cache
 */
struct at_hand {
	u32		nr;
	struct slab	*slab;		/* where it gets more, as no other thread does */
	s64		live;		/* allocated less freed by this thread; may be negative */
	void		*object[AT_HAND];
};

/**
 * struct thread_mem - a thread's part of all; stays after the thread
 */
struct thread_mem {
	struct thread_mem *next;	/* of all threads' */
	s64		large;		/* bytes of large objects, as at_hand.live */
	struct at_hand	cache[MAX_CACHES];
};

unsigned long zj_fail_alloc;		/* no allocation fails here */

/* As kmalloc rounds. */
static const u32 sizes[] = { 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096 };

static struct kmem_cache caches[MAX_CACHES];
static u32 nr_caches;			/* atomic */
static struct kmem_cache *kmalloc_cache[ARRAY_SIZE(sizes)];
static u8 class_of[PAGE_BYTES / 8 + 1];	/* of the size, in units of 8 bytes */
static struct kept kept[MAX_KEPT + 1];	/* by the number of slabs */
static struct thread_mem *threads;	/* all, added only; atomic */
__thread struct thread_mem *mem_mine;

static struct kmem_cache *new_cache(u32 size, u32 align)
{
	u32 id = __atomic_fetch_add(&nr_caches, 1, __ATOMIC_RELAXED);
	struct kmem_cache *cache = &caches[id];

	if (id >= MAX_CACHES)
		kl_fail("too many caches");
	align = max(align, 8u);
	cache->id = id;
	cache->align = align;
	cache->size = (size + align - 1) / align * align;
	return cache;
}

__attribute__((__constructor__)) static void make_kmalloc(void)
{
	u32 class = 0;

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		kmalloc_cache[i] = new_cache(sizes[i], sizes[i] & -sizes[i]);
	for (u32 unit = 0; unit < ARRAY_SIZE(class_of); unit++) {
		class += unit * 8 > sizes[class];
		class_of[unit] = class;
	}
}

static noinline struct thread_mem *new_thread(void)
{
	struct thread_mem *m = calloc(1, sizeof(*m));

	m->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&threads, &m->next, m, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	mem_mine = m;
	return m;
}

static inline struct thread_mem *my_mem(void)
{
	return likely(mem_mine) ? mem_mine : new_thread();
}

static struct slab *new_slab(struct kmem_cache *cache)
{
	u32 at = (sizeof(struct slab) + cache->align - 1) / cache->align * cache->align;
	struct slab *slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES);

	if (!slab)
		kl_fail("out of memory");
	*slab = (struct slab){ .cache = cache };
	for (; at + cache->size <= SLAB_BYTES; at += cache->size) {
		void **p = (void **)((char *)slab + at);

		*p = slab->free;
		slab->free = p;
	}
	return slab;
}

static struct slab *slab_of(const void *p)
{
	return (struct slab *)((uintptr_t)p & ~((uintptr_t)SLAB_BYTES - 1));
}

/* A slab that no thread has; it is this one's from now on. Caller holds cache->lock. */
static struct slab *take_slab(struct kmem_cache *cache)
{
	struct slab *slab = cache->partial;

	if (slab)
		cache->partial = slab->next;
	else
		slab = new_slab(cache);
	slab->taken = true;
	return slab;
}

/*
 * From one slab at a time, so that objects side by side are one thread's, as they are one
 * CPU's in the kernel.
 */
static noinline void refill(struct kmem_cache *cache, struct at_hand *hand)
{
	spin_lock(&cache->lock);
	while (hand->nr < BATCH) {
		void **p = hand->slab ? hand->slab->free : NULL;

		if (!p) {
			if (hand->slab)
				hand->slab->taken = false;
			hand->slab = take_slab(cache);
			continue;
		}
		hand->slab->free = *p;
		hand->object[hand->nr++] = p;
	}
	spin_unlock(&cache->lock);
}

static noinline void give_back(struct kmem_cache *cache, struct at_hand *hand)
{
	spin_lock(&cache->lock);
	while (hand->nr > AT_HAND - BATCH) {
		void **p = hand->object[--hand->nr];
		struct slab *slab = slab_of(p);

		*p = slab->free;
		slab->free = p;
		if (slab->taken)
			continue;
		slab->taken = true;
		slab->next = cache->partial;
		cache->partial = slab;
	}
	spin_unlock(&cache->lock);
}

void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	struct at_hand *hand = &my_mem()->cache[cache->id];
	void *p;

	if (unlikely(!hand->nr))
		refill(cache, hand);
	hand->live++;
	p = hand->object[--hand->nr];
	if (flags & __GFP_ZERO)
		memset(p, 0, cache->size);
	return p;
}

void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	struct at_hand *hand = &my_mem()->cache[cache->id];

	if (unlikely(hand->nr == AT_HAND))
		give_back(cache, hand);
	hand->live--;
	hand->object[hand->nr++] = p;
}

static u32 slabs_of(size_t size)
{
	return (PAGE_BYTES + size + SLAB_BYTES - 1) / SLAB_BYTES;
}

static struct slab *get_kept(u32 slabs)
{
	struct slab *slab;

	if (slabs > MAX_KEPT)
		return NULL;
	spin_lock(&kept[slabs].lock);
	slab = kept[slabs].free;
	if (slab)
		kept[slabs].free = slab->next;
	spin_unlock(&kept[slabs].lock);
	return slab;
}

static void put_large(struct slab *slab)
{
	u32 slabs = slabs_of(slab->size);

	my_mem()->large -= slab->size;
	if (slabs > MAX_KEPT) {
		free(slab);
		return;
	}
	spin_lock(&kept[slabs].lock);
	slab->next = kept[slabs].free;
	kept[slabs].free = slab;
	spin_unlock(&kept[slabs].lock);
}

static void *get_large(size_t size, gfp_t flags)
{
	u32 slabs = slabs_of(size);
	struct slab *slab = get_kept(slabs);

	if (!slab)
		slab = aligned_alloc(SLAB_BYTES, (size_t)slabs * SLAB_BYTES);
	if (!slab)
		kl_fail("out of memory");
	*slab = (struct slab){ .size = size };
	my_mem()->large += size;
	if (flags & __GFP_ZERO)
		memset((char *)slab + PAGE_BYTES, 0, size);
	return (char *)slab + PAGE_BYTES;
}

void *zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	size_t bytes = n * size;

	if (bytes > PAGE_BYTES)
		return get_large(bytes, flags);
	return kmem_cache_alloc(kmalloc_cache[class_of[(bytes + 7) / 8]], flags);
}

void zj_user_free(const void *p)
{
	struct slab *slab = slab_of(p);

	if (!p)
		return;
	if (slab->cache)
		kmem_cache_free(slab->cache, (void *)p);
	else
		put_large(slab);
}

struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
				     unsigned int align, unsigned int flags,
				     void (*ctor)(void *))
{
	return new_cache(size, align);
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
}

u64 mem_bytes(void)
{
	s64 bytes = 0;

	for (struct thread_mem *m = threads; m; m = m->next) {
		bytes += m->large;
		for (u32 i = 0; i < nr_caches; i++)
			bytes += m->cache[i].live * caches[i].size;
	}
	return bytes;
}

void thr_memory_check(void)
{
}
