// SPDX-License-Identifier: GPL-2.0-only
/* space.c: segments, promises, waiting for space. */
#include "fixture.h"

/* 15 segments of 8 blocks: everything is near its end. */
#define SMALL	.journal = 130

static u32 free_segs(void)
{
	return fx.zj->nr_pool;
}

static void change_many(u32 lane, u32 nr, u8 val)
{
	handle_t *h = start(lane, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, val);
	stop(h);
}

static void start_takes_whole_segments(void)
{
	u32 before, segs;
	handle_t *h;

	OPEN();
	before = free_segs();
	h = start(0, 1);
	assert_int_equal(before - free_segs(), 1);
	assert_int_equal(lane(0)->nr_in_hand, 1);
	stop(h);
	/* The next ones have room in what is in hand. */
	for (u32 i = 0; i < 10; i++)
		stop(start(0, 1));
	assert_int_equal(before - free_segs(), 1);
	h = start(1, 400);
	segs = DIV_ROUND_UP(zj_log_blocks(fx.zj, 400), fx.zj->geo.seg_blocks);
	assert_int_equal(lane(1)->nr_in_hand, segs);
	assert_int_equal(before - free_segs(), 1 + segs);
	stop(h);
	close_journal();
}

/* It logs nothing, but has a record all the same: it may be a bridge. */
static void start_without_credits_takes_a_segment_too(void)
{
	tid_t tid;
	handle_t *h;

	OPEN();
	assert_null(lane(0)->cur);
	h = start(0, 0);
	tid = h->h_transaction->t_tid;
	assert_int_equal(lane(0)->nr_in_hand, 1);
	stop(h);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	close_journal();
}

static void credits_not_used_give_segments_back_at_the_freeze(void)
{
	u32 before;
	handle_t *h;

	OPEN();
	before = free_segs();
	h = start(0, 400);
	assert_true(before - free_segs() > 3);
	put(h, BLOCK, 1);
	stop(h);
	freeze(0);
	/* One stays in hand. */
	assert_int_equal(before - free_segs(), 1);
	assert_int_equal(lane(0)->promised, zj_log_blocks(fx.zj, 1));
	settle();
	assert_int_equal(lane(0)->promised, 0);
	close_journal();
}

static void promise_of_a_frozen_transaction_is_kept_for_it(void)
{
	handle_t *h;
	u32 kept;

	OPEN();
	h = start(0, 200);
	for (u32 i = 0; i < 200; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	freeze(0);
	kept = lane(0)->nr_in_hand * fx.zj->geo.seg_blocks;
	assert_true(kept >= zj_log_blocks(fx.zj, 200));
	assert_int_equal(lane(0)->promised, zj_log_blocks(fx.zj, 200));
	close_journal();
}

static void promise_grows_with_the_credits(void)
{
	OPEN(SMALL, .lanes = 1);
	for (u32 n = 0; n < 200; n++) {
		assert_true(zj_log_blocks(fx.zj, n) > n);
		assert_true(zj_log_blocks(fx.zj, n + 1) > zj_log_blocks(fx.zj, n));
		/* Two handles promise more than one of their sum. */
		assert_true(zj_log_blocks(fx.zj, n) + zj_log_blocks(fx.zj, n) >=
			    zj_log_blocks(fx.zj, 2 * n));
	}
	assert_int_equal(zj_log_blocks(fx.zj, -1), zj_log_blocks(fx.zj, 0));
	close_journal();
}

/* Bring the lane to a place in its segment. */
static void go_to(u32 off)
{
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_null(lane(0)->cur);
	if (!off)
		return;
	/* A header, and images up to there; none: an empty transaction. */
	change_many(0, off - 1, 1);
	commit(0);
	assert_int_equal(lane(0)->cur_off, off);
}

/* Every size at every place: a promise too small would end in an abort. */
static void promise_covers_every_size_at_every_place(void)
{
	OPEN(SMALL, .lanes = 1);
	assert_int_equal(fx.zj->geo.seg_blocks, 8);
	for (u32 n = 1; n <= fx.zj->max_credits; n++)
		for (u32 off = 0; off < fx.zj->geo.seg_blocks; off++) {
			go_to(off);
			change_many(0, n, n);
			commit(0);
		}
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(BLOCK), fx.zj->max_credits);
	close_journal();
}

