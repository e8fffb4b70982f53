// SPDX-License-Identifier: GPL-2.0-only
/* handle.c, txn.c: N11, the order in which handle starts are served that wait for their lane. */
#include "fixture.h"
#include "txn/txn.h"
#include "wrap.h"

/* The most handles of others that may start before one that waits; each ends a task's turn. */
#define MANY	200

/* Handles of others, which go on until this many have started. */
static bool enough;
static u32 started;

/* It starts its next handle at once, so whoever waits comes too late by itself. */
static void call_hammer(struct fiber *f)
{
	while (!enough && started < 20 * MANY) {
		handle_t *h = zj_journal_start_in(fx.journal, 0, 1, f->n, 0, 0, 0, 0);

		assert_false(IS_ERR(h));
		schedule_timeout_uninterruptible(1);
		zj_journal_stop(h);
		started++;
	}
}

/* n credits, and as many reserved as block says. */
static void call_large(struct fiber *f)
{
	handle_t *h = zj_journal_start_in(fx.journal, 0, f->n, f->block, 0, 0, 0, 0);

	assert_false(IS_ERR(h));
	zj_journal_stop(h);
}

/* Handles of other lanes hold the budget, so a lane gets no more than its share. */
static handle_t *others[8];
static u32 share;

static void open_with_full_budget(void)
{
	OPEN(.lanes = 4, .journal = 2560);
	fx.journal->j_commit_interval = 1000 * HZ;
	share = fx.zj->budget / 4;
	for (u32 i = 1; i < 4; i++) {
		others[2 * i] = start(i, 1);
		others[2 * i + 1] = start(i, share - 1);
	}
	enough = false;
	started = 0;
}

static void close_with_full_budget(void)
{
	for (u32 i = 2; i < 8; i++)
		stop(others[i]);
	close_journal();
}

/* It asks for more than is left beside a handle of the lane that is always there already. */
static void large_start_beside(u32 nr, int reserve)
{
	struct fiber *hammer[8], *large;
	u64 txns;

	open_with_full_budget();
	for (u32 i = 0; i < nr; i++)
		hammer[i] = GO(call_hammer, .n = reserve);
	sleep_ms(20);
	txns = lane(0)->stats.txns;
	started = 0;
	large = GO(call_large, .n = share + 10, .block = reserve);
	while (!large->done && started < 20 * MANY)
		sleep_ms(1);
	assert_true(large->done);
	assert_true(started < MANY);
	assert_true(lane(0)->stats.txns - txns <= 2);
	enough = true;
	for (u32 i = 0; i < nr; i++)
		join(hammer[i]);
	join(large);
	close_with_full_budget();
}

static void start_that_was_too_large_gets_the_next_transaction(void)
{
	large_start_beside(1, 0);
	large_start_beside(2, 0);
	large_start_beside(8, 0);
}

/* Those who wait for a reservation have an order of their own, and must not wait for it. */
static void start_that_was_too_large_may_reserve(void)
{
	large_start_beside(8, 4);
}

static u32 served[4];

static void call_large_always(struct fiber *f)
{
	while (!enough) {
		handle_t *h = zj_journal_start_in(fx.journal, 0, f->n, 0, 0, 0, 0, 0);

		assert_false(IS_ERR(h));
		schedule_timeout_uninterruptible(1);
		zj_journal_stop(h);
		served[f->block]++;
		started++;
	}
}

/* Each gets a transaction of its own, as two do not fit into one. */
static void large_starts_do_not_starve_each_other(void)
{
	struct fiber *f[4];

	open_with_full_budget();
	for (u32 i = 0; i < 4; i++)
		f[i] = GO(call_large_always, .n = share + 10, .block = i);
	while (started < MANY)
		sleep_ms(1);
	enough = true;
	for (u32 i = 0; i < 4; i++) {
		join(f[i]);
		assert_true(served[i] >= MANY / 16);
	}
	close_with_full_budget();
}

