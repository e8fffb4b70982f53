// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which threads write blocks home, and when: the checkpoint thread, its passes, helping lanes.
 */
#include <klayer/nvm.h>
#include "fixture.h"

/* Three batches; the first is stuck in the device. */
static struct fiber *checkpoint_with_a_stuck_batch(u32 nr)
{
	struct fiber *f;
	handle_t *h;

	fx.zj->batch_size = nr / 3;
	h = start(0, nr);
	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
	fx.hold_block = BLOCK;
	f = GO(call_checkpoint);
	settle();
	assert_false(f->done);
	return f;
}

/* The checkpoint stamp waits for all batches, no matter which task writes them home. */
static void lanes_help_while_space_is_short(void)
{
	const u32 nr = 12;
	struct fiber *f;

	OPEN();
	atomic_inc(&fx.zj->space_waiters);
	f = checkpoint_with_a_stuck_batch(nr);
	for (u32 i = nr / 3; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 7);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(stamp_on_disk(), 1);
	release();
	join(f);
	atomic_dec(&fx.zj->space_waiters);
	assert_int_equal(f->ret, 0);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
}

/* An fsync of the lane would have to wait for a whole batch. */
static void lanes_do_not_help_while_there_is_space(void)
{
	const u32 nr = 12;
	struct fiber *f;

	OPEN();
	f = checkpoint_with_a_stuck_batch(nr);
	assert_int_equal(home_val(BLOCK + nr - 1), 0);
	release();
	join(f);
	assert_int_equal(home_val(BLOCK + nr - 1), 7);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	close_journal();
}

static bool offered_after(struct zj_lane *lane, u32 blocks)
{
	zj_checkpoint_charge(lane, blocks);
	return zj_checkpoint_offers(lane);
}

/* Their fsyncs do not wait for what other lanes have filled the log with. */
static void small_transactions_bring_nothing_home(void)
{
	struct zj_journal *zj;
	struct zj_lane *lane;

	OPEN();
	zj = fx.zj;
	lane = &zj->lanes[0];
	zj->batch_size = 8;
	zj->pass_left = 1;
	/* No task waits, so no home writes are due, however much was logged. */
	assert_false(offered_after(lane, 8));
	atomic_inc(&zj->space_waiters);
	lane->ckpt_debt = 0;
	assert_false(offered_after(lane, 3));
	assert_true(offered_after(lane, 1));
	/* A lane without work keeps no task waiting. */
	lane->ckpt_debt = 0;
	assert_false(zj_checkpoint_offers(lane));
	lane->logged_at = jiffies - HZ - 1;
	assert_true(zj_checkpoint_offers(lane));
	/* It has work again. */
	assert_false(offered_after(lane, 0));
	/* Older debt that was not worked off is dropped. */
	lane->ckpt_debt = 16;
	atomic_dec(&zj->space_waiters);
	assert_false(offered_after(lane, 3));
	assert_int_equal(lane->ckpt_debt, 6);
	/* There is nothing left to write home. */
	atomic_inc(&zj->space_waiters);
	zj->pass_left = 0;
	assert_false(offered_after(lane, 8));
	atomic_dec(&zj->space_waiters);
	close_journal();
}

/* The buffers are sorted and written home when all of them have been found. */
static void pass_waits_for_members_that_lanes_walk_over(void)
{
	struct task_struct *lanes;
	struct buffer_head *bh[2];
	struct fiber *f;

	OPEN(.lanes = 2);
	fx.zj->batch_size = 1;
	for (u32 i = 0; i < 2; i++) {
		change(i, BLOCK + i, 7);
		commit(i);
		bh[i] = buffer(BLOCK + i);
	}
	atomic_inc(&fx.zj->space_waiters);
	f = GO(call_checkpoint);
	lanes = lane(fx.zj->helper)->task;
	stop_before(&f->task->task, &bh2jh(bh[0])->lock, 1);
	stop_before(lanes, &bh2jh(bh[1])->lock, 1);
	settle();
	assert_true(stopped(&f->task->task));
	assert_true(stopped(lanes));
	assert_null(fx.zj->walked);
	go_on(&f->task->task);
	settle();
	assert_false(f->done);
	assert_int_equal(home_val(BLOCK), 0);
	go_on(lanes);
	join(f);
	atomic_dec(&fx.zj->space_waiters);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(home_val(BLOCK + i), 7);
		brelse(bh[i]);
	}
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	close_journal();
}