static void revokes_are_covered_by_their_credits(void)
{
	const int per = zj_chunk_room(DISK_BLOCK) / sizeof(__le64);
	handle_t *h;

	OPEN(SMALL, .lanes = 1);
	for (int n = 1; n < 15 * per; n += per - 1) {
		h = start_more(0, 1, 0, n);
		put(h, BLOCK, 1);
		own(h);
		for (int i = 0; i < n; i++)
			assert_int_equal(zj_journal_revoke(h, 100 + i, NULL), 0);
		stop(h);
		commit(0);
	}
	close_journal();
}

static void segment_has_a_new_tenure_every_time(void)
{
	u64 seen[64] = { }, last = 0;
	u32 reused = 0;

	OPEN(SMALL, .lanes = 1);
	for (u32 i = 0; i < 60; i++) {
		struct zj_seg *seg;

		change_many(0, 6, i);
		commit(0);
		seg = lane(0)->cur;
		if (seg->seq == last)
			continue;
		assert_true(seg->seq > last);
		reused += !!seen[seg->index];
		assert_true(seg->seq > seen[seg->index]);
		seen[seg->index] = seg->seq;
		last = seg->seq;
	}
	assert_true(reused > 10);
	close_journal();
}

/* What is left of the former tenure behind the new records must not count. */
static void segment_that_a_lane_keeps_has_a_new_tenure_too(void)
{
	handle_t *h;
	u64 seq;

	OPEN();
	for (u32 i = 1; i <= 3; i++) {
		change(0, BLOCK, i);
		commit(0);
	}
	h = start(0, 1);
	seq = lane(0)->cur->seq;
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(lane(0)->cur_off, 0);
	assert_true(lane(0)->cur->seq > seq);
	put(h, BLOCK, 4);
	stop(h);
	commit(0);
	assert_int_equal(lane(0)->cur_off, 2);
	assert_int_equal(val_after_crash(BLOCK), 4);
	close_journal();
}

static void full_log_makes_start_wait_and_go_on(void)
{
	OPEN(SMALL, .lanes = 1);
	for (u32 i = 1; i <= 40; i++) {
		change_many(0, fx.zj->max_credits, i);
		freeze(0);
	}
	assert_true(lane(0)->stats.wait_space > 0);
	settle();
	assert_int_equal(val_after_crash(BLOCK + 3), 40);
	close_journal();
}

/* Each change has its time; the background checkpoint keeps ahead. */
static void steady_load_never_waits_for_space(void)
{
	OPEN(.lanes = 2, .journal = 230);
	for (u32 i = 1; i <= 60; i++) {
		change_many(0, 6, i);
		change_many(1, 6, i + 100);
		freeze(0);
		freeze(1);
		settle();
	}
	assert_int_equal(lane(0)->stats.wait_space, 0);
	assert_int_equal(lane(1)->stats.wait_space, 0);
	assert_true(fx.zj->seg_seq > 3 * fx.zj->geo.nr_segs);
	close_journal();
}

static void two_lanes_go_round_a_small_log(void)
{
	OPEN(.lanes = 2, .journal = 230);
	assert_int_equal(fx.zj->nr_lanes, 2);
	for (u32 i = 1; i <= 40; i++) {
		change_many(0, 20, i);
		freeze(0);
		change_many(1, 20, i + 100);
		freeze(1);
	}
	settle();
	assert_int_equal(val_after_crash(BLOCK), 140);
	close_journal();
}

static void idle_lanes_segments_come_back(void)
{
	OPEN(.lanes = 2, .journal = 230);
	/* Promised two segments, filled less than one. */
	change_many(1, 12, 1);
	commit(1);
	assert_non_null(lane(1)->cur);
	assert_int_equal(lane(1)->nr_in_hand, 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_null(lane(1)->cur);
	assert_int_equal(lane(1)->nr_in_hand, 0);
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs);
	close_journal();
}