/* While it waits for space, or after an abort, nobody waits for it in vain. */
static void start_that_has_the_lane_and_gives_up_lets_others_go(void)
{
	struct fiber *large, *small;
	handle_t *h;

	open_with_full_budget();
	h = start(0, 1);
	large = GO(call_start, .n = share + 10);
	let_run();
	small = GO(call_start, .n = 1);
	let_run();
	zj_journal_abort(fx.journal, -EIO);
	join(large);
	join(small);
	assert_int_equal(large->ret, -EROFS);
	assert_int_equal(small->ret, -EROFS);
	assert_true(list_empty(&lane(0)->start_queue));
	stop(h);
	for (u32 i = 2; i < 8; i++)
		stop(others[i]);
	close_aborted();
}

/* Closes the lane's transaction as soon as it is open, as fsyncs do. */
static void call_close_always(struct fiber *f)
{
	while (!enough && started < 20 * MANY) {
		handle_t *h = zj_journal_start_in(fx.journal, 0, 1, 0, 0, 0, 0, 0);
		struct zj_txn *txn;

		assert_false(IS_ERR(h));
		txn = handle_txn(h);
		refcount_inc(&txn->refs);
		zj_commit_now(fx.zj, txn);
		zj_txn_put(txn);
		schedule_timeout_uninterruptible(1);
		zj_journal_stop(h);
		started++;
	}
}

/* Whoever comes round too late again and again has its turn, too. */
static void start_that_finds_the_lane_closed_again_has_its_turn(void)
{
	struct fiber *closer, *f;

	OPEN(.lanes = 1);
	fx.journal->j_commit_interval = 1000 * HZ;
	enough = false;
	started = 0;
	closer = GO(call_close_always);
	let_run();
	f = GO(call_start, .n = 1);
	while (!f->done && started < 20 * MANY)
		sleep_ms(1);
	assert_true(f->done);
	assert_true(started < MANY);
	enough = true;
	stop(f->h);
	join(f);
	join(closer);
	close_journal();
}

/* A place keeps all others out of the lane, so to come too late once is no reason for one. */
static void start_that_waits_for_the_first_time_takes_no_place(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN(.lanes = 1);
	h = start(0, 1);
	lane(0)->opened += 100;
	seal(0);
	f = GO(call_start, .n = 1);
	let_run();
	assert_false(f->done);
	assert_true(list_empty(&lane(0)->start_queue));
	stop(h);
	join(f);
	stop(f->h);
	close_journal();
}

/* Called after each answer; what it changes another CPU has changed at that moment. */
static void (*after_look)(void);

bool __wrap_zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place)
{
	bool lost = __real_zj_place_has_lost(lane, place);

	if (after_look)
		after_look();
	return lost;
}

static void lane_opens_often(void)
{
	lane(0)->opened += 100;
}

/* The lane opens once more between two looks: it must not take a place with no transaction. */
static void start_decides_once_whether_it_takes_a_place(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN(.lanes = 1);
	h = start(0, 1);
	seal(0);
	f = GO(call_start, .n = 1);
	let_run();
	/* It sees the lane open, and then finds it closed again. */
	stop_before(&f->task->task, &lane(0)->lock, 2);
	stop(h);
	let_run();
	assert_true(stopped(&f->task->task));
	h = start(0, 1);
	seal(0);
	after_look = lane_opens_often;
	go_on(&f->task->task);
	let_run();
	after_look = NULL;
	stop(h);
	join(f);
	stop(f->h);
	close_journal();
}

/*
 * One has waited longest to reserve, the other one for the lane. The first one may not go on
 * before the second one, which therefore must not wait for it.
 */