/* One member after the other, over the end of a component and of the pass. */
static void members_of_all_components_go_home_while_space_is_short(void)
{
	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	change(1, BLOCK, 2);
	change(1, BLOCK + 1, 2);
	commit(0);
	change(2, BLOCK + 2, 3);
	commit(2);
	atomic_inc(&fx.zj->space_waiters);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	atomic_dec(&fx.zj->space_waiters);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(home_val(BLOCK + 1), 2);
	assert_int_equal(home_val(BLOCK + 2), 3);
	close_journal();
}

static void write_that_fails_in_a_lanes_batch_aborts(void)
{
	handle_t *h;

	OPEN();
	fx.zj->batch_size = 1;
	h = start(0, 3);
	for (u32 i = 0; i < 3; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	commit(0);
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_int_equal(stamp_on_disk(), 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

/*
 * An idle lane covers a block of the oldest transaction. It is not closed while there
 * is space: what is closed early is logged again.
 */
static void start_without_space_closes_what_keeps_the_stamp_back(void)
{
	tid_t tid;

	OPEN(.lanes = 2, .journal = 230);
	change(0, BLOCK, 1);
	commit(0);
	tid = change(1, BLOCK, 2);
	for (u32 i = 0; i < 60; i++) {
		change(0, BLOCK + 1 + i % 3, 1 + i);
		change(0, BLOCK + 4, 1 + i);
		change(0, BLOCK + 5, 1 + i);
		commit(0);
		settle();
		assert_true(stage_of(tid) == ZJ_RUNNING || lane(0)->stats.wait_space);
	}
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	assert_int_equal(lane(0)->stats.wait_space, 1);
	assert_true(fx.zj->ckpt_stamp > 10);
	close_journal();
}

static void two_thirds_of_a_log_start_the_background_thread(void)
{
	handle_t *h;

	OPEN(.lanes = 1, .journal = 140);
	for (u32 i = 0; i < 5; i++) {
		h = start(0, 20);
		for (u32 k = 0; k < 20; k++)
			put(h, BLOCK + 20 * i + k, 1 + i);
		stop(h);
		commit(0);
	}
	settle();
	assert_true(fx.zj->ckpt_stamp > 1);
	assert_int_equal(home_val(BLOCK), 1);
	close_journal();
}

static void begin_kick(void)
{
	zj_checkpoint_kick(fx.zj);
}

/* A block gets home, and the checkpoint's thread must be woken. */
static void call_home_and_kick(struct fiber *f)
{
	buf_write_back(fx.disk, BLOCK);
	sleep_ms(2);
	zj_checkpoint_kick(fx.zj);
}

/* After a kick the thread checks once more, whatever it was doing. */
static void kick_is_never_lost(void)
{
	struct buffer_head *bh;
	bool more;
	int n = 1;

	OPEN();
	bh = buffer(BLOCK);
	do {
		change(0, BLOCK, n);
		commit(0);
		settle();
		more = preempt_task_at(n++, fx.zj->ckpt_task, begin_kick,
				       CALL(call_home_and_kick));
		assert_false(buffer_jbd(bh));
	} while (more);
	assert_true(n > 10);
	brelse(bh);
	close_journal();
}

/* ---- passes ---- */

#define PER_TXN		10u

static void change_blocks(u32 lane, u32 first, u32 nr, u8 val)
{
	handle_t *h = start(lane, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, first + i, val);
	stop(h);
}

/* Commits transactions until hardly any of the log is free, with none of them home. */
static u32 fill_log(u32 first)
{
	u32 nr = 0;

	while (fx.zj->nr_pool > fx.zj->geo.nr_segs / 12) {
		change_blocks(0, first + PER_TXN * nr++, PER_TXN, 1);
		commit(0);
	}
	return nr;
}

/* Younger components stay, as their blocks may be logged again. */
static void pass_brings_half_a_budget_home(void)
{
	u32 nr, most;

	OPEN(.lanes = 1, .journal = 1024);
	mutex_lock(&fx.zj->ckpt_lock);
	nr = fill_log(BLOCK);
	mutex_unlock(&fx.zj->ckpt_lock);
	most = DIV_ROUND_UP(fx.zj->budget / 2, PER_TXN);
	assert_true(nr > most);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK + PER_TXN * most - 1), 1);
	assert_int_equal(home_val(BLOCK + PER_TXN * most + ZJ_NEIGHBOURS), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 1 + most);
	close_journal();
}

/* The checkpoint stamp is written for one pass while the next one's blocks are on their way. */
static void stamp_does_not_wait_for_the_next_pass(void)
{
	handle_t *h;

	OPEN();
	h = start(1, fx.zj->max_credits);
	fx.zj->low_pool = fx.zj->geo.nr_segs;
	fx.hold_block = BLOCK;
	change(0, BLOCK, 1);
	commit(0);
	settle();
	assert_int_equal(nr_held(), 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	fx.zj->ckpt_wanted = false;
	release();
	fx.hold_block = BLOCK + 1;
	settle();
	assert_int_equal(nr_held(), 1);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	release();
	settle();
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	stop(h);
	close_journal();
}

/* The thread goes on until enough is free, not only until one pass is home. */
static void thread_works_until_enough_is_free(void)
{
	OPEN(.lanes = 1, .journal = 1024);
	mutex_lock(&fx.zj->ckpt_lock);
	fill_log(BLOCK);
	/* It has been woken, and waits for us. */
	fx.zj->ckpt_wanted = false;
	mutex_unlock(&fx.zj->ckpt_lock);
	settle();
	assert_true(fx.zj->ckpt_stamp > 1 + DIV_ROUND_UP(fx.zj->budget / 2, PER_TXN));
	assert_false(zj_space_low(fx.zj));
	close_journal();
}

/*
 * A running transaction keeps the oldest one. What is younger than that goes home, and
 * if one pass has no room for all of it, the next one goes on.
 */
static void pass_goes_on_where_the_last_one_had_no_room(void)
{
	const u32 first = BLOCK + 1;
	u32 nr;

	OPEN(.journal = 2000);
	assert_int_equal(fx.zj->nr_lanes, 2);
	nr = fx.zj->max_txn;
	mutex_lock(&fx.zj->ckpt_lock);
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	assert_true(nr > fx.zj->max_found);
	change_blocks(0, first, nr, 1);
	commit(0);
	fill_log(first + nr);
	mutex_unlock(&fx.zj->ckpt_lock);
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(home_val(BLOCK), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(first + i), 1);
	close_journal();
}

/* A walk may find more than the array has room for; nothing of it stays in use. */
static void pass_leaves_what_has_no_room(void)
{
	const u32 room = 5, nr = 2 * PER_TXN;

	OPEN(.lanes = 1);
	fx.zj->max_found = room;
	change_blocks(0, BLOCK, nr, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), i < room);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 1);
	close_journal();
}

