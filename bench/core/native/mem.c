// SPDX-License-Identifier: GPL-2.0-only
/*
 * A slab allocator: each thread has some free objects of each cache at hand, as each CPU
 * has in the kernel, and gets more from a slab of its own, or as a batch that a thread had too
 * many of.  A batch is an array, so nobody reads objects that another thread wrote last while he
 * holds a lock.  Slabs are aligned, so that kfree() finds an object's cache, and stay until the end,
 * so that an object's memory is always one of its cache (SLAB_TYPESAFE_BY_RCU).
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
 * struct batch - BATCH free objects of a cache, or room for them
 */
struct batch {
	struct batch	*next;		/* in cache->full or cache->empty */
	void		*object[BATCH];
};

/**
 * struct kmem_cache - objects of one size
 */
struct kmem_cache {
	u32		id;		/* of its objects at hand */
	u32		size;		/* bytes of an object */
	u32		align;
	spinlock_t	lock;		/* of what follows */
	struct batch	*full;
	struct batch	*empty;
};

/**
 * struct slab - the head of SLAB_BYTES, or of one large object
 */
struct slab {
	struct kmem_cache *cache;	/* NULL: a large object */
	size_t		size;		/* bytes of the large object */
	struct slab	*next;		/* of free large objects */
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
	u32		left;		/* bytes of its slab that are no objects yet */
	char		*slab;		/* the end of the slab where it gets more, as nobody else does */
	struct batch	*spare;		/* an empty one, or NULL */
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

static struct slab *slab_of(const void *p)
{
	return (struct slab *)((uintptr_t)p & ~((uintptr_t)SLAB_BYTES - 1));
}

static void new_slab(struct kmem_cache *cache, struct at_hand *hand)
{
	u32 head = (sizeof(struct slab) + cache->align - 1) / cache->align * cache->align;
	struct slab *slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES);

	if (!slab)
		kl_fail("out of memory");
	*slab = (struct slab){ .cache = cache };
	hand->slab = (char *)slab + SLAB_BYTES;
	hand->left = SLAB_BYTES - head;
}

/* New objects are side by side, as those of one CPU are in the kernel. */
static void carve(struct kmem_cache *cache, struct at_hand *hand)
{
	while (hand->nr < BATCH) {
		if (hand->left < cache->size)
			new_slab(cache, hand);
		hand->object[hand->nr++] = hand->slab - hand->left;
		hand->left -= cache->size;
	}
}

static struct batch *pop(struct batch **list)
{
	struct batch *batch = *list;

	if (batch)
		*list = batch->next;
	return batch;
}

static void push(struct batch **list, struct batch *batch)
{
	batch->next = *list;
	*list = batch;
}

static noinline void refill(struct kmem_cache *cache, struct at_hand *hand)
{
	struct batch *batch;

	spin_lock(&cache->lock);
	batch = pop(&cache->full);
	if (batch && hand->spare)
		push(&cache->empty, hand->spare);
	spin_unlock(&cache->lock);
	if (!batch) {
		carve(cache, hand);
		return;
	}
	memcpy(hand->object, batch->object, sizeof(batch->object));
	hand->nr = BATCH;
	hand->spare = batch;
}

static struct batch *empty_batch(struct kmem_cache *cache, struct at_hand *hand)
{
	struct batch *batch = hand->spare;

	hand->spare = NULL;
	if (batch)
		return batch;
	spin_lock(&cache->lock);
	batch = pop(&cache->empty);
	spin_unlock(&cache->lock);
	if (!batch)
		batch = malloc(sizeof(*batch));
	if (!batch)
		kl_fail("out of memory");
	return batch;
}

static noinline void give_back(struct kmem_cache *cache, struct at_hand *hand)
{
	struct batch *batch = empty_batch(cache, hand);

	hand->nr -= BATCH;
	memcpy(batch->object, &hand->object[hand->nr], sizeof(batch->object));
	spin_lock(&cache->lock);
	push(&cache->full, batch);
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