static void start_that_has_the_lane_reserves_before_others(void)
{
	struct fiber *closer, *first, *other;
	handle_t *h, *rsv;

	OPEN(.lanes = 1);
	fx.journal->j_commit_interval = 1000 * HZ;
	enough = false;
	started = 0;
	h = start_more(0, 1, fx.zj->budget / 2, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	stop(h);
	other = GO(call_large, .n = 1, .block = 4);
	let_run();
	assert_false(list_empty(&lane(0)->rsv_queue));
	closer = GO(call_close_always);
	let_run();
	first = GO(call_large, .n = 1, .block = 4);
	while (list_empty(&lane(0)->start_queue) && started < MANY)
		sleep_ms(1);
	settle();
	assert_false(list_empty(&lane(0)->start_queue));
	assert_false(first->done);
	zj_journal_free_reserved(rsv);
	join(first);
	join(other);
	enough = true;
	join(closer);
	close_journal();
}

static void call_barriers(struct fiber *f)
{
	while (!enough && started < 20 * MANY) {
		zj_journal_lock_updates(fx.journal);
		if (f->n)
			schedule_timeout_uninterruptible(1);
		zj_journal_unlock_updates(fx.journal);
		started++;
	}
}

/* Barriers follow each other without a pause; between two of them, starts go on. */
static void start_between_barriers_goes_on(void)
{
	struct fiber *barriers[2], *f;

	OPEN();
	for (u32 nr = 1; nr <= 2; nr++) {
		enough = false;
		started = 0;
		for (u32 i = 0; i < nr; i++)
			barriers[i] = GO(call_barriers, .n = 1);
		let_run();
		f = GO(call_start, .n = 1);
		while (!f->done && started < 20 * MANY)
			sleep_ms(1);
		assert_true(f->done);
		assert_true(started < 4);
		enough = true;
		stop(f->h);
		join(f);
		for (u32 i = 0; i < nr; i++)
			join(barriers[i]);
		assert_int_equal(atomic_read(&fx.zj->held_up), 0);
	}
	close_journal();
}

/* It goes on before the barrier that waited already when it came. */
static void start_goes_on_before_a_barrier_that_came_first(void)
{
	struct fiber *first, *second, *f;

	OPEN();
	first = GO(call_barrier);
	let_run();
	second = GO(call_barrier);
	let_run();
	f = GO(call_start, .n = 1);
	let_run();
	assert_true(first->ret);
	assert_false(f->done);
	/* Its CPU has much to do. */
	stop_at_point(&f->task->task, 1);
	first->n = 1;
	join(first);
	settle();
	assert_true(stopped(&f->task->task));
	assert_false(second->ret);
	go_on(&f->task->task);
	settle();
	assert_true(f->done);
	assert_false(second->ret);
	stop(f->h);
	join(f);
	settle();
	assert_true(second->ret);
	second->n = 1;
	join(second);
	close_journal();
}

static u32 reclaims;

/* Memory reclaim may wait for write-back, and that for the locks of who wants a barrier. */
static void no_barrier_waits(void)
{
	assert_int_equal(atomic_read(&fx.zj->held_up), 0);
	reclaims++;
}

/* The lane has no transaction, so a start needs one once the barrier has ended. */
static void start_allocates_before_a_barrier_holds_it_up(void)
{
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_null(lane(0)->running);
	zj_journal_lock_updates(fx.journal);
	sim_reclaim = no_barrier_waits;
	f = GO(call_start, .n = 1);
	let_run();
	assert_int_equal(atomic_read(&fx.zj->held_up), 1);
	zj_journal_unlock_updates(fx.journal);
	join(f);
	sim_reclaim = NULL;
	assert_true(reclaims > 1);
	stop(f->h);
	close_journal();
}

CORE_TESTS(start_order,
	CORE_TEST(start_that_was_too_large_gets_the_next_transaction),
	CORE_TEST(start_that_was_too_large_may_reserve),
	CORE_TEST(large_starts_do_not_starve_each_other),
	CORE_TEST(start_that_has_the_lane_and_gives_up_lets_others_go),
	CORE_TEST(start_that_finds_the_lane_closed_again_has_its_turn),
	CORE_TEST(start_that_waits_for_the_first_time_takes_no_place),
	CORE_TEST(start_decides_once_whether_it_takes_a_place),
	CORE_TEST(start_that_has_the_lane_reserves_before_others),
	CORE_TEST(start_between_barriers_goes_on),
	CORE_TEST(start_goes_on_before_a_barrier_that_came_first),
	CORE_TEST(start_allocates_before_a_barrier_holds_it_up),
);
