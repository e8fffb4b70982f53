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

/* E13: what the truncation would expose must stay replayable until then. */
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

/*
 * A transaction of another lane has touched it only, and the mark is left there: the
 * claim of the inode ties that to the truncation, so the older image is kept as long.
 */
static void mark_in_another_transaction_goes_with_the_truncation(void)
{
	struct buffer_head *bh;
	tid_t claim = 0, tid;
	handle_t *h;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
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
	freeze(1);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(val_after_crash(DATA), 1);
	stop(h);
	settle();
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_false(buffer_jbd(bh) || buffer_dirty(bh));
	assert_int_equal(val_after_crash(BLOCK), 7);
	assert_int_equal(writes_of(DATA, 0), 0);
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

/* Write-back of the first buffer ends with an error, as ext4 ends its own. */
static void write_back_fails(void)
{
	struct buffer_head *bh = page_bh(&file, 0);

	set_buffer_write_io_error(bh);
	clear_buffer_async_write(bh);
}

/* Nothing but the buffer knows of the error: not the device's mapping. */
static void home_write_that_fails_while_it_is_looked_at_keeps_the_image(void)
{
	struct buffer_head *bh;
	bool passed;
	int n = 0;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	do {
		set_buffer_async_write(bh);
		clear_buffer_dirty(bh);
		clear_buffer_write_io_error(bh);
		at_point(++n, write_back_fails);
		assert_false(reclaim());
		passed = still_to_come();
		assert_true(buffer_jbd(bh));
	} while (!passed);
	assert_in_range(n, 10, 1000);
	clear_buffer_async_write(bh);
	mark_buffer_dirty(bh);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(DATA), 1);
	close_file();
}

/* ext4 notes the error when async_write has gone, then ends the folio's write-back. */
static void ext4_notes_the_error(void)
{
	set_buffer_write_io_error(page_bh(&file, 0));
	WRITE_ONCE(file.page->folio.writeback, false);
}

static void error_that_is_noted_last_of_all_keeps_the_image(void)
{
	struct buffer_head *bh;
	bool passed;
	int n = 0;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
	do {
		clear_buffer_dirty(bh);
		clear_buffer_write_io_error(bh);
		WRITE_ONCE(file.page->folio.writeback, true);
		at_point(++n, ext4_notes_the_error);
		assert_false(reclaim());
		passed = still_to_come();
		assert_true(buffer_jbd(bh));
	} while (!passed);
	assert_in_range(n, 10, 1000);
	WRITE_ONCE(file.page->folio.writeback, false);
	mark_buffer_dirty(bh);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(DATA), 1);
	close_file();
}

/* Under the buffer lock of who truncates: home is home. */
static void image_that_is_home_is_not_kept_for_a_truncation(void)
{
	handle_t *h;

	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
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
	freeze(0);
	let_run();
	assert_true(stopped(lane(0)->task));
	assert_int_equal(nr_parts(txn), 2);
	assert_int_equal(invalidate_all(tid), 0);
	assert_int_equal(nr_parts(txn), 2);
	/* It is kept until the truncation is valid, and not longer. */
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
	freeze(0);
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

static void call_change_file(struct fiber *f)
{
	change_file(0, f->n);
}

/* Write-back of a folio holds no buffer lock; its image must not change under it. */
static void write_access_waits_for_write_back_of_the_folio(void)
{
	struct fiber *f;

	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
	fx.hold_block = DATA;
	page_write_back(file.page);
	assert_false(buffer_locked(page_bh(&file, 0)));
	f = GO(call_change_file, .n = 2);
	settle();
	assert_false(f->done);
	assert_int_equal(page_bh(&file, 0)->b_data[0], 1);
	release();
	join(f);
	assert_int_equal(home_val(DATA), 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(DATA), 2);
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

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
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
		fx.hold_lane[0] = true;
		freeze(0);
		settle();
		stop_before(task, &first->list_lock, 1);
		release();
		settle();
		assert_true(stopped(task));
		assert_true(zj_txn_is_valid(first));
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

/* ---- what is left of a buffer ---- */

#define LIFE	(BIT(BH_New) | BIT(BH_Req) | BIT(BH_Delay) | BIT(BH_Unwritten))

static void give_life(struct buffer_head *bh)
{
	set_buffer_new(bh);
	set_buffer_req(bh);
	set_buffer_delay(bh);
	set_buffer_unwritten(bh);
}

/* Nothing of where it was, and nothing to write. */
static void expect_void(const struct buffer_head *bh)
{
	assert_int_equal(bh->b_state, BIT(BH_Uptodate));
	assert_null(bh->b_bdev);
	assert_null(bh->b_private);
}

/* The next write maps it anew, from nothing. */
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
	/* A valid one under it: kept for the truncation, but the buffer is free. */
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
	/* A valid one that the truncation has left behind. */
	page_map(file.page, 0, DATA);
	change_file(0, 3);
	commit(0);
	give_life(bh);
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), 0);
	expect_void(bh);
	close_file();
}

