// SPDX-License-Identifier: GPL-2.0-only
/*
 * space.c: each start that waits for log space sleeps in the queue of its lane. Whatever
 * makes room for one of them has to wake that queue, whichever lane the first is in.
 *
 * Nothing is reclaimed while a test holds ckpt_lock, so nobody is woken by that.
 */
#include "small_log.h"

/* Log blocks that a lane may fill without the pool. */
static u32 room_of(u32 i)
{
	u32 seg = fx.zj->geo.seg_blocks;

	return lane(i)->nr_in_hand * seg + (lane(i)->cur ? seg - lane(i)->cur_off : 0);
}

/* The most credits that fit into so many log blocks. */
static int credits_for(u32 blocks)
{
	int n = 0;

	while (zj_log_blocks(fx.zj, n + 1) <= blocks)
		n++;
	return n;
}

static int credits_of_segments(u32 nr)
{
	return credits_for(nr * fx.zj->geo.seg_blocks);
}

static void change_blocks(u32 lane, u32 from, u32 nr)
{
	handle_t *h = start(lane, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, from + i, 1);
	stop(h);
}

/* Nothing is written home before the test lets go of ckpt_lock. */
static void open_log(void)
{
	OPEN(.lanes = 4, .journal = 230);
	fx.journal->j_commit_interval = 1000 * HZ;
	mutex_lock(&fx.zj->ckpt_lock);
}

/*
 * Fills the log with transactions of lanes 2 and 3, until the pool has less than the
 * largest handle needs.
 */
static void fill_log(void (*close)(u32 lane))
{
	for (u32 i = 2; i < 4; i++) {
		change_blocks(i, BLOCK + i * 100, 60);
		close(i);
	}
	assert_true(free_segs() * fx.zj->geo.seg_blocks <
		    zj_log_blocks(fx.zj, fx.zj->max_credits));
}

static void open_full_log(void)
{
	open_log();
	fill_log(commit);
}

static struct fiber *wait_for(u32 lane, int credits)
{
	struct fiber *f = GO(call_start, .cpu = lane, .n = credits);

	let_run();
	assert_false(f->done);
	return f;
}

/* In lane 0, for more than the pool has; it comes first in the queue. */
static struct fiber *wait_for_most(void)
{
	struct fiber *f = wait_for(0, fx.zj->max_credits);

	assert_ptr_equal(fx.zj->space_first, &f->task->task);
	return f;
}

static void end(struct fiber *f)
{
	join(f);
	assert_int_equal(f->ret, 0);
	stop(f->h);
}

/* No time has to pass. */
static void served(struct fiber *f)
{
	let_run();
	assert_true(f->done);
	end(f);
}

/* The checkpoint makes room for the last one. */
static void end_last(struct fiber *f)
{
	mutex_unlock(&fx.zj->ckpt_lock);
	end(f);
	assert_null(fx.zj->space_first);
	assert_null(fx.zj->space_first_lane);
	close_journal();
}

/* ---- room in the lane itself, for a start that is not the first ---- */

static void handle_that_stops_serves_its_own_lane(void)
{
	struct fiber *most, *f;
	handle_t *h;

	open_full_log();
	h = start(1, 20);
	most = wait_for_most();
	f = wait_for(1, credits_for(room_of(1)));
	stop(h);
	served(f);
	assert_false(most->done);
	end_last(most);
}

