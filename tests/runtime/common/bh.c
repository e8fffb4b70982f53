// SPDX-License-Identifier: GPL-2.0-only
/* Buffer heads: what the back ends have in common. */
#include <stdlib.h>
#include <klayer/bug.h>
#include <linux/sched/isolation.h>
#include "disk.h"	/* the back end's */
#include "bh.h"

unsigned int kl_isolated_cpu = KL_ANY_CPU;

void buf_cache_init(struct kl_disk *disk, u32 block)
{
	disk->inode.i_sb = &disk->sb;
	disk->inode.i_mapping = &disk->inode.i_data;
	disk->inode.i_data.host = &disk->inode;
	disk->sb.is_bdev = true;
	disk->sb.s_blocksize = block;
	disk->bdev.bd_mapping = &disk->inode.i_data;
	disk->bdev.disk = disk;
	disk->bufs = calloc(disk->nr, sizeof(*disk->bufs));
}

/* ---- references ---- */

void put_bh(struct buffer_head *bh)
{
	if (kl_atomic_add(-1, &bh->b_count, __ATOMIC_RELEASE) < 0)
		kl_fail("buffer of block %llu is put once too often",
			bh->b_blocknr);
}

void __brelse(struct buffer_head *bh)
{
	put_bh(bh);
}

void brelse(struct buffer_head *bh)
{
	if (bh)
		put_bh(bh);
}

void bforget(struct buffer_head *bh)
{
	if (!bh)
		return;
	clear_buffer_dirty(bh);
	put_bh(bh);
}

/* ---- I/O ---- */

void lock_buffer(struct buffer_head *bh)
{
	might_sleep();
	while (kl_bit(&bh->b_state, BH_Lock, 1, __ATOMIC_ACQUIRE))
		wait_event(bh->wait, !buffer_locked(bh));
}

void (*kl_buffer_read)(struct buffer_head *bh);

static void end_buffer(struct bio *bio)
{
	struct buffer_head *bh = bio->bi_private;

	if (bio->bi_status && bio->bi_opf & REQ_OP_WRITE) {
		set_buffer_write_io_error(bh);
		/* The folio's mapping, the device's or a file's. */
		if (bh->b_folio->mapping)
			__atomic_fetch_add(&bh->b_folio->mapping->wb_err, 1,
					   __ATOMIC_RELAXED);
		clear_buffer_uptodate(bh);
	} else if (!bio->bi_status) {
		if (kl_buffer_read && !(bio->bi_opf & REQ_OP_WRITE))
			kl_buffer_read(bh);
		set_buffer_uptodate(bh);
	}
	bio_put(bio);
	unlock_buffer(bh);
	put_bh(bh);
}

struct bio *buf_bio(struct buffer_head *bh, blk_opf_t opf)
{
	struct bio *bio = bio_alloc(bh->b_bdev, 1, opf, GFP_NOFS);

	bio->bi_iter.bi_sector = bh->b_blocknr * (bh->b_size >> SECTOR_SHIFT);
	bio_add_page(bio, virt_to_page(bh->b_data), bh->b_size,
		     offset_in_page(bh->b_data));
	get_bh(bh);
	return bio;
}

void buf_submit(struct buffer_head *bh, blk_opf_t opf)
{
	struct bio *bio;

	if (!bh->b_bdev || !buffer_mapped(bh))
		kl_fail("I/O on an unmapped buffer, block %llu", bh->b_blocknr);
	bio = buf_bio(bh, opf);
	bio->bi_private = bh;
	bio->bi_end_io = end_buffer;
	submit_bio(bio);
}

struct buffer_head *__bread(struct block_device *bdev, sector_t block,
			    unsigned int size)
{
	struct buffer_head *bh = __getblk(bdev, block, size);

	if (buffer_uptodate(bh))
		return bh;
	lock_buffer(bh);
	if (buffer_uptodate(bh)) {
		unlock_buffer(bh);
		return bh;
	}
	buf_submit(bh, REQ_OP_READ);
	wait_on_buffer(bh);
	/* Pairs with end_buffer(), as __bread() does with the wait's fast path. */
	if (buffer_uptodate(bh))
		return bh;
	put_bh(bh);
	return NULL;
}

void write_dirty_buffer(struct buffer_head *bh, blk_opf_t opf)
{
	lock_buffer(bh);
	if (test_clear_buffer_dirty(bh))
		buf_submit(bh, REQ_OP_WRITE | opf);
	else
		unlock_buffer(bh);
}

int __sync_dirty_buffer(struct buffer_head *bh, blk_opf_t opf)
{
	lock_buffer(bh);
	if (!test_clear_buffer_dirty(bh)) {
		unlock_buffer(bh);
		return 0;
	}
	clear_buffer_write_io_error(bh);
	buf_submit(bh, REQ_OP_WRITE | opf);
	wait_on_buffer(bh);
	return buffer_uptodate(bh) ? 0 : -EIO;
}

void buf_write_back(struct kl_disk *disk, u32 block)
{
	struct buffer_head *bh = __find_get_block(&disk->bdev, block,
						  disk->sb.s_blocksize);

	if (!bh)
		return;
	if (buffer_dirty(bh))
		write_dirty_buffer(bh, 0);
	put_bh(bh);
}
