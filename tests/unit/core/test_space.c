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

/*
 * What stock JBD2 grants one handle, by the rules of Linux 6.12: a third of the journal
 * less what describes it. The features of its journal decide how much that is.
 */
static u32 stock_credits(u32 journal, u32 size, bool large)
{
	u32 tag = large ? 16 : 8, tail = large ? 4 : 0;

	return journal / 3 - 1 -
	       DIV_ROUND_UP(journal / 3, (size - 12 - 16 - tail - 16) / tag);
}

static u32 stock_revokes(u32 size, bool large)
{
	return large ? (size - 20) / 8 : (size - 16) / 4;
}

/* Credits of ours for so many images and revokes. */
static u32 our_credits(u32 size, u32 images, u32 revokes)
{
	return images + DIV_ROUND_UP(revokes, zj_chunk_room(size) / sizeof(__le64));
}

/* Every mix of images and revokes that stock can start and ext4 can ask for. */
static void covers_stock(u32 journal, u32 size, bool large)
{
	u32 most = stock_credits(journal, size, large), need;
	u32 ours = zj_largest_handle(journal, size);

	for (u32 images = 0; images <= most; images += most / 7) {
		need = our_credits(size, images, (most - images) *
				   stock_revokes(size, large));
		assert_true(ours >= need || (ours >= ZJ_LARGEST_HANDLE && ours >= most));
	}
	assert_true(ours >= most);
}

static void largest_handle_is_stocks_at_least(void)
{
	struct zj_log_geometry geo;
	u32 lanes, need;

	for (u32 size = 1024; size <= 65536; size *= 2)
		for (u32 n = 1024; n < 300000; n += n / 9) {
			covers_stock(n, size, false);
			covers_stock(n, size, true);
			for (u32 cpus = 1; cpus <= ZJ_MAX_LANES; cpus = cpus * 2 + 1) {
				lanes = zj_fit_lanes(&geo, n, size, cpus);
				assert_in_range(lanes, 1, cpus);
				need = zj_txn_blocks(&geo, zj_largest_handle(n, size));
				/* Other lanes may have three segments each for good. */
				assert_true(DIV_ROUND_UP(need, geo.seg_blocks) +
					    3 * (lanes - 1) <= geo.nr_segs);
			}
		}
}

/* Lanes that hold what they can, and reservations: the largest handle has its turn. */
static void largest_handle_starts_on_the_smallest_journal(struct setup setup)
{
	u32 most = stock_credits(1024, DISK_BLOCK, false), nr;
	handle_t *held[4], *rsv[4];
	struct fiber *f;

	setup.journal = 1024;
	setup.cpus = 4;
	open_journal(&setup);
	nr = fx.zj->nr_lanes;
	for (u32 i = 0; i < nr; i++) {
		change_many(i, 20, i);
		held[i] = start_more(i, 30, 20, 0);
		put(held[i], BLOCK + 100 + i, 1);
		rsv[i] = held[i]->h_rsv_handle;
		held[i]->h_rsv_handle = NULL;
	}
	f = GO(call_start, .cpu = 0, .n = most);
	settle();
	for (u32 i = 0; i < nr; i++) {
		stop(held[i]);
		settle();
	}
	for (u32 i = 0; i < nr; i++)
		zj_journal_free_reserved(rsv[i]);
	join(f);
	assert_int_equal(f->ret, 0);
	own(f->h);
	for (u32 i = 0; i < most; i++)
		put(f->h, BLOCK + i, 77);
	stop(f->h);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK + most - 1), 77);
	own(NULL);
	f->h = start_more(0, most - most / 2, most / 2, 0);
	stop(f->h);
	/* The blocks that as many revokes take here as take 200 of stock's. */
	stop(start_more(0, most - 200, 0, 200 * stock_revokes(DISK_BLOCK, false)));
	close_journal();
}

static void largest_handle_on_the_smallest_journal(void)
{
	largest_handle_starts_on_the_smallest_journal((struct setup){ .lanes = 4 });
}

