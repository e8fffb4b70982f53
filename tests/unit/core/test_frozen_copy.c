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

/*
 * Changes so many blocks in one transaction, and commits it; writing records of one kind, odd or
 * even numbers in turn, has taken so long.
 */
static void commit_blocks(u32 i, u32 n, s64 io_ns)
{
	handle_t *h = start(i, n);

	for (u32 k = 0; k < n; k++)
		put(h, BLOCK + k, 1);
	stop(h);
	lane(i)->record_ns[n % 2] = 0;
	lane(i)->record_ns[(n + 1) % 2] = io_ns;
	commit(i);
}

static void r3_contended_block_is_copied_ahead_next_time(void)
{
	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	assert_int_equal(lane(1)->stats.ahead, 0);
	commit_blocks(1, 1, 0);
	assert_int_equal(lane(1)->stats.ahead, 1);
	close_journal();
}

/* After a conflict in vain as often as costs one wait: 4 us and the I/O, at 0.5 us each. */
static void conflict_is_remembered_for_as_many_copies_as_cost_a_wait(void)
{
	static const struct { s64 io_ns; u32 copies; } cases[] = {
		{ 0, 8 }, { 3000, 14 }, { 96000, 200 }, { 1LL << 40, 255 },
	};

	OPEN();
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 before = lane(1)->stats.ahead;

		change(0, BLOCK, 1);
		seal(0);
		for (u32 k = 0; k < cases[i].copies; k++) {
			commit_blocks(1, 16 + k % 2, cases[i].io_ns);
			assert_int_equal(lane(1)->stats.ahead, before + k + 1);
		}
		commit_blocks(1, 16, cases[i].io_ns);
		assert_int_equal(lane(1)->stats.ahead, before + cases[i].copies);
	}
	close_journal();
}

/* A device that has become slower or faster counts from the next commit on. */
static void history_follows_the_device(void)
{
	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	commit_blocks(1, 16, 1LL << 40);
	commit_blocks(1, 16, 1LL << 40);
	for (u32 k = 0; k < 10; k++)
		commit_blocks(1, 16, 0);
	assert_int_equal(lane(1)->stats.ahead, 2 + 8);
	close_journal();
}

/* A handle of the other lane wants a block whose image lane i has not logged yet. */
static void conflict_in(u32 i)
{
	change(i, BLOCK + 100, 1);
	seal(i);
	change(!i, BLOCK + 100, 2);
	commit(!i);
}

static u64 copies_of(u32 i, u32 n, s64 io_ns)
{
	u64 before = lane(i)->stats.ahead;

	commit_blocks(i, n, io_ns);
	return lane(i)->stats.ahead - before;
}

/* Of any buffers, as many as cost one wait; none in a lane where nobody waits. */
static void small_transactions_are_copied_after_a_conflict_in_the_lane(void)
{
	OPEN();
	assert_int_equal(copies_of(1, 1, 1LL << 40), 0);
	conflict_in(1);
	assert_int_equal(copies_of(1, 9, 0), 0);
	assert_int_equal(copies_of(1, 3, 0), 3);
	assert_int_equal(copies_of(1, 3, 0), 3);
	/* Two of eight are left. */
	assert_int_equal(copies_of(1, 3, 0), 0);
	assert_int_equal(copies_of(1, 2, 0), 2);
	assert_int_equal(copies_of(1, 1, 0), 0);
	/* The other lane has its own history. */
	assert_int_equal(copies_of(0, 1, 0), 0);
	close_journal();
}

static void slower_device_makes_larger_transactions_small(void)
{
	OPEN();
	assert_int_equal(copies_of(1, 1, 1LL << 40), 0);
	conflict_in(1);
	assert_int_equal(copies_of(1, 39, 15000), 0);
	assert_int_equal(copies_of(1, 38, 15000), 38);
	assert_int_equal(copies_of(1, 1, 15000), 0);
	close_journal();
}

static void handle_does_not_wait_for_a_small_transaction(void)
{
	OPEN();
	conflict_in(1);
	change(1, BLOCK, 1);
	seal_held(1);
	assert_int_equal(nr_held(), 1);
	assert_int_not_equal(lane(1)->conflicts, ZJ_CONFLICT_NOW);
	change(0, BLOCK, 2);
	assert_int_equal(lane(0)->stats.wait_log, 0);
	/* The copy was needed. */
	assert_int_equal(lane(1)->conflicts, ZJ_CONFLICT_NOW);
	release();
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
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

static void let_go(void)
{
	struct buffer_head *bh = buffer(BLOCK);

	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_false(buffer_jbd(bh));
	brelse(bh);
}

/* The head goes with the last owner, what was learned stays with the buffer. */
static void history_outlives_the_head(void)
{
	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	change(1, BLOCK, 2);
	commit_blocks(1, 16, 0);
	assert_int_equal(lane(1)->stats.ahead, 1);
	let_go();
	commit_blocks(1, 16, 0);
	assert_int_equal(lane(1)->stats.ahead, 2);
	/* That copy was not needed, and a buffer without a head remembers no numbers. */
	commit_blocks(1, 16, 0);
	let_go();
	commit_blocks(1, 16, 0);
	assert_int_equal(lane(1)->stats.ahead, 2);
	close_journal();
}

static void copies_can_be_asked_for_always(void)
{
	OPEN();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	commit_blocks(0, 16, 0);
	assert_int_equal(lane(0)->stats.ahead, 16);
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_AUTO);
	commit_blocks(0, 16, 0);
	assert_int_equal(lane(0)->stats.ahead, 16);
	close_journal();
}

/* Without copies in advance a handle waits for the log I/O; the superblock is still copied. */
static void most_copies_at_a_time_are_counted(void)
{
	OPEN(.lanes = 1);
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_ALWAYS);
	commit_blocks(0, 1, 0);
	assert_int_equal(lane(0)->stats.max_copies, 1);
	commit_blocks(0, 3, 0);
	assert_int_equal(lane(0)->stats.max_copies, 3);
	commit_blocks(0, 2, 0);
	assert_int_equal(lane(0)->stats.max_copies, 3);
	close_journal();
}

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
	CORE_TEST(conflict_is_remembered_for_as_many_copies_as_cost_a_wait),
	CORE_TEST(history_follows_the_device),
	CORE_TEST(small_transactions_are_copied_after_a_conflict_in_the_lane),
	CORE_TEST(slower_device_makes_larger_transactions_small),
	CORE_TEST(handle_does_not_wait_for_a_small_transaction),
	CORE_TEST(copy_that_was_used_is_made_again),
	CORE_TEST(history_outlives_the_head),
	CORE_TEST(copies_can_be_asked_for_always),
	CORE_TEST(most_copies_at_a_time_are_counted),
	CORE_TEST(copies_can_be_forbidden),
	CORE_TEST(r3_super_block_is_always_copied),
);
