// SPDX-License-Identifier: GPL-2.0-only
/* The buffer cache of a device, in folios of one block each. */
#include <string.h>
#include <stdlib.h>
#include <klayer/bug.h>
#include "disk.h"

void buf_init(struct sim_buf *buf, struct folio *folio, void *data)
{
	struct buffer_head *bh = &buf->bh;

	bh->b_this_page = bh;
	bh->b_folio = folio;
	bh->b_size = DISK_BLOCK;
	bh->b_data = data;
	init_waitqueue_head(&bh->wait);
}

static struct buffer_head *new_buf(struct kl_disk *disk, u32 block)
{
	struct sim_buf *buf = kzalloc(sizeof(*buf), GFP_NOFS | __GFP_NOFAIL);
	struct buffer_head *bh = &buf->bh;

	buf_init(buf, &buf->folio, aligned_alloc(DISK_BLOCK, DISK_BLOCK));
	bh->b_blocknr = block;
	bh->b_bdev = &disk->bdev;
	bh->b_state = 1UL << BH_Mapped;
	memset(bh->b_data, 0xdb, DISK_BLOCK);
	init_waitqueue_head(&buf->folio.wait);
	buf->folio.mapping = disk->bdev.bd_mapping;
	buf->folio.private = bh;
	buf->folio.size = DISK_BLOCK;
	return bh;
}

void buf_free(struct buffer_head *bh)
{
	if (bh->b_count.counter || bh->b_private ||
	    bh->b_state & (1UL << BH_Lock))
		kl_fail("buffer of block %llu is in use at its end: count %d, state %#lx",
			bh->b_blocknr, bh->b_count.counter, bh->b_state);
	free(bh->b_data);
	kfree(bh);
}

void buf_cache_init(struct kl_disk *disk)
{
	disk->bufs = calloc(disk->nr, sizeof(*disk->bufs));
}

void buf_cache_exit(struct kl_disk *disk)
{
	for (u32 i = 0; i < disk->nr; i++) {
		if (!disk->bufs[i])
			continue;
		wait_on_buffer(&disk->bufs[i]->bh);
		buf_free(&disk->bufs[i]->bh);
	}
	memset(disk->bufs, 0, disk->nr * sizeof(*disk->bufs));
}

/* ---- references ---- */

