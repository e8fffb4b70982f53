/* SPDX-License-Identifier: GPL-2.0-only */
/* A disk in a file, and the buffers over it. */
#ifndef ZJ_THREADS_DISK_H
#define ZJ_THREADS_DISK_H

#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include "threads.h"

#define DISK_SECTOR	512u
#define DISK_THREADS	4

struct request;

/**
 * struct kl_disk - a disk
 */
struct kl_disk {
	int		fd;		/* its file */
	u32		nr;		/* blocks */
	u32		block;		/* bytes of one */
	bool		fua;		/* it knows FUA, else that is a flush */
	u8		*writing;	/* blocks with a write in flight; atomic */
	u32		writes;		/* write requests so far; atomic */
	u32		flushes;	/* flushes so far; atomic */
	u32		fail_write;	/* this one fails; 0: none; immutable */
	int		lock;		/* guards the queue */
	struct request	*first, **last;	/* what waits for a thread */
	bool		stopping;	/* lock */
	int		submitted;	/* a futex, counts requests; atomic */
	struct thr_task	*thread[DISK_THREADS];
	struct thr_buf	**bufs;		/* the device's buffer cache; atomic */
	struct inode	inode;		/* the device's */
	struct super_block sb;		/* of devices */
	struct block_device bdev;
};

/* Opens a file of @nr blocks of @block bytes; made if @create. */
struct kl_disk *disk_open(const char *path, u32 nr, u32 block, bool create);
/* Waits for all requests; no buffer is in use. */
void disk_close(struct kl_disk *disk);
/* Past everything, while nothing else uses the disk. */
void disk_read(struct kl_disk *disk, u32 block, void *data);
void disk_set(struct kl_disk *disk, u32 block, const void *data);

/* ---- buffer.c ---- */

/**
 * struct thr_buf - a buffer with its folio
 */
struct thr_buf {
	struct buffer_head bh;	/* first member */
	struct folio	folio;
	struct rcu_head	rcu;	/* lockless lookups */
};

struct buffer_head *buf_of_file(struct kl_disk *disk, struct inode *inode,
				u32 block);
void buf_free(struct buffer_head *bh);
/* Also makes @disk a block device with blocks of so many bytes. */
void buf_cache_init(struct kl_disk *disk, u32 block);
/* Frees all; fails if anything is still in use. */
void buf_cache_exit(struct kl_disk *disk);
/* Forget a clean buffer that is not in use; true if it was there. */
bool buf_reclaim(struct kl_disk *disk, u32 block);
/* Start writing a dirty buffer of the device, as the flusher does. */
void buf_write_back(struct kl_disk *disk, u32 block);
void folio_lock(struct folio *folio);
bool folio_trylock(struct folio *folio);
void folio_unlock(struct folio *folio);
/* Writes a folio of journaled data home as ext4 does; the folio is locked. */
void folio_write_back(struct folio *folio);

#endif
