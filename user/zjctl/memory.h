/* SPDX-License-Identifier: GPL-2.0-only */
/* The persistent memory that a log is in (mount option journal_nvm=). */
#ifndef ZJCTL_MEMORY_H
#define ZJCTL_MEMORY_H

#include "nvm/nvm.h"
#include "zjctl.h"

/**
 * struct zx_memory - memory that is open: a device, or a copy of one in a file
 */
struct zx_memory {
	char	path[4096];
	int	fd;		/* claimed through it; -1: not open */
	u64	bytes;		/* of the device or file */
	const void *base;	/* all of it, mapped; NULL: not open */
	struct zj_nvm_super sb;	/* its super block, checked */
	struct zj_nvm_area area; /* what recovery wants to know */
};

#define ZX_NO_MEMORY	((struct zx_memory){ .fd = -1 })

#define ZX_NVM_OPTION	{ "nvm", required_argument, NULL, 'M' }
#define ZX_NVM_HELP							\
	"  --nvm=NVM    the persistent memory of journal_nvm=, or a copy of it in a file;\n" \
	"               not needed for one that is at /dev/pmem*\n"

/*
 * Opens the memory that @block0 names, if the log is in memory. @name: --nvm, or NULL:
 * look for it. @claim: exclude other users. Returns 0, or an exit code with a message;
 * zx_close_memory() must be called in either case.
 */
int zx_open_memory(struct zx_memory *m, const char *name, const struct ext_image *img,
		   struct zj_jbd2_super *block0, bool claim);
/* Any memory with a good superblock, of any file system. */
int zx_map_memory(struct zx_memory *m, const char *name, bool claim);
void zx_close_memory(struct zx_memory *m);

#endif /* ZJCTL_MEMORY_H */
