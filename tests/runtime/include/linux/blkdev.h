/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BLKDEV_H
#define ZJ_RUNTIME_LINUX_BLKDEV_H

#include <stdint.h>
#include <linux/fs.h>
#include <linux/cpumask.h>

typedef u32 blk_opf_t;

#define REQ_OP_READ	0u
#define REQ_OP_WRITE	1u
#define REQ_SYNC	0x100u
#define REQ_META	0x200u
#define REQ_PREFLUSH	0x400u
#define REQ_FUA		0x800u
#define REQ_IDLE	0x1000u

static inline bool op_is_write(blk_opf_t opf)
{
	return opf & REQ_OP_WRITE;
}

#define SECTOR_SHIFT	9
#define BIO_MAX_VECS	256u
#define bio_max_segs(nr)	min_t(unsigned int, nr, BIO_MAX_VECS)

/**
 * struct block_device - a simulated disk
 */
struct block_device {
	struct address_space *bd_mapping;
	struct kl_disk	*disk;		/* what is on it */
	u32		first;		/* the disk's block that is its block 0 */
};

struct bio;
typedef void bio_end_io_t(struct bio *bio);

/**
 * struct bio - one request
 */
struct bio {
	struct block_device *bi_bdev;
	blk_opf_t	bi_opf;
	unsigned short	bi_ioprio;
	const void	*bi_css;	/* NULL: the sending task's */
	struct {
		sector_t bi_sector;
	} bi_iter;
	void		*bi_private;
	bio_end_io_t	*bi_end_io;
	int		bi_status;	/* 0 or a negative errno */
	unsigned int	nr, room;	/* of vec */
	struct {
		void	*data;
		u32	len;		/* bytes */
	} vec[];
};

/* A page is named by its address. */
struct page;
#define virt_to_page(p)		((struct page *)((uintptr_t)(p) & ~4095UL))
#define offset_in_page(p)	((unsigned int)((uintptr_t)(p) & 4095))
#define is_vmalloc_addr(p)	false
#define vmalloc_to_page(p)	virt_to_page(p)

struct blk_plug {
	int	unused;
};

static inline void blk_start_plug(struct blk_plug *plug) { }
static inline void blk_finish_plug(struct blk_plug *plug) { }

struct bio *bio_alloc(struct block_device *bdev, unsigned short nr,
		      blk_opf_t opf, gfp_t gfp);
static inline void bio_init(struct bio *bio, struct block_device *bdev, void *vec,
			    unsigned short nr, blk_opf_t opf)
{
	*bio = (struct bio){ .bi_bdev = bdev, .bi_opf = opf };
}
static inline void bio_uninit(struct bio *bio) { }
int bio_add_page(struct bio *bio, struct page *page, unsigned int len,
		 unsigned int off);
#define __bio_add_page(bio, page, len, off) \
	((void)bio_add_page(bio, page, len, off))
void bio_put(struct bio *bio);
void submit_bio(struct bio *bio);
int submit_bio_wait(struct bio *bio);

#define blk_status_to_errno(s)	(s)

int blkdev_issue_flush(struct block_device *bdev);
int blkdev_issue_discard(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp);
int blkdev_issue_zeroout(struct block_device *bdev, sector_t sector,
			 sector_t nr, gfp_t gfp, unsigned int flags);
int sync_blockdev(struct block_device *bdev);
/* When what is dirty is written before anybody waits is the write-back's own business. */
static inline int sync_blockdev_nowait(struct block_device *bdev)
{
	return 0;
}

/* Every block may be in use. */
static inline void invalidate_bdev(struct block_device *bdev)
{
}

bool bdev_write_cache(struct block_device *bdev);
bool bdev_fua(struct block_device *bdev);
bool bdev_read_only(struct block_device *bdev);
loff_t bdev_nr_bytes(struct block_device *bdev);

#endif
