// SPDX-License-Identifier: GPL-2.0-only
/* A file of journaled data. */
#include "journaled.h"

struct file file;

int invalidate(size_t offset, size_t length, tid_t tid)
{
	struct folio *folio = &file.page->folio;
	int err;

	folio_lock(folio);
	err = zj_journal_invalidate_folio(fx.journal, folio, offset, length, tid);
	folio_unlock(folio);
	return err;
}

int invalidate_all(tid_t tid)
{
	return invalidate(0, PAGE_BUFS * DISK_BLOCK, tid);
}

bool reclaim(void)
{
	struct folio *folio = &file.page->folio;
	bool ok;

	folio_lock(folio);
	ok = zj_journal_try_to_free_buffers(fx.journal, folio);
	folio_unlock(folio);
	return ok;
}

/* Writes the first block of the file in one handle. */
tid_t change_file(u32 lane, u8 val)
{
	handle_t *h = start(lane, 2);
	tid_t tid = h->h_transaction->t_tid;

	put_page_block(h, &file, 0, val);
	stop(h);
	return tid;
}

void open_file(void)
{
	file_init(&file);
	file_page(&file, DATA);
}

struct buffer_head *open_committed_file(void)
{
	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
	return page_bh(&file, 0);
}

void close_file(void)
{
	file_exit(&file);
	close_journal();
}

/* The buffer has no mapping any more, and is not dirty. */
void expect_void(const struct buffer_head *bh)
{
	assert_int_equal(bh->b_state, BIT(BH_Uptodate));
	assert_null(bh->b_bdev);
	assert_null(bh->b_private);
}
