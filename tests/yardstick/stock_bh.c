// SPDX-License-Identifier: GPL-2.0-only
/* What stock.h declares for buffers, over any runtime. */
#include "stock.h"

struct buffer_head *alloc_buffer_head(gfp_t gfp)
{
	struct buffer_head *bh = kzalloc(sizeof(*bh), gfp);

	init_waitqueue_head(&bh->wait);
	INIT_LIST_HEAD(&bh->b_assoc_buffers);
	return bh;
}

void free_buffer_head(struct buffer_head *bh)
{
	if (bh->b_count.counter || buffer_locked(bh))
		kl_fail("buffer head of block %llu is freed in use", bh->b_blocknr);
	kfree(bh);
}

static void end_bio(struct bio *bio)
{
	struct buffer_head *bh = bio->bi_private;
	int err = bio->bi_status;

	bio_put(bio);
	bh->b_end_io(bh, !err);
}

void submit_bh(blk_opf_t opf, struct buffer_head *bh)
{
	struct bio *bio = bio_alloc(bh->b_bdev, 1, opf, GFP_NOFS);

	if (!buffer_locked(bh) || !buffer_mapped(bh) || !bh->b_end_io)
		kl_fail("I/O on a buffer of block %llu that is not ready for it",
			bh->b_blocknr);
	bio->bi_iter.bi_sector = bh->b_blocknr * (bh->b_size >> SECTOR_SHIFT);
	bio->bi_private = bh;
	bio->bi_end_io = end_bio;
	bio_add_page(bio, virt_to_page(bh->b_data), bh->b_size,
		     offset_in_page(bh->b_data));
	submit_bio(bio);
}

void end_buffer_read_sync(struct buffer_head *bh, int uptodate)
{
	if (uptodate)
		set_buffer_uptodate(bh);
	else
		clear_buffer_uptodate(bh);
	unlock_buffer(bh);
	put_bh(bh);
}

void end_buffer_write_sync(struct buffer_head *bh, int uptodate)
{
	if (!uptodate)
		set_buffer_write_io_error(bh);
	end_buffer_read_sync(bh, uptodate);
}

/* The buffer is locked. */
static void start_read(struct buffer_head *bh, blk_opf_t opf)
{
	get_bh(bh);
	bh->b_end_io = end_buffer_read_sync;
	submit_bh(REQ_OP_READ | opf, bh);
}

int bh_read(struct buffer_head *bh, blk_opf_t opf)
{
	lock_buffer(bh);
	if (buffer_uptodate(bh)) {
		unlock_buffer(bh);
		return 1;
	}
	start_read(bh, opf);
	wait_on_buffer(bh);
	return buffer_uptodate(bh) ? 0 : -EIO;
}

void bh_read_nowait(struct buffer_head *bh, blk_opf_t opf)
{
	lock_buffer(bh);
	if (buffer_uptodate(bh))
		unlock_buffer(bh);
	else
		start_read(bh, opf);
}

void bh_readahead_batch(int nr, struct buffer_head *bhs[], blk_opf_t opf)
{
	for (int i = 0; i < nr; i++) {
		if (!trylock_buffer(bhs[i]))
			continue;
		if (buffer_uptodate(bhs[i]))
			unlock_buffer(bhs[i]);
		else
			start_read(bhs[i], opf);
	}
}
