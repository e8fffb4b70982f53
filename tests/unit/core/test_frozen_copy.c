// SPDX-License-Identifier: GPL-2.0-only
/* R3: a block whose owner is sealed is copied before it changes, or was copied ahead. */
#include "fixture.h"

static void r3_sealed_owner_is_copied_then_depended_on(void)
{
	struct zj_txn *old;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	seal(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_non_null(part_of(old, BLOCK)->frozen_data);
	assert_int_equal(lane(1)->stats.copies, 1);
	assert_true(depends(handle_txn(h), old));
	assert_false(depends(old, handle_txn(h)));
	assert_int_equal(old->comp->nr_members, 1);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	commit(1);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 2);
	assert_true(log_depends(&log, 3, 2));
	assert_false(log_depends(&log, 2, 3));
	log_free(&log);
	zj_txn_put(old);
	close_journal();
}

static void r3_block_that_was_not_changed_is_not_copied(void)
{
	struct zj_txn *old;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	get_access(h, BLOCK);
	stop(h);
	old = running(0);
	seal(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_null(part_of(old, BLOCK)->frozen_data);
	assert_int_equal(lane(1)->stats.copies, 0);
	assert_true(depends(handle_txn(h), old));
	stop(h);
	zj_txn_put(old);
	close_journal();
}

static void r3_next_of_the_own_lane_copies_too(void)
{
	struct zj_txn *old;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	seal(0);
	h = start(0, 1);
	put(h, BLOCK, 2);
	assert_non_null(part_of(old, BLOCK)->frozen_data);
	/* The order within a lane is R7's. */
	assert_int_equal(dependencies(0), 0);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 2);
	log_free(&log);
	zj_txn_put(old);
	close_journal();
}

static void r3_every_owner_has_a_copy_of_its_own(void)
{
	struct log log;
	handle_t *h;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		h = start(i, 1);
		put(h, BLOCK, 10 + i);
		stop(h);
		seal(i);
		assert_int_equal(lane(i)->stats.copies, i > 0);
	}
	settle();
	log_read(&log);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(log_data(&log, log_image(&log, 2 + i, BLOCK))[0],
				 10 + i);
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK), 12);
	close_journal();
}

static void r3_waits_for_log_io_from_the_live_buffer_only(void)
{
	struct log log;
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	seal_held(0);
	assert_int_equal(nr_held(), 1);
	h = start(1, 2);
	f = GO(call_access, .h = h, .block = BLOCK);
	get_access(h, BLOCK + 1);
	settle();
	assert_false(f->done);
	assert_int_equal(lane(1)->stats.wait_log, 1);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(lane(1)->stats.copies, 0);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	log_free(&log);
	close_journal();
}

static void r3_contended_block_is_copied_ahead_next_time(void)
{
	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	assert_int_equal(lane(1)->stats.ahead, 0);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 1);
	/* After three more commits without a handle it is logged from the buffer again. */
	for (u32 i = 0; i < 6; i++) {
		change(1, BLOCK, 3 + i);
		commit(1);
	}
	assert_int_equal(lane(1)->stats.ahead, 4);
	close_journal();
}

/* A handle that finds a copy made in advance needed it, so the next commit makes one, too. */
static void copy_that_was_used_is_made_again(void)
{
	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	for (u32 i = 1; i <= 8; i++) {
		fx.hold_lane[i % 2] = true;
		seal(i % 2);
		settle();
		/* Its record is in flight, so its image was taken. */
		change(!(i % 2), BLOCK, 2 + i);
		release();
		settle();
		assert_int_equal(lane(0)->stats.ahead + lane(1)->stats.ahead, i);
	}
	commit(1);
	assert_int_equal(lane(0)->stats.wait_log, 0);
	assert_int_equal(lane(1)->stats.wait_log, 0);
	close_journal();
}

/* The head goes with the last owner, what was learned stays with the buffer. */
static void history_outlives_the_head(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_false(buffer_jbd(bh));
	change(1, BLOCK, 3);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 2);
	/* It does not stay for ever. */
	for (u32 i = 0; i < 5; i++) {
		change(1, BLOCK, 4 + i);
		commit(1);
	}
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change(1, BLOCK, 10);
	commit(1);
	assert_int_equal(lane(1)->stats.ahead, 5);
	brelse(bh);
	close_journal();
}

static void copies_can_be_asked_for_always(void)
{
	OPEN();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	change(0, BLOCK, 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 2);
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_AUTO);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 2);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* Without copies in advance a handle waits for the log I/O; the superblock is still copied. */
static void copies_can_be_forbidden(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_NEVER);
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	seal_held(1);
	assert_int_equal(lane(1)->stats.ahead, 0);
	h = start(0, 1);
	f = GO(call_access, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	assert_int_equal(lane(0)->stats.wait_log, 1);
	release();
	join(f);
	stop(h);
	change(0, 1, 5);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 1);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void r3_super_block_is_always_copied(void)
{
	OPEN();
	change(0, 1, 5);
	commit(0);
	assert_int_equal(lane(0)->stats.ahead, 1);
	close_journal();
}

CORE_TESTS(frozen_copy,
	CORE_TEST(r3_sealed_owner_is_copied_then_depended_on),
	CORE_TEST(r3_block_that_was_not_changed_is_not_copied),
	CORE_TEST(r3_next_of_the_own_lane_copies_too),
	CORE_TEST(r3_every_owner_has_a_copy_of_its_own),
	CORE_TEST(r3_waits_for_log_io_from_the_live_buffer_only),
	CORE_TEST(r3_contended_block_is_copied_ahead_next_time),
	CORE_TEST(copy_that_was_used_is_made_again),
	CORE_TEST(history_outlives_the_head),
	CORE_TEST(copies_can_be_asked_for_always),
	CORE_TEST(copies_can_be_forbidden),
	CORE_TEST(r3_super_block_is_always_copied),
);
