// SPDX-License-Identifier: GPL-2.0-only
/* An older image of a truncated block: how long it is kept, and where it must not go. */
#include "journaled.h"

/* E13: what the truncation would expose must stay replayable until then. */
static void older_image_is_kept_until_the_truncation_is_committed(void)
{
	struct buffer_head *bh;
	handle_t *h;

	bh = open_committed_file();
	h = start(1, 1);
	put(h, BLOCK, 7);
	assert_int_equal(invalidate_all(h->h_transaction->t_tid), 0);
	assert_true(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	/* The image is in the log only, so the log must keep it. */
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(val_after_crash(DATA), 1);
	stop(h);
	commit(1);
	assert_false(buffer_jbd(bh));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(DATA, 0), 0);
	close_file();
}

static void older_image_goes_at_once_when_the_truncation_is_committed(void)
{
	open_committed_file();
	assert_int_equal(invalidate_all(0), 0);
	assert_null(file.page->folio.private);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	assert_int_equal(writes_of(DATA, 0), 0);
	page_buffers(file.page);
	close_file();
}

static void truncation_that_sealed_before_the_image_keeps_nothing(void)
{
	tid_t truncation;

	OPEN();
	open_file();
	truncation = change(1, BLOCK, 1);
	seal_held(1);
	change_file(0, 1);
	commit(0);
	assert_int_equal(invalidate_all(truncation), 0);
	assert_null(file.page->folio.private);
	page_buffers(file.page);
	close_file();
}

static void image_over_an_older_committed_one_leaves_a_mark(void)
{
	struct buffer_head *bh;
	struct log log;
	tid_t tid;

	bh = open_committed_file();
	tid = change_file(0, 2);
	assert_true(buffer_jbddirty(bh));
	assert_int_equal(invalidate_all(tid), 0);
	assert_true(zj_part_test(bh2jh(bh)->newest, ZJ_PART_FORGET));
	/* The folio has nothing any more that is to be written (E13). */
	assert_false(buffer_jbddirty(bh));
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

	bh = open_committed_file();
	assert_true(buffer_dirty(bh));
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	put(h, BLOCK, 1);
	stop(h);
	seal(0);
	assert_int_equal(invalidate_all(tid), 0);
	settle();
	assert_false(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	close_file();
}

/*
 * A transaction of another lane has touched it only, and the mark is left there: the
 * claim of the inode ties that to the truncation, so the older image is kept as long.
 */
static void mark_in_another_transaction_goes_with_the_truncation(void)
{
	struct buffer_head *bh;
	tid_t claim = 0, tid;
	handle_t *h;

	bh = open_committed_file();
	h = start(1, 1);
	zj_journal_claim(h, &claim, ZJ_KIND_INODE);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	stop(h);
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	zj_journal_claim(h, &claim, ZJ_KIND_INODE);
	put(h, BLOCK, 7);
	assert_int_equal(invalidate_all(tid), 0);
	assert_true(zj_part_test(bh2jh(bh)->newest, ZJ_PART_FORGET));
	assert_ptr_equal(bh2jh(bh)->newest->txn->lane, lane(1));
	/* Asked to commit alone, the other lane waits for the truncation. */
	seal(1);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(val_after_crash(DATA), 1);
	stop(h);
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	assert_false(buffer_jbd(bh) || buffer_dirty(bh));
	assert_int_equal(val_after_crash(BLOCK), 7);
	assert_int_equal(writes_of(DATA, 0), 0);
	close_file();
}

/* Under the buffer lock that the truncating task holds: what is home stays home. */
static void image_that_is_home_is_not_kept_for_a_truncation(void)
{
	handle_t *h;

	open_committed_file();
	folio_lock(&file.page->folio);
	page_write_back(file.page);
	folio_unlock(&file.page->folio);
	settle();
	assert_true(buffer_jbd(page_bh(&file, 0)));
	h = start(1, 1);
	put(h, BLOCK, 7);
	assert_int_equal(invalidate_all(h->h_transaction->t_tid), 0);
	assert_null(file.page->folio.private);
	assert_int_equal(val_after_crash(DATA), 1);
	stop(h);
	page_buffers(file.page);
	close_file();
}

static int nr_parts(struct zj_txn *txn)
{
	struct zj_part *part;
	int n = 0;

	list_for_each_entry(part, &txn->parts, txn_link)
		n++;
	return n;
}

/* Its thread walks its parts without a lock: they stay as they are. */
static void truncation_adds_nothing_to_what_is_being_written(void)
{
	struct buffer_head *bh;
	struct zj_txn *txn;
	struct log log;
	handle_t *h;
	tid_t tid;

	OPEN(.lanes = 1);
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	h = start(0, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 1, 1);
	txn = running(0);
	tid = h->h_transaction->t_tid;
	stop(h);
	stop_before(lane(0)->task, &part_of(txn, BLOCK + 1)->jh->lock, 1);
	seal(0);
	let_run();
	assert_true(stopped(lane(0)->task));
	assert_int_equal(nr_parts(txn), 2);
	assert_int_equal(invalidate_all(tid), 0);
	assert_int_equal(nr_parts(txn), 2);
	/* It is kept until the truncation is committed, and not longer. */
	assert_true(zj_part_test(bh2jh(bh)->newest, ZJ_PART_FORGET));
	assert_int_equal(val_after_crash(DATA), 1);
	go_on(lane(0)->task);
	settle();
	assert_false(buffer_jbd(bh));
	log_read(&log);
	assert_non_null(log_image(&log, 3, BLOCK));
	assert_non_null(log_image(&log, 3, BLOCK + 1));
	log_free(&log);
	zj_txn_put(txn);
	close_file();
}

/*
 * A block that was truncated, and is mapped elsewhere by the same transaction without
 * a change: the image from before the truncation must not go to the new place.
 */
static void older_image_does_not_follow_a_new_mapping(void)
{
	struct buffer_head *bh;
	handle_t *h;
	tid_t tid;

	bh = open_committed_file();
	tid = change_file(0, 2);
	assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
	assert_false(buffer_mapped(bh));
	page_map(file.page, 0, DATA + 100);
	h = start(0, 2);
	assert_int_equal(h->h_transaction->t_tid, tid);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	own(NULL);
	stop(h);
	commit(0);
	assert_false(buffer_dirty(bh));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(DATA + 100, 0), 0);
	close_file();
}

