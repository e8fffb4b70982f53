// SPDX-License-Identifier: GPL-2.0-only
/* sync.c: fsync, force commit, the barrier, flush. */
#include "fixture.h"

/* ---- fsync ---- */

static void fsync_waits_for_its_closure_and_for_that_only(void)
{
	tid_t old, mine, other;
	struct fiber *f;
	handle_t *h;

	OPEN(.lanes = 4);
	old = change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	h = start(1, 2);
	mine = h->h_transaction->t_tid;
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	other = change(2, BLOCK + 2, 2);
	f = GO(call_complete, .tid = mine);
	settle();
	/* Its own record is durable, but not what it depends on. */
	assert_false(f->done);
	assert_int_equal(state_of(mine), ZJ_C_FROZEN);
	/* A stranger is not even closed. */
	assert_int_equal(state_of(other), ZJ_C_RUNNING);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(state_of(old), ZJ_C_VALID);
	assert_int_equal(state_of(other), ZJ_C_RUNNING);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

static void fsync_does_not_wait_for_strangers_in_flight(void)
{
	tid_t mine;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	settle();
	mine = change(1, BLOCK + 1, 1);
	assert_int_equal(zj_complete_transaction(fx.journal, mine), 0);
	assert_int_equal(state_of(mine), ZJ_C_VALID);
	close_journal();
}

static void fsync_waits_for_the_members_of_its_component(void)
{
	struct fiber *f;
	handle_t *a, *b;
	tid_t tid;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	tid = a->h_transaction->t_tid;
	put(a, BLOCK, 1);
	put(b, BLOCK, 2);
	stop(a);
	f = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(state_of(tid), ZJ_C_LOCKED);
	stop(b);
	fx.hold_lane[1] = true;
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void fsync_of_what_is_valid_or_unknown_returns(void)
{
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	assert_int_equal(zj_complete_transaction(fx.journal, 0), 0);
	assert_int_equal(zj_complete_transaction(fx.journal, tid + 100), 0);
	assert_int_equal(zj_log_wait_commit(fx.journal, tid), 0);
	assert_int_equal(zj_transaction_committed(fx.journal, tid), 1);
	assert_int_equal(zj_transaction_committed(fx.journal, 0), 1);
	close_journal();
}

static void call_wait_commit(struct fiber *f)
{
	f->ret = zj_log_wait_commit(fx.journal, f->tid);
}

static void log_wait_commit_requests_nothing(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	f = GO(call_wait_commit, .tid = tid);
	settle();
	assert_false(f->done);
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	assert_int_equal(zj_transaction_committed(fx.journal, tid), 0);
	freeze(0);
	join(f);
	assert_int_equal(f->ret, 0);
	close_journal();
}

/* R8: the last holder of the sync tid answers for the earlier ones. */
static void fsync_by_sync_tid_covers_all_lanes_that_wrote(void)
{
	tid_t sync = 0;
	handle_t *h;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		h = start(i, 1);
		zj_journal_sync_tid(h, &sync);
		put(h, BLOCK + i, 1 + i);
		stop(h);
		if (!i)
			freeze(0);
	}
	assert_int_equal(zj_complete_transaction(fx.journal, sync), 0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
	close_journal();
}

static void hand_over_does_nothing_when_aborted(void)
{
	tid_t slot = 5;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	zj_journal_abort(fx.journal, -EIO);
	zj_journal_sync_tid(h, &slot);
	assert_int_equal(slot, 5);
	stop(h);
	close_aborted();
}

static void kept_claims_are_few(void)
{
	tid_t word[ZJ_HANDLE_CLAIMS + 1] = { };
	handle_t *h;

	OPEN();
	h = start(0, 1);
	for (u32 i = 0; i <= ZJ_HANDLE_CLAIMS; i++)
		zj_journal_claim_keep(h, &word[i], ZJ_KIND_INODE);
	assert_int_equal(h->h_nr_claims, ZJ_HANDLE_CLAIMS);
	assert_int_equal(word[ZJ_HANDLE_CLAIMS], h->h_transaction->t_tid);
	stop(h);
	close_journal();
}

/* ---- everything ---- */

static void force_commit_makes_all_lanes_valid(void)
{
	tid_t a, b, c;

	OPEN(.lanes = 3);
	a = change(0, BLOCK, 1);
	freeze(0);
	b = change(1, BLOCK + 1, 1);
	c = change(2, BLOCK + 2, 1);
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	assert_int_equal(state_of(a), ZJ_C_VALID);
	assert_int_equal(state_of(b), ZJ_C_VALID);
	assert_int_equal(state_of(c), ZJ_C_VALID);
	close_journal();
}

static void force_commit_inside_a_handle_warns(void)
{
	handle_t open;

	OPEN();
	/* Of another journal, or it would wait for itself. */
	own(&open);
	expect_warning("journal_current_handle()");
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	own(NULL);
	warned();
	close_journal();
}

static void nested_force_commit_waits_for_frozen_ones_only(void)
{
	tid_t frozen, mine;
	handle_t *h;

	OPEN();
	frozen = change(1, BLOCK, 1);
	h = start(0, 1);
	mine = h->h_transaction->t_tid;
	own(h);
	assert_int_equal(zj_journal_force_commit_nested(fx.journal), 1);
	own(NULL);
	assert_int_equal(state_of(frozen), ZJ_C_VALID);
	assert_int_equal(state_of(mine), ZJ_C_LOCKED);
	own(h);
	assert_int_equal(zj_journal_force_commit_nested(fx.journal), 0);
	stop(h);
	close_journal();
}

static void start_commit_says_if_there_is_anything(void)
{
	tid_t tid, newest;

	OPEN();
	assert_int_equal(zj_journal_start_commit(fx.journal, NULL), 0);
	tid = change(0, BLOCK, 1);
	assert_int_equal(zj_journal_start_commit(fx.journal, &newest), 1);
	assert_int_equal(newest, tid);
	assert_int_equal(state_of(tid), ZJ_C_FROZEN);
	close_journal();
}

static void data_barrier_is_promised_until_its_flush(void)
{
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 1);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	fx.journal->j_flags |= JBD2_BARRIER;
	fx.hold_flush = true;
	freeze(0);
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 1);
	settle();
	/* In flight: it may have missed what was written meanwhile. */
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	release();
	settle();
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	close_journal();
}