/* Of a whole folio that is kept the buffers are void when the truncation is valid. */
static void kept_buffer_is_void_when_the_truncation_is_valid(void)
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
	assert_true(buffer_freed(bh) && buffer_mapped(bh));
	set_buffer_new(bh);
	set_buffer_req(bh);
	stop(h);
	commit(1);
	expect_void(bh);
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

/* ---- an older image that is not in the log yet ---- */

/* The images: valid or not, and one that runs over it, of another lane. */
static void change_over_frozen(void)
{
	handle_t *h;

	change_file(0, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
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
	change_over_frozen();
	assert_int_equal(invalidate(0, DISK_BLOCK, 0), -EBUSY);
	assert_true(buffer_mapped(bh));
	/* All of it may go: the buffer is not mapped anew. */
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

/* Asked again while it waits for the truncation: it still waits. */
static void truncated_twice(void)
{
	struct buffer_head *bh;
	struct zj_part *part;
	tid_t tid;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
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
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	h = start(1, 1);
	put(h, BLOCK, 7);
	tid = h->h_transaction->t_tid;
	assert_int_equal(invalidate_all(tid), 0);
	assert_ptr_equal(bh2jh(bh)->newest->txn, handle_txn(h));
	assert_true(buffer_freed(bh));
	release();
	settle();
	/* Valid now, but only the log has it, and needs it. */
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

/* A home write is under way when the folio is truncated: it ends first. */
static void call_invalidate(struct fiber *f)
{
	f->ret = invalidate(0, DISK_BLOCK, 0);
}

static void truncation_waits_for_the_home_write(void)
{
	struct buffer_head *bh;
	struct fiber *f;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	change_file(0, 1);
	commit(0);
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

static void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

/* Write-back of a folio locks no buffer: a checkpoint waits for the folio's. */
static void checkpoint_waits_for_write_back_of_the_folio(void)
{
	struct fiber *f;

	OPEN();
	open_file();
	change_file(0, 1);
	commit(0);
	fx.hold_block = DATA;
	folio_lock(&file.page->folio);
	page_write_back(file.page);
	folio_unlock(&file.page->folio);
	f = GO(call_checkpoint);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(fx.zj->trimmed, 2);
	close_file();
}

/*
 * Who has waited for a transaction writes the file home, then drops its pages: what that
 * builds on is dirty by then, though another lane's thread sees to it.
 */
static void what_is_built_on_can_be_written_home_once_that_is_valid(void)
{
	struct task_struct *task;
	struct zj_txn *first;
	struct fiber *f;
	handle_t *h;
	tid_t tid;

	OPEN();
	open_file();
	task = lane(0)->task;
	change_file(0, 1);
	first = running(0);
	h = start(1, 2);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	tid = h->h_transaction->t_tid;
	put_page_block(h, &file, 1, 2);
	/* As by the claim of the inode. */
	zj_tie(handle_txn(h), first, ZJ_KIND_READ);
	stop(h);
	stop_before(lane(1)->task, &lane(1)->lock, 1);
	freeze(1);
	f = GO(call_complete, .tid = tid);
	stop_before(task, &first->list_lock, 1);
	release();
	settle();
	assert_true(stopped(task));
	go_on(lane(1)->task);
	settle();
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_false(buffer_dirty(page_bh(&file, 0)));
	assert_false(f->done);
	go_on(task);
	join(f);
	assert_true(buffer_dirty(page_bh(&file, 0)));
	assert_true(buffer_dirty(page_bh(&file, 1)));
	assert_int_equal(fx.zj->undirty, 0);
	zj_txn_put(first);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	close_file();
}

#define NR_FILES	4u

static struct file files[NR_FILES];
static struct zj_txn *writers[NR_FILES];
static u32 nr_valid;

static bool all_dirty(struct zj_component *comp)
{
	for (u32 i = 0; i < NR_FILES; i++)
		if (writers[i]->comp == comp)
			return buffer_dirty(page_bh(&files[i], 0));
	return true;
}

/* Whoever is told of a component finds all dirty that was valid before it. */
static void all_before_is_dirty(struct zj_txn *txn)
{
	struct zj_component *comp = txn->comp;

	nr_valid++;
	assert_true(all_dirty(comp));
	list_for_each_entry_continue_reverse(comp, &fx.zj->finishing, finish_link)
		assert_true(all_dirty(comp));
}

/* A file in each lane; lanes 2 and 3 have built on 0 and 1, whose records are held. */
static void open_files(void)
{
	OPEN(.lanes = NR_FILES);
	for (u32 i = 0; i < NR_FILES; i++) {
		handle_t *h = start(i, 2);

		file_init(&files[i]);
		file_page(&files[i], DATA + 2 * i);
		put_page_block(h, &files[i], 0, i + 1);
		writers[i] = running(i);
		if (i > 1)
			zj_tie(handle_txn(h), writers[i - 2], ZJ_KIND_READ);
		stop(h);
		fx.hold_lane[i] = i < 2;
		freeze(i);
	}
	settle();
	nr_valid = 0;
	fx.on_commit = all_before_is_dirty;
}

static void close_files(void)
{
	for (u32 i = 0; i < NR_FILES; i++) {
		assert_true(writers[i]->valid);
		assert_true(buffer_dirty(page_bh(&files[i], 0)));
		zj_txn_put(writers[i]);
	}
	assert_int_equal(nr_valid, NR_FILES);
	assert_int_equal(fx.zj->undirty, 0);
	assert_true(list_empty(&fx.zj->finishing));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	for (u32 i = 0; i < NR_FILES; i++)
		file_exit(&files[i]);
	fx.on_commit = NULL;
	close_journal();
}

/*
 * Two threads have two components each, that became valid in any order: none waits for
 * what the other one has only after what waits for it.
 */
static void threads_that_wait_for_each_others_files_get_on(void)
{
	for (int n = 1; n < 16; n++) {
		for (int m = 1; m < 16; m++) {
			open_files();
			stop_before(lane(0)->task, &fx.zj->comp_lock, n);
			stop_before(lane(1)->task, &fx.zj->comp_lock, m);
			release();
			settle();
			stop_nowhere(lane(0)->task);
			settle();
			stop_nowhere(lane(1)->task);
			settle();
			close_files();
		}
	}
}

static void call_unmount(struct fiber *f)
{
	f->ret = unmount_journal();
}

/* An abort ends the waits of callers; what is valid is ended before the threads are. */
static void abort_and_unmount_while_files_are_waited_for(void)
{
	struct task_struct *task;
	struct fiber *f;

	open_files();
	task = lane(0)->task;
	stop_before(task, &writers[0]->list_lock, 1);
	release();
	f = GO(call_complete, .tid = writers[1]->pub.t_tid);
	settle();
	assert_true(stopped(task));
	assert_int_equal(nr_valid, 0);
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	assert_int_equal(f->ret, -EIO);
	for (u32 i = 0; i < NR_FILES; i++)
		zj_txn_put(writers[i]);
	f = GO(call_unmount);
	settle();
	assert_false(f->done);
	go_on(task);
	join(f);
	assert_int_equal(f->ret, -EIO);
	assert_int_equal(nr_valid, NR_FILES);
	for (u32 i = 0; i < NR_FILES; i++) {
		clear_buffer_dirty(page_bh(&files[i], 0));
		file_exit(&files[i]);
	}
	fx.on_commit = NULL;
	discard_disk();
}

/* ext4 takes a folio for clean that has no such buffer: it drops it without a wait. */
static bool is_for_write_back(struct buffer_head *bh)
{
	return buffer_dirty(bh) || (buffer_jbd(bh) && buffer_jbddirty(bh));
}

/* A short copy: access, but no change. The image below has to get home all the same. */
static void touch_file(u32 lane)
{
	handle_t *h = start(lane, 2);

	assert_int_equal(zj_journal_get_write_access(h, page_bh(&file, 0)), 0);
	stop(h);
}

static void folio_that_is_only_touched_is_still_to_be_written(void)
{
	struct buffer_head *bh;

	OPEN();
	open_file();
	bh = page_bh(&file, 0);
	for (u32 in_flight = 0; in_flight < 2; in_flight++) {
		change_file(0, 1 + in_flight);
		if (in_flight)
			freeze(0);
		else
			commit(0);
		touch_file(1);
		assert_true(is_for_write_back(bh));
		settle();
		assert_false(buffer_dirty(bh));
		assert_true(is_for_write_back(bh));
		commit(1);
		assert_true(buffer_dirty(bh));
		assert_false(buffer_jbddirty(bh));
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(home_val(DATA), 1 + in_flight);
		assert_false(is_for_write_back(bh));
	}
	close_file();
}

CORE_TESTS(invalidate,
	CORE_TEST(threads_that_wait_for_each_others_files_get_on),
	CORE_TEST(abort_and_unmount_while_files_are_waited_for),
	CORE_TEST(folio_that_is_only_touched_is_still_to_be_written),
	CORE_TEST(checkpoint_waits_for_write_back_of_the_folio),
	CORE_TEST(truncated_buffer_is_void),
	CORE_TEST(kept_buffer_is_void_when_the_truncation_is_valid),
	CORE_TEST(only_whole_buffers_in_the_range_go),
	CORE_TEST(what_is_built_on_can_be_written_home_once_that_is_valid),
	CORE_TEST(part_of_a_folio_over_an_older_image_is_busy),
	CORE_TEST(truncated_twice),
	CORE_TEST(image_in_flight_is_kept_for_a_later_truncation),
	CORE_TEST(truncation_waits_for_the_home_write),
	CORE_TEST(write_access_waits_for_write_back_of_the_folio),
	CORE_TEST(older_image_does_not_follow_a_new_mapping),
	CORE_TEST(image_that_is_being_finished_does_not_follow_either),
	CORE_TEST(home_write_that_fails_while_it_is_looked_at_keeps_the_image),
	CORE_TEST(error_that_is_noted_last_of_all_keeps_the_image),
	CORE_TEST(image_that_is_home_is_not_kept_for_a_truncation),
	CORE_TEST(truncation_adds_nothing_to_what_is_being_written),
	CORE_TEST(block_that_is_used_again_after_its_truncation_is_logged),
	CORE_TEST(truncations_of_an_aborted_journal_are_dropped),
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
	CORE_TEST(mark_in_another_transaction_goes_with_the_truncation),
	CORE_TEST(folio_waits_for_its_home_write),
	CORE_TEST(folio_that_is_not_home_is_not_reclaimed),
);
