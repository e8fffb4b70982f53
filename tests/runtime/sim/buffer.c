// SPDX-License-Identifier: GPL-2.0-only
/* The buffer cache of a device, in folios of one block each. */
#include <string.h>
#include <stdlib.h>
#include <klayer/bug.h>
#include "../common/bh.h"
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

static struct buffer_head *new_buf(struct block_device *bdev, u32 block)
{
	struct kl_disk *disk = bdev->disk;
	struct sim_buf *buf = kzalloc(sizeof(*buf), GFP_NOFS | __GFP_NOFAIL);
	struct buffer_head *bh = &buf->bh;

	buf_init(buf, &buf->folio, aligned_alloc(DISK_BLOCK, DISK_BLOCK));
	bh->b_blocknr = block;
	bh->b_bdev = bdev;
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

struct buffer_head *__find_get_block(struct block_device *bdev, sector_t block,
				     unsigned int size)
{
	struct sim_buf *buf;

	might_sleep();
	if (block >= bdev_nr_bytes(bdev) / DISK_BLOCK)
		return NULL;
	buf = bdev->disk->bufs[bdev->first + block];
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
	if (block >= bdev_nr_bytes(bdev) / DISK_BLOCK)
		kl_fail("buffer of block %llu, beyond the device", block);
	new = new_buf(bdev, block);
	bh = __find_get_block(bdev, block, size);
	if (bh) {
		buf_free(new);
		return bh;
	}
	bdev->disk->bufs[bdev->first + block] = (struct sim_buf *)new;
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

int buf_write_locked(struct buffer_head *bh)
{
	clear_buffer_dirty(bh);
	buf_submit(bh, REQ_OP_WRITE);
	wait_on_buffer(bh);
	return buffer_uptodate(bh) ? 0 : -EIO;
}

int sync_blockdev(struct block_device *bdev)
{
	struct kl_disk *disk = bdev->disk;
	errseq_t before = bdev->bd_mapping->wb_err;

	u32 nr = disk->split ?: disk->nr;	/* the second device has no dirty buffers */

	for (u32 i = 0; i < nr; i++)
		if (disk->bufs[i])
			buf_write_back(disk, i);
	for (u32 i = 0; i < nr; i++) {
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
