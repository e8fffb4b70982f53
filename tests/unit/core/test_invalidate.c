// SPDX-License-Identifier: GPL-2.0-only
/* invalidate.c: folios of journaled data that are truncated or reclaimed. */
#include "fixture.h"

#define DATA	600

static struct file file;

static int invalidate(size_t offset, size_t length, tid_t tid)
{
	struct folio *folio = &file.page->folio;
	int err;

	folio_lock(folio);
	err = zj_journal_invalidate_folio(fx.journal, folio, offset, length, tid);
	folio_unlock(folio);
	return err;
}

static int invalidate_all(tid_t tid)
{
	return invalidate(0, PAGE_BUFS * DISK_BLOCK, tid);
}

static bool reclaim(void)
{
	struct folio *folio = &file.page->folio;
	bool ok;

	folio_lock(folio);
	ok = zj_journal_try_to_free_buffers(fx.journal, folio);
	folio_unlock(folio);
	return ok;
}

/* One handle that writes the first block of the file. */
static tid_t change_file(u32 lane, u8 val)
{
	handle_t *h = start(lane, 2);
	tid_t tid = h->h_transaction->t_tid;

	put_page_block(h, &file, 0, val);
	stop(h);
	return tid;
}

static void open_file(void)
{
	file_init(&file);
	file_page(&file, DATA);
}

static void close_file(void)
{
	file_exit(&file);
	close_journal();
}

static void folio_of_a_running_transaction_is_dropped(void)
{
	struct log log;

	OPEN();
	open_file();
	change_file(0, 1);
	assert_int_equal(invalidate_all(0), 0);
	assert_null(file.page->folio.private);
	commit(0);
	log_read(&log);
	assert_null(log_image(&log, 2, DATA));
	log_free(&log);
	page_buffers(file.page);
	close_file();
}

static void folio_being_committed_is_unfiled_once_valid(void)
{
	struct buffer_head *bh;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	tid = change_file(0, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	assert_int_equal(invalidate_all(tid), 0);
	assert_true(buffer_freed(bh));
	assert_true(buffer_jbd(bh));
	assert_non_null(file.page->folio.private);
	release();
	settle();
	assert_false(buffer_freed(bh));
	assert_false(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	assert_false(buffer_mapped(bh));
	assert_null(bh->b_bdev);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(DATA, 0), 0);
	close_file();
}

static void part_of_a_folio_being_committed_is_busy(void)
{
	tid_t tid;

	OPEN();
	open_file();
	tid = change_file(0, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), -EBUSY);
	assert_true(buffer_mapped(page_bh(&file, 0)));
	release();
	settle();
	/* Valid now, the truncation with it. */
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
	assert_false(buffer_mapped(page_bh(&file, 0)));
	assert_true(buffer_mapped(page_bh(&file, 1)));
	close_file();
}

static void part_of_a_running_folio_goes_the_rest_stays(void)
{
	struct log log;
	handle_t *h;

	OPEN();
	open_file();
	h = start(0, 2);
	put_page_block(h, &file, 0, 1);
	put_page_block(h, &file, 1, 2);
	stop(h);
	assert_int_equal(invalidate(DISK_BLOCK, DISK_BLOCK, 0), 0);
	assert_false(buffer_mapped(page_bh(&file, 1)));
	commit(0);
	log_read(&log);
	assert_non_null(log_image(&log, 2, DATA));
	assert_null(log_image(&log, 2, DATA + 1));
	log_free(&log);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(DATA), 1);
	close_file();
}

/* Hazard 9: what the truncation would expose must stay replayable until then. */
static void older_image_is_kept_until_the_truncation_is_valid(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	h = start(1, 1);
	put(h, BLOCK, 7);
	assert_int_equal(invalidate_all(h->h_transaction->t_tid), 0);
	assert_true(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	/* The image is in the log only, so the log must keep it. */
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(val_after_crash(DATA), 1);
	stop(h);
	commit(1);
	assert_false(buffer_jbd(bh));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(DATA, 0), 0);
	close_file();
}

