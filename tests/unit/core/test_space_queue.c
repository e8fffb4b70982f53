// SPDX-License-Identifier: GPL-2.0-only
/* space.c: starts that wait for space, their order, and what wakes them. */
#include "small_log.h"

static void start_waits_all_or_nothing(void)
{
	struct fiber *f;
	u32 pool;

	OPEN(SMALL, .lanes = 1);
	block_the_log();
	pool = free_segs();
	f = fill(fx.zj->max_credits);
	settle();
	assert_false(f->done);
	assert_true(pool > 0);
	assert_int_equal(free_segs(), pool);
	assert_true(zj_space_low(fx.zj));
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	stop(f->h);
	close_journal();
}

/* Otherwise space that comes back in small pieces would always go to those that need little. */
static void who_has_waited_longest_for_space_is_served_first(void)
{
	struct fiber *much, *little;

	OPEN(SMALL, .lanes = 2);
	block_the_log();
	much = fill(fx.zj->max_credits);
	assert_true(free_segs() > 0);
	little = GO(call_start, .cpu = 1, .n = 1);
	let_run();
	assert_false(little->done);
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 2);
	release();
	join(much);
	assert_int_equal(much->ret, 0);
	stop(much->h);
	join(little);
	assert_int_equal(little->ret, 0);
	stop(little->h);
	assert_null(fx.zj->space_first);
	close_journal();
}

/*
 * The first goes on. Wherever it is switched away from, a start that comes then leaves those before
 * it their turn.
 */
static bool first_leaves_at(int n)
{
	struct fiber *much, *little, *late;
	bool there;

	OPEN(SMALL, .lanes = 2);
	block_the_log();
	much = fill(fx.zj->max_credits);
	little = GO(call_start, .cpu = 1, .n = 1);
	let_run();
	stop_at_point(&much->task->task, n);
	release();
	settle();
	there = stopped(&much->task->task);
	late = GO(call_start, .cpu = 1, .n = fx.zj->max_credits);
	let_run();
	assert_true(fx.zj->space_first || list_empty(&fx.zj->space_queue));
	if (there)
		go_on(&much->task->task);
	else
		stop_nowhere(&much->task->task);
	join(much);
	stop(much->h);
	join(little);
	stop(little->h);
	join(late);
	stop(late->h);
	all_joined();
	close_journal();
	return there;
}

static void somebody_is_the_first_while_starts_wait(void)
{
	int n = 1;

	while (first_leaves_at(n))
		n++;
	assert_true(n > 5);
}

/* Starts a handle with a reservation, as write-back does. */
static void call_start_with_reservation(struct fiber *f)
{
	f->h = start_more(0, f->n, 1, 0);
	stop(f->h);
}

/* A lane of a ring has nothing in hand: its room is there for the first only. */
static void starts_that_wait_for_room_in_a_ring_are_all_served(void)
{
	struct fiber *much, *little;
	u32 need;

	OPEN(.journal = 200, .lanes = 1, .jbd2 = true);
	need = zj_log_blocks(fx.zj, fx.zj->max_credits);
	/* No checkpoint can run, so committed transactions stay in the log. */
	mutex_lock(&fx.zj->ckpt_lock);
	while (fx.zj->nr_pool >= need) {
		change_many(0, 10, 1);
		commit(0);
	}
	much = GO(call_start_with_reservation, .n = fx.zj->max_credits - 1);
	let_run();
	little = GO(call_start_with_reservation, .n = 1);
	let_run();
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 2);
	mutex_unlock(&fx.zj->ckpt_lock);
	join(much);
	join(little);
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 0);
	close_journal();
}

/* Space of a released reservation is available at once, not only after the next check. */
static void reservation_that_is_given_back_serves_who_waits(void)
{
	static const struct setup logs[] = {
		{ .journal = 200, .lanes = 1, .jbd2 = true, .cpus = 2 },
		{ SMALL, .lanes = 2 },
	};
	handle_t *h, *rsv[4];
	struct fiber *f;
	u32 most, budget;

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		open_journal(&logs[i]);
		most = fx.zj->max_credits / 2;
		budget = fx.zj->budget;
		/* A budget of which several lanes are needed to reserve the half. */
		fx.zj->budget *= 16;
		for (u32 k = 0; k < ARRAY_SIZE(rsv); k++) {
			h = start_more(0, 1, k || logs[i].jbd2 ? most : 8, 0);
			rsv[k] = h->h_rsv_handle;
			h->h_rsv_handle = NULL;
			stop(h);
		}
		fx.zj->budget = budget;
		commit(0);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		f = GO(call_start, .cpu = 1, .n = fx.zj->max_credits);
		settle();
		assert_false(f->done);
		sleep_ms(50);
		for (u32 k = 0; k < ARRAY_SIZE(rsv); k++)
			zj_journal_free_reserved(rsv[k]);
		sleep_ms(5);
		assert_true(f->done);
		join(f);
		stop(f->h);
		close_journal();
	}
}

