/* SPDX-License-Identifier: GPL-2.0-only */
/* Inodes, super blocks, mappings: the parts that a journal uses. */
#ifndef ZJ_RUNTIME_LINUX_FS_H
#define ZJ_RUNTIME_LINUX_FS_H

#include <limits.h>
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/slab.h>
#include <linux/list.h>
#include <asm/byteorder.h>
#include <klayer/bug.h>

typedef u64 sector_t;
typedef u32 errseq_t;	/* counts errors */

struct block_device;
struct inode;

typedef struct {
	u8	b[16];
} uuid_t;

/**
 * struct super_block - a file system, or the one that block devices are in
 */
struct super_block {
	struct block_device *s_bdev;
	unsigned long	s_blocksize;
	unsigned char	s_blocksize_bits;
	uuid_t		s_uuid;
	bool		is_bdev;	/* ours: of block devices */
};

/**
 * struct address_space - the cached data of an inode or a device
 */
struct address_space {
	struct inode	*host;
	errseq_t	wb_err;
};

/**
 * struct inode - an inode; the sim's map is its owner's business
 */
struct inode {
	struct super_block *i_sb;
	loff_t		i_size;
	unsigned long	i_ino;
	struct address_space *i_mapping;
	struct address_space i_data;
	u64		(*map)(const struct inode *inode, u64 block);
	int		nr_put;		/* references that were given back */
};

static inline bool sb_is_blkdev_sb(const struct super_block *sb)
{
	return sb->is_bdev;
}

static inline errseq_t errseq_sample(const errseq_t *e)
{
	return __atomic_load_n(e, __ATOMIC_RELAXED);
}

static inline int errseq_check(const errseq_t *e, errseq_t since)
{
	return errseq_sample(e) == since ? 0 : -5;	/* EIO */
}

static inline int errseq_check_and_advance(errseq_t *e, errseq_t *since)
{
	int err = errseq_check(e, *since);

	*since = errseq_sample(e);
	return err;
}

int bmap(struct inode *inode, sector_t *block);
void iput(struct inode *inode);

#endif
