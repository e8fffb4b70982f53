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

	OPEN();
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
	OPEN();
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
	OPEN();
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
	OPEN();
	change(0, BLOCK + 1, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	fail_next_write();
	fx.zj->max_found = 1;
	zj_checkpoint(fx.zj, false);
	fx.zj->max_found = 100;
	/* The write that failed was the neighbour's. */
	assert_int_equal(home_val(BLOCK), 0);
	assert_int_equal(home_val(BLOCK + 1), 1);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_aborted();
}

CORE_TESTS(neighbours,
	CORE_TEST(block_takes_its_neighbours_home),
	CORE_TEST(neighbours_end_at_one_that_is_not_due),
	CORE_TEST(first_block_has_one_neighbour),
	CORE_TEST(neighbour_that_fails_stays_in_the_log),
);