/* The same, and the thread that makes the older image dirty comes to it only then. */
static void image_that_is_being_finished_does_not_follow_either(void)
{
	struct task_struct *task;
	struct buffer_head *bh;
	struct zj_txn *first;
	handle_t *h;
	tid_t tid;

	for (u32 changed = 0; changed < 2; changed++) {
		OPEN();
		open_file();
		bh = page_bh(&file, 0);
		task = lane(0)->task;
		change_file(0, 1);
		first = running(0);
		seal_held(0);
		stop_before(task, &first->list_lock, 1);
		release();
		settle();
		assert_true(stopped(task));
		assert_true(zj_txn_is_committed(first));
		tid = changed ? change_file(1, 2) : change(1, BLOCK, 2);
		assert_int_equal(invalidate(0, DISK_BLOCK, tid), 0);
		assert_false(buffer_mapped(bh));
		page_map(file.page, 0, DATA + 100);
		h = start(1, 2);
		assert_int_equal(h->h_transaction->t_tid, tid);
		assert_int_equal(zj_journal_get_write_access(h, bh), 0);
		go_on(task);
		settle();
		stop(h);
		zj_txn_put(first);
		commit(1);
		assert_false(buffer_dirty(bh));
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(writes_of(DATA + 100, 0), 0);
		close_file();
	}
}

/* ---- an older image that is not in the log yet ---- */

/* The images: committed or not, and one that runs over it, of another lane. */
static void change_over_sealed(void)
{
	handle_t *h;

	change_file(0, 1);
	seal_held(0);
	h = start(1, 2);
	put_page_block(h, &file, 0, 2);
	stop(h);
}

/* A new mapping would change where the older image is logged to. */
static void part_of_a_folio_over_an_older_image_is_busy(void)
{
	struct buffer_head *bh;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_over_sealed();
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), -EBUSY);
	assert_true(buffer_mapped(bh));
	/* All of it may go: the buffer is not mapped again. */
	assert_int_equal(invalidate_all(0), 0);
	assert_true(buffer_mapped(bh));
	assert_true(buffer_freed(bh));
	assert_true(zj_part_test(bh2jh(bh)->newest, ZJ_PART_FORGET));
	release();
	settle();
	assert_int_equal(val_after_crash(DATA), 1);
	commit(1);
	assert_false(buffer_jbd(bh));
	close_file();
}

/* A second call while it waits for the truncation changes nothing: it still waits. */
static void truncated_twice(void)
{
	struct buffer_head *bh;
	struct zj_part *part;
	tid_t tid;

	bh = open_committed_file();
	tid = change_file(0, 2);
	assert_int_equal(invalidate_all(tid), 0);
	part = bh2jh(bh)->newest;
	assert_int_equal(invalidate_all(tid), 0);
	assert_ptr_equal(bh2jh(bh)->newest, part);
	assert_non_null(file.page->folio.private);
	commit(0);
	assert_false(buffer_jbd(bh));
	assert_int_equal(writes_of(DATA, 0), 0);
	close_file();
}

/* In flight when it is truncated, and the truncation is of a later transaction. */
static void image_in_flight_is_kept_for_a_later_truncation(void)
{
	struct buffer_head *bh;
	handle_t *h;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	seal_held(0);
	h = start(1, 1);
	put(h, BLOCK, 7);
	tid = h->h_transaction->t_tid;
	assert_int_equal(invalidate_all(tid), 0);
	assert_ptr_equal(bh2jh(bh)->newest->txn, handle_txn(h));
	assert_true(buffer_freed(bh));
	release();
	settle();
	/* It is committed now, but only the log has the image, and must keep it. */
	assert_true(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(val_after_crash(DATA), 1);
	assert_int_equal(writes_of(DATA, 0), 0);
	stop(h);
	commit(1);
	expect_void(bh);
	close_file();
}

CORE_TESTS(older_image,
	CORE_TEST(part_of_a_folio_over_an_older_image_is_busy),
	CORE_TEST(truncated_twice),
	CORE_TEST(image_in_flight_is_kept_for_a_later_truncation),
	CORE_TEST(older_image_does_not_follow_a_new_mapping),
	CORE_TEST(image_that_is_being_finished_does_not_follow_either),
	CORE_TEST(image_that_is_home_is_not_kept_for_a_truncation),
	CORE_TEST(truncation_adds_nothing_to_what_is_being_written),
	CORE_TEST(older_image_is_kept_until_the_truncation_is_committed),
	CORE_TEST(older_image_goes_at_once_when_the_truncation_is_committed),
	CORE_TEST(truncation_that_sealed_before_the_image_keeps_nothing),
	CORE_TEST(image_over_an_older_committed_one_leaves_a_mark),
	CORE_TEST(truncated_block_that_was_only_touched_stays_clean),
	CORE_TEST(mark_in_another_transaction_goes_with_the_truncation),
);
