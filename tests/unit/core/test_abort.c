// SPDX-License-Identifier: GPL-2.0-only
/* abort.c: errors of the device, and the error that each caller gets. */
#include "fixture.h"

static int errno_on_disk(void)
{
	const struct zj_jbd2_super *sb = (const void *)fx.disk->seen[jblock(0)];

	return (int)be32_to_cpu(sb->s_errno);
}

static void start_fails(int err)
{
	own(NULL);
	assert_int_equal(PTR_ERR(zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0)),
			 err);
}

static void failed_record_aborts(void)
{
	tid_t tid;

	OPEN();
	change(0, BLOCK + 1, 5);
	commit(0);
	tid = change(0, BLOCK, 1);
	fail_next_write();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.journal->j_errno, -EIO);
	settle();
	assert_int_equal(errno_on_disk(), -EIO);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	assert_int_equal(zj_journal_errno(fx.journal), -EROFS);
	start_fails(-EROFS);
	/* The change that was committed before is there. */
	assert_int_equal(val_after_crash(BLOCK + 1), 5);
	close_aborted();
}

static void failed_flush_aborts(void)
{
	u32 before;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	before = now();
	fail_next_flush();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(record_written(before), -1);
	assert_int_equal(fx.journal->j_errno, -EIO);
	close_aborted();
}

static void failed_flush_after_the_record_aborts(void)
{
	tid_t tid;

	OPEN(.no_fua = true);
	tid = change(0, BLOCK, 1);
	/* The first one goes before the record. */
	fx.disk->fail_flush = fx.disk->flushes + 2;
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.nr_calls, 0);
	close_aborted();
}

static void failed_advance_of_the_tail_aborts_and_keeps_the_log(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

static void open_handle_gets_errors(void)
{
	struct buffer_head *bh;
	struct file file;
	tid_t claim = 0;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start_more(0, 3, 2, 1);
	put(h, BLOCK, 1);
	zj_journal_abort(fx.journal, -EIO);
	bh = buffer(BLOCK);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_get_create_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), -EROFS);
	assert_int_equal(zj_journal_read_dependency(h, bh), -EROFS);
	assert_int_equal(zj_journal_extend(h, 1, 0), -EROFS);
	assert_int_equal(zj_journal_restart(h, 1, 0, 0), 0);
	get_bh(bh);
	assert_int_equal(zj_journal_forget(h, bh), -EROFS);
	get_bh(bh);
	assert_int_equal(zj_journal_revoke(h, BLOCK, bh), -EROFS);
	assert_int_equal(zj_journal_revoke_home(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_file_block(h, bh, false), -EROFS);
	assert_int_equal(zj_journal_file_blocks_logged(fx.journal, BLOCK, 1), 0);
	brelse(bh);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 0, 10), -EROFS);
	assert_int_equal(zj_journal_inode_ranged_wait(h, &file.jinode, 0, 10), -EROFS);
	assert_true(list_empty(&file.jinode.i_entries));
	zj_journal_hand_over(h, &claim, ZJ_KIND_INODE);
	assert_int_equal(claim, 0);
	assert_true(is_handle_aborted(h));
	assert_int_equal(stop(h), -EIO);
	close_aborted();
}

static void aborted_handle_alone_gets_errors(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	jbd2_journal_abort_handle(h);
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EROFS);
	brelse(bh);
	assert_int_equal(stop(h), -EIO);
	assert_false(is_journal_aborted(fx.journal));
	close_journal();
}

static void reserved_handle_does_not_start_after_an_abort(void)
{
	handle_t *h, *rsv;

	OPEN();
	h = start_more(0, 1, 3, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	stop(h);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), -EROFS);
	assert_int_equal(lane(0)->rsv_credits, 0);
	close_aborted();
}

