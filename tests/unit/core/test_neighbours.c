// SPDX-License-Identifier: GPL-2.0-only
/* home.c: what goes home with a block. */
#include "fixture.h"

/* One pass over @nr buffers of the oldest components. */
static void small_pass(u32 nr)
{
	u32 room = fx.zj->max_found;

	fx.zj->max_found = nr;
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	fx.zj->max_found = room;
}

/* What is due on either side of a block needs no request of its own later. */
static void block_takes_its_neighbours_home(void)
{
	const u32 most = ZJ_NEIGHBOURS, nr = 2 * most + 5;

	OPEN(.one_head = true);
	change(0, BLOCK + most + 2, 1);
	commit(0);
	for (u32 i = 0; i < nr; i++)
		if (i != most + 2)
			change(1, BLOCK + i, 2);
	commit(1);
	small_pass(1);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i),
				 i < 2 || i >= nr - 2 ? 0 : i == most + 2 ? 1 : 2);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(writes_of(BLOCK + i, 0), 1);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	close_journal();
}

/* Behind a block that is not due, others would need a request of their own now. */
static void neighbours_end_at_one_that_is_not_due(void)
{
	OPEN(.one_head = true);
	change(0, BLOCK + 4, 1);
	commit(0);
	change(1, BLOCK + 1, 2);
	change(1, BLOCK + 3, 2);
	change(1, BLOCK + 5, 2);
	change(1, BLOCK + 7, 2);
	commit(1);
	/* H1: the newest image of one is not committed. */
	change(1, BLOCK + 3, 3);
	small_pass(1);
	assert_int_equal(home_val(BLOCK + 1), 0);
	assert_int_equal(writes_of(BLOCK + 3, 0), 0);
	assert_int_equal(home_val(BLOCK + 4), 1);
	assert_int_equal(home_val(BLOCK + 5), 2);
	assert_int_equal(home_val(BLOCK + 7), 0);
	close_journal();
}

/* A block before the first one is not asked for. */
static void first_block_has_one_neighbour(void)
{
	OPEN(.one_head = true);
	change(0, 0, 1);
	commit(0);
	change(1, 1, 2);
	commit(1);
	small_pass(1);
	assert_int_equal(home_val(0), 1);
	assert_int_equal(home_val(1), 2);
	close_journal();
}

/* The pass does not wait for a neighbour, so the next one has to find its error. */
static void neighbour_that_fails_stays_in_the_log(void)
{
	struct buffer_head *bh;

	OPEN(.one_head = true);
	change(0, BLOCK + 1, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	fail_next_write();
	fx.zj->max_found = 1;
	zj_checkpoint(fx.zj, false);
	fx.zj->max_found = 100;
	/* The write that failed was the neighbour's. */
	bh = buffer(BLOCK);
	assert_true(buffer_write_io_error(bh));
	brelse(bh);
	assert_int_equal(home_val(BLOCK + 1), 1);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_aborted();
}

/* One pass over the oldest component only. */
static void oldest_goes_home(void)
{
	u32 budget = fx.zj->budget;

	fx.zj->budget = 2;
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	fx.zj->budget = budget;
}

/* With more heads than one the younger half of the log stays: its blocks may be logged again. */
static void younger_half_of_the_log_stays(void)
{
	const u32 nr = 6;

	OPEN();
	for (u32 i = 0; i < nr; i++) {
		change(0, BLOCK + i, 1);
		commit(0);
	}
	small_pass(1);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), i < nr / 2);
	close_journal();
}

/* Otherwise each block beside it that goes home would take it along, and who wants it would wait. */
static void block_that_is_logged_often_stays(void)
{
	const u32 often = BLOCK + ZJ_NEIGHBOURS, window = 8;

	OPEN();
	for (u32 i = 0; i < 8 * ZJ_NEIGHBOURS; i++) {
		u32 away = ZJ_NEIGHBOURS - i % ZJ_NEIGHBOURS;

		change(0, i / ZJ_NEIGHBOURS % 2 ? often - away : often + away, 1);
		change(0, often, i);
		commit(0);
		while (fx.zj->stamp - fx.zj->ckpt_stamp > window)
			oldest_goes_home();
	}
	assert_int_equal(writes_of(often, 0), 0);
	assert_int_not_equal(writes_of(often + 1, 0), 0);
	assert_int_not_equal(writes_of(often - 1, 0), 0);
	close_journal();
}

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

/*
 * A table whose blocks are logged at random, each three times on average while a component stays in
 * the log. Of those that have to go home some go twice, not all that are beside them each time.
 */