/* ---- the barrier ---- */

static void barrier_waits_for_open_handles(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	h = start(1, 1);
	f = GO(call_barrier);
	let_run();
	assert_false(f->ret);
	stop(h);
	let_run();
	assert_true(f->ret);
	f->n = 1;
	join(f);
	close_journal();
}

static void barrier_waits_for_reservations(void)
{
	handle_t *h, *rsv;
	struct fiber *f;

	OPEN();
	h = start_more(0, 1, 3, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	stop(h);
	f = GO(call_barrier);
	let_run();
	assert_false(f->ret);
	zj_journal_free_reserved(rsv);
	let_run();
	assert_true(f->ret);
	f->n = 1;
	join(f);
	close_journal();
}

static void barriers_exclude_each_other(void)
{
	struct fiber *f, *g;

	OPEN();
	f = GO(call_barrier);
	let_run();
	g = GO(call_barrier);
	let_run();
	assert_true(f->ret);
	assert_false(g->ret);
	f->n = 1;
	join(f);
	settle();
	assert_true(g->ret);
	g->n = 1;
	join(g);
	stop(start(0, 1));
	close_journal();
}

static void restart_with_a_reservation_lets_the_barrier_through(void)
{
	struct fiber *barrier, *f;
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 3, 0);
	barrier = GO(call_barrier);
	let_run();
	assert_false(barrier->ret);
	f = GO(call_restart, .h = h, .n = 1);
	settle();
	assert_true(barrier->ret);
	assert_false(f->done);
	barrier->n = 1;
	join(barrier);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(lane(0)->rsv_credits, 3);
	stop(h);
	close_journal();
}

/* ---- flush ---- */

static int flush_journal(unsigned int flags)
{
	int err;

	zj_journal_lock_updates(fx.journal);
	err = zj_journal_flush(fx.journal, flags);
	zj_journal_unlock_updates(fx.journal);
	return err;
}

static void flush_brings_all_home_and_marks_the_log_empty(void)
{
	struct image *image;

	OPEN();
	change(0, BLOCK, 1);
	change(1, BLOCK + 1, 2);
	assert_int_equal(flush_journal(0), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 1);
	assert_int_equal(image_val(image, BLOCK + 1), 2);
	image_free(image);
	/* And it goes on. */
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void flush_erases_the_log_if_asked(void)
{
	OPEN();
	change(0, BLOCK, 1);
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_ZEROOUT), 0);
	for (u32 b = ZJ_LOG_FIRST; b < fx.setup.journal; b++)
		assert_int_equal(home_val(jblock(b)), 0);
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_DISCARD), 0);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void flush_with_wrong_flags_is_refused(void)
{
	OPEN();
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_VALID), -EINVAL);
	assert_int_equal(flush_journal(8), -EINVAL);
	close_journal();
}

CORE_TESTS(sync,
	CORE_TEST(fsync_waits_for_its_closure_and_for_that_only),
	CORE_TEST(fsync_does_not_wait_for_strangers_in_flight),
	CORE_TEST(fsync_waits_for_the_members_of_its_component),
	CORE_TEST(fsync_of_what_is_valid_or_unknown_returns),
	CORE_TEST(log_wait_commit_requests_nothing),
	CORE_TEST(fsync_by_sync_tid_covers_all_lanes_that_wrote),
	CORE_TEST(hand_over_does_nothing_when_aborted),
	CORE_TEST(kept_claims_are_few),
	CORE_TEST(force_commit_makes_all_lanes_valid),
	CORE_TEST(force_commit_inside_a_handle_warns),
	CORE_TEST(nested_force_commit_waits_for_frozen_ones_only),
	CORE_TEST(start_commit_says_if_there_is_anything),
	CORE_TEST(data_barrier_is_promised_until_its_flush),
	CORE_TEST(barrier_waits_for_open_handles),
	CORE_TEST(barrier_waits_for_reservations),
	CORE_TEST(barriers_exclude_each_other),
	CORE_TEST(restart_with_a_reservation_lets_the_barrier_through),
	CORE_TEST(flush_brings_all_home_and_marks_the_log_empty),
	CORE_TEST(flush_erases_the_log_if_asked),
	CORE_TEST(flush_with_wrong_flags_is_refused),
);