static void all_waiters_are_woken(void)
{
	struct fiber *sync, *locked, *restart, *barrier, *behind;
	handle_t *h, *other;

	OPEN(.lanes = 3);
	/* fsync waits for a record in flight. */
	fx.hold_lane[0] = true;
	sync = GO(call_complete, .tid = change(0, BLOCK, 1));
	/* A start waits for a locked lane. */
	h = start(1, 1);
	seal(1);
	locked = GO(call_start, .cpu = 1, .n = 1);
	/* A restart waits for others to drain. */
	other = start(2, 1);
	restart = GO(call_restart, .h = start(2, 1), .n = 1);
	settle();
	/* The barrier waits for them, a start for the barrier. */
	barrier = GO(call_barrier);
	let_run();
	behind = GO(call_start, .cpu = 0, .n = 1);
	settle();
	assert_false(sync->done || locked->done || restart->done ||
		     barrier->ret || behind->done);
	zj_journal_abort(fx.journal, -EIO);
	join(sync);
	join(locked);
	join(restart);
	join(behind);
	assert_int_equal(sync->ret, -EIO);
	assert_int_equal(locked->ret, -EROFS);
	assert_int_equal(restart->ret, -EROFS);
	assert_int_equal(behind->ret, -EROFS);
	assert_int_equal(stop(restart->h), -EIO);
	assert_int_equal(stop(h), -EIO);
	assert_int_equal(stop(other), -EIO);
	let_run();
	assert_true(barrier->ret);
	barrier->n = 1;
	join(barrier);
	close_aborted();
}

static void force_commit_after_an_abort_fails(void)
{
	OPEN();
	change(0, BLOCK, 1);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_int_equal(zj_journal_force_commit_nested(fx.journal), 0);
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), -EIO);
	zj_journal_unlock_updates(fx.journal);
	assert_int_equal(zj_complete_transaction(fx.journal, 12345), -EIO);
	close_aborted();
}

static void nothing_goes_to_the_log_after_an_abort(void)
{
	tid_t a, b;
	u32 before;

	OPEN();
	a = change(0, BLOCK, 1);
	b = change(1, BLOCK + 1, 1);
	zj_journal_abort(fx.journal, -EIO);
	before = now();
	seal(0);
	seal(1);
	settle();
	assert_int_equal(record_written(before), -1);
	assert_int_not_equal(stage_of(a), ZJ_COMMITTED);
	assert_int_not_equal(stage_of(b), ZJ_COMMITTED);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	close_aborted();
}

static void log_is_not_marked_empty_after_an_abort(void)
{
	struct image *image;

	OPEN();
	change(0, BLOCK, 3);
	commit(0);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(unmount_journal(), -EIO);
	image = cut_power();
	assert_true(image_is_live(image));
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	discard_disk();
}

static void what_was_not_committed_does_not_go_home_after_an_abort(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 3);
	change(1, BLOCK + 1, 3);
	commit(1);
	bh = buffer(BLOCK);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(unmount_journal(), -EIO);
	assert_false(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	assert_false(buffer_jbddirty(bh));
	brelse(bh);
	discard_disk();
}

/* The buffer holds the newer, lost change: the log has the older one. */
static void older_image_does_not_go_home_under_a_lost_change(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	bh = buffer(BLOCK);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(unmount_journal(), -EIO);
	assert_false(buffer_dirty(bh));
	brelse(bh);
	assert_int_equal(val_after_crash(BLOCK), 1);
	discard_disk();
}

/* ext4 frees what it has queued on a transaction, committed or not. */
static void callbacks_run_at_the_end_of_an_aborted_mount(void)
{
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 3);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(fx.nr_calls, 0);
	assert_int_equal(unmount_journal(), -EIO);
	assert_int_equal(fx.nr_calls, 1);
	assert_int_equal(fx.call[0].tid, tid);
	discard_disk();
}

/* ---- the error that is kept ---- */

static void first_error_is_kept(void)
{
	OPEN();
	zj_journal_abort(fx.journal, -EUCLEAN);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(fx.journal->j_errno, -EUCLEAN);
	assert_int_equal(errno_on_disk(), -EUCLEAN);
	close_aborted();
}

