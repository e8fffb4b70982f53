/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Persistent memory for programs: a file or device, mapped.  The kernel's functions
 * for it, memcpy_flushcache() and so on, work on any mapping.
 *
 * Where the mapping reaches the memory itself (MAP_SYNC: a file with DAX), caches
 * are written back as in the kernel; else it is the page cache, and pmem_wmb() writes
 * what was stored to the file.
 */
#ifndef ZJ_USER_KLAYER_PMEM_H
#define ZJ_USER_KLAYER_PMEM_H

#include <linux/types.h>
#include <asm/barrier.h>
#include <linux/libnvdimm.h>
#include <linux/string.h>

#define PMEM_READ_ONLY	1	/* no stores */
#define PMEM_NO_SYNC	2	/* outlives the process only, not the machine */

/**
 * struct pmem_map - a mapped file; many may be in use
 */
struct pmem_map {
	u8		*addr;
	u64		size;
	bool		dax;		/* the memory itself, no page cache */
	int		flags;		/* PMEM_* */
	u64		from, to;	/* bytes that the next fence has to sync */
	int		err;		/* of a sync, negative; the first one */
	struct pmem_map	*next;
};

/* Map all of a file; 0 or a negative errno. */
int pmem_map(struct pmem_map *map, const char *path, int flags);
/* Returns map->err. */
int pmem_unmap(struct pmem_map *map);

#endif
