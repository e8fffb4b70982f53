// SPDX-License-Identifier: GPL-2.0-only
/* handle.c: reserved handles. */
#include "fixture.h"

static handle_t *take_reserved(handle_t *h)
{
	handle_t *rsv = h->h_rsv_handle;

	h->h_rsv_handle = NULL;
	stop(h);
	return rsv;
}

static void reserved_handle_starts_in_a_locked_transaction(void)
{
	handle_t *rsv, *open;
	struct zj_txn *txn;
	struct fiber *f;

	OPEN();
	rsv = take_reserved(start_more(0, 1, 4, 0));
	assert_int_equal(zj_handle_buffer_credits(rsv), 4);
	open = start(0, 1);
	txn = running(0);
	seal(0);
	f = GO(call_reserved, .h = rsv);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_ptr_equal(handle_txn(rsv), txn);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	assert_int_equal(zj_handle_buffer_credits(rsv), 4);
	assert_int_equal(lane(0)->rsv_credits, 0);
	stop(open);
	/* It counts: the transaction waits for it. */
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	put(rsv, BLOCK, 5);
	stop(rsv);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	zj_txn_put(txn);
	close_journal();
}

static void reserved_handle_starts_in_an_empty_lane(void)
{
	handle_t *rsv;
	struct fiber *f;

	OPEN();
	rsv = take_reserved(start_more(0, 1, 4, 0));
	commit(0);
	assert_null(lane(0)->running);
	f = GO(call_reserved, .h = rsv, .cpu = 1);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_ptr_equal(handle_txn(rsv)->lane, lane(0));
	stop(rsv);
	close_journal();
}

static void reserved_handle_passes_the_barrier(void)
{
	struct fiber *barrier, *f;
	handle_t *rsv;

	OPEN();
	rsv = take_reserved(start_more(0, 1, 4, 0));
	barrier = GO(call_barrier);
	let_run();
	assert_false(barrier->ret);
	f = GO(call_reserved, .h = rsv);
	let_run();
	assert_true(f->done);
	join(f);
	assert_false(barrier->ret);
	stop(rsv);
	let_run();
	assert_true(barrier->ret);
	barrier->n = 1;
	join(barrier);
	close_journal();
}

static void reserved_handle_keeps_its_space(void)
{
	handle_t *rsv;
	u32 promised;

	OPEN();
	promised = lane(0)->promised;
	rsv = take_reserved(start_more(0, 1, 4, 0));
	assert_int_equal(lane(0)->promised, promised + zj_log_blocks(fx.zj, 4));
	zj_journal_free_reserved(rsv);
	assert_int_equal(lane(0)->promised, promised);
	assert_int_equal(lane(0)->rsv_credits, 0);
	close_journal();
}

/* With @n images reserved. */
static void call_start_reserving(struct fiber *f)
{
	f->h = zj_journal_start(fx.journal, 1, f->n, 0, 0, 0, 0);
	f->ret = IS_ERR(f->h) ? PTR_ERR(f->h) : 0;
	own(NULL);
}

/*
 * Half of the budget is reserved: another reservation waits for one of these, and closes
 * nothing.
 */
static void reservations_wait_for_each_other(void)
{
	int half = 0, n = 0;
	handle_t *rsv[16];
	struct zj_txn *txn;
	struct fiber *f;

	OPEN();
	half = fx.zj->budget / 2;
	for (; n < 8; n++)
		rsv[n] = take_reserved(start_more(0, 1, half / 8, 0));
	txn = running(0);
	f = GO(call_start_reserving, .n = half / 8);
	let_run();
	assert_false(f->done);
	assert_int_equal(lane(0)->stats.wait_reserved, 1);
	assert_false(zj_space_awaited(fx.zj));
	/* A start that reserves nothing goes on, one in another lane as well. */
	stop(start(0, 1));
	zj_journal_free_reserved(take_reserved(start_more(1, 1, half / 8, 0)));
	commit(1);
	assert_false(f->done);
	zj_journal_free_reserved(rsv[--n]);
	join(f);
	assert_ptr_equal(handle_txn(f->h), txn);
	assert_int_equal(txn->comp->stage, ZJ_RUNNING);
	zj_journal_free_reserved(take_reserved(f->h));
	while (n)
		zj_journal_free_reserved(rsv[--n]);
	assert_true(list_empty(&lane(0)->rsv_queue));
	zj_txn_put(txn);
	close_journal();
}

/* Half of a share, when two lanes run: both together have what one has alone. */
static void lanes_that_run_share_what_may_be_reserved(void)
{
	handle_t *other, *rsv;
	struct fiber *f;
	int quarter;

	OPEN();
	quarter = fx.zj->budget / 4;
	other = start(1, 1);
	rsv = take_reserved(start_more(0, 1, quarter, 0));
	f = GO(call_start_reserving, .n = 4);
	let_run();
	assert_false(f->done);
	stop(other);
	zj_journal_free_reserved(rsv);
	join(f);
	zj_journal_free_reserved(take_reserved(f->h));
	close_journal();
}

/*
 * What one may reserve is there, and then less, as another lane runs meanwhile. It keeps its
 * place in the queue, and takes no second one.
 */
