/* SPDX-License-Identifier: GPL-2.0-only */
/* A sorted array under the name of the kernel's tree. */
#ifndef ZJ_RUNTIME_LINUX_XARRAY_H
#define ZJ_RUNTIME_LINUX_XARRAY_H

#include <linux/slab.h>

struct xarray {
	struct kl_xa_entry *entries;	/* by index */
	unsigned int	nr;		/* in use */
	unsigned int	room;		/* allocated */
};

void xa_init(struct xarray *xa);
void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp);
/* Make room: a later xa_store() needs no memory. */
int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp);
void *xa_load(struct xarray *xa, unsigned long index);
void *xa_erase(struct xarray *xa, unsigned long index);
bool xa_empty(const struct xarray *xa);
void xa_destroy(struct xarray *xa);
/* First entry at *@index or later; *@index is where it was found. */
void *kl_xa_find(struct xarray *xa, unsigned long *index);

#define xa_for_each(xa, index, entry)					\
	for (index = 0, entry = kl_xa_find(xa, &index); entry;		\
	     index++, entry = kl_xa_find(xa, &index))

#endif
