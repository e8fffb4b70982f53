// SPDX-License-Identifier: GPL-2.0-only
/* flush.c: which writes a flush covers, and who issues it. */
#include "fixture.h"

static void call_flush(struct fiber *f)
{
	f->ret = zj_journal_flush_data(fx.journal);
}

/* One that is stuck in the device, or behind one that is. */
static struct fiber *begin(void)
{
	struct fiber *f = GO(call_flush);

	settle();
	assert_false(f->done);
	return f;
}

/* What is in flight ends; what comes then is held. */
static void end_one(void)
{
	release();
	fx.hold_flush = true;
	settle();
}

static u32 flushes(void)
{
	return fx.disk->flushes;
}

static void lone_callers_flush_each(void)
{
	u32 before;

	OPEN();
	before = flushes();
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* Reported data is flushed once; data that nobody reports went out with FUA. */
static void reported_data_is_flushed_once(void)
{
	u32 before;

	OPEN();
	zj_journal_set_data_reported(fx.journal);
	before = flushes();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 0);
	zj_journal_data_written(fx.journal);
	zj_journal_data_written(fx.journal);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* In stock's format only if log blocks go out with FUA, too. */
static void fua_data_where_it_saves_a_flush(void)
{
	OPEN();
	assert_false(zj_journal_wants_fua(fx.journal));
	zj_journal_set_data_reported(fx.journal);
	assert_true(zj_journal_wants_fua(fx.journal));
	close_journal();
	OPEN(.jbd2 = true, .lanes = 1);
	zj_journal_set_data_reported(fx.journal);
	assert_false(zj_journal_wants_fua(fx.journal));
	zj_journal_set_log_fua(fx.journal, true);
	assert_true(zj_journal_wants_fua(fx.journal));
	close_journal();
}

static void unreported_data_is_always_flushed(void)
{
	u32 before;

	OPEN();
	before = flushes();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

static void call_flush_reported(struct fiber *f)
{
	f->ret = zj_journal_flush_reported(fx.journal, 0);
}

/* A flush in flight may have missed what is reported now: the next one covers it. */
static void reported_during_a_flush(void)
{
	struct fiber *first, *second;

	OPEN();
	zj_journal_set_data_reported(fx.journal);
	fx.hold_flush = true;
	first = begin();
	zj_journal_data_written(fx.journal);
	second = GO(call_flush_reported);
	settle();
	end_one();
	assert_true(first->done);
	assert_false(second->done);
	release();
	join(first);
	join(second);
	close_journal();
}

/* An inode's data is the business of those who take it: nobody else flushes. */
static void an_inode_s_data_is_its_own(void)
{
	u64 written = 0;
	u32 before;

	OPEN();
	zj_journal_set_data_reported(fx.journal);
	before = flushes();
	zj_journal_inode_written(fx.journal, &written);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes() - before, 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* Who changes the inode takes it, however early it has done so first. */
static void a_commit_flushes_what_it_has_taken(void)
{
	u64 written = 0;
	handle_t *h;
	u32 before;

	OPEN(.lanes = 2);
	zj_journal_set_data_reported(fx.journal);
	before = flushes();
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	zj_journal_inode_written(fx.journal, &written);
	put(h, BLOCK, 1);
	stop(h);
	change(0, BLOCK + 1, 1);
	commit(0);
	assert_int_equal(flushes() - before, 0);
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	put(h, BLOCK, 2);
	stop(h);
	change(1, BLOCK + 2, 1);
	commit(1);
	assert_int_equal(flushes() - before, 0);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	/* It is covered now: the next one takes it for nothing. */
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	put(h, BLOCK, 3);
	stop(h);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* An fsync hands over what no handle has; too late, and it has to flush itself. */
static void an_fsync_hands_its_data_over(void)
{
	u64 written = 0;
	tid_t tid;
	u32 before;

	OPEN();
	zj_journal_set_data_reported(fx.journal);
	zj_journal_inode_written(fx.journal, &written);
	before = flushes();
	tid = change(0, BLOCK, 1);
	assert_true(zj_trans_takes_written(fx.journal, tid, written));
	fx.hold_flush = true;
	freeze(0);
	settle();
	zj_journal_inode_written(fx.journal, &written);
	assert_false(zj_trans_takes_written(fx.journal, tid, written));
	release();
	settle();
	assert_int_equal(flushes() - before, 1);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* What an inode has noted outlives it, and is everybody's in a sync. */
static void what_is_noted_is_not_lost(void)
{
	u64 written = 0, other = 0;
	u32 before;

	OPEN();
	zj_journal_set_data_reported(fx.journal);
	before = flushes();
	zj_journal_inode_written(fx.journal, &written);
	zj_journal_written_by_all(fx.journal, written);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	/* Covered: no reason for another. */
	zj_journal_written_by_all(fx.journal, written);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	zj_journal_inode_written(fx.journal, &other);
	zj_journal_written_by_all(fx.journal, ULLONG_MAX);
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* It may have missed the newcomers' writes. */
static void flush_in_flight_is_not_joined(void)
{
	struct fiber *first, *second;

	OPEN();
	fx.hold_flush = true;
	first = begin();
	second = begin();
	end_one();
	assert_true(first->done);
	assert_false(second->done);
	assert_int_equal(nr_held(), 1);
	release();
	join(first);
	join(second);
	assert_int_equal(second->ret, 0);
	close_journal();
}

static void all_who_wait_share_the_next_flush(void)
{
	struct fiber *f[4];
	u32 before;

	OPEN();
	before = flushes();
	fx.hold_flush = true;
	for (int i = 0; i < 4; i++)
		f[i] = begin();
	end_one();
	release();
	for (int i = 0; i < 4; i++)
		join(f[i]);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

static void failure_reaches_all_it_covers_and_nobody_else(void)
{
	struct fiber *first, *second, *third;

	OPEN();
	fx.hold_flush = true;
	first = begin();
	second = begin();
	third = begin();
	end_one();
	fail_next_flush();
	release();
	join(first);
	join(second);
	join(third);
	assert_int_equal(first->ret, 0);
	assert_int_equal(second->ret, -EIO);
	assert_int_equal(third->ret, -EIO);
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	close_journal();
}

/* Two components, two lanes: who comes while one flushes shares the next. */
static void commits_of_several_lanes_share_flushes(void)
{
	u32 before;

	OPEN(.lanes = 4);
	before = flushes();
	fx.hold_flush = true;
	for (int i = 0; i < 4; i++) {
		change(i, BLOCK + i, 1);
		freeze(i);
		settle();
	}
	release();
	settle();
	assert_int_equal(flushes() - before, 2);
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_journal();
}

/* A flush takes 50 ms, and lane 1 has said that it will want one. */
static struct fiber *lead_while_lane_1_is_on_its_way(void)
{
	struct fiber *f;

	fx.zj->flush.took = 50 * NSEC_PER_MSEC;
	zj_flush_expected(lane(1));
	sleep_ms(1);
	f = GO(call_flush);
	let_run();
	assert_false(f->done);
	return f;
}

static void flush_waits_for_who_is_on_the_way(void)
{
	struct fiber *first, *second;
	u32 before;

	OPEN(.lanes = 2);
	before = flushes();
	first = lead_while_lane_1_is_on_its_way();
	assert_int_equal(flushes(), before);
	second = GO(call_flush, .cpu = 1);
	join(first);
	join(second);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

static void flush_does_not_wait_long_for_who_never_comes(void)
{
	struct fiber *f;
	u32 before;

	OPEN(.lanes = 2);
	before = flushes();
	f = lead_while_lane_1_is_on_its_way();
	assert_int_equal(flushes(), before);
	settle();
	assert_true(f->done);
	join(f);
	close_journal();
}

static void flush_does_not_wait_for_who_gave_up(void)
{
	struct fiber *f;

	OPEN(.lanes = 2);
	f = lead_while_lane_1_is_on_its_way();
	fx.hold_flush = true;
	zj_flush_not_expected(lane(1));
	let_run();
	assert_int_equal(nr_held(), 1);
	release();
	join(f);
	close_journal();
}

CORE_TESTS(flush,
	CORE_TEST(flush_waits_for_who_is_on_the_way),
	CORE_TEST(flush_does_not_wait_long_for_who_never_comes),
	CORE_TEST(flush_does_not_wait_for_who_gave_up),
	CORE_TEST(lone_callers_flush_each),
	CORE_TEST(reported_data_is_flushed_once),
	CORE_TEST(fua_data_where_it_saves_a_flush),
	CORE_TEST(unreported_data_is_always_flushed),
	CORE_TEST(reported_during_a_flush),
	CORE_TEST(an_inode_s_data_is_its_own),
	CORE_TEST(a_commit_flushes_what_it_has_taken),
	CORE_TEST(an_fsync_hands_its_data_over),
	CORE_TEST(what_is_noted_is_not_lost),
	CORE_TEST(flush_in_flight_is_not_joined),
	CORE_TEST(all_who_wait_share_the_next_flush),
	CORE_TEST(failure_reaches_all_it_covers_and_nobody_else),
	CORE_TEST(commits_of_several_lanes_share_flushes),
);
