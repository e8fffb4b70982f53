// SPDX-License-Identifier: GPL-2.0-only
/* invalidate.c: folios of journaled data that are truncated, in whole or in part. */
#include "journaled.h"

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

static void folio_being_committed_is_unfiled_once_committed(void)
{
	struct buffer_head *bh;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	tid = change_file(0, 1);
	seal_held(0);
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

/* As long as an older image is on its way to the log, which needs the mapping. */
static void folio_that_is_truncated_again_stays(void)
{
	struct buffer_head *bh;
	struct log log;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	seal_held(0);
	tid = change_file(0, 2);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(invalidate_all(tid), 0);
		assert_true(buffer_mapped(bh));
		assert_true(buffer_jbd(bh));
	}
	release();
	commit(0);
	assert_false(buffer_mapped(bh));
	assert_false(buffer_jbd(bh));
	log_read(&log);
	assert_non_null(log_image(&log, 2, DATA));
	assert_null(log_image(&log, 3, DATA));
	log_free(&log);
	close_file();
}

static void part_of_a_folio_being_committed_is_busy(void)
{
	tid_t tid;

	OPEN();
	open_file();
	tid = change_file(0, 1);
	seal_held(0);
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), -EBUSY);
	assert_true(buffer_mapped(page_bh(&file, 0)));
	release();
	settle();
	/* The transaction is committed now, and the truncation with it. */
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
	assert_false(buffer_mapped(page_bh(&file, 0)));
	assert_true(buffer_mapped(page_bh(&file, 1)));
	close_file();
}

/*
 * The older part has no image, so its commit drops it, and the part that a truncation drops then is
 * the only one. It has never been crowded.
 */
static void part_over_one_without_an_image_is_dropped(void)
{
	handle_t *h;

	OPEN(.pipeline = true, .lanes = 1, .versions = 1);
	open_file();
	h = start(0, 1);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, page_bh(&file, 0)), 0);
	own(NULL);
	stop(h);
	seal(0);
	change_file(0, 2);
	settle();
	assert_int_equal(invalidate_all(0), 0);
	assert_null(file.page->folio.private);
	page_buffers(file.page);
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

/* Pinned in a transaction that still runs, the part may get an image yet. */
static void block_that_is_used_again_after_its_truncation_is_logged(void)
{
	handle_t *h;

	OPEN(.lanes = 1);
	open_file();
	change_file(0, 1);
	commit(0);
	h = start(0, 2);
	put(h, BLOCK, 1);
	assert_int_equal(invalidate_all(h->h_transaction->t_tid), 0);
	put_page_block(h, &file, 0, 2);
	stop(h);
	commit(0);
	assert_int_equal(val_after_crash(DATA), 2);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	close_file();
}

static void truncations_of_an_aborted_journal_are_dropped(void)
{
	struct zj_txn *txn;
	tid_t tid;

	OPEN(.lanes = 1);
	open_file();
	change_file(0, 1);
	commit(0);
	fx.hold_lane[0] = true;
	tid = change(0, BLOCK, 1);
	seal(0);
	settle();
	txn = txn_of(tid);
	assert_int_equal(invalidate_all(tid), 0);
	assert_false(list_empty(&txn->late));
	zj_txn_put(txn);
	zj_abort(fx.zj, -EIO);
	release();
	settle();
	assert_int_equal(unmount_journal(), -EIO);
	assert_false(buffer_jbd(page_bh(&file, 0)));
	file_exit(&file);
	discard_disk();
}

static void call_invalidate_all(struct fiber *f)
{
	f->ret = invalidate_all(f->tid);
}

/*
 * The truncation is committed while it waits for the buffer: nothing need be kept for it, whether
 * the part that it has no use for is the head's own or not.
 */
