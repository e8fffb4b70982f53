// SPDX-License-Identifier: GPL-2.0-only
/* Bios and block devices: what the back ends have in common. */
#include <klayer/bug.h>
#include <linux/blk-cgroup.h>
#include <linux/completion.h>
#include <linux/minmax.h>
#include "disk.h"	/* the back end's */

struct bio *bio_alloc(struct block_device *bdev, unsigned short nr,
		      blk_opf_t opf, gfp_t gfp)
{
	unsigned int room = min_t(unsigned int, nr, BIO_MAX_VECS);
	struct bio *bio;

	/* From a mempool: does not fail where it may wait. */
	bio = kzalloc(sizeof(*bio) + room * sizeof(bio->vec[0]),
		      gfp | __GFP_NOFAIL);
	bio->bi_bdev = bdev;
	bio->bi_opf = opf;
	bio->room = room;
	return bio;
}

int bio_add_page(struct bio *bio, struct page *page, unsigned int len,
		 unsigned int off)
{
	if (bio->nr == bio->room)
		return 0;
	if (len != bio->bi_bdev->disk->sb.s_blocksize)
		kl_fail("the disk takes whole blocks only");
	bio->vec[bio->nr].data = (char *)page + off;
	bio->vec[bio->nr++].len = len;
	return len;
}

void bio_put(struct bio *bio)
{
	kfree(bio);
}

static void wait_end_io(struct bio *bio)
{
	complete(bio->bi_private);
}

int submit_bio_wait(struct bio *bio)
{
	struct completion done;

	init_completion(&done);
	bio->bi_private = &done;
	bio->bi_end_io = wait_end_io;
	submit_bio(bio);
	wait_for_completion_io(&done);
	return bio->bi_status;
}

int blkdev_issue_flush(struct block_device *bdev)
{
	struct bio *bio = bio_alloc(bdev, 0, REQ_OP_WRITE | REQ_PREFLUSH,
				    GFP_NOFS);
	int err;

	/* At a mount, for the caller alone: whom it is charged to does not matter. */
	bio_associate_blkg_from_css(bio, blkcg_root_css);
	err = submit_bio_wait(bio);
	bio_put(bio);
	return err;
}

bool bdev_read_only(struct block_device *bdev)
{
	return false;
}

/* The simulator's disk may be two devices, and has its own. */
__attribute__((weak)) bool bdev_fua(struct block_device *bdev)
{
	return bdev->disk->fua;
}

__attribute__((weak)) loff_t bdev_nr_bytes(struct block_device *bdev)
{
	return (loff_t)bdev->disk->nr * bdev->disk->sb.s_blocksize;
}
