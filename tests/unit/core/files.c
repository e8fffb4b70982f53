// SPDX-License-Identifier: GPL-2.0-only
/* Files: inodes with data that the journal has to do with. */
#include "fixture.h"

void file_init(struct file *file)
{
	*file = (struct file){ };
	kit_inode(&fx.kit, &file->inode, 20);
	zj_journal_init_jinode(&file->jinode, &file->inode);
}

struct buffer_head *page_bh(struct file *file, u32 i)
{
	return &file->page->buf[i]->bh;
}

void file_page(struct file *file, u32 block)
{
	file->page = page_new(fx.disk, &file->inode);
	page_buffers(file->page);
	for (u32 i = 0; i < PAGE_BUFS; i++) {
		page_map(file->page, i, block + i);
		set_buffer_uptodate(page_bh(file, i));
	}
}

void put_page_block(handle_t *h, struct file *file, u32 i, u8 val)
{
	struct buffer_head *bh = page_bh(file, i);

	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	memset(bh->b_data, val, DISK_BLOCK);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
}

void log_block(handle_t *h, u32 block, u8 val)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	memset(bh->b_data, val, DISK_BLOCK);
	assert_int_equal(zj_journal_dirty_file_block(h, bh, false), 0);
	brelse(bh);
	own(NULL);
}

void file_exit(struct file *file)
{
	struct folio *folio = &file->page->folio;

	folio_lock(folio);
	assert_true(try_to_free_buffers(folio));
	folio_unlock(folio);
	page_free(file->page);
}