static void truncation_that_is_committed_meanwhile_keeps_nothing(void)
{
	struct buffer_head *bh;
	struct fiber *f;
	tid_t tid;

	for (int own = 0; own < 2; own++) {
		bh = open_committed_file();
		if (own) {
			change_file(0, 2);
			commit(0);
		}
		assert_int_equal(bh2jh(bh)->first_used, !own);
		tid = change(1, BLOCK, 1);
		lock_buffer(bh);
		f = GO(call_invalidate_all, .tid = tid);
		let_run();
		commit(1);
		assert_false(f->done);
		unlock_buffer(bh);
		join(f);
		assert_int_equal(f->ret, 0);
		assert_null(file.page->folio.private);
		page_buffers(file.page);
		close_file();
	}
}

/* ---- what is left of a buffer ---- */

#define LIFE	(BIT(BH_New) | BIT(BH_Req) | BIT(BH_Delay) | BIT(BH_Unwritten))

static void give_life(struct buffer_head *bh)
{
	set_buffer_new(bh);
	set_buffer_req(bh);
	set_buffer_delay(bh);
	set_buffer_unwritten(bh);
}

/* The next write maps it again, from nothing. */
static void truncated_buffer_is_void(void)
{
	struct buffer_head *bh;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	/* The journal has never seen it. */
	give_life(bh);
	mark_buffer_dirty(bh);
	set_buffer_freed(bh);
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), 0);
	expect_void(bh);
	assert_true(buffer_mapped(page_bh(&file, 1)));
	/* An image that runs. */
	page_map(file.page, 0, DATA);
	change_file(0, 1);
	give_life(bh);
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), 0);
	expect_void(bh);
	/* A committed one under it: kept for the truncation, but the buffer is free. */
	page_map(file.page, 0, DATA);
	change_file(0, 1);
	commit(0);
	tid = change_file(0, 2);
	give_life(bh);
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
	assert_int_equal(bh->b_state & (LIFE | BIT(BH_Mapped) | BIT(BH_Dirty) | BIT(BH_JBDDirty)),
			 0);
	assert_null(bh->b_bdev);
	commit(0);
	expect_void(bh);
	/* A committed one that the truncation has left behind. */
	page_map(file.page, 0, DATA);
	change_file(0, 3);
	commit(0);
	give_life(bh);
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), 0);
	expect_void(bh);
	close_file();
}

/*
 * Committed, but the commit's end has not come to the buffer yet, which so is jbddirty: ext4 would
 * take the folio for one that has data to write (E13).
 */
static void truncated_buffer_that_is_on_its_way_home_is_void(void)
{
	struct task_struct *task;
	struct buffer_head *bh;
	struct zj_txn *txn;
	int n = 1, nr = 0;
	bool there;

	do {
		OPEN();
		open_file();
		bh = page_bh(&file, 0);
		task = lane(0)->task;
		change_file(0, 1);
		txn = running(0);
		stop_before(task, &bh2jh(bh)->lock, n++);
		seal(0);
		settle();
		there = stopped(task);
		if (there && zj_txn_is_committed(txn) && buffer_jbddirty(bh)) {
			tid_t tid = change(1, BLOCK, 1);

			assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
			assert_false(buffer_mapped(bh) || buffer_jbddirty(bh));
			nr++;
		}
		zj_txn_put(txn);
		stop_nowhere(task);
		settle();
		if (lane(1)->running)
			commit(1);
		assert_int_equal(invalidate_all(0), 0);
		page_buffers(file.page);
		close_file();
	} while (there);
	assert_true(nr);
}

/* If a folio is kept as a whole, its buffers are void when the truncation is committed. */
static void kept_buffer_is_void_when_the_truncation_is_committed(void)
{
	struct buffer_head *bh;
	handle_t *h;

	bh = open_committed_file();
	h = start(1, 1);
	put(h, BLOCK, 7);
	assert_int_equal(invalidate_all(h->h_transaction->t_tid), 0);
	assert_true(buffer_freed(bh) && buffer_mapped(bh));
	set_buffer_new(bh);
	set_buffer_req(bh);
	stop(h);
	commit(1);
	expect_void(bh);
	close_file();
}