static void segments_with_living_stamps_stay(void)
{
	u32 before;

	OPEN(SMALL, .lanes = 1);
	change_many(0, 20, 1);
	commit(0);
	assert_false(list_empty(&fx.zj->full));
	before = free_segs();
	zj_space_trim(fx.zj, fx.zj->trimmed);
	assert_false(list_empty(&fx.zj->full));
	assert_true(free_segs() <= before + 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(list_empty(&fx.zj->full));
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs);
	close_journal();
}

/* Starts until one has to wait, while nothing can be trimmed. */
static struct fiber *fill(u32 credits)
{
	struct fiber *f;

	for (u32 i = 0; i < 100; i++) {
		f = GO(call_start, .cpu = 0, .n = credits);
		let_run();
		if (!f->done)
			return f;
		join(f);
		stop(f->h);
		freeze(0);
	}
	fail();
	return NULL;
}

/* Two large transactions in the log, none can become valid. */
static void block_the_log(void)
{
	change_many(0, fx.zj->max_credits, 1);
	fx.hold_lane[0] = true;
	freeze(0);
	change_many(0, fx.zj->max_credits / 2, 2);
	freeze(0);
	settle();
}

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

/* The other lanes rest. */
static void lane_that_works_alone_gets_more_of_the_log(void)
{
	handle_t *h[2];
	u32 share;

	OPEN(.lanes = 4, .journal = 8192);
	share = fx.zj->soft_credits;
	assert_true(2 * share <= fx.zj->max_credits);
	h[0] = start(0, share);
	put(h[0], BLOCK, 2);
	h[1] = start(0, share);
	assert_ptr_equal(h[0]->h_transaction, h[1]->h_transaction);
	assert_int_equal(atomic_read(&fx.zj->in_flight), 2 * share);
	stop(h[0]);
	stop(h[1]);
	freeze(0);
	settle();
	assert_int_equal(atomic_read(&fx.zj->in_flight), 0);
	close_journal();
}

static void lanes_that_all_work_have_their_shares(void)
{
	struct fiber *f;
	int others;
	handle_t *h;
	tid_t first;

	OPEN(.lanes = 4, .journal = 8192);
	others = fx.zj->max_in_flight - 2 * fx.zj->soft_credits + 1;
	atomic_set(&fx.zj->in_flight, others);
	h = start(0, fx.zj->soft_credits);
	first = h->h_transaction->t_tid;
	put(h, BLOCK, 2);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	assert_false(f->done);
	stop(h);
	join(f);
	assert_int_not_equal(f->h->h_transaction->t_tid, first);
	stop(f->h);
	freeze(0);
	settle();
	assert_int_equal(atomic_read(&fx.zj->in_flight), others);
	atomic_set(&fx.zj->in_flight, 0);
	close_journal();
}

CORE_TESTS(space,
	CORE_TEST(start_takes_whole_segments),
	CORE_TEST(start_without_credits_takes_a_segment_too),
	CORE_TEST(credits_not_used_give_segments_back_at_the_freeze),
	CORE_TEST(promise_of_a_frozen_transaction_is_kept_for_it),
	CORE_TEST(promise_grows_with_the_credits),
	CORE_TEST(promise_covers_every_size_at_every_place),
	CORE_TEST(revokes_are_covered_by_their_credits),
	CORE_TEST(segment_has_a_new_tenure_every_time),
	CORE_TEST(segment_that_a_lane_keeps_has_a_new_tenure_too),
	CORE_TEST(full_log_makes_start_wait_and_go_on),
	CORE_TEST(steady_load_never_waits_for_space),
	CORE_TEST(two_lanes_go_round_a_small_log),
	CORE_TEST(idle_lanes_segments_come_back),
	CORE_TEST(segments_with_living_stamps_stay),
	CORE_TEST(start_waits_all_or_nothing),
	CORE_TEST(start_that_waits_for_space_ends_with_an_abort),
	CORE_TEST(reserved_handle_does_not_wait_for_space),
	CORE_TEST(lane_that_works_alone_gets_more_of_the_log),
	CORE_TEST(lanes_that_all_work_have_their_shares),
);