static void largest_handle_on_the_smallest_journal_of_stocks_format(void)
{
	largest_handle_starts_on_the_smallest_journal((struct setup){ .lanes = 1,
								      .jbd2 = true });
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
	for (u32 i = 1; i <= 100; i++) {
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

/* Else what comes back piece by piece goes to those that need little, for ever. */
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

/* As write-back does. */
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
	/* What is valid stays in the log. */
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

/* What was reserved and is not wanted any more: nobody waits for the next look round. */
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
		/* As much as only several lanes together may reserve. */
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
	assert_true(lane(0)->running->locked);
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
	assert_false(lane(3)->running->locked);
	stop(h);
	join(first);
	stop(first->h);
	stop(more);
	close_journal();
}

/* Its lane has room again, though the checkpoint is busy for long and trims nothing. */
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

/*
 * An idle lane keeps S back. Commits of others do not make the checkpoint look at a
 * sixth of the log each time: it takes comp_lock a few times, not once a component.
 */
static void blocked_checkpoint_does_not_look_again_with_each_commit(void)
{
	struct task_struct *ckpt;
	u64 trimmed;
	u32 i;

	OPEN(.lanes = 2, .journal = 2560);
	ckpt = fx.zj->ckpt_task;
	fx.journal->j_commit_interval = 1000 * HZ;
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	for (i = 0; !zj_space_low(fx.zj); i++) {
		change(0, BLOCK + 1 + i % 100, i);
		commit(0);
	}
	assert_true(i > 200);
	settle();
	trimmed = fx.zj->trimmed;
	stop_before(ckpt, &fx.zj->comp_lock, 50);
	change(0, BLOCK + 1, 99);
	commit(0);
	settle();
	assert_false(stopped(ckpt));
	stop_nowhere(ckpt);
	assert_int_equal(fx.zj->trimmed, trimmed);
	/* As soon as nothing blocks it, it goes on. */
	commit(1);
	settle();
	assert_true(fx.zj->trimmed > trimmed + 100);
	assert_int_equal(lane(0)->stats.wait_space, 0);
	close_journal();
}

/* Images of its own for a lane's running transaction. */
static void run_with(u32 cpu, u32 from, u32 nr)
{
	handle_t *h = start(cpu, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, from + i, cpu + 1);
	stop(h);
}

/*
 * Another lane always has something on its way to the log. What was there when the
 * start began to wait is trimmed: it does not wait for that lane, nor for timers.
 */
static void what_runs_is_closed_for_who_waits_beside_fsyncs(void)
{
	struct fiber *f;
	u32 rounds = 0, n;

	OPEN(.lanes = 4, .journal = 2560);
	assert_int_equal(fx.zj->nr_lanes, 4);
	fx.journal->j_commit_interval = 1000 * HZ;
	n = fx.zj->budget;
	change(3, BLOCK, 1);
	run_with(0, BLOCK + 1, n);
	run_with(1, BLOCK + 1 + n, n);
	f = GO(call_start, .cpu = 2, .n = fx.zj->max_credits);
	fx.hold_lane[3] = true;
	freeze(3);
	settle();
	assert_false(f->done);
	while (!f->done && rounds++ < 6) {
		change(3, BLOCK + 1800 + rounds, rounds);
		freeze(3);
		release();
		fx.hold_lane[3] = true;
		settle();
		assert_true(lane(3)->nr_frozen);
	}
	assert_true(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	stop(f->h);
	close_journal();
}

/* The other lanes rest. */
static void lane_that_works_alone_gets_more_of_the_log(void)
{
	handle_t *h[2];
	u32 share;

	OPEN(.lanes = 4, .journal = 8192);
	share = fx.zj->grant;
	assert_true(2 * share <= fx.zj->max_credits);
	h[0] = start(0, share);
	put(h[0], BLOCK, 2);
	h[1] = start(0, share);
	assert_ptr_equal(h[0]->h_transaction, h[1]->h_transaction);
	assert_int_equal(atomic_read(&fx.zj->granted), 2 * share);
	stop(h[0]);
	stop(h[1]);
	freeze(0);
	settle();
	assert_int_equal(atomic_read(&fx.zj->granted), 0);
	close_journal();
}

/* Start handles in a lane until one does not get into the running transaction. */
static u32 fill_lane(u32 cpu)
{
	handle_t *h = start(cpu, 1);
	struct zj_txn *txn = handle_txn(h);

	while (txn->granted + fx.zj->grant <= fx.zj->max_txn && zj_space_grow(txn))
		;
	put(h, BLOCK + cpu, 1);
	stop(h);
	return txn->granted;
}

/* Who comes late gets what is fair, though those before have taken all there was. */
static void lanes_that_all_work_have_their_shares(void)
{
	u32 got[4], budget, grant;

	OPEN(.lanes = 4, .journal = 16384);
	budget = fx.zj->budget;
	grant = fx.zj->grant;
	for (u32 i = 0; i < 4; i++)
		got[i] = fill_lane(i);
	assert_in_range(got[0], budget - grant, budget);
	assert_in_range(got[1], budget / 2 - grant, budget / 2);
	assert_in_range(got[2], budget / 3 - grant, budget / 3);
	assert_in_range(got[3], budget / 4 - grant, budget / 4);
	assert_int_equal(atomic_read(&fx.zj->nr_running), 4);
	assert_int_equal(atomic_read(&fx.zj->granted), got[0] + got[1] + got[2] + got[3]);
	/* What is frozen runs no more, valid or not. */
	fx.hold_lane[0] = true;
	freeze(0);
	assert_int_equal(atomic_read(&fx.zj->nr_running), 3);
	assert_int_equal(atomic_read(&fx.zj->granted), got[1] + got[2] + got[3]);
	release();
	close_journal();
}

/* A second one that is full waits for the first; one that somebody syncs does not. */
static void full_transaction_waits_for_the_one_before(void)
{
	struct zj_txn *txn;
	u32 share;

	OPEN(.lanes = 1, .journal = 8192);
	share = fx.zj->budget;
	fx.hold_lane[0] = true;
	change_many(0, share / 2 + 1, 1);
	freeze(0);
	assert_int_equal(lane(0)->frozen, share / 2 + 1);
	change_many(0, share / 2, 2);
	txn = lane(0)->running;
	zj_commit_now(fx.zj, txn);
	settle();
	assert_ptr_equal(lane(0)->running, txn);
	release();
	settle();
	assert_null(lane(0)->running);
	assert_int_equal(lane(0)->frozen, 0);
	fx.hold_lane[0] = true;
	change_many(0, share / 2 + 1, 3);
	freeze(0);
	change_many(0, share / 2, 4);
	zj_commit_request_lane(lane(0));
	assert_null(lane(0)->running);
	assert_int_equal(lane(0)->frozen, share / 2 * 2 + 1);
	release();
	close_journal();
}

/* Blocks that a lane's log has gone on by. */
static u64 log_place(void)
{
	return fx.zj->seg_seq * fx.zj->geo.seg_blocks +
	       (lane(0)->cur ? lane(0)->cur_off : fx.zj->geo.seg_blocks);
}

/* Blocks that a record takes from @off on: dependencies, revokes, then what images fit. */
static u32 layout(const struct zj_log_geometry *geo, u32 images, u32 revokes, u32 deps,
		  u32 off)
{
	u32 left, n, used = 0;

	do {
		left = zj_chunk_room(geo->block_size) / sizeof(__le64);
		n = min(deps, left);
		deps -= n;
		left -= n;
		n = min(revokes, left);
		revokes -= n;
		left -= n;
		if (off + !!images >= geo->seg_blocks) {
			used += geo->seg_blocks - off;
			off = 0;
		}
		n = min_t(u32, left * sizeof(__le64) / sizeof(struct zj_tag), images);
		n = min(n, geo->seg_blocks - off - 1);
		images -= n;
		off += 1 + n;
		used += 1 + n;
	} while (images || revokes || deps);
	return used;
}

/* Counted in blocks: what is in hand comes in whole segments, and may hide a lack. */
static void no_transaction_takes_more_than_its_promise(void)
{
	u64 at, used, most = 0;

	OPEN(SMALL, .lanes = 1);
	for (u32 n = 1; n <= fx.zj->max_credits; n++)
		for (u32 off = 0; off < fx.zj->geo.seg_blocks; off++) {
			go_to(off);
			at = log_place();
			change_many(0, n, n);
			commit(0);
			used = log_place() - at;
			assert_in_range(used, n + 1, zj_log_blocks(fx.zj, n));
			assert_int_equal(used, layout(&fx.zj->geo, n, 0, 0, off));
			most = max(most, used - n);
		}
	assert_true(most > 1);
	close_journal();
}

/* Dependencies and revokes that spill too, of as many lanes as there can be. */
static void promise_covers_what_spills_at_every_place(void)
{
	struct zj_log_geometry geo = { };
	u32 per, images, revokes, promise;

	for (geo.block_size = 1024; geo.block_size <= 4096; geo.block_size *= 4)
	for (geo.seg_blocks = 8; geo.seg_blocks <= 64; geo.seg_blocks *= 8)
	for (geo.nr_lanes = 1; geo.nr_lanes <= ZJ_MAX_LANES; geo.nr_lanes *= 4)
	for (images = 0; images < 140; images++) {
		per = zj_chunk_room(geo.block_size) / sizeof(__le64);
		for (revokes = 0; revokes <= 3 * per; revokes += per / 2) {
			promise = zj_txn_blocks(&geo, images + DIV_ROUND_UP(revokes, per));
			for (u32 off = 0; off <= geo.seg_blocks; off++)
				assert_true(layout(&geo, images, revokes, geo.nr_lanes,
						   off) <= promise);
		}
	}
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
	/* Nothing is trimmed: all that wakes anybody is the lane's own record. */
	stop_before(ckpt, &fx.zj->comp_lock, 1);
	zj_checkpoint_kick(fx.zj);
	let_run();
	assert_true(stopped(ckpt));
	while (within_reach() >= zj_log_blocks(fx.zj, fx.zj->max_credits)) {
		change_many(0, 5, 1);
		commit(0);
	}
	change_many(0, 1, 2);
	freeze(0);
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

/* With less than a third, not at it: then it holds another budget. */
static void space_is_low_in_the_last_third(void)
{
	struct zj_journal *zj;
	u32 segs, pool;

	OPEN(.journal = 4096);
	zj = fx.zj;
	segs = zj->geo.nr_segs;
	pool = zj->nr_pool;
	zj->nr_pool = segs / 3;
	assert_false(zj_space_low(zj) || zj_space_awaited(zj));
	zj->nr_pool--;
	assert_true(zj_space_low(zj));
	assert_false(zj_space_awaited(zj));
	/* Who waits for space may need more than there is. */
	zj->nr_pool = segs;
	atomic_inc(&zj->space_waiters);
	assert_true(zj_space_low(zj) && zj_space_awaited(zj));
	atomic_dec(&zj->space_waiters);
	zj->nr_pool = pool;
	close_journal();
}

/* An extension promises space as a start does; without it the handle restarts. */
static void extension_without_space_is_refused(void)
{
	u32 n, pool;
	handle_t *h;

	OPEN(SMALL, .lanes = 2);
	h = start(1, 1);
	n = fx.zj->max_txn - 1;
	pool = fx.zj->nr_pool;
	fx.zj->nr_pool = 0;
	lane(1)->limit = 0;
	assert_int_equal(zj_journal_extend(h, n, 0), 1);
	assert_int_equal(handle_txn(h)->credits, 1);
	fx.zj->nr_pool = pool;
	assert_int_equal(zj_journal_extend(h, n, 0), 0);
	assert_int_equal(handle_txn(h)->credits, n + 1);
	stop(h);
	close_journal();
}

/* ---- the lane's limit ---- */

/* A start within what is known to fit asks nobody; what takes room makes it unknown. */
static void limit_of_what_fits(void)
{
	static const struct setup logs[] = {
		{ .lanes = 2, .journal = 4096 },
		{ .lanes = 1, .journal = 4096, .jbd2 = true, .pipeline = true },
		{ .lanes = 2, .journal = 400, .nvm = 4 << 20 },
	};
	u32 room, need, more;
	struct fiber *f;
	handle_t *h;

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		open_journal(&logs[i]);
		h = start(0, 5);
		need = lane(0)->promised + zj_log_blocks(fx.zj, 5);
		spin_lock(&lane(0)->lock);
		room = fx.zj->log->room(lane(0), need);
		spin_unlock(&lane(0)->lock);
		more = (room - need) / fx.zj->credit_units;
		assert_true(more > 20);
		assert_int_equal(lane(0)->limit, 5 + more - more / 8 - 8);
		put(h, BLOCK, 1);
		stop(h);
		fx.hold_flush = true;
		f = GO(call_complete, .tid = lane(0)->running->pub.t_tid);
		settle();
		assert_int_equal(lane(0)->limit, 0);
		release();
		join(f);
		assert_int_equal(lane(0)->limit, 0);
		/* A reservation's share is its own. */
		h = start_more(0, 5, 3, 0);
		assert_int_equal(lane(0)->limit, 0);
		stop(h);
		h = start(0, 1);
		assert_true(lane(0)->limit > 0);
		assert_int_equal(zj_checkpoint(fx.zj, false), 0);
		assert_int_equal(lane(0)->limit, 0);
		stop(h);
		close_journal();
	}
}

/* ---- who is woken, and when: no time passes ---- */

/* What a freeze gives back is there at once for who waits. */
static void segments_that_a_freeze_gives_back_are_taken_at_once(void)
{
	struct fiber *f;
	handle_t *h;
	u32 nr = 20;

	OPEN(.lanes = 2, .journal = 230);
	fx.hold_lane[0] = true;
	change_many(0, 50, 1);
	freeze(0);
	h = start(0, fx.zj->max_credits);
	put(h, BLOCK, 1);
	while (zj_log_blocks(fx.zj, nr) <= fx.zj->nr_pool * fx.zj->geo.seg_blocks)
		nr++;
	f = GO(call_start, .cpu = 1, .n = nr);
	let_run();
	assert_false(f->done);
	stop(h);
	freeze(0);
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

	OPEN(.lanes = 2, .journal = 230);
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

/* It needs a block for its record, which is as much somebody else's as any other. */
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

/*
 * What runs may be more than the budget by extensions, which ask for no share of it.
 * Each has its space all the same, whatever else runs: the commit finds it.
 */
static void extended(bool jbd2)
{
	u32 nr_lanes = jbd2 ? 1 : 2, nr[2] = { 1, 1 };
	handle_t *h[2];

	OPEN(.lanes = nr_lanes, .jbd2 = jbd2, SMALL);
	for (u32 i = 0; i < nr_lanes; i++)
		h[i] = start(i, 1);
	for (u32 i = 0; i < nr_lanes; i++) {
		own(h[i]);
		while (!zj_journal_extend(h[i], 1, 0))
			nr[i]++;
	}
	/* As much as there may be in one; together more than the budget. */
	assert_int_equal(nr[0], fx.zj->max_txn);
	assert_int_equal(fx.zj->max_txn, fx.zj->budget);
	for (u32 i = 0; i < nr_lanes; i++) {
		for (u32 b = 0; b < nr[i]; b++)
			put(h[i], BLOCK + i * 100 + b, 1);
		stop(h[i]);
	}
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	assert_int_equal(val_after_crash(BLOCK + nr[0] - 1), 1);
	if (!jbd2) {
		assert_true(nr[0] + nr[1] > fx.zj->budget);
		assert_int_equal(val_after_crash(BLOCK + 100 + nr[1] - 1), 1);
	}
	close_journal();
}

static void extended_handles_find_their_space_at_the_commit(void)
{
	extended(false);
	extended(true);
}

CORE_TESTS(space,
	CORE_TEST(extended_handles_find_their_space_at_the_commit),
	CORE_TEST(space_is_low_in_the_last_third),
	CORE_TEST(extension_without_space_is_refused),
	CORE_TEST(limit_of_what_fits),
	CORE_TEST(no_transaction_takes_more_than_its_promise),
	CORE_TEST(promise_covers_what_spills_at_every_place),
	CORE_TEST(record_serves_who_waits_by_what_it_did_not_take),
	CORE_TEST(start_takes_whole_segments),
	CORE_TEST(start_without_credits_takes_a_segment_too),
	CORE_TEST(credits_not_used_give_segments_back_at_the_freeze),
	CORE_TEST(promise_of_a_frozen_transaction_is_kept_for_it),
	CORE_TEST(promise_grows_with_the_credits),
	CORE_TEST(promise_covers_every_size_at_every_place),
	CORE_TEST(revokes_are_covered_by_their_credits),
	CORE_TEST(segment_has_a_new_tenure_every_time),
	CORE_TEST(segment_that_a_lane_keeps_has_a_new_tenure_too),
	CORE_TEST(largest_handle_is_stocks_at_least),
	CORE_TEST(largest_handle_on_the_smallest_journal),
	CORE_TEST(largest_handle_on_the_smallest_journal_of_stocks_format),
	CORE_TEST(full_log_makes_start_wait_and_go_on),
	CORE_TEST(steady_load_never_waits_for_space),
	CORE_TEST(two_lanes_go_round_a_small_log),
	CORE_TEST(idle_lanes_segments_come_back),
	CORE_TEST(segments_with_living_stamps_stay),
	CORE_TEST(start_waits_all_or_nothing),
	CORE_TEST(who_has_waited_longest_for_space_is_served_first),
	CORE_TEST(starts_that_wait_for_room_in_a_ring_are_all_served),
	CORE_TEST(start_that_waits_for_space_ends_with_an_abort),
	CORE_TEST(handle_that_gives_credits_back_serves_who_waits),
	CORE_TEST(who_waits_for_its_lane_holds_up_no_other),
	CORE_TEST(reservation_that_is_given_back_serves_who_waits),
	CORE_TEST(reserved_handle_does_not_wait_for_space),
	CORE_TEST(blocked_checkpoint_does_not_look_again_with_each_commit),
	CORE_TEST(what_runs_is_closed_for_who_waits_beside_fsyncs),
	CORE_TEST(lane_that_works_alone_gets_more_of_the_log),
	CORE_TEST(lanes_that_all_work_have_their_shares),
	CORE_TEST(full_transaction_waits_for_the_one_before),
	CORE_TEST(segments_that_a_freeze_gives_back_are_taken_at_once),
	CORE_TEST(who_leaves_the_queue_wakes_the_next),
	CORE_TEST(start_without_credits_waits_for_its_turn_in_a_ring),
	CORE_TEST(start_that_meets_a_barrier_leaves_the_queue_once),
);