static void reservation_that_finds_less_than_it_saw_waits_on(void)
{
	handle_t *other, *rsv[2];
	struct fiber *f;
	int quarter;

	OPEN();
	quarter = fx.zj->budget / 4;
	rsv[0] = take_reserved(start_more(0, 1, quarter, 0));
	rsv[1] = take_reserved(start_more(0, 1, quarter, 0));
	f = GO(call_start_reserving, .n = quarter);
	let_run();
	assert_false(f->done);
	stop_before(&f->task->task, &lane(0)->lock, 2);
	zj_journal_free_reserved(rsv[0]);
	let_run();
	assert_true(stopped(&f->task->task));
	other = start(1, 1);
	go_on(&f->task->task);
	let_run();
	assert_false(f->done);
	assert_int_equal(lane(0)->stats.wait_reserved, 1);
	assert_ptr_equal(lane(0)->rsv_queue.next, lane(0)->rsv_queue.prev);
	stop(other);
	zj_journal_free_reserved(rsv[1]);
	join(f);
	assert_true(list_empty(&lane(0)->rsv_queue));
	zj_journal_free_reserved(take_reserved(f->h));
	close_journal();
}

/*
 * Small reservations keep coming as fast as others end. A large one that came before
 * them has its turn: what ends is not for those that came later.
 */
static void large_reservation_is_not_starved_by_small_ones(void)
{
	struct fiber *large, *small;
	int half = 0, i, n = 0;
	handle_t *rsv[16];

	OPEN();
	half = fx.zj->budget / 2;
	for (; n < 8; n++)
		rsv[n] = take_reserved(start_more(0, 1, half / 8, 0));
	large = GO(call_start_reserving, .n = half / 4);
	let_run();
	assert_false(large->done);
	zj_journal_free_reserved(rsv[--n]);
	/* The space would suffice for this one. */
	small = GO(call_start_reserving, .n = half / 8);
	let_run();
	assert_false(small->done);
	assert_false(large->done);
	zj_journal_free_reserved(rsv[--n]);
	join(large);
	rsv[n++] = take_reserved(large->h);
	let_run();
	assert_false(small->done);
	zj_journal_free_reserved(rsv[--n]);
	join(small);
	rsv[n++] = take_reserved(small->h);
	for (i = 0; i < n; i++)
		zj_journal_free_reserved(rsv[i]);
	close_journal();
}

/* The freed space suffices for all of them: each lets the next one go on. */
static void reservations_that_wait_go_on_together(void)
{
	struct fiber *f[4];
	handle_t *rsv;
	int half, i;

	OPEN();
	half = fx.zj->budget / 2;
	rsv = take_reserved(start_more(0, 1, half, 0));
	for (i = 0; i < ARRAY_SIZE(f); i++) {
		f[i] = GO(call_start_reserving, .n = half / 8);
		let_run();
		assert_false(f[i]->done);
	}
	zj_journal_free_reserved(rsv);
	for (i = 0; i < ARRAY_SIZE(f); i++)
		join(f[i]);
	for (i = 0; i < ARRAY_SIZE(f); i++)
		zj_journal_free_reserved(take_reserved(f[i]->h));
	close_journal();
}

/* Waiting starts have no reservation yet, so a barrier may come first; their order is kept. */
static void barrier_passes_reservations_that_wait(void)
{
	struct fiber *first, *second, *barrier;
	handle_t *rsv;
	int half;

	OPEN();
	half = fx.zj->budget / 2;
	rsv = take_reserved(start_more(0, 1, half, 0));
	first = GO(call_start_reserving, .n = half);
	let_run();
	second = GO(call_start_reserving, .n = 4);
	barrier = GO(call_barrier);
	let_run();
	assert_false(barrier->ret);
	zj_journal_free_reserved(rsv);
	let_run();
	assert_true(barrier->ret);
	assert_false(first->done || second->done);
	barrier->n = 1;
	join(barrier);
	join(first);
	assert_false(second->done);
	zj_journal_free_reserved(take_reserved(first->h));
	join(second);
	zj_journal_free_reserved(take_reserved(second->h));
	assert_true(list_empty(&lane(0)->rsv_queue));
	close_journal();
}

/* It waits no more when one of them is started, or the journal aborted. */
static void reservation_waits_until_one_is_used(void)
{
	handle_t *rsv;
	struct fiber *f;
	int half;

	OPEN();
	half = fx.zj->budget / 2;
	rsv = take_reserved(start_more(0, 1, half, 0));
	f = GO(call_start_reserving, .n = 4);
	let_run();
	assert_false(f->done);
	call_reserved(&(struct fiber){ .h = rsv });
	stop(rsv);
	join(f);
	rsv = take_reserved(f->h);
	f = GO(call_start_reserving, .n = half);
	let_run();
	assert_false(f->done);
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	assert_int_equal(f->ret, -EROFS);
	zj_journal_free_reserved(rsv);
	close_aborted();
}

static void reserved_handle_inside_an_open_one_is_refused(void)
{
	handle_t *rsv, *h;

	OPEN();
	rsv = take_reserved(start_more(0, 1, 4, 0));
	h = start(0, 1);
	own(h);
	expect_warning("journal_current_handle()");
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), -EIO);
	warned();
	assert_int_equal(lane(0)->rsv_credits, 0);
	stop(h);
	close_journal();
}

CORE_TESTS(reserved_handle,
	CORE_TEST(reserved_handle_starts_in_a_locked_transaction),
	CORE_TEST(reserved_handle_starts_in_an_empty_lane),
	CORE_TEST(reserved_handle_passes_the_barrier),
	CORE_TEST(reserved_handle_keeps_its_space),
	CORE_TEST(reservations_wait_for_each_other),
	CORE_TEST(large_reservation_is_not_starved_by_small_ones),
	CORE_TEST(lanes_that_run_share_what_may_be_reserved),
	CORE_TEST(reservation_that_finds_less_than_it_saw_waits_on),
	CORE_TEST(reservations_that_wait_go_on_together),
	CORE_TEST(barrier_passes_reservations_that_wait),
	CORE_TEST(reservation_waits_until_one_is_used),
	CORE_TEST(reserved_handle_inside_an_open_one_is_refused),
);
