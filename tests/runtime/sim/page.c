// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios of files, with two buffers each, so that one can be truncated in part.
 * Buffers come and go; the data is the page's.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include "disk.h"

#define page_of(f)	container_of(f, struct sim_page, folio)

struct sim_page *page_new(struct kl_disk *disk, struct inode *inode)
{
	struct sim_page *page = kzalloc(sizeof(*page), GFP_NOFS | __GFP_NOFAIL);
	size_t bytes = PAGE_BUFS * DISK_BLOCK;

	page->disk = disk;
	page->data = aligned_alloc(bytes, bytes);
	memset(page->data, 0, bytes);
	page->folio.mapping = inode->i_mapping;
	page->folio.size = bytes;
	init_waitqueue_head(&page->folio.wait);
	return page;
}

void page_buffers(struct sim_page *page)
{
	if (page->folio.private)
		return;
	for (u32 i = 0; i < PAGE_BUFS; i++) {
		page->buf[i] = kzalloc(sizeof(*page->buf[i]),
				       GFP_NOFS | __GFP_NOFAIL);
		buf_init(page->buf[i], &page->folio, page->data + i * DISK_BLOCK);
	}
	for (u32 i = 0; i < PAGE_BUFS; i++)
		page->buf[i]->bh.b_this_page =
			&page->buf[(i + 1) % PAGE_BUFS]->bh;
	page->folio.private = &page->buf[0]->bh;
}

void page_map(struct sim_page *page, u32 i, u32 block)
{
	struct buffer_head *bh = &page->buf[i]->bh;

	bh->b_bdev = &page->disk->bdev;
	bh->b_blocknr = block;
	set_buffer_mapped(bh);
}

void page_free(struct sim_page *page)
{
	if (page->users || page->folio.private || page->folio.locked ||
	    page->folio.writeback)
		kl_fail("a page of a file is in use at its end");
	free(page->data);
	kfree(page);
}

static bool busy(const struct buffer_head *bh)
{
	return bh->b_count.counter ||
	       bh->b_state & (1UL << BH_Dirty | 1UL << BH_Lock);
}

bool try_to_free_buffers(struct folio *folio)
{
	struct sim_page *page = page_of(folio);

	if (folio->locked != current)
		kl_fail("buffers are freed of a folio that is not locked");
	if (!folio->private)
		return true;
	if (folio->writeback)
		return false;
	for (u32 i = 0; i < PAGE_BUFS; i++)
		if (busy(&page->buf[i]->bh))
			return false;
	for (u32 i = 0; i < PAGE_BUFS; i++) {
		if (page->buf[i]->bh.b_private)
			kl_fail("buffer of block %llu is freed with its journal head",
				page->buf[i]->bh.b_blocknr);
		kfree(page->buf[i]);
		page->buf[i] = NULL;
	}
	folio->private = NULL;
	return true;
}

/* ---- locks and I/O ---- */

bool folio_trylock(struct folio *folio)
{
	kl_point();
	if (folio->locked)
		return false;
	folio->locked = current;
	return true;
}

void folio_lock(struct folio *folio)
{
	might_sleep();
	if (folio->locked == current)
		kl_fail("folio is locked twice");
	wait_event(folio->wait, folio_trylock(folio));
}

void folio_unlock(struct folio *folio)
{
	if (folio->locked != current)
		kl_fail("folio is unlocked by somebody else");
	folio->locked = NULL;
	wake_up(&folio->wait);
	kl_point();
}

void folio_wait_writeback(struct folio *folio)
{
	wait_event(folio->wait, !folio_test_writeback(folio));
}

/**
 * struct write_back - writes of one folio; freed with the last
 */
struct write_back {
	struct sim_page	*page;
	int		pending;	/* bios in flight */
};

static void end_page(struct bio *bio)
{
	struct write_back *wb = bio->bi_private;
	struct sim_page *page = wb->page;

	for (u32 i = 0; i < PAGE_BUFS; i++) {
		struct buffer_head *bh = &page->buf[i]->bh;

		if (bio->vec[0].data != bh->b_data)
			continue;
		if (bio->bi_status)
			set_buffer_write_io_error(bh);
		clear_buffer_async_write(bh);
		put_bh(bh);
	}
	if (bio->bi_status && page->folio.mapping)
		page->folio.mapping->wb_err++;
	bio_put(bio);
	if (--wb->pending)
		return;
	page->folio.writeback = false;
	wake_up(&page->folio.wait);
	kfree(wb);
}

static void submit(struct write_back *wb, struct buffer_head *bh)
{
	struct bio *bio = bio_alloc(bh->b_bdev, 1, REQ_OP_WRITE, GFP_NOFS);

	bio->bi_iter.bi_sector = bh->b_blocknr * (DISK_BLOCK / DISK_SECTOR);
	bio->bi_private = wb;
	bio->bi_end_io = end_page;
	bio_add_page(bio, virt_to_page(bh->b_data), DISK_BLOCK,
		     offset_in_page(bh->b_data));
	submit_bio(bio);
}

void page_write_back(struct sim_page *page)
{
	struct buffer_head *todo[PAGE_BUFS];
	struct write_back *wb;
	u32 n = 0;

	/* The next store through a mapping faults again. */
	WRITE_ONCE(page->writable, false);
	if (!page->folio.private || page->folio.writeback)
		return;
	for (u32 i = 0; i < PAGE_BUFS; i++) {
		struct buffer_head *bh = &page->buf[i]->bh;

		if (!buffer_dirty(bh) || !buffer_mapped(bh))
			continue;
		get_bh(bh);
		set_buffer_async_write(bh);
		if (test_clear_buffer_dirty(bh)) {
			todo[n++] = bh;
			continue;
		}
		/* Another task took the dirty bit, so there is nothing to write. */
		clear_buffer_async_write(bh);
		put_bh(bh);
	}
	if (!n)
		return;
	wb = kzalloc(sizeof(*wb), GFP_NOFS | __GFP_NOFAIL);
	wb->page = page;
	wb->pending = n;
	WRITE_ONCE(page->folio.writeback, true);
	for (u32 i = 0; i < n; i++)
		submit(wb, todo[i]);
}