static void abort_without_an_error_takes_the_next_one(void)
{
	OPEN();
	zj_journal_abort(fx.journal, 0);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(errno_on_disk(), 0);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(errno_on_disk(), -EIO);
	close_aborted();
}

static void shutdown_is_no_error_of_the_file_system(void)
{
	OPEN();
	zj_journal_abort(fx.journal, -EIO);
	zj_journal_abort(fx.journal, -ESHUTDOWN);
	assert_int_equal(fx.journal->j_errno, -ESHUTDOWN);
	assert_int_equal(errno_on_disk(), 0);
	close_aborted();
}

static void error_is_seen_by_the_next_mount(void)
{
	struct image *image;
	struct setup setup = { .lanes = 2, .journal = 2048, .new = true };

	OPEN();
	change(0, BLOCK, 4);
	commit(0);
	zj_journal_abort(fx.journal, -EUCLEAN);
	image = cut_power();
	close_aborted();
	make_disk_of(&setup, image);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 4);
	assert_int_equal(zj_journal_errno(fx.journal), -EUCLEAN);
	start_fails(-EROFS);
	assert_int_equal(zj_journal_clear_err(fx.journal), 0);
	zj_journal_update_sb_errno(fx.journal);
	assert_int_equal(errno_on_disk(), 0);
	stop(start(0, 1));
	image_free(image);
	close_journal();
}

static void error_of_an_abort_cannot_be_cleared(void)
{
	OPEN();
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(zj_journal_clear_err(fx.journal), -EROFS);
	assert_int_equal(fx.journal->j_errno, -EIO);
	close_aborted();
}

static void abort_while_a_record_is_in_flight_frees_everything(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start_more(1, 2, 0, 1);
	put(h, BLOCK, 2);
	own(h);
	assert_int_equal(zj_journal_revoke(h, 1900, NULL), 0);
	stop(h);
	seal(1);
	settle();
	change(1, BLOCK, 3);
	zj_journal_abort(fx.journal, -EIO);
	/* The end checks that no memory, no buffer is left. */
	close_aborted();
}

/* ---- a broken promise ---- */

/*
 * The lane finds less log space than was promised: that is a bug, and the commit
 * stops the journal instead of writing over what is needed.
 */
static void broken_promise(const struct setup *setup)
{
	u32 pool, off = 0, before;
	LIST_HEAD(hidden);
	tid_t tid;

	open_journal(setup);
	change(0, BLOCK + 1, 5);
	commit(0);
	tid = change(0, BLOCK, 1);
	pool = fx.zj->nr_pool;
	if (setup->jbd2) {
		fx.zj->nr_pool = 1;
	} else {
		off = lane(0)->cur_off;
		lane(0)->cur_off = fx.zj->geo.seg_blocks;
		list_splice_init(&lane(0)->in_hand, &hidden);
	}
	before = now();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.journal->j_errno, -ENOSPC);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	assert_int_equal(record_written(before), -1);
	fx.zj->nr_pool = pool;
	if (!setup->jbd2) {
		lane(0)->cur_off = off;
		list_splice_init(&hidden, &lane(0)->in_hand);
	}
	assert_int_equal(val_after_crash(BLOCK + 1), 5);
	assert_int_equal(val_after_crash(BLOCK), 0);
	/* Nothing of the unwritten transaction is left in memory. */
	close_aborted();
}

static void broken_promise_of_segments(void)
{
	broken_promise(&(const struct setup){ .lanes = 1, .journal = 2048 });
}

static void broken_promise_of_a_ring(void)
{
	broken_promise(&(const struct setup){ .lanes = 1, .journal = 2048, .jbd2 = true });
}

static void broken_promise_of_memory(void)
{
	broken_promise(&(const struct setup){ .lanes = 1, .journal = 400, .nvm = 1 << 20 });
}