static void older_image_goes_at_once_when_the_truncation_is_valid(void)
{
	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
	assert_int_equal(invalidate_all(0), 0);
	assert_null(file.page->folio.private);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->trimmed, 2);
	assert_int_equal(writes_of(DATA, 0), 0);
	page_buffers(file.page);
	close_file();
}

static void truncation_that_froze_before_the_image_keeps_nothing(void)
{
	tid_t truncation;

	OPEN();
	open_file();
	truncation = change(1, BLOCK, 1);
	fx.hold_lane[1] = true;
	freeze(1);
	settle();
	change_file(0, 1);
	commit(0);
	assert_int_equal(invalidate_all(truncation), 0);
	assert_null(file.page->folio.private);
	page_buffers(file.page);
	close_file();
}

static void image_over_an_older_valid_one_leaves_a_mark(void)
{
	struct buffer_head *bh;
	struct log log;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	tid = change_file(0, 2);
	assert_int_equal(invalidate_all(tid), 0);
	assert_true(zj_part_test(bh2jh(bh)->newest, ZJ_PART_FORGET));
	assert_int_equal(val_after_crash(DATA), 1);
	commit(0);
	log_read(&log);
	assert_null(log_image(&log, 3, DATA));
	log_free(&log);
	assert_false(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	close_file();
}

/* Its part goes at the commit; the older image must not go home after that. */
static void truncated_block_that_was_only_touched_stays_clean(void)
{
	struct buffer_head *bh;
	handle_t *h;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	assert_true(buffer_dirty(bh));
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	put(h, BLOCK, 1);
	stop(h);
	freeze(0);
	assert_int_equal(invalidate_all(tid), 0);
	settle();
	assert_false(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	close_file();
}

/* It was touched after its home write failed, and not changed: it is still owed. */
static void image_that_was_lost_goes_home_again(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	fail_next_write();
	folio_lock(&file.page->folio);
	page_write_back(file.page);
	folio_unlock(&file.page->folio);
	settle();
	assert_true(buffer_write_io_error(bh));
	assert_false(buffer_dirty(bh));
	h = start(0, 2);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	put(h, BLOCK, 1);
	stop(h);
	commit(0);
	assert_true(buffer_dirty(bh));
	assert_false(reclaim());
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(DATA), 1);
	close_file();
}

static void folio_waits_for_its_home_write(void)
{
	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
	assert_true(buffer_dirty(page_bh(&file, 0)));
	fx.hold_block = DATA;
	folio_lock(&file.page->folio);
	page_write_back(file.page);
	folio_unlock(&file.page->folio);
	settle();
	/* In flight is not home. */
	assert_false(reclaim());
	assert_true(buffer_jbd(page_bh(&file, 0)));
	release();
	settle();
	assert_true(reclaim());
	assert_null(file.page->folio.private);
	page_buffers(file.page);
	close_file();
}

static void folio_that_is_not_home_is_not_reclaimed(void)
{
	OPEN();
	open_file();
	change_file(0, 1);
	assert_false(reclaim());
	freeze(0);
	assert_false(reclaim());
	settle();
	assert_false(reclaim());
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(reclaim());
	assert_int_equal(home_val(DATA), 1);
	page_buffers(file.page);
	close_file();
}

CORE_TESTS(invalidate,
	CORE_TEST(folio_of_a_running_transaction_is_dropped),
	CORE_TEST(folio_being_committed_is_unfiled_once_valid),
	CORE_TEST(part_of_a_folio_being_committed_is_busy),
	CORE_TEST(part_of_a_running_folio_goes_the_rest_stays),
	CORE_TEST(older_image_is_kept_until_the_truncation_is_valid),
	CORE_TEST(older_image_goes_at_once_when_the_truncation_is_valid),
	CORE_TEST(truncation_that_froze_before_the_image_keeps_nothing),
	CORE_TEST(image_over_an_older_valid_one_leaves_a_mark),
	CORE_TEST(truncated_block_that_was_only_touched_stays_clean),
	CORE_TEST(image_that_was_lost_goes_home_again),
	CORE_TEST(folio_waits_for_its_home_write),
	CORE_TEST(folio_that_is_not_home_is_not_reclaimed),
);