void put_bh(struct buffer_head *bh)
{
	if (atomic_add_return(-1, &bh->b_count) < 0)
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

struct buffer_head *__find_get_block(struct block_device *bdev, sector_t block,
				     unsigned int size)
{
	struct sim_buf *buf;

	might_sleep();
	if (block >= bdev->disk->nr)
		kl_fail("buffer of block %llu, beyond the disk", block);
	buf = bdev->disk->bufs[block];
	if (!buf)
		return NULL;
	buf->bh.b_count.counter++;
	return &buf->bh;
}

struct buffer_head *__getblk(struct block_device *bdev, sector_t block,
			     unsigned int size)
{
	struct buffer_head *bh = __find_get_block(bdev, block, size), *new;

	if (bh)
		return bh;
	new = new_buf(bdev->disk, block);
	bh = __find_get_block(bdev, block, size);
	if (bh) {
		buf_free(new);
		return bh;
	}
	bdev->disk->bufs[block] = (struct sim_buf *)new;
	new->b_count.counter++;
	return new;
}

bool buf_reclaim(struct kl_disk *disk, u32 block)
{
	struct sim_buf *buf = disk->bufs[block];
	unsigned long busy = 1UL << BH_Dirty | 1UL << BH_Lock;

	if (!buf || buf->bh.b_count.counter || buf->bh.b_private ||
	    buf->bh.b_state & busy)
		return false;
	disk->bufs[block] = NULL;
	buf_free(&buf->bh);
	return true;
}

/* ---- I/O ---- */

void lock_buffer(struct buffer_head *bh)
{
	might_sleep();
	while (test_set_buffer_locked(bh))
		wait_event(bh->wait, !buffer_locked(bh));
}

void unlock_buffer(struct buffer_head *bh)
{
	if (!buffer_locked(bh))
		kl_fail("buffer of block %llu is unlocked, but was not locked",
			bh->b_blocknr);
	clear_buffer_locked(bh);
	wake_up(&bh->wait);
}

void wait_on_buffer(struct buffer_head *bh)
{
	might_sleep();
	wait_event(bh->wait, !buffer_locked(bh));
}

void mark_buffer_dirty(struct buffer_head *bh)
{
	if (!buffer_uptodate(bh) && !buffer_write_io_error(bh))
		kl_fail("buffer of block %llu is dirty, but not up to date",
			bh->b_blocknr);
	set_buffer_dirty(bh);
}

static void end_buffer(struct bio *bio)
{
	struct buffer_head *bh = bio->bi_private;

	if (bio->bi_status && bio->bi_opf & REQ_OP_WRITE) {
		set_buffer_write_io_error(bh);
		/* The folio's mapping, the device's or a file's. */
		if (bh->b_folio->mapping)
			bh->b_folio->mapping->wb_err++;
		clear_buffer_uptodate(bh);
	} else if (!bio->bi_status) {
		set_buffer_uptodate(bh);
	}
	bio_put(bio);
	unlock_buffer(bh);
	put_bh(bh);
}

/* The buffer is locked, and unlocked at the end. */
static void submit_bh(struct buffer_head *bh, blk_opf_t opf)
{
	struct bio *bio;

	if (!bh->b_bdev || !buffer_mapped(bh))
		kl_fail("I/O on an unmapped buffer, block %llu", bh->b_blocknr);
	bio = bio_alloc(bh->b_bdev, 1, opf, GFP_NOFS);
	bio->bi_iter.bi_sector = bh->b_blocknr * (DISK_BLOCK / DISK_SECTOR);
	bio->bi_private = bh;
	bio->bi_end_io = end_buffer;
	bio_add_page(bio, virt_to_page(bh->b_data), DISK_BLOCK,
		     offset_in_page(bh->b_data));
	get_bh(bh);
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
	submit_bh(bh, REQ_OP_READ);
	wait_on_buffer(bh);
	if (buffer_uptodate(bh))
		return bh;
	put_bh(bh);
	return NULL;
}

void write_dirty_buffer(struct buffer_head *bh, blk_opf_t opf)
{
	lock_buffer(bh);
	if (test_clear_buffer_dirty(bh))
		submit_bh(bh, REQ_OP_WRITE | opf);
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
	submit_bh(bh, REQ_OP_WRITE | opf);
	wait_on_buffer(bh);
	return buffer_uptodate(bh) ? 0 : -EIO;
}

int buf_write_locked(struct buffer_head *bh)
{
	clear_buffer_dirty(bh);
	submit_bh(bh, REQ_OP_WRITE);
	wait_on_buffer(bh);
	return buffer_uptodate(bh) ? 0 : -EIO;
}

void buf_write_back(struct kl_disk *disk, u32 block)
{
	struct buffer_head *bh = __find_get_block(&disk->bdev, block, DISK_BLOCK);

	if (!bh)
		return;
	if (buffer_dirty(bh))
		write_dirty_buffer(bh, 0);
	put_bh(bh);
}

int sync_blockdev(struct block_device *bdev)
{
	struct kl_disk *disk = bdev->disk;
	errseq_t before = bdev->bd_mapping->wb_err;

	for (u32 i = 0; i < disk->nr; i++)
		if (disk->bufs[i])
			buf_write_back(disk, i);
	for (u32 i = 0; i < disk->nr; i++) {
		struct buffer_head *bh;

		if (!disk->bufs[i])
			continue;
		bh = &disk->bufs[i]->bh;
		get_bh(bh);
		wait_on_buffer(bh);
		put_bh(bh);
	}
	return before == bdev->bd_mapping->wb_err ? 0 : -EIO;
}
