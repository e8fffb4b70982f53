// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's tree as a table of chunks: writers lock it, readers do not, and an
 * entry is published with what is in it. Chunks stay until the end.
 */
#include <stdlib.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/xarray.h>
#include "threads.h"

#define CHUNK		1024u
#define CHUNKS		8192u

/**
 * struct kl_xa_entry - the table, in spite of its name in the header
 */
struct kl_xa_entry {
	int	lock;			/* of writers */
	/* Each NULL or CHUNK entries; an entry is NULL, RESERVED or a value. */
	void	**chunk[CHUNKS];	/* atomic */
};

static char reserved;
#define RESERVED	((void *)&reserved)

void xa_init(struct xarray *xa)
{
	*xa = (struct xarray){ .entries = calloc(1, sizeof(*xa->entries)) };
}

void xa_destroy(struct xarray *xa)
{
	for (u32 i = 0; i < CHUNKS; i++)
		free(xa->entries->chunk[i]);
	free(xa->entries);
}

static void **chunk_of(struct xarray *xa, unsigned long index)
{
	if (index / CHUNK >= CHUNKS)
		kl_fail("index %lu is too large for this layer", index);
	/* Consume: what is read next is read through it. */
	return __atomic_load_n(&xa->entries->chunk[index / CHUNK],
			       __ATOMIC_CONSUME);
}

/* Returns what was there; @entry NULL erases. xa's lock is held. */
static void *put(struct xarray *xa, unsigned long index, void *entry)
{
	void **chunk = chunk_of(xa, index), *old;

	if (!chunk && !entry)
		return NULL;
	if (!chunk) {
		chunk = calloc(CHUNK, sizeof(*chunk));
		__atomic_store_n(&xa->entries->chunk[index / CHUNK], chunk,
				 __ATOMIC_RELEASE);
	}
	old = chunk[index % CHUNK];
	if (entry == RESERVED && old)
		return old;
	__atomic_store_n(&chunk[index % CHUNK], entry, __ATOMIC_RELEASE);
	if (!old != !entry)
		__atomic_store_n(&xa->nr, xa->nr + (entry ? 1 : -1),
				 __ATOMIC_RELAXED);
	return old == RESERVED ? NULL : old;
}

static void *locked_put(struct xarray *xa, unsigned long index, void *entry)
{
	void *old;

	kl_point();
	thr_lock(&xa->entries->lock);
	old = put(xa, index, entry);
	thr_unlock(&xa->entries->lock);
	kl_point();
	return old;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	void **chunk, *entry = NULL;

	kl_point();
	chunk = chunk_of(xa, index);
	if (chunk)
		entry = __atomic_load_n(&chunk[index % CHUNK], __ATOMIC_CONSUME);
	return entry == RESERVED ? NULL : entry;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void **chunk = chunk_of(xa, index);

	if (gfp & __GFP_RECLAIM)
		might_sleep();
	else if (!chunk || !__atomic_load_n(&chunk[index % CHUNK],
					    __ATOMIC_RELAXED))
		kl_fail("xa_store without sleep at a place that is not reserved");
	return locked_put(xa, index, entry);
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	might_sleep();
	locked_put(xa, index, RESERVED);
	return 0;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	return locked_put(xa, index, NULL);
}

bool xa_empty(const struct xarray *xa)
{
	kl_point();
	return !__atomic_load_n(&xa->nr, __ATOMIC_RELAXED);
}

void *kl_xa_find(struct xarray *xa, unsigned long *index)
{
	for (; *index < CHUNK * CHUNKS; ++*index) {
		void *entry;

		if (!chunk_of(xa, *index)) {
			*index |= CHUNK - 1;
			continue;
		}
		entry = xa_load(xa, *index);
		if (entry)
			return entry;
	}
	return NULL;
}