static void truncate_meanwhile(struct zj_txn *txn)
{
	assert_int_equal(txn->stage, ZJ_COMMITTED);
	assert_int_equal(invalidate_all(txn->public.t_tid), 0);
	assert_null(file.page->folio.private);
}

/* The thread that finishes it has passed the place where it would have dropped a late part. */
static void truncation_that_is_being_finished_keeps_nothing(void)
{
	u32 before;

	open_committed_file();
	before = fx.nr_calls;
	fx.on_commit = truncate_meanwhile;
	change(1, BLOCK, 1);
	commit(1);
	fx.on_commit = NULL;
	assert_int_equal(fx.nr_calls, before + 1);
	page_buffers(file.page);
	close_file();
}

/* ---- which buffers of a folio ---- */

static bool both_mapped(void)
{
	return buffer_mapped(page_bh(&file, 0)) && buffer_mapped(page_bh(&file, 1));
}

static void only_whole_buffers_in_the_range_go(void)
{
	OPEN();
	open_file();
	assert_int_equal(invalidate(1, DISK_BLOCK, 0), 0);
	assert_true(both_mapped());
	assert_int_equal(invalidate(0, DISK_BLOCK - 1, 0), 0);
	assert_true(both_mapped());
	assert_int_equal(invalidate(DISK_BLOCK + 1, DISK_BLOCK - 1, 0), 0);
	assert_true(both_mapped());
	assert_int_equal(invalidate(DISK_BLOCK - 1, DISK_BLOCK + 1, 0), 0);
	assert_true(buffer_mapped(page_bh(&file, 0)));
	assert_false(buffer_mapped(page_bh(&file, 1)));
	assert_non_null(file.page->folio.private);
	/* Without buffers there is nothing to do. */
	assert_int_equal(invalidate_all(0), 0);
	assert_null(file.page->folio.private);
	assert_int_equal(invalidate_all(0), 0);
	page_buffers(file.page);
	close_file();
}

/* ---- the folio is on its way home ---- */

/* A home write is under way when the folio is truncated: it ends first. */
static void call_invalidate(struct fiber *f)
{
	f->ret = invalidate(0, DISK_BLOCK, 0);
}

static void truncation_waits_for_the_home_write(void)
{
	struct buffer_head *bh;
	struct fiber *f;

	bh = open_committed_file();
	lock_buffer(bh);
	f = GO(call_invalidate);
	settle();
	assert_false(f->done);
	assert_true(buffer_mapped(bh));
	unlock_buffer(bh);
	join(f);
	assert_int_equal(f->ret, 0);
	expect_void(bh);
	close_file();
}

CORE_TESTS(invalidate,
	CORE_TEST(truncated_buffer_is_void),
	CORE_TEST(truncated_buffer_that_is_on_its_way_home_is_void),
	CORE_TEST(kept_buffer_is_void_when_the_truncation_is_committed),
	CORE_TEST(truncation_that_is_being_finished_keeps_nothing),
	CORE_TEST(only_whole_buffers_in_the_range_go),
	CORE_TEST(truncation_waits_for_the_home_write),
	CORE_TEST(block_that_is_used_again_after_its_truncation_is_logged),
	CORE_TEST(truncations_of_an_aborted_journal_are_dropped),
	CORE_TEST(folio_of_a_running_transaction_is_dropped),
	CORE_TEST(folio_being_committed_is_unfiled_once_committed),
	CORE_TEST(folio_that_is_truncated_again_stays),
	CORE_TEST(part_of_a_folio_being_committed_is_busy),
	CORE_TEST(part_over_one_without_an_image_is_dropped),
	CORE_TEST(part_of_a_running_folio_goes_the_rest_stays),
	CORE_TEST(truncation_that_is_committed_meanwhile_keeps_nothing),
);
