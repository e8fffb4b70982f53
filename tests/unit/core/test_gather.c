// SPDX-License-Identifier: GPL-2.0-only
/* gather.c: lanes that the last flush served, and for which the next one waits. */
#include "fixture.h"

#define FLUSH_MS	50

static void open_lanes(void)
{
	OPEN(.lanes = 4);
	assert_int_equal(zj_dev_flush(fx.zj, lane(0)), 0);
	fx.zj->flush.mean_ns = FLUSH_MS * NSEC_PER_MSEC;
	fx.zj->flush.ended = ktime_get();
}

/* The last flush served this lane, which came back so soon after the one before. */
static void was_served(int index, u64 turnaround_ms)
{
	lane(index)->flush_need = fx.zj->flush.done;
	lane(index)->turnaround_ns[0] = turnaround_ms * NSEC_PER_MSEC;
}

/* Lane 0 calls for a flush. Returns the task if it waits for others, otherwise NULL. */
static struct fiber *lead(void)
{
	struct fiber *leader;

	fx.hold_flush = true;
	leader = GO(call_flush);
	let_run();
	if (!nr_held())
		return leader;
	release();
	join(leader);
	return NULL;
}

static void lane_that_comes_back_soon_is_waited_for(void)
{
	struct fiber *leader, *other;

	open_lanes();
	was_served(1, 10);
	leader = lead();
	assert_non_null(leader);
	other = GO(call_flush, .cpu = 1);
	/* The flush is issued as soon as it is here: no time passes. */
	let_run();
	assert_int_equal(nr_held(), 1);
	release();
	join(leader);
	join(other);
	close_journal();
}

static void lanes_come_in_any_order(void)
{
	static const int order[][3] = { { 1, 2, 3 }, { 3, 2, 1 }, { 2, 3, 1 }, { 2, 1, 3 } };

	for (u32 i = 0; i < ARRAY_SIZE(order); i++) {
		struct fiber *leader, *other[3];

		open_lanes();
		for (int n = 1; n < 4; n++)
			was_served(n, 4 * n);
		leader = lead();
		assert_non_null(leader);
		for (int n = 0; n < 3; n++) {
			assert_int_equal(nr_held(), 0);
			other[n] = GO(call_flush, .cpu = order[i][n]);
			let_run();
		}
		assert_int_equal(nr_held(), 1);
		release();
		join(leader);
		for (int n = 0; n < 3; n++)
			join(other[n]);
		close_journal();
	}
}

static void lane_that_stays_away_delays_one_flush(void)
{
	struct fiber *leader;
	s64 begin;

	open_lanes();
	was_served(1, 10);
	begin = sim_now;
	leader = lead();
	assert_non_null(leader);
	while (!nr_held())
		sleep_ms(1);
	/* Twice what it took before would be 20 ms. */
	assert_in_range(sim_now - begin, 10 * NSEC_PER_MSEC, 30 * NSEC_PER_MSEC);
	release();
	join(leader);
	assert_null(lead());
	close_journal();
}

/* It would miss the flush anyway. */
static void lane_that_takes_longer_than_a_flush_is_not_waited_for(void)
{
	open_lanes();
	was_served(1, FLUSH_MS + 1);
	assert_null(lead());
	close_journal();
}

/* Three lanes would wait for nearly the time of a flush, so that one misses none. */
static void slow_lane_is_not_worth_the_time_of_many(void)
{
	struct fiber *task[3];
	s64 begin;

	open_lanes();
	was_served(1, 0);
	was_served(2, 0);
	was_served(3, FLUSH_MS * 9 / 10);
	begin = sim_now;
	fx.hold_flush = true;
	for (int i = 0; i < 3; i++)
		task[i] = GO(call_flush, .cpu = i);
	while (!nr_held())
		sleep_ms(1);
	assert_true(sim_now - begin < FLUSH_MS / 4 * NSEC_PER_MSEC);
	release();
	for (int i = 0; i < 3; i++)
		join(task[i]);
	close_journal();
}

/* A lane that has waited for the end of a flush does not wait as readily for others. */
static void lanes_that_missed_a_flush_do_not_wait_for_little(void)
{
	for (int missed = 0; missed < 2; missed++) {
		struct fiber *leader;

		open_lanes();
		lane(0)->flush_need = 0;
		lane(1)->flush_need = fx.zj->flush.done + 1;
		lane(1)->turnaround_ns[0] = U64_MAX;
		lane(1)->missed_one = missed;
		was_served(2, FLUSH_MS / 3);
		leader = lead();
		assert_int_equal(!!leader, !missed);
		release();
		if (leader)
			join(leader);
		close_journal();
	}
}

/* What it missed before counts no more: it was served by the last flush. */
static void lane_that_was_served_has_missed_nothing(void)
{
	struct fiber *leader;

	open_lanes();
	lane(0)->flush_need = 0;
	lane(1)->flush_need = fx.zj->flush.done;
	lane(1)->turnaround_ns[0] = U64_MAX;
	lane(1)->missed_one = true;
	was_served(2, FLUSH_MS / 3);
	leader = lead();
	assert_non_null(leader);
	release();
	join(leader);
	close_journal();
}

