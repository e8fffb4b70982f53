// SPDX-License-Identifier: GPL-2.0-only
/* Folios of journaled data on their way home: write-back, its errors, reclaim, and waits. */
#include "journaled.h"

/* It was touched after its home write failed, and not changed: it is still owed. */
static void image_that_was_lost_goes_home_again(void)
{
	struct buffer_head *bh;
	handle_t *h;

	bh = open_committed_file();
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
	open_committed_file();
	assert_true(buffer_dirty(page_bh(&file, 0)));
	fx.hold_block = DATA;
	folio_lock(&file.page->folio);
	page_write_back(file.page);
	folio_unlock(&file.page->folio);
	settle();
	/* A block in flight is not home. */
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
	seal(0);
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

/* The error is noted in the buffer only, not in the device's mapping. */
static void home_write_that_fails_while_it_is_looked_at_keeps_the_image(void)
{
	struct buffer_head *bh;
	bool passed;
	int n = 0;

	bh = open_committed_file();
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

	bh = open_committed_file();
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

static void call_change_file(struct fiber *f)
{
	change_file(0, f->n);
}

/* Write-back of a folio holds no buffer lock; its image must not change under it. */
static void write_access_waits_for_write_back_of_the_folio(void)
{
	struct fiber *f;

	open_committed_file();
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

/* ---- waits for write-back ---- */

/* Write-back of a folio locks no buffer: a checkpoint waits for the folio's. */
static void checkpoint_waits_for_write_back_of_the_folio(void)
{
	struct fiber *f;

	open_committed_file();
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
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	close_file();
}

/*
 * A task that has waited for a transaction writes the file home and drops its pages: what that
 * builds on is dirty by then, though another lane's thread sees to it.
 */
static void what_is_built_on_can_be_written_home_once_that_is_committed(void)
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
	seal_held(0);
	tid = h->h_transaction->t_tid;
	put_page_block(h, &file, 1, 2);
	/* Ties them as the claim of the inode would. */
	zj_tie(handle_txn(h), first, ZJ_KIND_READ);
	stop(h);
	stop_before(lane(1)->task, &lane(1)->lock, 1);
	seal(1);
	f = GO(call_complete, .tid = tid);
	stop_before(task, &first->list_lock, 1);
	release();
	settle();
	assert_true(stopped(task));
	go_on(lane(1)->task);
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
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
static u32 nr_committed;

static bool all_dirty(struct zj_component *comp)
{
	for (u32 i = 0; i < NR_FILES; i++)
		if (writers[i]->comp == comp)
			return buffer_dirty(page_bh(&files[i], 0));
	return true;
}

/* When a component is reported, everything that was committed before it is dirty. */
static void all_before_is_dirty(struct zj_txn *txn)
{
	struct zj_component *comp = txn->comp;

	nr_committed++;
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
		seal(i);
	}
	settle();
	nr_committed = 0;
	fx.on_commit = all_before_is_dirty;
}

static void close_files(void)
{
	for (u32 i = 0; i < NR_FILES; i++) {
		assert_int_equal(writers[i]->stage, ZJ_FINISHED);
		assert_true(buffer_dirty(page_bh(&files[i], 0)));
		zj_txn_put(writers[i]);
	}
	assert_int_equal(nr_committed, NR_FILES);
	assert_int_equal(fx.zj->undirty, 0);
	assert_true(list_empty(&fx.zj->finishing));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	for (u32 i = 0; i < NR_FILES; i++)
		file_exit(&files[i]);
	fx.on_commit = NULL;
	close_journal();
}

/*
 * Two threads have two components each, that became committed in any order: none waits for
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

/* It has no file data itself, but the file's newest transaction may be one like this (E13). */
static void component_without_files_waits_for_those_it_depends_on(void)
{
	struct task_struct *task;
	struct zj_txn *reader;
	handle_t *h;

	open_files();
	task = lane(0)->task;
	fx.on_commit = NULL;
	stop_before(task, &writers[0]->list_lock, 1);
	release();
	settle();
	assert_true(stopped(task));
	h = start(1, 1);
	put(h, BLOCK, 1);
	reader = running(1);
	stop(h);
	seal(1);
	settle();
	assert_int_equal(zj_txn_comp_stage(reader), ZJ_COMMITTED);
	assert_false(buffer_dirty(page_bh(&files[0], 0)));
	assert_true(reader->stage < ZJ_FINISHED);
	go_on(task);
	settle();
	assert_int_equal(reader->stage, ZJ_FINISHED);
	zj_txn_put(reader);
	nr_committed = NR_FILES;
	close_files();
}

/* An abort ends the waits of callers; what is committed is ended before the threads are. */
static void abort_and_unmount_while_files_are_waited_for(void)
{
	struct task_struct *task;
	struct fiber *f;

	open_files();
	task = lane(0)->task;
	stop_before(task, &writers[0]->list_lock, 1);
	/* The first one becomes committed first. */
	stop_before(lane(1)->task, &fx.zj->comp_lock, 1);
	release();
	settle();
	stop_nowhere(lane(1)->task);
	f = GO(call_complete, .tid = writers[1]->public.t_tid);
	settle();
	assert_true(stopped(task));
	assert_int_equal(nr_committed, 0);
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
	assert_int_equal(nr_committed, NR_FILES);
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
			seal(0);
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

CORE_TESTS(file_writeback,
	CORE_TEST(threads_that_wait_for_each_others_files_get_on),
	CORE_TEST(component_without_files_waits_for_those_it_depends_on),
	CORE_TEST(abort_and_unmount_while_files_are_waited_for),
	CORE_TEST(folio_that_is_only_touched_is_still_to_be_written),
	CORE_TEST(checkpoint_waits_for_write_back_of_the_folio),
	CORE_TEST(what_is_built_on_can_be_written_home_once_that_is_committed),
	CORE_TEST(write_access_waits_for_write_back_of_the_folio),
	CORE_TEST(home_write_that_fails_while_it_is_looked_at_keeps_the_image),
	CORE_TEST(error_that_is_noted_last_of_all_keeps_the_image),
	CORE_TEST(image_that_was_lost_goes_home_again),
	CORE_TEST(folio_waits_for_its_home_write),
	CORE_TEST(folio_that_is_not_home_is_not_reclaimed),
);