/* What is found first takes the room of a batch of 32; nobody looks for more than that. */
static void full_pass_looks_no_further(void)
{
	const u32 room = 5, nr = 32 + 8;
	struct buffer_head *bh;

	OPEN(.lanes = 1);
	fx.zj->max_found = room;
	change_blocks(0, BLOCK, nr, 1);
	commit(0);
	bh = buffer(BLOCK + nr - 1);
	count_lock(&bh2jh(bh)->lock);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(lock_count(), 0);
	assert_int_equal(home_val(BLOCK), 1);
	brelse(bh);
	close_journal();
}

/* The pass was on the checkpoint's stack. */
static void pass_that_has_ended_is_nobodys(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_null(fx.zj->pass);
	close_journal();
}

static void call_kick(struct fiber *f)
{
	zj_checkpoint_kick(fx.zj);
}

static void call_pause(struct fiber *f)
{
	sleep_ms(2);
}

/* The thread may wake and check before the task that woke it is done. */
static void kick_is_seen_by_who_wakes_at_once(void)
{
	struct buffer_head *bh;
	bool more;
	int n = 1;

	OPEN();
	bh = buffer(BLOCK);
	do {
		change(0, BLOCK, n);
		commit(0);
		buf_write_back(fx.disk, BLOCK);
		settle();
		assert_true(buffer_jbd(bh));
		more = preempt_at(n++, CALL(call_kick), CALL(call_pause));
		settle();
		assert_false(buffer_jbd(bh));
	} while (more);
	assert_true(n > 2);
	brelse(bh);
	close_journal();
}