/* The handle lost its transaction, and what it had reserved. */
static void failed_restart_gives_the_reservation_back(void)
{
	struct fiber *restart;
	handle_t *h, *other;

	OPEN();
	h = start_more(0, 1, 3, 0);
	other = start(0, 1);
	restart = GO(call_restart, .h = h, .n = 1);
	settle();
	assert_false(restart->done);
	zj_journal_abort(fx.journal, -EIO);
	join(restart);
	assert_int_equal(restart->ret, -EROFS);
	assert_null(h->h_rsv_handle);
	assert_int_equal(lane(0)->rsv_credits, 0);
	assert_int_equal(stop(h), -EIO);
	assert_int_equal(stop(other), -EIO);
	close_aborted();
}

/* It has not asked for its commit yet: the lane's thread is busy. */
static void fsync_of_a_busy_lane_ends_with_an_abort(void)
{
	struct fiber *first, *second;

	OPEN(.lanes = 1);
	fx.hold_lane[0] = true;
	first = GO(call_complete, .tid = change(0, BLOCK, 1));
	settle();
	second = GO(call_complete, .tid = change(0, BLOCK + 1, 2));
	settle();
	assert_false(first->done || second->done);
	assert_int_equal(stage_of(second->tid), ZJ_RUNNING);
	zj_journal_abort(fx.journal, -EIO);
	let_run();
	assert_true(second->done);
	join(first);
	join(second);
	assert_int_equal(second->ret, -EIO);
	close_aborted();
}

/* ---- an abort while a task is about to sleep ---- */

static void call_abort(struct fiber *f)
{
	zj_journal_abort(fx.journal, -EIO);
}

enum sleeper { SLEEP_LOCKED, SLEEP_RESTART, SLEEP_COMMITTED, SLEEP_IDLE, SLEEP_BARRIER,
	       SLEEP_SPACE, NR_SLEEPERS };

static struct fiber sleeper;
static handle_t *sleeper_open;

static void change_many(u32 nr)
{
	handle_t *h = start(0, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	seal(0);
}

/* The event that it waits for will never come. */
static void make_sleeper(enum sleeper what)
{
	sleeper = (struct fiber){ .fn = call_start, .n = 1 };
	sleeper_open = NULL;
	if (what == SLEEP_LOCKED) {
		sleeper_open = start(0, 1);
		seal(0);
	} else if (what == SLEEP_RESTART) {
		sleeper_open = start(0, 1);
		sleeper.fn = call_restart;
		sleeper.h = start_more(0, 1, 2, 0);
	} else if (what == SLEEP_BARRIER) {
		zj_journal_lock_updates(fx.journal);
	} else if (what == SLEEP_SPACE) {
		fx.hold_lane[0] = true;
		change_many(fx.zj->max_credits);
		change_many(fx.zj->max_credits / 2);
		settle();
		sleeper.n = fx.zj->max_credits;
	} else {
		fx.hold_lane[0] = true;
		sleeper.fn = call_complete;
		sleeper.tid = change(0, BLOCK, 1);
		seal(0);
		settle();
		if (what == SLEEP_IDLE)
			sleeper.tid = change(0, BLOCK + 1, 1);
	}
}

static long sleeper_ret;

static void call_sleeper(struct fiber *f)
{
	f->n = sleeper.n;
	f->tid = sleeper.tid;
	f->h = sleeper.h;
	sleeper.fn(f);
	sleeper_ret = f->ret;
	if (sleeper.fn == call_start && !f->ret)
		stop(f->h);
	/* A restart of an aborted handle does nothing; what counts is that it ends. */
	if (sleeper.fn == call_restart)
		sleeper_ret = stop(f->h);
}

static bool abort_meets(enum sleeper what, int n, bool abort_first)
{
	bool more;

	OPEN(.lanes = 1, .journal = 130);
	make_sleeper(what);
	if (abort_first)
		more = preempt_at(n, CALL(call_abort), CALL(call_sleeper));
	else
		more = preempt_at(n, CALL(call_sleeper), CALL(call_abort));
	assert_true(sleeper_ret == -EIO || sleeper_ret == -EROFS);
	if (sleeper_open)
		stop(sleeper_open);
	if (what == SLEEP_BARRIER)
		zj_journal_unlock_updates(fx.journal);
	close_aborted();
	return more;
}

/* A task that misses the wake-up sees the abort before it sleeps, at any place. */
static void not_slept_through(enum sleeper what)
{
	for (int first = 0; first < 2; first++) {
		int n = 1;

		while (abort_meets(what, n, first))
			n++;
		assert_true(n > 5);
	}
}

static void nobody_sleeps_through_an_abort(void)
{
	for (enum sleeper what = 0; what < NR_SLEEPERS; what++)
		if (what != SLEEP_RESTART)
			not_slept_through(what);
}

static void no_restart_sleeps_through_an_abort(void)
{
	not_slept_through(SLEEP_RESTART);
}

static void call_checkpoint_all(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, true);
}

