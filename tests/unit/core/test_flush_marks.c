// SPDX-License-Identifier: GPL-2.0-only
/* flush.c: the marks of fsyncs on their way, which a flush waits for. */
#include "fixture.h"

/* A flush takes 50 ms, and lane 1 has said that it will want one. */
static struct fiber *lead_while_lane_1_is_on_its_way(void)
{
	struct fiber *f;

	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
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
	u64 issued;
	u32 before;

	OPEN(.lanes = 2);
	before = flushes();
	issued = fx.zj->flush.issued;
	first = lead_while_lane_1_is_on_its_way();
	assert_int_equal(flushes(), before);
	second = GO(call_flush, .cpu = 1);
	/* No longer than that: not for as long as the mark would hold. */
	let_run();
	assert_int_equal(fx.zj->flush.issued - issued, 1);
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

static void an_fsync_says_that_it_comes(void)
{
	OPEN();
	zj_journal_fsync_begin(fx.journal, 1);
	assert_int_not_equal(lane(1)->flush_expected_since, 0);
	assert_int_equal(lane(0)->flush_expected_since, 0);
	zj_journal_fsync_written(fx.journal, 1, 0);
	assert_int_equal(lane(1)->flush_expected_since, 0);
	/* Only a log whose commit block waits alone goes out beside the data. */
	assert_false(zj_journal_data_beside(fx.journal));
	close_journal();
	OPEN(.lanes = 1, .jbd2 = true);
	assert_true(zj_journal_data_beside(fx.journal));
	close_journal();
}

/* A flush takes 50 ms, but a call for one is sent without delay. */
static void flush_goes_at_once(void)
{
	struct fiber *f;

	fx.hold_flush = true;
	f = GO(call_flush);
	let_run();
	assert_int_equal(nr_held(), 1);
	release();
	join(f);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
}

static void fsync_takes_its_own_mark_back(void)
{
	int expected;

	OPEN(.lanes = 4);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	sim_current->cpu = 3;
	expected = zj_journal_fsync_begin(fx.journal, -1);
	assert_int_equal(expected, 3);
	assert_true(lane(3)->flush_expected_since);
	/* The task goes on elsewhere, and nothing is left to be committed. */
	sim_current->cpu = 1;
	sleep_ms(1);
	zj_journal_fsync_written(fx.journal, expected, 0);
	sim_current->cpu = 0;
	flush_goes_at_once();
	close_journal();
}

/* The data was written in lane 3, what is to be committed is in lane 1. */
static void mark_goes_over_to_the_lane_that_commits(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN(.lanes = 4);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	tid = change(1, BLOCK, 1);
	assert_int_equal(zj_journal_fsync_begin(fx.journal, 3), 3);
	zj_journal_fsync_written(fx.journal, 3, tid);
	assert_false(lane(3)->flush_expected_since);
	assert_true(lane(1)->flush_expected_since);
	sleep_ms(1);
	f = GO(call_flush);
	let_run();
	assert_false(f->done);
	commit(1);
	join(f);
	assert_false(lane(1)->flush_expected_since);
	close_journal();
}

/* It is written, and waits for another member: no flush of its lane comes any more. */
static void sealed_transaction_is_not_waited_for(void)
{
	struct fiber *f;
	handle_t *a, *b;
	tid_t tid;

	OPEN(.lanes = 4);
	fx.hold_lane[1] = true;
	a = start(0, 2);
	b = start(1, 2);
	put(a, BLOCK, 1);
	put(b, BLOCK, 2);
	tid = a->h_transaction->t_tid;
	stop(a);
	stop(b);
	seal(0);
	settle();
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	zj_journal_fsync_written(fx.journal, zj_journal_fsync_begin(fx.journal, 2),
				 tid);
	f = GO(call_complete, .tid = tid);
	let_run();
	sleep_ms(1);
	for (u32 i = 0; i < 4; i++)
		assert_false(lane(i)->flush_expected_since);
	release();
	join(f);
	flush_goes_at_once();
	close_journal();
}

/* An fsync that writes data for long, or a mark that was left behind. */
static void mark_is_good_for_the_time_of_a_flush(void)
{
	struct fiber *f;
	u64 issued;

	OPEN(.lanes = 4);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	zj_journal_fsync_begin(fx.journal, 3);
	sleep_ms(60);
	flush_goes_at_once();
	/* The leader's own lane is not back soon, either. */
	sleep_ms(60);
	/* The next fsync of that lane is waited for again. */
	issued = fx.zj->flush.issued;
	zj_journal_fsync_begin(fx.journal, 3);
	sleep_ms(1);
	f = GO(call_flush);
	let_run();
	assert_int_equal(fx.zj->flush.issued, issued);
	join(f);
	close_journal();
}

/* ---- calls that meet anywhere ---- */

/* A second mark does not extend the first. */
static void mark_is_not_renewed(void)
{
	u64 flush_expected_since;

	OPEN();
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	zj_flush_expected(lane(1));
	flush_expected_since = lane(1)->flush_expected_since;
	assert_int_not_equal(flush_expected_since, 0);
	sleep_ms(1);
	zj_flush_expected(lane(1));
	assert_int_equal(lane(1)->flush_expected_since, flush_expected_since);
	zj_flush_not_expected(lane(1));
	sleep_ms(1);
	zj_flush_expected(lane(1));
	assert_true(lane(1)->flush_expected_since > flush_expected_since);
	close_journal();
}

/* Its own lane commits, and has not called for the flush yet: the mark stays. */
static void mark_stays_with_an_open_transaction(void)
{
	int expected;
	tid_t tid;

	OPEN(.lanes = 2);
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	tid = change(0, BLOCK, 1);
	expected = zj_journal_fsync_begin(fx.journal, 0);
	assert_int_equal(expected, 0);
	assert_true(lane(0)->flush_expected_since);
	zj_journal_fsync_written(fx.journal, expected, tid);
	assert_true(lane(0)->flush_expected_since);
	zj_journal_fsync_written(fx.journal, expected, 0);
	assert_false(lane(0)->flush_expected_since);
	close_journal();
}

/* With data=journal and FUA a commit calls for no flush at all. */
static void commit_without_a_flush_takes_its_mark_back(void)
{
	OPEN(.lanes = 2, .pipeline = true);
	fx.journal->j_flags |= ZJ_DATA_JOURNALED;
	fx.zj->flush.mean_ns = 50 * NSEC_PER_MSEC;
	change(1, BLOCK, 1);
	zj_flush_expected(lane(1));
	commit(1);
	assert_false(lane(1)->flush_expected_since);
	flush_goes_at_once();
	close_journal();
}

CORE_TESTS(flush_marks,
	CORE_TEST(commit_without_a_flush_takes_its_mark_back),
	CORE_TEST(mark_stays_with_an_open_transaction),
	CORE_TEST(mark_is_not_renewed),
	CORE_TEST(fsync_takes_its_own_mark_back),
	CORE_TEST(mark_goes_over_to_the_lane_that_commits),
	CORE_TEST(sealed_transaction_is_not_waited_for),
	CORE_TEST(mark_is_good_for_the_time_of_a_flush),
	CORE_TEST(flush_waits_for_who_is_on_the_way),
	CORE_TEST(flush_does_not_wait_long_for_who_never_comes),
	CORE_TEST(flush_does_not_wait_for_who_gave_up),
	CORE_TEST(an_fsync_says_that_it_comes),
);