static void reservation_serves_its_own_lane(void)
{
	struct fiber *most, *f;
	handle_t *h, *rsv;

	open_full_log();
	h = start_more(1, 1, 12, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	stop(h);
	commit(1);
	most = wait_for_most();
	f = wait_for(1, credits_for(room_of(1)));
	zj_journal_free_reserved(rsv);
	served(f);
	assert_false(most->done);
	end_last(most);
}

/* What was promised to it was more than it took. */
static void record_serves_its_own_lane(void)
{
	struct fiber *most, *f;

	open_full_log();
	change_blocks(1, BLOCK, 4);
	seal_held(1);
	most = wait_for_most();
	f = wait_for(1, credits_for(room_of(1)));
	release();
	settle();
	served(f);
	assert_false(most->done);
	end_last(most);
}

/* The start has taken whole segments, and leaves part of the last one. */
static void start_that_took_segments_serves_its_own_lane(void)
{
	struct fiber *first, *most, *f;
	handle_t *h;

	open_full_log();
	h = start(3, 30);
	put(h, BLOCK, 1);
	first = wait_for(0, credits_of_segments(free_segs() + 1) - 4);
	most = wait_for(1, fx.zj->max_credits);
	f = wait_for(0, 1);
	stop(h);
	seal(3);
	served(f);
	assert_true(first->done);
	assert_false(most->done);
	end(first);
	end_last(most);
}

/* All of the lane's segment is home, so the lane fills it once more. */
static void reclaimed_segment_serves_its_own_lane(void)
{
	struct fiber *most, *f;
	handle_t *h;

	open_log();
	change_blocks(1, BLOCK, 8);
	commit(1);
	fill_log(seal_held);
	h = start(1, credits_for(room_of(1)));
	most = wait_for_most();
	f = wait_for(1, 1);
	mutex_unlock(&fx.zj->ckpt_lock);
	settle();
	served(f);
	assert_false(most->done);
	stop(h);
	release();
	end(most);
	close_journal();
}

/* ---- the first in the queue ---- */

/* Its lane is closed, so the next one, in another lane, may go on. */
static void who_goes_away_wakes_the_next(void)
{
	struct fiber *first, *next;
	handle_t *h, *open;

	open_full_log();
	open = start(0, 1);
	h = start(3, 30);
	put(h, BLOCK, 1);
	first = wait_for(0, credits_of_segments(free_segs() + 1));
	next = wait_for(1, 1);
	seal(0);
	let_run();
	stop(h);
	seal(3);
	served(next);
	assert_false(first->done);
	stop(open);
	served(first);
	mutex_unlock(&fx.zj->ckpt_lock);
	close_journal();
}

/* ---- room that comes while a start goes to sleep ---- */

static void call_start_and_stop(struct fiber *f)
{
	call_start(f);
	stop(f->h);
}

static void call_stop_and_seal(struct fiber *f)
{
	stop(f->h);
	seal(f->cpu);
}

/* The start is the second in the queue, and the room comes in its own lane. */
static bool own_room_comes_at(int n)
{
	struct fiber *most;
	handle_t *h;
	bool more;

	open_full_log();
	h = start(1, 20);
	most = wait_for_most();
	more = preempt_at(n, CALL(call_start_and_stop, .cpu = 1,
				  .n = credits_for(room_of(1))),
			  CALL(call_stop, .h = h));
	assert_false(most->done);
	end_last(most);
	return more;
}

/* The start is the only one, and the pool grows. */
static bool segments_come_at(int n)
{
	handle_t *h;
	bool more;

	open_full_log();
	h = start(3, 30);
	put(h, BLOCK, 1);
	more = preempt_at(n, CALL(call_start_and_stop, .cpu = 1,
				  .n = credits_of_segments(free_segs() + 1)),
			  CALL(call_stop_and_seal, .cpu = 3, .h = h));
	mutex_unlock(&fx.zj->ckpt_lock);
	close_journal();
	return more;
}

/* The start becomes the first, as the one before it is served. */
static bool turn_comes_at(int n)
{
	struct fiber *first;
	handle_t *h;
	bool more;

	open_full_log();
	h = start(3, 30);
	put(h, BLOCK, 1);
	first = wait_for(0, credits_of_segments(free_segs() + 1));
	more = preempt_at(n, CALL(call_start_and_stop, .cpu = 1, .n = 1),
			  CALL(call_stop_and_seal, .cpu = 3, .h = h));
	served(first);
	mutex_unlock(&fx.zj->ckpt_lock);
	close_journal();
	return more;
}

static void at_any_place(bool (*comes_at)(int n))
{
	int n = 1;

	while (comes_at(n))
		n++;
	assert_true(n > 10);
}

static void room_that_comes_while_a_start_goes_to_sleep_is_seen(void)
{
	at_any_place(own_room_comes_at);
}

static void segments_that_come_while_a_start_goes_to_sleep_are_seen(void)
{
	at_any_place(segments_come_at);
}

static void turn_that_comes_while_a_start_goes_to_sleep_is_seen(void)
{
	at_any_place(turn_comes_at);
}

static void abort_ends_all_waits_for_space(void)
{
	struct fiber *f[3];

	open_full_log();
	f[0] = wait_for_most();
	f[1] = wait_for(1, 1);
	f[2] = wait_for(2, 20);
	zj_journal_abort(fx.journal, -EIO);
	let_run();
	for (u32 i = 0; i < ARRAY_SIZE(f); i++) {
		assert_true(f[i]->done);
		join(f[i]);
		assert_int_equal(f[i]->ret, -EROFS);
	}
	mutex_unlock(&fx.zj->ckpt_lock);
	close_aborted();
}

CORE_TESTS(space_wake,
	CORE_TEST(handle_that_stops_serves_its_own_lane),
	CORE_TEST(reservation_serves_its_own_lane),
	CORE_TEST(record_serves_its_own_lane),
	CORE_TEST(start_that_took_segments_serves_its_own_lane),
	CORE_TEST(reclaimed_segment_serves_its_own_lane),
	CORE_TEST(who_goes_away_wakes_the_next),
	CORE_TEST(room_that_comes_while_a_start_goes_to_sleep_is_seen),
	CORE_TEST(segments_that_come_while_a_start_goes_to_sleep_are_seen),
	CORE_TEST(turn_that_comes_while_a_start_goes_to_sleep_is_seen),
	CORE_TEST(abort_ends_all_waits_for_space),
);
