// SPDX-License-Identifier: GPL-2.0-only
/* txn.c: the barrier that lets no handle begin (lock_updates). */
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

static void call_restart_and_stop(struct fiber *f)
{
	call_restart(f);
	assert_int_equal(f->ret, 0);
	stop(f->h);
}

static void call_extend_and_stop(struct fiber *f)
{
	own(f->h);
	assert_true(zj_journal_extend(f->h, f->n, 0) >= 0);
	own(NULL);
	stop(f->h);
}

static void call_nested_and_stop(struct fiber *f)
{
	own(f->h);
	assert_ptr_equal(zj_journal_start(fx.journal, f->n, 0, 0, 0, 0, 0), f->h);
	assert_int_equal(zj_journal_stop(f->h), 0);
	own(NULL);
	stop(f->h);
}

/* Ties it to the last claimer, which has an open handle in the other lane. */
static void call_claim_and_stop(struct fiber *f)
{
	own(f->h);
	zj_journal_claim_keep(f->h, f->p, ZJ_KIND_INODE);
	own(NULL);
	call_restart_and_stop(f);
}

/* A handle of lane 1 and what it does from an open handle to none. */
enum side { START, STOP, STOP_RESERVED, FREE_RESERVED, USE_RESERVED, RESTART, RESTART_RESERVED,
	    EXTEND, NESTED, CLAIM, NR_SIDES };

static void (*const calls[NR_SIDES])(struct fiber *f) = {
	[START] = call_start_stop, [STOP] = call_stop, [STOP_RESERVED] = call_stop,
	[FREE_RESERVED] = call_free_reserved, [USE_RESERVED] = call_use_reserved,
	[RESTART] = call_restart_and_stop, [RESTART_RESERVED] = call_restart_and_stop,
	[EXTEND] = call_extend_and_stop, [NESTED] = call_nested_and_stop,
	[CLAIM] = call_claim_and_stop,
};

/* Each of these ends what a barrier waits for, or waits for its end. */
static struct fiber other_side(enum side side)
{
	struct fiber f = { .fn = calls[side], .cpu = 1, .n = 1 };
	static tid_t claim;
	handle_t *h;

	if (side == START)
		return f;
	if (side == CLAIM)
		claim = change(0, BLOCK, 1);
	f.p = &claim;
	f.h = h = start_more(1, 1, side == STOP_RESERVED || side == FREE_RESERVED ||
			     side == USE_RESERVED || side == RESTART_RESERVED ? 2 : 0, 0);
	if (side == FREE_RESERVED || side == USE_RESERVED) {
		f.h = h->h_rsv_handle;
		h->h_rsv_handle = NULL;
		stop(h);
	}
	return f;
}

/* A lost wake-up is a deadlock here. */
static void barrier_meets(enum side side)
{
	struct fiber other;
	bool more;
	int n;

	OPEN(.lanes = 2);
	for (int i = 0; i < 2; i++) {
		n = 1;
		do {
			other = other_side(side);
			more = i ? preempt_at(n, CALL(call_lock_and_unlock), &other) :
				   preempt_at(n, &other, CALL(call_lock_and_unlock));
			n++;
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

static void barrier_and_handles_meet_anywhere(void)
{
	static const enum side sides[] = { START, STOP, FREE_RESERVED, USE_RESERVED };

	for (u32 i = 0; i < ARRAY_SIZE(sides); i++)
		barrier_meets(sides[i]);
}

static void barrier_and_handles_that_go_on_meet_anywhere(void)
{
	static const enum side sides[] = { RESTART, EXTEND, NESTED, CLAIM };

	for (u32 i = 0; i < ARRAY_SIZE(sides); i++)
		barrier_meets(sides[i]);
}

/* A handle that stops or restarts gives its reservation back, before it wakes the barrier. */
static void barrier_and_restarts_with_reservations_meet_anywhere(void)
{
	barrier_meets(STOP_RESERVED);
	barrier_meets(RESTART_RESERVED);
}

/* Whoever holds it counts on that: an abort does not end handles. */
static void barrier_waits_for_handles_of_an_aborted_journal_too(void)
{
	struct fiber *barrier;
	handle_t *h, *rsv;

	for (int reserved = 0; reserved < 2; reserved++) {
		OPEN();
		h = start_more(1, 1, reserved, 0);
		rsv = h->h_rsv_handle;
		if (reserved) {
			h->h_rsv_handle = NULL;
			stop(h);
		}
		barrier = GO(call_barrier);
		let_run();
		assert_false(barrier->ret);
		zj_journal_abort(fx.journal, -EIO);
		settle();
		assert_false(barrier->ret);
		if (reserved)
			zj_journal_free_reserved(rsv);
		else
			stop(h);
		settle();
		assert_true(barrier->ret);
		barrier->n = 1;
		join(barrier);
		close_aborted();
	}
}

/* ---- a lane that is locked ---- */

/* The last handle of the lane's locked transaction. */
static struct fiber last_side(enum side side, u8 value)
{
	struct fiber f = { .fn = calls[side], .n = 1 };

	f.h = start_more(0, 2, side == STOP_RESERVED || side == RESTART_RESERVED ? 2 : 0, 0);
	put(f.h, BLOCK, value);
	seal(0);
	return f;
}

/* A start finds its lane locked when the last handle leaves, in one way or the other. */
static void start_meets(enum side side)
{
	struct fiber last;
	bool more;
	int n;

	OPEN(.lanes = 1);
	for (int i = 0; i < 2; i++) {
		n = 1;
		do {
			last = last_side(side, n);
			more = i ? preempt_at(n, CALL(call_start_stop, .n = 1), &last) :
				   preempt_at(n, &last, CALL(call_start_stop, .n = 1));
			n++;
			commit(0);
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

static void start_and_seal_meet_anywhere(void)
{
	static const enum side sides[] = { STOP, STOP_RESERVED, RESTART, RESTART_RESERVED,
					   EXTEND, NESTED };

	for (u32 i = 0; i < ARRAY_SIZE(sides); i++)
		start_meets(sides[i]);
}

/* The same for a handle that restarts while others of its transaction are open. */
static void restart_and_seal_meet_anywhere(void)
{
	struct fiber last, restart;
	bool more;
	int n;

	OPEN(.lanes = 1);
	for (int i = 0; i < 4; i++) {
		n = 1;
		do {
			restart = (struct fiber){ .fn = call_restart_and_stop, .n = 1,
						  .h = start_more(0, 2, i / 2, 0) };
			last = last_side(STOP, n);
			more = i % 2 ? preempt_at(n, &restart, &last) :
				       preempt_at(n, &last, &restart);
			n++;
			commit(0);
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

CORE_TESTS(barrier,
	CORE_TEST(barrier_and_handles_meet_anywhere),
	CORE_TEST(barrier_and_handles_that_go_on_meet_anywhere),
	CORE_TEST(barrier_and_restarts_with_reservations_meet_anywhere),
	CORE_TEST(barrier_waits_for_handles_of_an_aborted_journal_too),
	CORE_TEST(start_and_seal_meet_anywhere),
	CORE_TEST(restart_and_seal_meet_anywhere),
	CORE_TEST(barrier_waits_for_open_handles),
	CORE_TEST(barrier_waits_for_reservations),
	CORE_TEST(barriers_exclude_each_other),
	CORE_TEST(restart_with_a_reservation_lets_the_barrier_through),
);
