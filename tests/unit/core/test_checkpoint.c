// SPDX-License-Identifier: GPL-2.0-only
/* checkpoint.c: home writes, their order, what keeps S back. */
#include "fixture.h"

static u64 stamp_on_disk(void)
{
	struct log log;
	u64 stamp;

	log_read(&log);
	stamp = log.r.trim_stamp;
	log_free(&log);
	return stamp;
}

static void valid_images_go_home_then_s_moves(void)
{
	u32 before, home, slot;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(home_val(BLOCK), 0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(fx.zj->trimmed, 2);
	assert_int_equal(stamp_on_disk(), 2);
	/* Home, durable, then S. */
	home = written(BLOCK, before);
	slot = written(jblock(ZJ_BLOCK_TRIM + fx.zj->trim_seq % 2), before);
	assert_true(home < slot);
	assert_true(flushed_between(home, slot));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void newest_valid_image_goes_home_once(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	close_journal();
}

static void block_of_a_running_transaction_stays(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	put(h, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	close_journal();
}

static void block_of_a_frozen_transaction_stays(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	fx.hold_lane[1] = true;
	freeze(1);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	release();
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	close_journal();
}

static void full_checkpoint_closes_what_covers_older_images(void)
{
	tid_t tid;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	tid = change(1, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	assert_true(list_empty(&fx.zj->trim_list));
	close_journal();
}

static void s_does_not_pass_what_is_not_home(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK + 1, 1);
	commit(1);
	h = start(0, 1);
	put(h, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	/* The younger one is home, the older one cannot go. */
	assert_int_equal(home_val(BLOCK + 1), 1);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	stop(h);
	close_journal();
}

static void write_that_fails_aborts_and_keeps_the_log(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	assert_true(said("could not be written home"));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

static void failed_write_back_of_the_kernels_is_noticed_by_trim(void)
{
	OPEN();
	change(0, BLOCK, 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_false(is_journal_aborted(fx.journal));
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stamp_on_disk(), 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

/* Whatever block it was: it may have been one of those that S would pass. */
static void any_failed_write_back_keeps_s_back(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK + 5);
	mark_buffer_dirty(bh);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK + 5);
	settle();
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stamp_on_disk(), 1);
	close_aborted();
}

static void failed_write_back_of_the_kernels_is_noticed_by_write_access(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK);
	settle();
	h = start(0, 1);
	bh = buffer(BLOCK + 1);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EIO);
	own(NULL);
	brelse(bh);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stop(h), -EIO);
	close_aborted();
}

static void error_of_before_the_mount_is_not_ours(void)
{
	struct buffer_head *bh;

	make_disk(&(struct setup){ .lanes = 1, .journal = 1024, .new = true });
	bh = buffer(BLOCK + 5);
	set_buffer_dirty(bh);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK + 5);
	settle();
	brelse(bh);
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	close_journal();
}

static void write_that_fails_is_made_good_by_a_new_image(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	set_buffer_write_io_error(bh);
	h = start(0, 1);
	put(h, BLOCK, 1);
	assert_false(buffer_write_io_error(bh));
	brelse(bh);
	stop(h);
	close_journal();
}