/*
 * The first in the queue would have room, but its lane is closed and waits for a handle.
 * Other lanes have nothing to do with that, and nothing is closed for it.
 */
static void who_waits_for_its_lane_holds_up_no_other(void)
{
	handle_t *h, *more, *most;
	struct fiber *first, *other;

	OPEN(.lanes = 4, .journal = 2560);
	assert_int_equal(fx.zj->nr_lanes, 4);
	fx.journal->j_commit_interval = 1000 * HZ;
	h = start(0, 1);
	most = start(1, fx.zj->max_credits);
	more = start(2, 700);
	first = GO(call_start, .cpu = 0, .n = 500);
	settle();
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 1);
	assert_int_equal(lane(0)->running->stage, ZJ_LOCKED);
	stop(most);
	settle();
	assert_false(first->done);
	assert_true(fx.zj->nr_pool > fx.zj->geo.nr_segs / 3);
	other = GO(call_start, .cpu = 3, .n = 100);
	sleep_ms(5);
	assert_true(other->done);
	join(other);
	stop(other->h);
	settle();
	assert_non_null(lane(3)->running);
	assert_int_equal(lane(3)->running->stage, ZJ_RUNNING);
	stop(h);
	join(first);
	stop(first->h);
	stop(more);
	close_journal();
}

/* Its lane has room again, though the checkpoint is busy for long and reclaims nothing. */
static void handle_that_gives_credits_back_serves_who_waits(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN(.journal = 200, .lanes = 1, .jbd2 = true, .cpus = 2);
	mutex_lock(&fx.zj->ckpt_lock);
	while (fx.zj->nr_pool >= 60) {
		change_many(0, 10, 1);
		commit(0);
	}
	h = start(0, 30);
	f = GO(call_start, .n = 30);
	let_run();
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 1);
	stop(h);
	settle();
	assert_true(f->done);
	mutex_unlock(&fx.zj->ckpt_lock);
	join(f);
	stop(f->h);
	close_journal();
}

static void start_that_waits_for_space_ends_with_an_abort(void)
{
	struct fiber *f;

	OPEN(SMALL, .lanes = 1);
	block_the_log();
	f = fill(fx.zj->max_credits);
	settle();
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	assert_int_equal(f->ret, -EROFS);
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 0);
	close_aborted();
}

static void reserved_handle_does_not_wait_for_space(void)
{
	struct fiber *f, *r;
	handle_t *h, *rsv;

	OPEN(SMALL, .lanes = 1);
	h = start_more(0, 1, 5, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	stop(h);
	block_the_log();
	f = fill(fx.zj->max_credits);
	r = GO(call_reserved, .h = rsv);
	let_run();
	assert_true(r->done);
	join(r);
	assert_int_equal(r->ret, 0);
	for (u32 i = 0; i < 5; i++)
		put(rsv, BLOCK + 150 + i, 1);
	stop(rsv);
	assert_false(f->done);
	release();
	join(f);
	stop(f->h);
	close_journal();
}

/* Blocks that the lane could have, if all of the pool were its own. */
static u32 within_reach(void)
{
	u32 seg = fx.zj->geo.seg_blocks;

	return (free_segs() + lane(0)->nr_in_hand) * seg +
	       (lane(0)->cur ? seg - lane(0)->cur_off : 0);
}

/* A promise is more than its record takes: the lane itself has room again. */
static void record_serves_who_waits_by_what_it_did_not_take(void)
{
	struct task_struct *ckpt;
	struct fiber *f;
	u32 n = 1;

	OPEN(SMALL, .lanes = 1);
	ckpt = fx.zj->ckpt_task;
	/* Nothing is reclaimed: all that wakes anybody is the lane's own record. */
	stop_before(ckpt, &fx.zj->comp_lock, 1);
	zj_checkpoint_kick(fx.zj);
	let_run();
	assert_true(stopped(ckpt));
	while (within_reach() >= zj_log_blocks(fx.zj, fx.zj->max_credits)) {
		change_many(0, 5, 1);
		commit(0);
	}
	change_many(0, 1, 2);
	seal(0);
	while (lane(0)->promised + zj_log_blocks(fx.zj, n) <= within_reach())
		n++;
	assert_true(n <= fx.zj->max_credits);
	f = GO(call_start, .cpu = 0, .n = n);
	let_run();
	settle();
	assert_true(stopped(ckpt));
	assert_true(f->done);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(lane(0)->stats.wait_space, 1);
	stop(f->h);
	go_on(ckpt);
	close_journal();
}

/* ---- which starts are woken, and when: no time passes ---- */

/* Space that a seal returns is available at once for starts that wait. */
static void segments_that_a_seal_gives_back_are_taken_at_once(void)
{
	struct fiber *f;
	handle_t *h;
	u32 nr = 20;

	OPEN(.lanes = 2, .journal = 230);
	fx.hold_lane[0] = true;
	change_many(0, 50, 1);
	seal(0);
	h = start(0, fx.zj->max_credits);
	put(h, BLOCK, 1);
	while (zj_log_blocks(fx.zj, nr) <= fx.zj->nr_pool * fx.zj->geo.seg_blocks)
		nr++;
	f = GO(call_start, .cpu = 1, .n = nr);
	let_run();
	assert_false(f->done);
	stop(h);
	seal(0);
	let_run();
	assert_true(f->done);
	join(f);
	stop(f->h);
	close_journal();
}

/* The next one has looked already, while it was not its turn. */
static void who_leaves_the_queue_wakes_the_next(void)
{
	struct fiber *much, *little;

	OPEN(.lanes = 2, .journal = 230, .log_blocks = true);
	mutex_lock(&fx.zj->ckpt_lock);
	while (fx.zj->nr_pool > 2) {
		change_many(0, 6, 1);
		commit(0);
	}
	much = GO(call_start, .cpu = 0, .n = 40);
	let_run();
	little = GO(call_start, .cpu = 1, .n = 1);
	let_run();
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 2);
	stop_before(&much->task->task, &lane(0)->lock, 1);
	mutex_unlock(&fx.zj->ckpt_lock);
	settle();
	assert_true(stopped(&much->task->task));
	assert_false(little->done);
	go_on(&much->task->task);
	let_run();
	assert_true(much->done);
	assert_true(little->done);
	join(much);
	join(little);
	stop(much->h);
	stop(little->h);
	close_journal();
}

