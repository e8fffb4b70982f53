// SPDX-License-Identifier: GPL-2.0-only
/* txn.c: life of a transaction, its tid, its timer. */
#include "fixture.h"

static void at_callback(struct zj_txn *txn)
{
	assert_int_equal(txn->public.t_state, T_COMMIT);
	assert_true(txn->stage < ZJ_FINISHED);
	assert_ptr_equal(txn_of(txn->public.t_tid), txn);
	zj_txn_put(txn);
}

static void transaction_goes_through_its_states(void)
{
	struct zj_txn *txn;
	handle_t *h;

	OPEN();
	fx.on_commit = at_callback;
	h = start(0, 1);
	put(h, BLOCK, 1);
	txn = running(0);
	assert_int_equal(txn->public.t_state, T_RUNNING);
	assert_ptr_equal(txn->public.t_journal, fx.journal);
	stop(h);
	seal(0);
	assert_int_equal(txn->public.t_state, T_COMMIT);
	settle();
	assert_int_equal(txn->public.t_state, T_FINISHED);
	assert_int_equal(txn->stage, ZJ_FINISHED);
	assert_null(zj_txn_find(fx.zj, txn->public.t_tid));
	assert_int_equal(fx.nr_calls, 1);
	/* It is reclaimed, and a task that still has a reference sees it as committed. */
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(zj_txn_is_committed(txn));
	assert_int_equal(zj_txn_wait_finished(txn), 0);
	zj_txn_put(txn);
	close_journal();
}

static void tid_zero_is_nobodys(void)
{
	OPEN();
	assert_null(zj_txn_find(fx.zj, 0));
	assert_null(zj_txn_find(fx.zj, 12345));
	close_journal();
}

static void tids_are_unique_over_the_lanes(void)
{
	tid_t tid[4];

	OPEN(.lanes = 4);
	for (u32 i = 0; i < 4; i++) {
		tid[i] = change(i, BLOCK + i, 1);
		for (u32 k = 0; k < i; k++)
			assert_int_not_equal(tid[i], tid[k]);
	}
	assert_int_equal(zj_get_latest_transaction(fx.journal), tid[3]);
	close_journal();
}

static void tids_compare_over_the_wrap(void)
{
	assert_true(tid_gt(1, 0xffffffffu));
	assert_false(tid_gt(0xffffffffu, 1));
	assert_true(tid_gt(0x80000000u, 0x7fffffffu));
	assert_true(tid_geq(5, 5));
	assert_true(tid_geq(0, 0xfffffff0u));
	assert_false(tid_gt(5, 5));
}

static void call_force(struct fiber *f)
{
	f->ret = zj_journal_force_commit(fx.journal);
}

static void tid_wraps_over_zero(void)
{
	tid_t last, first;
	struct fiber *f;

	OPEN();
	atomic_set(&fx.zj->next_tid, -2);
	last = change(0, BLOCK, 1);
	first = change(1, BLOCK + 1, 1);
	assert_int_equal(last, 0xffffffffu);
	assert_int_equal(first, 1);
	assert_int_equal(zj_transaction_committed(fx.journal, last), 0);
	assert_int_equal(zj_transaction_committed(fx.journal, first), 0);
	/* A wait for everything up to 1 includes 0xffffffff. */
	fx.hold_lane[0] = true;
	f = GO(call_force);
	settle();
	assert_int_equal(stage_of(first), ZJ_COMMITTED);
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(stage_of(last), ZJ_COMMITTED);
	close_journal();
}

static void what_is_newer_than_the_question_is_not_waited_for(void)
{
	tid_t newer;
	struct fiber *f;

	OPEN();
	atomic_set(&fx.zj->next_tid, -2);
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	f = GO(call_force);
	let_run();
	newer = change(1, BLOCK + 1, 1);
	assert_int_equal(newer, 1);
	release();
	join(f);
	assert_int_equal(stage_of(newer), ZJ_RUNNING);
	close_journal();
}

