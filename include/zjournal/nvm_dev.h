/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory for a log in persistent memory. kernel/nvm_dev.c provides it, or the program
 * that runs the journal in user space.
 */
#ifndef ZJOURNAL_NVM_DEV_H
#define ZJOURNAL_NVM_DEV_H

#include <linux/types.h>

/**
 * struct zj_nvm_map - memory that is mapped, all of it in one piece
 */
struct zj_nvm_map {
	void	*base;	/* NULL: not mapped */
	u64	size;	/* bytes */
	void	*host;	/* for the provider */
	/*
	 * Set by zj_nvm_open(): stores that were written back and fenced may still be in
	 * buffers that lose them with the power, until zj_nvm_flush() returns.
	 */
	bool	needs_flush;
	/*
	 * Set by the caller of zj_nvm_open(). The provider calls it when the memory is about
	 * to be taken away (@gone), or has lines that cannot be read any more. It may sleep;
	 * zj_nvm_begin() still succeeds meanwhile.
	 */
	void	(*lost)(struct zj_nvm_map *map, bool gone);
};

/*
 * Claims and maps the memory that @path names. Returns 0, or a negative error after a
 * message that explains it. The map has to be closed in either case.
 */
int zj_nvm_open(const char *path, struct zj_nvm_map *map);
void zj_nvm_close(struct zj_nvm_map *map);

/*
 * The memory may be accessed between these two only, because its driver may be unbound,
 * which waits for zj_nvm_end(). zj_nvm_begin() returns 0 and fills in @id for
 * zj_nvm_end(), or returns -ENODEV if the memory is gone for good.
 */
int zj_nvm_begin(struct zj_nvm_map *map, int *id);
void zj_nvm_end(int id);

/*
 * Makes all stores durable that were written back and fenced before. Returns 0 or a
 * negative error. To be called between zj_nvm_begin() and zj_nvm_end(); sleeps.
 */
int zj_nvm_flush(struct zj_nvm_map *map);

#endif /* ZJOURNAL_NVM_DEV_H */