static void table_goes_home_hardly_more_often(void)
{
	enum { NR = 64, EACH = 8, WINDOW = 24, ROUNDS = 200 };
	u32 last[NR] = { }, due = 0, sent = 0, seed = 1;

	OPEN();
	for (u32 i = 1; i <= ROUNDS; i++) {
		for (u32 j = 0; j < EACH; j++) {
			u32 n = next_random(&seed) % NR;

			change(0, BLOCK + n, i);
			last[n] = i;
		}
		commit(0);
		for (u32 n = 0; i > WINDOW && n < NR; n++)
			due += last[n] == i - WINDOW;
		while (fx.zj->stamp - fx.zj->ckpt_stamp > WINDOW)
			oldest_goes_home();
	}
	for (u32 n = 0; n < NR; n++)
		sent += writes_of(BLOCK + n, 0);
	assert_true(due > 50);
	assert_true(sent < 2 * due);
	close_journal();
}

/* What a lane's thread has sent is paid, and not to be sent by anybody later. */
static void neighbours_count_in_a_lanes_debt(void)
{
	OPEN(.one_head = true);
	fx.zj->batch_size = 1;
	for (u32 i = 0; i < 3; i++)
		change(0, BLOCK + 100 * i, 1);
	commit(0);
	for (u32 i = 1; i < 5; i++)
		change(1, BLOCK + 200 + i, 2);
	commit(1);
	fx.zj->max_found = 3;
	lane(0)->ckpt_debt = 7;
	lane(1)->ckpt_debt = 7;
	lane(0)->logged_at = lane(1)->logged_at = jiffies;
	atomic_inc(&fx.zj->space_waiters);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	atomic_dec(&fx.zj->space_waiters);
	fx.zj->max_found = 100;
	assert_int_equal(home_val(BLOCK + 204), 2);
	assert_int_equal(lane(0)->ckpt_debt + lane(1)->ckpt_debt, 2 * 7 - 5);
	close_journal();
}

/*
 * User space may dirty any block through the device. One that the journal does not know is none of
 * its business, and the newest image of one that a running transaction has is not committed (J1).
 */
static void what_is_dirty_without_the_journal_stays(void)
{
	struct journal_head *jh = NULL;

	OPEN(.one_head = true);
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK - 1, 2);
	for (u32 block = BLOCK - 1; block <= BLOCK + 1; block += 2) {
		struct buffer_head *bh = buffer(block);

		mark_buffer_dirty(bh);
		/* A handle is about to take it. */
		if (block > BLOCK)
			jh = zj_jh_attach(bh);
		brelse(bh);
	}
	small_pass(1);
	zj_jh_put(jh);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(writes_of(BLOCK - 1, 0), 0);
	assert_int_equal(writes_of(BLOCK + 1, 0), 0);
	close_journal();
}

/* A pass has written the older of two blocks home, and the write of the other is on its way. */
static void neighbour_is_on_its_way(void)
{
	OPEN(.one_head = true);
	change(0, BLOCK + 1, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	fx.hold_block = BLOCK;
	small_pass(1);
}

/*
 * Nobody has waited for its write. If that ended after the unmount, it could end after one of the
 * next mount, which knows nothing of it.
 */
static void unmount_waits_for_a_neighbour_on_its_way(void)
{
	struct fiber *f;

	neighbour_is_on_its_way();
	assert_int_equal(nr_held(), 1);
	zj_journal_abort(fx.journal, -EIO);
	f = GO(call_unmount);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(home_val(BLOCK), 2);
	discard_disk();
}

/* Its own pass sends it no second time, and the tail stays where it is until it is home. */
static void neighbour_on_its_way_is_waited_for_by_its_own_pass(void)
{
	struct fiber *f;

	neighbour_is_on_its_way();
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	f = GO(call_checkpoint);
	settle();
	assert_false(f->done);
	assert_int_equal(stamp_on_disk(), 2);
	release();
	join(f);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(fx.zj->ckpt_stamp, fx.zj->stamp);
	close_journal();
}

CORE_TESTS(neighbours,
	CORE_TEST(block_takes_its_neighbours_home),
	CORE_TEST(neighbours_end_at_one_that_is_not_due),
	CORE_TEST(first_block_has_one_neighbour),
	CORE_TEST(neighbour_that_fails_stays_in_the_log),
	CORE_TEST(younger_half_of_the_log_stays),
	CORE_TEST(block_that_is_logged_often_stays),
	CORE_TEST(table_goes_home_hardly_more_often),
	CORE_TEST(neighbours_count_in_a_lanes_debt),
	CORE_TEST(what_is_dirty_without_the_journal_stays),
	CORE_TEST(unmount_waits_for_a_neighbour_on_its_way),
	CORE_TEST(neighbour_on_its_way_is_waited_for_by_its_own_pass),
);
