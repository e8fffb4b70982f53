// SPDX-License-Identifier: GPL-2.0-only
/* lane_pick.c: lanes of their own, and handles that start in a named lane. */
#include "fixture.h"

#define SLOTS	512
#define MINUTE	(60 * 1000000000LL)

static u32 lane_of(u64 tenant)
{
	int ret = zj_journal_lane_of(fx.journal, tenant);

	assert_in_range(ret, 0, fx.zj->nr_lanes - 1);
	return ret;
}

static handle_t *start_in(int in)
{
	handle_t *h = zj_journal_start_in(fx.journal, in, 2, 0, 0, 0, 0, 0);

	assert_false(IS_ERR(h));
	return h;
}

/* Tenants that are in the table, counted by the lane that they have. */
static u32 in_the_table(void)
{
	u32 nr = 0;

	for (u32 i = 0; i < SLOTS; i++)
		nr += fx.zj->tenants[i].tag != 0;
	return nr;
}

static unsigned int allowed(u32 i)
{
	unsigned int cpu = ((struct sim_task *)lane(i)->task)->allowed;

	if (lane(i)->flusher)
		assert_int_equal(((struct sim_task *)lane(i)->flusher)->allowed, cpu);
	return cpu;
}

static void handle_starts_in_the_lane_that_is_named(void)
{
	OPEN(.lanes = 4, .cpus = 2);
	for (int in = 0; in < 4; in++) {
		handle_t *h = start_in(in);

		assert_int_equal(zj_handle_lane(h), in);
		assert_ptr_equal(handle_txn(h), lane(in)->running);
		assert_int_equal(zj_journal_stop(h), 0);
	}
	close_journal();
}

static void lane_beyond_the_last_wraps(void)
{
	handle_t *h;

	OPEN(.lanes = 3);
	h = start_in(7);
	assert_int_equal(zj_handle_lane(h), 1);
	assert_int_equal(zj_journal_stop(h), 0);
	h = start_in(INT_MAX);
	assert_int_equal(zj_handle_lane(h), INT_MAX % 3);
	assert_int_equal(zj_journal_stop(h), 0);
	close_journal();
}

static void negative_lane_means_the_cpus(void)
{
	handle_t *h;

	OPEN(.lanes = 2);
	sim_current->cpu = 1;
	h = start_in(-1);
	assert_int_equal(zj_handle_lane(h), 1);
	assert_int_equal(zj_journal_stop(h), 0);
	h = start_in(INT_MIN);
	assert_int_equal(zj_handle_lane(h), 1);
	assert_int_equal(zj_journal_stop(h), 0);
	close_journal();
}

static void nested_handle_stays_where_it_is(void)
{
	handle_t *h;

	OPEN(.lanes = 2);
	h = start_in(0);
	assert_ptr_equal(start_in(1), h);
	assert_int_equal(zj_handle_lane(h), 0);
	assert_int_equal(zj_journal_stop(h), 0);
	assert_int_equal(zj_journal_stop(h), 0);
	assert_null(lane(1)->running);
	close_journal();
}

static void reservation_and_restart_stay_in_the_named_lane(void)
{
	handle_t *h, *rsv;

	OPEN(.lanes = 2);
	sim_current->cpu = 0;
	h = zj_journal_start_in(fx.journal, 1, 2, 3, 0, 0, 0, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	assert_int_equal(rsv->h_rsv_lane, 1);
	assert_int_equal(zj_journal_restart(h, 2, 0, 0), 0);
	assert_int_equal(zj_handle_lane(h), 1);
	assert_int_equal(zj_journal_stop(h), 0);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), 0);
	assert_int_equal(zj_handle_lane(rsv), 1);
	assert_int_equal(zj_journal_stop(rsv), 0);
	close_journal();
}

static void each_tenant_gets_a_lane_of_its_own(void)
{
	bool taken[8] = {};

	OPEN(.lanes = 8, .journal = 4096);
	for (u64 tenant = 1; tenant <= 8; tenant++) {
		u32 in = lane_of(tenant * 1000);

		assert_false(taken[in]);
		taken[in] = true;
	}
	for (u64 tenant = 8; tenant; tenant--)
		assert_int_equal(lane_of(tenant * 1000), tenant - 1);
	close_journal();
}

static void further_tenants_are_spread_evenly(void)
{
	u32 users[4] = {};

	OPEN(.lanes = 4);
	for (u64 tenant = 100; tenant < 140; tenant++)
		users[lane_of(tenant)]++;
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(users[i], 10);
	assert_int_equal(in_the_table(), 40);
	close_journal();
}

static void one_lane_is_everybodys(void)
{
	OPEN(.lanes = 1);
	for (u64 tenant = 1; tenant < 5; tenant++)
		assert_int_equal(lane_of(tenant << 32), 0);
	close_journal();
}

static void who_has_left_no_longer_counts(void)
{
	OPEN(.lanes = 2);
	assert_int_equal(lane_of(1), 0);
	assert_int_equal(lane_of(2), 1);
	sim_now += 6 * MINUTE;
	assert_int_equal(lane_of(2), 1);
	sim_now += 6 * MINUTE;
	/* 1 is idle since twelve minutes, 2 since six. */
	assert_int_equal(lane_of(3), 0);
	/* It keeps its lane all the same, while there is room. */
	assert_int_equal(lane_of(1), 0);
	assert_int_equal(lane_of(4), 1);
	close_journal();
}

