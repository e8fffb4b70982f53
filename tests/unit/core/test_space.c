// SPDX-License-Identifier: GPL-2.0-only
/* space.c: a full log, shares of it, and what is reclaimed or closed to make room. */
#include "small_log.h"

static void full_log_makes_start_wait_and_go_on(void)
{
	OPEN(SMALL, .lanes = 1);
	for (u32 i = 1; i <= 40; i++) {
		change_many(0, fx.zj->max_credits, i);
		seal(0);
	}
	assert_true(lane(0)->stats.wait_space > 0);
	settle();
	assert_int_equal(val_after_crash(BLOCK + 3), 40);
	close_journal();
}

static const struct zj_log_ops *real_ops;
static u32 looks;

static u32 room_looked_at(struct zj_lane *lane, u32 need)
{
	looks++;
	return real_ops->room(lane, need);
}

/* Starts after the first one need not look at the log again, nor at what lanes share. */
static void lane_knows_what_its_next_starts_may_take(void)
{
	struct zj_log_ops ops;
	handle_t *h;

	OPEN(.lanes = 1);
	real_ops = fx.zj->log_ops;
	ops = *real_ops;
	ops.room = room_looked_at;
	fx.zj->log_ops = &ops;
	stop(start(0, 1));
	assert_in_range(lane(0)->limit, 10, fx.zj->budget);
	lane(0)->limit = 10;
	looks = 0;
	h = start(0, 4);
	stop(start(0, 0));
	stop(start(0, 6));
	own(h);
	assert_int_equal(zj_journal_extend(h, 6, 0), 0);
	assert_int_equal(looks, 0);
	stop(h);
	/* One more than that, or a reservation. */
	stop(start(0, 11));
	assert_int_equal(looks, 1);
	stop(start_more(0, 1, 1, 0));
	assert_int_equal(looks, 2);
	assert_int_equal(lane(0)->limit, 0);
	fx.zj->log_ops = real_ops;
	close_journal();
}

/* A segment goes back as soon as the others hold all that is owed; the last one never. */
static void lane_gives_back_what_it_owes_to_nobody(void)
{
	u32 seg, owed;

	OPEN(SMALL, .lanes = 1);
	seg = fx.zj->geo.seg_blocks;
	spin_lock(&lane(0)->lock);
	assert_null(lane(0)->cur);
	assert_int_equal(zj_seg_room(lane(0), 4 * seg), 4 * seg);
	assert_int_equal(lane(0)->nr_in_hand, 4);
	owed = zj_log_blocks(fx.zj, 0);
	lane(0)->promised = 3 * seg - owed + 1;
	zj_space_surplus(lane(0));
	assert_int_equal(lane(0)->nr_in_hand, 4);
	lane(0)->promised--;
	zj_space_surplus(lane(0));
	assert_int_equal(lane(0)->nr_in_hand, 3);
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs - 3);
	lane(0)->promised = 0;
	zj_space_surplus(lane(0));
	assert_int_equal(lane(0)->nr_in_hand, 1);
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs - 1);
	spin_unlock(&lane(0)->lock);
	close_journal();
}

/* It takes what it lacks, in whole segments, all or nothing. */
static void lane_takes_what_it_lacks(void)
{
	u32 seg, all;

	OPEN(SMALL, .lanes = 1);
	seg = fx.zj->geo.seg_blocks;
	all = fx.zj->geo.nr_segs;
	spin_lock(&lane(0)->lock);
	assert_int_equal(zj_seg_room(lane(0), 0), 0);
	assert_int_equal(zj_seg_room(lane(0), 1), seg);
	assert_int_equal(zj_seg_room(lane(0), seg), seg);
	assert_int_equal(zj_seg_room(lane(0), seg + 1), 2 * seg);
	assert_int_equal(zj_seg_room(lane(0), all * seg + 1), 2 * seg);
	assert_int_equal(free_segs(), all - 2);
	assert_int_equal(zj_seg_room(lane(0), all * seg), all * seg);
	assert_int_equal(free_segs(), 0);
	spin_unlock(&lane(0)->lock);
	close_journal();
}

/* Another CPU that takes one of the locks would find what it protects in order. */
static void look_at_segments(void)
{
	for (u32 i = 0; i < fx.zj->nr_lanes; i++)
		if (!lane(i)->lock.kl.owner)
			assert_int_equal(list_count_nodes(&lane(i)->in_hand), lane(i)->nr_in_hand);
	if (!fx.zj->pool_lock.kl.owner)
		assert_int_equal(list_count_nodes(&fx.zj->pool), fx.zj->nr_pool);
}