/* All lanes come back just in time, and some of them stay away this time. */
static void leader_waits_no_longer_than_a_flush_takes(void)
{
	struct fiber *leader;
	s64 begin;

	open_lanes();
	for (int n = 1; n < 4; n++)
		was_served(n, FLUSH_MS - 3);
	/* The leader, too: its records follow. */
	lane(0)->records_follow = false;
	lane(0)->records_next = true;
	lane(0)->turnaround_ns[1] = (FLUSH_MS - 3) * NSEC_PER_MSEC;
	begin = sim_now;
	leader = lead();
	assert_non_null(leader);
	while (!nr_held())
		sleep_ms(1);
	assert_in_range(sim_now - begin, (FLUSH_MS - 3) * NSEC_PER_MSEC,
			(FLUSH_MS + 3) * NSEC_PER_MSEC);
	release();
	join(leader);
	close_journal();
}

/* Lanes are waited for before a flush of the file system's device only. */
static void flush_of_the_logs_own_device_is_no_return(void)
{
	u64 turnaround, need;

	OPEN(.external = true);
	for (int i = 0; i < 2; i++)
		assert_int_equal(zj_dev_flush(fx.zj, lane(0)), 0);
	turnaround = lane(0)->turnaround_ns[0];
	need = lane(0)->flush_need;
	sleep_ms(3);
	for (int i = 0; i < 2; i++)
		assert_int_equal(zj_log_dev_flush(fx.zj, lane(0)), 0);
	assert_int_equal(lane(0)->turnaround_ns[0], turnaround);
	assert_int_equal(lane(0)->flush_need, need);
	close_journal();
}

static void call_during_a_flush_misses_it(void)
{
	struct fiber *first, *second, *third;

	open_lanes();
	fx.hold_flush = true;
	first = GO(call_flush);
	let_run();
	assert_false(lane(0)->missed_one);
	second = GO(call_flush, .cpu = 1);
	let_run();
	assert_true(lane(1)->missed_one);
	release();
	join(first);
	join(second);
	third = GO(call_flush, .cpu = 1);
	let_run();
	assert_false(lane(1)->missed_one);
	join(third);
	close_journal();
}

/* Between the flushes before and after its records, a lane takes another time than after. */
static void records_have_a_turnaround_of_their_own(void)
{
	for (int follow = 0; follow < 2; follow++) {
		struct fiber *leader;

		open_lanes();
		was_served(1, 2 * FLUSH_MS);
		lane(1)->turnaround_ns[1] = NSEC_PER_MSEC;
		lane(1)->records_follow = follow;
		leader = lead();
		assert_int_equal(!!leader, follow);
		release();
		if (leader)
			join(leader);
		close_journal();
	}
}

static void turnaround_is_measured(void)
{
	u64 away;

	open_lanes();
	join(GO(call_flush, .cpu = 1));
	sleep_ms(3);
	away = ktime_get() - fx.zj->flush.ended;
	join(GO(call_flush, .cpu = 1));
	/* The tasks of the test take time as well. */
	assert_in_range(lane(1)->turnaround_ns[0], away, away + NSEC_PER_USEC);
	/* Another flush ends, so it is not known how long this lane took after its own. */
	assert_int_equal(zj_dev_flush(fx.zj, lane(2)), 0);
	join(GO(call_flush, .cpu = 1));
	assert_true(lane(1)->turnaround_ns[0] == U64_MAX);
	close_journal();
}

/* The commit's first flush is followed by records, the second one is not. */
static void commit_tells_which_flush_is_before_its_records(void)
{
	OPEN(.lanes = 2, .no_fua = true);
	change(1, BLOCK, 1);
	fx.hold_flush = true;
	seal(1);
	let_run();
	assert_true(lane(1)->records_next);
	assert_true(lane(1)->records_follow);
	release();
	settle();
	assert_false(lane(1)->records_next);
	assert_false(lane(1)->records_follow);
	close_journal();
}

CORE_TESTS(gather,
	CORE_TEST(lane_that_comes_back_soon_is_waited_for),
	CORE_TEST(lanes_come_in_any_order),
	CORE_TEST(lane_that_stays_away_delays_one_flush),
	CORE_TEST(lane_that_takes_longer_than_a_flush_is_not_waited_for),
	CORE_TEST(slow_lane_is_not_worth_the_time_of_many),
	CORE_TEST(lanes_that_missed_a_flush_do_not_wait_for_little),
	CORE_TEST(lane_that_was_served_has_missed_nothing),
	CORE_TEST(leader_waits_no_longer_than_a_flush_takes),
	CORE_TEST(flush_of_the_logs_own_device_is_no_return),
	CORE_TEST(call_during_a_flush_misses_it),
	CORE_TEST(records_have_a_turnaround_of_their_own),
	CORE_TEST(turnaround_is_measured),
	CORE_TEST(commit_tells_which_flush_is_before_its_records),
);
