/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the memory for a log comes from: kernel/nvm_dev.c, or the host of the
 * journal in user space.
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
	void	*host;	/* of whoever has mapped it */
	/*
	 * Set by zj_nvm_open(): what was written back and fenced may still be in buffers
	 * that lose it with the power, until zj_nvm_flush().
	 */
	bool	needs_flush;
	/*
	 * Set by who opens it: the memory is about to go (@gone), or has lines that
	 * cannot be read any more. May sleep; zj_nvm_begin() goes on to succeed meanwhile.
	 */
	void	(*lost)(struct zj_nvm_map *map, bool gone);
};

/*
 * Claim and map the memory that @path names; 0, or a negative error, which was
 * explained. The map is to be closed in any case.
 */
int zj_nvm_open(const char *path, struct zj_nvm_map *map);
void zj_nvm_close(struct zj_nvm_map *map);

/*
 * The memory is touched between these two only: its driver may be unbound, and waits for
 * the end. 0 with @id filled in, for zj_nvm_end(); or -ENODEV: it is gone for good.
 */
int zj_nvm_begin(struct zj_nvm_map *map, int *id);
void zj_nvm_end(int id);

/*
 * What was stored, written back and fenced before is durable on return; 0 or a negative
 * error. Between zj_nvm_begin() and zj_nvm_end(); sleeps.
 */
int zj_nvm_flush(struct zj_nvm_map *map);

#endif /* ZJOURNAL_NVM_DEV_H */