/* Takes, gives back and reclaims, which sleeps nowhere. */
static void use_segments(void)
{
	u32 seg = fx.zj->geo.seg_blocks;

	spin_lock(&lane(0)->lock);
	zj_seg_room(lane(0), 4 * seg);
	zj_space_surplus(lane(0));
	assert_true(zj_space_next(lane(0)));
	zj_seg_room(lane(0), 4 * seg);
	assert_true(zj_space_next(lane(0)));
	spin_unlock(&lane(0)->lock);
	lane(0)->cur_off = 1;
	assert_int_equal(lane(0)->nr_in_hand, 2);
	assert_false(list_empty(&lane(0)->full));
	zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs);
}

static void segments_are_counted_right_whenever_their_lock_is_free(void)
{
	bool more;
	int n = 1;

	OPEN(SMALL, .lanes = 2);
	do {
		at_point(n++, look_at_segments);
		use_segments();
		more = !still_to_come();
	} while (more);
	assert_true(n > 30);
	close_journal();
}

/* Each change has its time; the background checkpoint keeps ahead. */
static void steady_load_never_waits_for_space(void)
{
	OPEN(.lanes = 2, .journal = 230);
	for (u32 i = 1; i <= 100; i++) {
		change_many(0, 6, i);
		change_many(1, 6, i + 100);
		seal(0);
		seal(1);
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
		seal(0);
		change_many(1, 20, i + 100);
		seal(1);
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
	assert_false(list_empty(&lane(0)->full));
	before = free_segs();
	zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
	assert_false(list_empty(&lane(0)->full));
	assert_true(free_segs() <= before + 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(list_empty(&lane(0)->full));
	assert_int_equal(free_segs(), fx.zj->geo.nr_segs);
	close_journal();
}

static u32 nr_full(u32 l)
{
	struct zj_seg *seg;
	u32 nr = 0;

	list_for_each_entry(seg, &lane(l)->full, link)
		nr++;
	return nr;
}

/*
 * A large log has 160,000 segments, and each advance of the tail gives a few of them back. One
 * step for each of these, and one for each lane: what comes behind the first that stays is not
 * looked at, which a segment there shows that could go.
 */
static void reclaim_looks_at_no_segment_behind_one_that_stays(void)
{
	u32 full, before;

	OPEN(SMALL, .lanes = 1);
	mutex_lock(&fx.zj->ckpt_lock);
	for (u32 i = 0; i < 6; i++) {
		change_many(0, 6, i);
		commit(0);
	}
	full = nr_full(0);
	assert_true(full >= 4);
	list_last_entry(&lane(0)->full, struct zj_seg, link)->max_stamp = 1;
	/* What the lane has in hand. */
	zj_space_reclaim(fx.zj, 0);
	before = free_segs();
	zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
	assert_int_equal(nr_full(0), full);
	assert_int_equal(free_segs(), before);
	list_last_entry(&lane(0)->full, struct zj_seg, link)->max_stamp = fx.zj->stamp;
	mutex_unlock(&fx.zj->ckpt_lock);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(nr_full(0), 0);
	close_journal();
}

/* Starts of all lanes take segments from the pool, and do not wait until all are back. */
static void reclaim_lets_go_of_the_pool_now_and_then(void)
{
	const u32 n = 120;
	u64 few;
	u32 i;

	OPEN(.journal = 8192, .lanes = 32, .cpus = 2);
	assert_true(free_segs() > n);
	count_lock(&fx.zj->pool_lock);
	zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
	few = lock_count();
	/* As if one lane had filled them long ago. */
	for (i = 0; i < n; i++)
		list_move_tail(fx.zj->pool.next, &lane(1)->full);
	fx.zj->nr_pool -= n;
	count_lock(&fx.zj->pool_lock);
	zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
	assert_int_equal(lock_count() - few, n / 64);
	assert_int_equal(nr_full(1), 0);
	close_journal();
}

/*
 * An idle lane holds the checkpoint stamp back. Commits of others do not make it look at a
 * sixth of the log each time: it takes comp_lock a few times, not once a component.
 */
static void blocked_checkpoint_does_not_look_again_with_each_commit(void)
{
	struct task_struct *ckpt;
	u64 reclaimed;
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
	reclaimed = fx.zj->ckpt_stamp;
	stop_before(ckpt, &fx.zj->comp_lock, 50);
	change(0, BLOCK + 1, 99);
	commit(0);
	settle();
	assert_false(stopped(ckpt));
	stop_nowhere(ckpt);
	assert_int_equal(fx.zj->ckpt_stamp, reclaimed);
	/* As soon as nothing blocks it, it goes on. */
	commit(1);
	settle();
	assert_true(fx.zj->ckpt_stamp > reclaimed + 100);
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
 * start began to wait is reclaimed: it does not wait for that lane, nor for timers.
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
	seal_held(3);
	assert_false(f->done);
	while (!f->done && rounds++ < 6) {
		change(3, BLOCK + 1800 + rounds, rounds);
		seal(3);
		release();
		fx.hold_lane[3] = true;
		settle();
		assert_true(lane(3)->nr_sealed);
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
	seal(0);
	settle();
	assert_int_equal(atomic_read(&fx.zj->granted), 0);
	close_journal();
}

/* Start handles in a lane until one does not get into the running transaction. */
static u32 fill_lane(u32 cpu)
{
	handle_t *h = start(cpu, 1);
	struct zj_txn *txn = handle_txn(h);

	spin_lock(&txn->lane->lock);
	while (txn->granted + fx.zj->grant <= fx.zj->max_txn && zj_space_grow(txn))
		;
	spin_unlock(&txn->lane->lock);
	put(h, BLOCK + cpu, 1);
	stop(h);
	return txn->granted;
}

/* The log has three budgets of three grants each. */
static void all_of_the_budget_can_be_granted(void)
{
	OPEN(.jbd2 = true, .lanes = 1, .journal = 1 + 3 * 3 * 64);
	assert_int_equal(fx.zj->max_txn, 3 * fx.zj->grant);
	assert_int_equal(fill_lane(0), fx.zj->max_txn);
	close_journal();
}

/* A late start gets a fair share, although earlier ones have taken all space. */
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
	/* A sealed transaction does not count as running, committed or not. */
	fx.hold_lane[0] = true;
	seal(0);
	assert_int_equal(atomic_read(&fx.zj->nr_running), 3);
	assert_int_equal(atomic_read(&fx.zj->granted), got[1] + got[2] + got[3]);
	release();
	close_journal();
}

/* A second full transaction waits for the first, unless a task syncs it. */
static void full_transaction_waits_for_the_one_before(void)
{
	struct zj_txn *txn;
	u32 share;

	OPEN(.lanes = 1, .journal = 8192);
	share = fx.zj->budget;
	fx.hold_lane[0] = true;
	change_many(0, share / 2 + 1, 1);
	seal(0);
	assert_int_equal(lane(0)->sealed_credits, share / 2 + 1);
	change_many(0, share / 2, 2);
	txn = lane(0)->running;
	zj_commit_now(fx.zj, txn);
	settle();
	assert_ptr_equal(lane(0)->running, txn);
	release();
	settle();
	assert_null(lane(0)->running);
	assert_int_equal(lane(0)->sealed_credits, 0);
	fx.hold_lane[0] = true;
	change_many(0, share / 2 + 1, 3);
	seal(0);
	change_many(0, share / 2, 4);
	zj_commit_request_lane(lane(0));
	assert_null(lane(0)->running);
	assert_int_equal(lane(0)->sealed_credits, share / 2 * 2 + 1);
	release();
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
	/* A start that waits for space may need more than there is. */
	zj->nr_pool = segs;
	atomic_inc(&zj->space_waiters);
	assert_true(zj_space_low(zj) && zj_space_awaited(zj));
	atomic_dec(&zj->space_waiters);
	zj->nr_pool = pool;
	close_journal();
}

CORE_TESTS(space,
	CORE_TEST(space_is_low_in_the_last_third),
	CORE_TEST(full_log_makes_start_wait_and_go_on),
	CORE_TEST(lane_knows_what_its_next_starts_may_take),
	CORE_TEST(lane_gives_back_what_it_owes_to_nobody),
	CORE_TEST(lane_takes_what_it_lacks),
	CORE_TEST(segments_are_counted_right_whenever_their_lock_is_free),
	CORE_TEST(steady_load_never_waits_for_space),
	CORE_TEST(two_lanes_go_round_a_small_log),
	CORE_TEST(idle_lanes_segments_come_back),
	CORE_TEST(segments_with_living_stamps_stay),
	CORE_TEST(reclaim_looks_at_no_segment_behind_one_that_stays),
	CORE_TEST(reclaim_lets_go_of_the_pool_now_and_then),
	CORE_TEST(blocked_checkpoint_does_not_look_again_with_each_commit),
	CORE_TEST(what_runs_is_closed_for_who_waits_beside_fsyncs),
	CORE_TEST(lane_that_works_alone_gets_more_of_the_log),
	CORE_TEST(all_of_the_budget_can_be_granted),
	CORE_TEST(lanes_that_all_work_have_their_shares),
	CORE_TEST(full_transaction_waits_for_the_one_before),
);