/* It needs a block for its record, and competes for that like any other start. */
static void start_without_credits_waits_for_its_turn_in_a_ring(void)
{
	struct fiber *much, *none;
	u32 need;

	OPEN(.journal = 200, .lanes = 1, .jbd2 = true);
	need = zj_log_blocks(fx.zj, fx.zj->max_credits);
	mutex_lock(&fx.zj->ckpt_lock);
	while (fx.zj->nr_pool >= need) {
		change_many(0, 10, 1);
		commit(0);
	}
	much = GO(call_start, .n = fx.zj->max_credits);
	let_run();
	none = GO(call_start, .n = 0);
	let_run();
	assert_false(much->done);
	assert_false(none->done);
	mutex_unlock(&fx.zj->ckpt_lock);
	join(much);
	stop(much->h);
	join(none);
	stop(none->h);
	close_journal();
}

/* It has left the queue for the barrier: that is once. */
static void start_that_meets_a_barrier_leaves_the_queue_once(void)
{
	struct fiber *f, *b;
	u32 need;

	OPEN(.journal = 200, .lanes = 1, .jbd2 = true);
	need = zj_log_blocks(fx.zj, fx.zj->max_credits);
	mutex_lock(&fx.zj->ckpt_lock);
	while (fx.zj->nr_pool >= need) {
		change_many(0, 10, 1);
		commit(0);
	}
	f = GO(call_start, .n = fx.zj->max_credits);
	let_run();
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 1);
	b = GO(call_barrier);
	let_run();
	mutex_unlock(&fx.zj->ckpt_lock);
	settle();
	assert_int_equal(b->ret, 1);
	assert_false(f->done);
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 0);
	b->n = 1;
	join(b);
	join(f);
	assert_int_equal(atomic_read(&fx.zj->space_waiters), 0);
	stop(f->h);
	close_journal();
}

CORE_TESTS(space_queue,
	CORE_TEST(record_serves_who_waits_by_what_it_did_not_take),
	CORE_TEST(start_waits_all_or_nothing),
	CORE_TEST(who_has_waited_longest_for_space_is_served_first),
	CORE_TEST(somebody_is_the_first_while_starts_wait),
	CORE_TEST(starts_that_wait_for_room_in_a_ring_are_all_served),
	CORE_TEST(start_that_waits_for_space_ends_with_an_abort),
	CORE_TEST(handle_that_gives_credits_back_serves_who_waits),
	CORE_TEST(who_waits_for_its_lane_holds_up_no_other),
	CORE_TEST(reservation_that_is_given_back_serves_who_waits),
	CORE_TEST(reserved_handle_does_not_wait_for_space),
	CORE_TEST(segments_that_a_seal_gives_back_are_taken_at_once),
	CORE_TEST(who_leaves_the_queue_wakes_the_next),
	CORE_TEST(start_without_credits_waits_for_its_turn_in_a_ring),
	CORE_TEST(start_that_meets_a_barrier_leaves_the_queue_once),
);