static void what_write_back_brought_home_is_let_go(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	bh = buffer(BLOCK);
	assert_true(buffer_jbd(bh));
	/* The thread looks once in a commit interval, or when it is woken. */
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_false(buffer_jbd(bh));
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static void more_than_a_batch_goes_home(void)
{
	const u32 nr = 300;
	handle_t *h;

	OPEN();
	h = start(0, nr);
	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 7);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

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

/* S waits for all batches, whoever brings them home. */
static void lanes_help_while_space_is_short(void)
{
	const u32 nr = 12;
	struct fiber *f;

	OPEN();
	atomic_inc(&fx.zj->space_waiters);
	f = checkpoint_with_a_stuck_batch(nr);
	for (u32 i = nr / 3; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 7);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	release();
	join(f);
	atomic_dec(&fx.zj->space_waiters);
	assert_int_equal(f->ret, 0);
	assert_int_equal(fx.zj->trimmed, 2);
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
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static bool offered_after(struct zj_lane *lane, u32 blocks)
{
	zj_checkpoint_owe(lane, blocks);
	return zj_checkpoint_offers(lane);
}

/* Their fsyncs do not wait for what other lanes have filled the log with. */
static void small_transactions_bring_nothing_home(void)
{
	struct zj_journal *zj;
	struct zj_lane *lane;
	u32 free;

	OPEN();
	zj = fx.zj;
	lane = &zj->lanes[0];
	free = zj->nr_pool;
	zj->batch_size = 8;
	zj->nr_batches = 1;
	zj->nr_pool = zj->geo.nr_segs * 3 / 8 - 1;
	assert_false(zj_space_scarce(zj));
	assert_false(offered_after(lane, 3));
	assert_false(offered_after(lane, 3));
	assert_true(offered_after(lane, 4));
	/* In the last quarter each does its share. */
	lane->owes = 0;
	zj->nr_pool = zj->geo.nr_segs / 4 - 1;
	assert_false(offered_after(lane, 3));
	assert_true(offered_after(lane, 3));
	/* Without work nobody waits for the lane. */
	lane->owes = 0;
	assert_false(zj_checkpoint_offers(lane));
	lane->committed = jiffies - HZ - 1;
	assert_true(zj_checkpoint_offers(lane));
	zj->nr_batches = 0;
	zj->nr_pool = free;
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

/* An idle lane covers a block of the oldest transaction: nobody waits for it. */
static void space_that_runs_short_closes_what_keeps_s_back(void)
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
	}
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_int_equal(lane(0)->stats.wait_space, 0);
	assert_true(fx.zj->trimmed > 10);
	close_journal();
}

static void half_a_log_starts_the_background_thread(void)
{
	handle_t *h;

	OPEN(.lanes = 1, .journal = 140);
	for (u32 i = 0; i < 4; i++) {
		h = start(0, 20);
		for (u32 k = 0; k < 20; k++)
			put(h, BLOCK + 20 * i + k, 1 + i);
		stop(h);
		commit(0);
	}
	settle();
	assert_true(fx.zj->trimmed > 1);
	assert_int_equal(home_val(BLOCK), 1);
	close_journal();
}

static void home_writes_of_a_block_follow_one_another(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	h = start(1, 1);
	f = GO(call_access, .h = h, .block = BLOCK);
	settle();
	/* The older image is in flight: the newer one cannot overtake. */
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(BLOCK), 2);
	close_journal();
}

CORE_TESTS(checkpoint,
	CORE_TEST(valid_images_go_home_then_s_moves),
	CORE_TEST(newest_valid_image_goes_home_once),
	CORE_TEST(block_of_a_running_transaction_stays),
	CORE_TEST(block_of_a_frozen_transaction_stays),
	CORE_TEST(full_checkpoint_closes_what_covers_older_images),
	CORE_TEST(s_does_not_pass_what_is_not_home),
	CORE_TEST(write_that_fails_aborts_and_keeps_the_log),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_trim),
	CORE_TEST(any_failed_write_back_keeps_s_back),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_write_access),
	CORE_TEST(error_of_before_the_mount_is_not_ours),
	CORE_TEST(write_that_fails_is_made_good_by_a_new_image),
	CORE_TEST(what_write_back_brought_home_is_let_go),
	CORE_TEST(more_than_a_batch_goes_home),
	CORE_TEST(lanes_help_while_space_is_short),
	CORE_TEST(lanes_do_not_help_while_there_is_space),
	CORE_TEST(small_transactions_bring_nothing_home),
	CORE_TEST(write_that_fails_in_a_lanes_batch_aborts),
	CORE_TEST(space_that_runs_short_closes_what_keeps_s_back),
	CORE_TEST(half_a_log_starts_the_background_thread),
	CORE_TEST(home_writes_of_a_block_follow_one_another),
);