static void time_is_written_once_a_minute(void)
{
	struct zj_tenant *t = NULL;
	unsigned long used;

	OPEN(.lanes = 2);
	lane_of(77);
	for (u32 i = 0; i < SLOTS; i++)
		if (fx.zj->tenants[i].tag)
			t = &fx.zj->tenants[i];
	used = t->used;
	sim_now += MINUTE / 2;
	lane_of(77);
	assert_int_equal(t->used, used);
	sim_now += MINUTE;
	lane_of(77);
	assert_int_not_equal(t->used, used);
	close_journal();
}

static void crowd_is_spread_by_hash(void)
{
	u32 users[2] = {}, nr;

	OPEN(.lanes = 2);
	for (u64 tenant = 1; tenant <= 4 * SLOTS; tenant++)
		users[lane_of(tenant)]++;
	nr = in_the_table();
	assert_in_range(nr, SLOTS / 2, SLOTS);
	assert_true(users[0] > SLOTS && users[1] > SLOTS);
	/* A tenant that found no room gets the same lane each time, and takes no place. */
	for (u64 tenant = 1; tenant <= 4 * SLOTS; tenant++)
		assert_int_equal(lane_of(tenant), lane_of(tenant));
	assert_int_equal(in_the_table(), nr);
	close_journal();
}

static void newcomers_take_the_place_of_the_gone(void)
{
	u32 nr;

	OPEN(.lanes = 4);
	for (u64 tenant = 1; tenant <= 8 * SLOTS; tenant++)
		lane_of(tenant);
	nr = in_the_table();
	assert_int_equal(nr, SLOTS);
	sim_now += 11 * MINUTE;
	for (u64 tenant = 0; tenant < SLOTS / 8; tenant++)
		assert_int_equal(lane_of(tenant + 100000), tenant % 4);
	assert_int_equal(in_the_table(), nr);
	close_journal();
}

static void unpinned_lanes_are_not_tied_to_cpus(void)
{
	OPEN(.lanes = 3, .pipeline = true);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(allowed(i), i);
	RECONFIGURE(.unpinned = true);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(allowed(i), KL_ANY_CPU);
	RECONFIGURE(.unpinned = false);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(allowed(i), i);
	close_journal();
}

static void unpinned_before_the_load_holds(void)
{
	OPEN(.lanes = 3, .unpinned = true);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(allowed(i), KL_ANY_CPU);
	close_journal();
}

static void change_of_unpinned_forgets_the_tenants(void)
{
	OPEN(.lanes = 2);
	lane_of(1);
	lane_of(2);
	RECONFIGURE(.unpinned = true);
	assert_int_equal(in_the_table(), 0);
	assert_int_equal(lane_of(2), 0);
	assert_int_equal(lane_of(1), 1);
	close_journal();
}

/* Each gets the lane with the fewest. An inactive tenant counts again once it is back. */
static void tenants_take_lanes_in_turn(void)
{
	OPEN(.lanes = 3, .cpus = 2, .unpinned = true);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(lane_of(100 + i), i);
	assert_int_equal(lane_of(103), 0);
	sleep_ms(20 * 60 * 1000);
	/* Lane 0 had two of the removed tenants, so it would not be the first to be taken. */
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(lane_of(200 + i), i);
	assert_int_equal(lane_of(103), 0);
	assert_int_equal(lane_of(203), 1);
	close_journal();
}

/* A lane's thread is on the lane's CPU, if there are several lanes. */
static void threads_of_few_lanes(void)
{
	OPEN(.lanes = 2, .cpus = 2);
	assert_int_equal(allowed(0), 0);
	assert_int_equal(allowed(1), 1);
	close_journal();
	OPEN(.lanes = 1, .cpus = 2);
	assert_int_equal(allowed(0), KL_ANY_CPU);
	close_journal();
}

static void call_lane_of(struct fiber *f)
{
	f->ret = lane_of(f->n);
}

/* Several CPUs start handles for a new one at once. */
static void a_tenant_has_one_place(void)
{
	bool more;
	int n = 1;

	OPEN(.lanes = 4);
	do {
		zj_tenants_forget(fx.zj);
		more = preempt_at(n++, CALL(call_lane_of, .n = 1), CALL(call_lane_of, .n = 1));
		assert_int_equal(in_the_table(), 1);
	} while (more && n < 100);
	assert_true(n > 3);
	close_journal();
}

CORE_TESTS(tenant,
	CORE_TEST(a_tenant_has_one_place),
	CORE_TEST(tenants_take_lanes_in_turn),
	CORE_TEST(threads_of_few_lanes),
	CORE_TEST(handle_starts_in_the_lane_that_is_named),
	CORE_TEST(lane_beyond_the_last_wraps),
	CORE_TEST(negative_lane_means_the_cpus),
	CORE_TEST(nested_handle_stays_where_it_is),
	CORE_TEST(reservation_and_restart_stay_in_the_named_lane),
	CORE_TEST(each_tenant_gets_a_lane_of_its_own),
	CORE_TEST(further_tenants_are_spread_evenly),
	CORE_TEST(one_lane_is_everybodys),
	CORE_TEST(who_has_left_no_longer_counts),
	CORE_TEST(time_is_written_once_a_minute),
	CORE_TEST(crowd_is_spread_by_hash),
	CORE_TEST(newcomers_take_the_place_of_the_gone),
	CORE_TEST(unpinned_lanes_are_not_tied_to_cpus),
	CORE_TEST(unpinned_before_the_load_holds),
	CORE_TEST(change_of_unpinned_forgets_the_tenants),
);
