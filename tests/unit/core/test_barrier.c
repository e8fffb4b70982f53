// SPDX-License-Identifier: GPL-2.0-only
/* barrier.c: the barrier that lets no handle begin (lock_updates). */
#include "fixture.h"

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

/* ---- wake-ups that come just before the sleep ---- */

static void call_lock_and_unlock(struct fiber *f)
{
	zj_journal_lock_updates(fx.journal);
	zj_journal_unlock_updates(fx.journal);
}

static void call_start_stop(struct fiber *f)
{
	call_start(f);
	stop(f->h);
}

static void call_free_reserved(struct fiber *f)
{
	zj_journal_free_reserved(f->h);
}

static void call_use_reserved(struct fiber *f)
{
	call_reserved(f);
	stop(f->h);
}

/* Each of these ends what a barrier waits for, or waits for its end. */
static struct fiber other_side(int what)
{
	struct fiber f = { .n = 1 };
	handle_t *h;

	if (what == 0)
		f.fn = call_start_stop;
	if (what == 1) {
		f.fn = call_stop;
		f.h = start(1, 1);
	}
	if (what >= 2) {
		h = start_more(1, 1, 2, 0);
		f.h = h->h_rsv_handle;
		h->h_rsv_handle = NULL;
		stop(h);
		f.fn = what == 2 ? call_free_reserved : call_use_reserved;
	}
	return f;
}

/* A lost wake-up is a deadlock here. */
static void barrier_and_handles_meet_anywhere(void)
{
	struct fiber other;
	bool more;
	int n;

	OPEN(.lanes = 2);
	for (int i = 0; i < 8; i++) {
		n = 1;
		do {
			other = other_side(i / 2);
			more = i % 2 ?
			       preempt_at(n, CALL(call_lock_and_unlock), &other) :
			       preempt_at(n, &other, CALL(call_lock_and_unlock));
			n++;
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

/* A start finds its lane locked when the last handle stops. */
static void start_and_seal_meet_anywhere(void)
{
	struct fiber last = { .fn = call_stop };
	bool more;
	int n;

	OPEN(.lanes = 1);
	for (int i = 0; i < 2; i++) {
		n = 1;
		do {
			last.h = start(0, 1);
			put(last.h, BLOCK, n);
			seal(0);
			more = i ? preempt_at(n, CALL(call_start_stop, .n = 1), &last) :
				   preempt_at(n, &last, CALL(call_start_stop, .n = 1));
			n++;
			commit(0);
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

CORE_TESTS(barrier,
	CORE_TEST(barrier_and_handles_meet_anywhere),
	CORE_TEST(start_and_seal_meet_anywhere),
	CORE_TEST(barrier_waits_for_open_handles),
	CORE_TEST(barrier_waits_for_reservations),
	CORE_TEST(barriers_exclude_each_other),
	CORE_TEST(restart_with_a_reservation_lets_the_barrier_through),
);
