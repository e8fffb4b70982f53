/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory and the checksums that recovery used; zj_fail_alloc works here too. */
#ifndef ZJ_FUZZ_MEMORY_H
#define ZJ_FUZZ_MEMORY_H

#include <stddef.h>

/**
 * struct mem_use - counted since mem_rewind(), as are kl_copied and kl_asked
 */
struct mem_use {
	size_t	now;		/* bytes allocated */
	size_t	peak;		/* the most that they were */
	unsigned long allocs;	/* calls */
	size_t	summed;		/* bytes that checksums of blocks went over */
};

extern struct mem_use mem_use;

void mem_rewind(void);

#endif