static void error_of_advancing_the_tail_is_reported_as_it_is(void)
{
	OPEN(.journal = 400, .nvm = 1 << 20);
	change(0, BLOCK, 1);
	commit(0);
	kl_nvm.gone = true;
	assert_int_equal(zj_checkpoint(fx.zj, true), -ENODEV);
	kl_nvm.gone = false;
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	close_aborted();
}

/* The next pass need not wait for news: the last one had no room for all. */
static void passes_follow_each_other_while_they_move_something(void)
{
	ktime_t begin;

	OPEN(.journal = 1024, .lanes = 1);
	change_blocks(0, BLOCK, fx.zj->max_txn, 1);
	commit(0);
	assert_true(fx.zj->max_txn > fx.zj->max_found);
	fx.disk->io_ns = 1000;
	begin = ktime_get();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(ktime_get() - begin < 50 * NSEC_PER_MSEC);
	close_journal();
}

/* Nobody is short of space, and no pass has anything to do. */
static void tail_advances_over_what_write_back_has_brought_home(void)
{
	OPEN();
	fx.journal->j_commit_interval = 5 * HZ;
	/* The thread sees the new interval when it sleeps again. */
	zj_checkpoint_kick(fx.zj);
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_int_equal(home_val(BLOCK), 1);
	sleep_ms(12000);
	assert_int_equal(fx.zj->ckpt_stamp, fx.zj->stamp);
	assert_int_equal(stamp_on_disk(), fx.zj->stamp);
	close_journal();
}

static void nothing(void *arg, u64 number)
{
}

/* Alarms of sleepers are events. */
static u64 events(void)
{
	return sim_event(0, nothing, NULL);
}

/* It does not look for what is old, but that is no reason to look without a pause. */
static void thread_of_an_aborted_journal_rests(void)
{
	u64 before;

	for (u32 nvm = 0; nvm < 2; nvm++) {
		OPEN(.nvm = nvm << 20, .journal = 400);
		fx.journal->j_commit_interval = 3600 * HZ;
		zj_checkpoint_kick(fx.zj);
		settle();
		zj_journal_abort(fx.journal, -EIO);
		sleep_ms(1000 * 1000);
		before = events();
		sleep_ms(600 * 1000);
		assert_true(events() - before < 100);
		close_aborted();
	}
}

CORE_TESTS(checkpoint_thread,
	CORE_TEST(thread_of_an_aborted_journal_rests),
	CORE_TEST(tail_advances_over_what_write_back_has_brought_home),
	CORE_TEST(kick_is_never_lost),
	CORE_TEST(lanes_help_while_space_is_short),
	CORE_TEST(lanes_do_not_help_while_there_is_space),
	CORE_TEST(small_transactions_bring_nothing_home),
	CORE_TEST(pass_waits_for_members_that_lanes_walk_over),
	CORE_TEST(members_of_all_components_go_home_while_space_is_short),
	CORE_TEST(write_that_fails_in_a_lanes_batch_aborts),
	CORE_TEST(start_without_space_closes_what_keeps_the_stamp_back),
	CORE_TEST(two_thirds_of_a_log_start_the_background_thread),
	CORE_TEST(pass_brings_half_a_budget_home),
	CORE_TEST(stamp_does_not_wait_for_the_next_pass),
	CORE_TEST(thread_works_until_enough_is_free),
	CORE_TEST(pass_goes_on_where_the_last_one_had_no_room),
	CORE_TEST(pass_leaves_what_has_no_room),
	CORE_TEST(full_pass_looks_no_further),
	CORE_TEST(pass_that_has_ended_is_nobodys),
	CORE_TEST(kick_is_seen_by_who_wakes_at_once),
	CORE_TEST(error_of_advancing_the_tail_is_reported_as_it_is),
	CORE_TEST(passes_follow_each_other_while_they_move_something),
);
