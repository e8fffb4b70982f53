// SPDX-License-Identifier: GPL-2.0-only
/* space.c: segments, and the space that a transaction is promised. */
#include "small_log.h"

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

static void credits_not_used_give_segments_back_at_the_seal(void)
{
	u32 before;
	handle_t *h;

	OPEN();
	before = free_segs();
	h = start(0, 400);
	assert_true(before - free_segs() > 3);
	put(h, BLOCK, 1);
	stop(h);
	seal(0);
	/* One stays in hand. */
	assert_int_equal(before - free_segs(), 1);
	assert_int_equal(lane(0)->promised, zj_log_blocks(fx.zj, 1));
	settle();
	assert_int_equal(lane(0)->promised, 0);
	close_journal();
}

static void promise_of_a_sealed_transaction_is_kept_for_it(void)
{
	handle_t *h;
	u32 kept;

	OPEN();
	h = start(0, 200);
	for (u32 i = 0; i < 200; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	seal(0);
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

/* Fill the lane's segment up to a given place. */
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

/* Records of the former tenure behind the new ones must not count. */
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

/*
 * Lanes hold as much as they can, and there are reservations: the largest handle starts all
 * the same.
 */
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

/* Counted in blocks, as whole segments in hand could hide a shortage. */
static void no_transaction_takes_more_than_its_promise(void)
{
	u64 at, used, most = 0;

	OPEN(SMALL, .lanes = 1, .log_blocks = true);
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

/* ---- a checkpoint beside a reservation ---- */

static u32 room_in_hand(const struct zj_lane *l)
{
	u32 seg = fx.zj->geo.seg_blocks;

	return l->nr_in_hand * seg + (l->cur ? seg - l->cur_off : 0);
}

/* All that is not promised goes to others. */
static void take_the_rest(void)
{
	while (fx.zj->nr_pool > 1) {
		change_many(1, 6, 1);
		commit(1);
	}
}

/* A checkpoint takes back only what is promised to nobody. */
static void checkpoint_leaves_a_reservation_its_space(void)
{
	handle_t *h, *rsv;

	for (u32 k = 1; k <= 20; k++) {
		OPEN(SMALL, .lanes = 2);
		change(0, BLOCK, 1);
		commit(0);
		h = start_more(0, 1, k, 0);
		rsv = h->h_rsv_handle;
		h->h_rsv_handle = NULL;
		put(h, BLOCK, 2);
		stop(h);
		commit(0);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_null(lane(0)->running);
		assert_int_equal(lane(0)->promised, zj_log_blocks(fx.zj, k));
		assert_true(room_in_hand(lane(0)) >= lane(0)->promised);
		mutex_lock(&fx.zj->ckpt_lock);
		take_the_rest();
		call_reserved(&(struct fiber){ .h = rsv });
		for (u32 b = 0; b < k; b++)
			put(rsv, BLOCK + 100 + b, 3);
		stop(rsv);
		commit(0);
		assert_int_equal(val_after_crash(BLOCK + 100), 3);
		mutex_unlock(&fx.zj->ckpt_lock);
		close_journal();
	}
}

/* ---- the lane's limit ---- */

/* A start within the known limit takes no shared lock; using room makes the limit unknown. */
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
		room = fx.zj->log_ops->room(lane(0), need);
		spin_unlock(&lane(0)->lock);
		more = (room - need) / fx.zj->credit_units;
		assert_true(more > 20);
		assert_int_equal(lane(0)->limit, 5 + more - more / 8 - 8);
		put(h, BLOCK, 1);
		stop(h);
		fx.hold_flush = true;
		f = GO(call_complete, .tid = lane(0)->running->public.t_tid);
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

/* ---- extensions ---- */

/*
 * What runs may be more than the budget by extensions, which ask for no share of it.
 * Each has its space nevertheless, so that the commit finds it.
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
	/* Each has the most that one may have; together they exceed the budget. */
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

CORE_TESTS(promise,
	CORE_TEST(checkpoint_leaves_a_reservation_its_space),
	CORE_TEST(extended_handles_find_their_space_at_the_commit),
	CORE_TEST(extension_without_space_is_refused),
	CORE_TEST(limit_of_what_fits),
	CORE_TEST(no_transaction_takes_more_than_its_promise),
	CORE_TEST(promise_covers_what_spills_at_every_place),
	CORE_TEST(start_takes_whole_segments),
	CORE_TEST(start_without_credits_takes_a_segment_too),
	CORE_TEST(credits_not_used_give_segments_back_at_the_seal),
	CORE_TEST(promise_of_a_sealed_transaction_is_kept_for_it),
	CORE_TEST(promise_grows_with_the_credits),
	CORE_TEST(promise_covers_every_size_at_every_place),
	CORE_TEST(revokes_are_covered_by_their_credits),
	CORE_TEST(segment_has_a_new_tenure_every_time),
	CORE_TEST(segment_that_a_lane_keeps_has_a_new_tenure_too),
	CORE_TEST(largest_handle_is_stocks_at_least),
	CORE_TEST(largest_handle_on_the_smallest_journal),
	CORE_TEST(largest_handle_on_the_smallest_journal_of_stocks_format),
);