static void timer_runs_from_the_first_handle_on(void)
{
	tid_t tid;

	OPEN();
	fx.journal->j_commit_interval = 5 * HZ;
	tid = change(0, BLOCK, 1);
	sleep_ms(3000);
	/* Later handles do not put it off. */
	assert_int_equal(change(0, BLOCK + 1, 1), tid);
	sleep_ms(1500);
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	sleep_ms(1500);
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

static void n8_every_transaction_has_its_own_timer(void)
{
	tid_t a, b;

	OPEN();
	fx.journal->j_commit_interval = 5 * HZ;
	a = change(0, BLOCK, 1);
	sleep_ms(3000);
	b = change(1, BLOCK + 1, 1);
	sleep_ms(3000);
	assert_int_equal(stage_of(a), ZJ_COMMITTED);
	assert_int_equal(stage_of(b), ZJ_RUNNING);
	/* The next one of the lane counts from its own beginning. */
	a = change(0, BLOCK, 2);
	sleep_ms(3000);
	assert_int_equal(stage_of(b), ZJ_COMMITTED);
	assert_int_equal(stage_of(a), ZJ_RUNNING);
	sleep_ms(3000);
	assert_int_equal(stage_of(a), ZJ_COMMITTED);
	close_journal();
}

static void interval_is_that_of_the_transactions_beginning(void)
{
	tid_t a, b;

	OPEN();
	fx.journal->j_commit_interval = 20 * HZ;
	a = change(0, BLOCK, 1);
	fx.journal->j_commit_interval = 2 * HZ;
	b = change(1, BLOCK + 1, 1);
	sleep_ms(4000);
	assert_int_equal(stage_of(b), ZJ_COMMITTED);
	assert_int_equal(stage_of(a), ZJ_RUNNING);
	close_journal();
}

static void timer_closes_the_whole_component(void)
{
	handle_t *a, *b;
	tid_t ta, tb;

	OPEN();
	fx.journal->j_commit_interval = 5 * HZ;
	a = start(0, 1);
	ta = a->h_transaction->t_tid;
	put(a, BLOCK, 1);
	sleep_ms(3000);
	b = start(1, 1);
	tb = b->h_transaction->t_tid;
	put(b, BLOCK, 2);
	stop(a);
	stop(b);
	sleep_ms(3000);
	assert_int_equal(stage_of(ta), ZJ_COMMITTED);
	assert_int_equal(stage_of(tb), ZJ_COMMITTED);
	close_journal();
}

/* A transaction begins with one share; a handle that needs more asks for it. */
static void transaction_begins_with_a_share(void)
{
	OPEN();
	change(0, BLOCK, 1);
	assert_int_equal(lane(0)->running->granted, fx.zj->grant);
	assert_int_equal(atomic_read(&fx.zj->granted), fx.zj->grant);
	commit(0);
	assert_int_equal(atomic_read(&fx.zj->granted), 0);
	close_journal();
}

/* Two transactions whose tids are in the same chain of the table. */
static void two_in_a_chain(struct zj_txn **txn)
{
	change(0, BLOCK, 1);
	txn[0] = running(0);
	atomic_add(ZJ_TID_CHAINS - 1, &fx.zj->next_tid);
	change(1, BLOCK + 1, 1);
	txn[1] = running(1);
	assert_int_equal(txn[1]->public.t_tid, txn[0]->public.t_tid + ZJ_TID_CHAINS);
}

static void tids_of_one_chain_are_told_apart(void)
{
	struct zj_txn *txn[2];

	OPEN();
	two_in_a_chain(txn);
	for (u32 i = 0; i < 2; i++) {
		assert_ptr_equal(txn_of(txn[i]->public.t_tid), txn[i]);
		zj_txn_put(txn[i]);
		assert_false(zj_transaction_committed(fx.journal, txn[i]->public.t_tid));
	}
	commit(0);
	assert_true(zj_transaction_committed(fx.journal, txn[0]->public.t_tid));
	assert_false(zj_transaction_committed(fx.journal, txn[1]->public.t_tid));
	assert_false(zj_tids_empty(fx.zj));
	commit(1);
	assert_true(zj_tids_empty(fx.zj));
	for (u32 i = 0; i < 2; i++)
		zj_txn_put(txn[i]);
	close_journal();
}

static void call_force_commit(struct fiber *f)
{
	f->ret = zj_journal_force_commit(fx.journal);
}

static void all_of_a_chain_are_waited_for(void)
{
	for (u32 held = 0; held < 2; held++) {
		struct zj_txn *txn[2];
		struct fiber *f;

		OPEN();
		two_in_a_chain(txn);
		fx.hold_lane[held] = true;
		f = GO(call_force_commit);
		settle();
		assert_int_equal(txn[!held]->stage, ZJ_FINISHED);
		assert_false(f->done);
		release();
		join(f);
		assert_int_equal(f->ret, 0);
		for (u32 i = 0; i < 2; i++) {
			assert_int_equal(txn[i]->stage, ZJ_FINISHED);
			zj_txn_put(txn[i]);
		}
		close_journal();
	}
}

/* It was never found, so there is nothing to remove. */
static void transaction_that_was_not_used_is_in_no_table(void)
{
	struct zj_txn *txn;

	OPEN();
	txn = zj_txn_alloc(lane(0));
	assert_null(zj_txn_find(fx.zj, txn->public.t_tid));
	zj_txn_free_unused(txn);
	assert_true(zj_tids_empty(fx.zj));
	close_journal();
}

CORE_TESTS(txn,
	CORE_TEST(transaction_goes_through_its_states),
	CORE_TEST(tid_zero_is_nobodys),
	CORE_TEST(tids_are_unique_over_the_lanes),
	CORE_TEST(tids_of_one_chain_are_told_apart),
	CORE_TEST(all_of_a_chain_are_waited_for),
	CORE_TEST(transaction_that_was_not_used_is_in_no_table),
	CORE_TEST(tids_compare_over_the_wrap),
	CORE_TEST(tid_wraps_over_zero),
	CORE_TEST(what_is_newer_than_the_question_is_not_waited_for),
	CORE_TEST(timer_runs_from_the_first_handle_on),
	CORE_TEST(n8_every_transaction_has_its_own_timer),
	CORE_TEST(interval_is_that_of_the_transactions_beginning),
	CORE_TEST(timer_closes_the_whole_component),
	CORE_TEST(transaction_begins_with_a_share),
);