/* There will be no more progress, so tasks that wait for it need not wait for a timeout. */
static void abort_ends_a_checkpoint_at_once(void)
{
	struct fiber *f;
	s64 before;

	OPEN();
	change(0, BLOCK, 1);
	seal_held(0);
	f = GO(call_checkpoint_all);
	settle();
	assert_false(f->done);
	/* The super block is written meanwhile. */
	zj_journal_abort(fx.journal, -EIO);
	before = sim_now;
	let_run();
	assert_true(f->done);
	assert_int_equal(sim_now, before);
	release();
	join(f);
	assert_int_equal(f->ret, -EIO);
	close_aborted();
}

/* Found in block 0, by the mount. */
static void error_of_an_earlier_life_is_replaced(void)
{
	OPEN();
	fx.journal->j_errno = -EIO;
	zj_journal_abort(fx.journal, -ENOMEM);
	assert_int_equal(fx.journal->j_errno, -ENOMEM);
	/* The first error since the mount counts. */
	zj_journal_abort(fx.journal, -EINVAL);
	assert_int_equal(fx.journal->j_errno, -ENOMEM);
	close_aborted();
}

CORE_TESTS(abort,
	CORE_TEST(abort_ends_a_checkpoint_at_once),
	CORE_TEST(error_of_an_earlier_life_is_replaced),
	CORE_TEST(fsync_of_a_busy_lane_ends_with_an_abort),
	CORE_TEST(nobody_sleeps_through_an_abort),
	CORE_TEST(no_restart_sleeps_through_an_abort),
	CORE_TEST(failed_record_aborts),
	CORE_TEST(failed_flush_aborts),
	CORE_TEST(failed_flush_after_the_record_aborts),
	CORE_TEST(failed_advance_of_the_tail_aborts_and_keeps_the_log),
	CORE_TEST(open_handle_gets_errors),
	CORE_TEST(aborted_handle_alone_gets_errors),
	CORE_TEST(reserved_handle_does_not_start_after_an_abort),
	CORE_TEST(all_waiters_are_woken),
	CORE_TEST(force_commit_after_an_abort_fails),
	CORE_TEST(nothing_goes_to_the_log_after_an_abort),
	CORE_TEST(log_is_not_marked_empty_after_an_abort),
	CORE_TEST(what_was_not_committed_does_not_go_home_after_an_abort),
	CORE_TEST(older_image_does_not_go_home_under_a_lost_change),
	CORE_TEST(callbacks_run_at_the_end_of_an_aborted_mount),
	CORE_TEST(first_error_is_kept),
	CORE_TEST(abort_without_an_error_takes_the_next_one),
	CORE_TEST(shutdown_is_no_error_of_the_file_system),
	CORE_TEST(error_is_seen_by_the_next_mount),
	CORE_TEST(error_of_an_abort_cannot_be_cleared),
	CORE_TEST(abort_while_a_record_is_in_flight_frees_everything),
	CORE_TEST(broken_promise_of_segments),
	CORE_TEST(broken_promise_of_a_ring),
	CORE_TEST(broken_promise_of_memory),
	CORE_TEST(failed_restart_gives_the_reservation_back),
);
