// SPDX-License-Identifier: GPL-2.0-only
/* block_index.c: R5, F1, entries that stand for some blocks of a run. */
#include "fixture.h"
#include "txn/txn.h"

/* The first block of a run, which the tests have for themselves. */
#define RUN		(4 * ZJ_BLOCK_RUN)

static size_t revoke_entries(handle_t *h)
{
	return list_count_nodes(&handle_txn(h)->revokes);
}

static void revoke_in_lane(u32 lane, u32 block)
{
	handle_t *h = start_more(lane, 1, 0, 1);

	assert_int_equal(revoke_block(h, block), 0);
	stop(h);
}

static void log_in_lane(u32 lane, u32 block, u8 val)
{
	handle_t *h = start(lane, 1);

	log_block(h, block, val);
	stop(h);
}

/* The blocks of the first two runs that count as logged, a bit for each. */
static u32 logged(void)
{
	u64 found[2 * ZJ_BLOCK_RUN];
	u32 n = zj_journal_find_file_blocks(fx.journal, RUN, 2 * ZJ_BLOCK_RUN, found,
					    2 * ZJ_BLOCK_RUN);
	u32 bits = 0;

	for (u32 i = 0; i < n; i++)
		bits |= 1U << (found[i] - RUN);
	assert_int_equal(zj_journal_file_blocks_logged(fx.journal, RUN, 2 * ZJ_BLOCK_RUN), n);
	return bits;
}

/* ---- revokes ---- */

static void r5_record_has_each_revoke_of_a_run(void)
{
	/* Neither in order nor without gaps, and of three runs. */
	static const u32 at[] = { 17, 3, 0, 15, 40, 16, 31, 4, 47 };
	struct log log;
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 0, ARRAY_SIZE(at));
	for (u32 i = 0; i < ARRAY_SIZE(at); i++)
		assert_int_equal(revoke_block(h, RUN + at[i]), 0);
	assert_int_equal(handle_txn(h)->nr_revokes, ARRAY_SIZE(at));
	assert_int_equal(revoke_entries(h), 3);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_revokes, ARRAY_SIZE(at));
	for (u32 i = 0; i < ARRAY_SIZE(at); i++)
		assert_true(log_revokes(&log, 2, RUN + at[i]));
	log_free(&log);
	for (u32 i = 0; i < 1U << ZJ_REVOKE_HASH_BITS; i++)
		assert_true(hlist_empty(&fx.zj->revokes.buckets[i].head));
	close_journal();
}

static void r5_neighbours_stay_revoked(void)
{
	handle_t *h;

	OPEN();
	for (u32 i = 0; i < 3; i++)
		change(0, RUN + i, 1);
	commit(0);
	h = start_more(0, 2, 0, 4);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(revoke_block(h, RUN + i), 0);
	put(h, RUN + 1, 2);
	assert_int_equal(handle_txn(h)->nr_revokes, 2);
	assert_false(zj_revoke_pending(fx.zj, RUN + 1));
	assert_true(zj_revoke_pending(fx.zj, RUN));
	assert_true(zj_revoke_pending(fx.zj, RUN + 2));
	/* With the last block the entry goes, and the next one comes with another. */
	put(h, RUN, 2);
	get_access(h, RUN + 2);
	forget(h, RUN + 2);
	assert_int_equal(revoke_entries(h), 0);
	assert_int_equal(revoke_block(h, RUN + 2), 0);
	assert_int_equal(revoke_entries(h), 1);
	stop(h);
	commit(0);
	assert_int_equal(val_after_crash(RUN), 2);
	assert_int_equal(val_after_crash(RUN + 1), 2);
	assert_int_equal(val_after_crash(RUN + 2), 0);
	close_journal();
}

static void r5_neighbours_do_not_tie(void)
{
	handle_t *a, *b, *c;

	OPEN(.lanes = 3);
	a = start_more(0, 1, 0, 1);
	b = start_more(1, 1, 0, 1);
	c = start(2, 2);
	assert_int_equal(revoke_block(a, RUN), 0);
	assert_int_equal(revoke_block(b, RUN + 1), 0);
	get_access(c, RUN + 2);
	assert_ptr_not_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_ptr_not_equal(handle_txn(a)->comp, handle_txn(c)->comp);
	/* It is the older of the two entries that has the block. */
	get_access(c, RUN);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(c)->comp);
	assert_ptr_not_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(a)->nr_revokes, 0);
	assert_int_equal(handle_txn(b)->nr_revokes, 1);
	stop(a);
	stop(b);
	stop(c);
	close_journal();
}

/* The transaction has an entry of the run already, but behind that of an older revoke. */
static void r5_newest_revoke_comes_first(void)
{
	handle_t *h, *touch;

	OPEN(.lanes = 3);
	h = start_more(0, 1, 0, 2);
	assert_int_equal(revoke_block(h, RUN), 0);
	revoke_in_lane(1, RUN + 1);
	seal_held(1);
	assert_int_equal(revoke_block(h, RUN + 1), 0);
	assert_int_equal(handle_txn(h)->nr_revokes, 2);
	touch = start(2, 1);
	get_access(touch, RUN + 1);
	assert_ptr_equal(handle_txn(touch)->comp, handle_txn(h)->comp);
	assert_int_equal(handle_txn(h)->nr_revokes, 1);
	stop(touch);
	stop(h);
	release();
	settle();
	close_journal();
}

static void call_revoke(struct fiber *f)
{
	f->ret = revoke_block(f->h, f->block);
}

/*
 * A handle revokes a block; at each place in turn another one, of its transaction or not, does
 * something with a neighbour that has an entry with its transaction.
 */
static void beside_a_neighbour(u32 lane, void (*other)(struct fiber *f))
{
	bool more = true;
	int nth;

	for (nth = 1; more; nth++) {
		u32 left = other == call_revoke;
		handle_t *a, *b;
		struct log log;

		OPEN();
		a = start_more(0, 1, 0, 2);
		b = start_more(lane, 1, 0, 2);
		if (!left)
			assert_int_equal(revoke_block(b, RUN + 1), 0);
		more = preempt_at(nth, CALL(call_revoke, .h = a, .block = RUN),
				  CALL(other, .h = b, .block = RUN + 1));
		assert_true(zj_revoke_pending(fx.zj, RUN));
		assert_int_equal(zj_revoke_pending(fx.zj, RUN + 1), left);
		assert_int_equal(handle_txn(a)->nr_revokes, 1 + (lane ? 0 : left));
		stop(a);
		stop(b);
		commit(0);
		log_read(&log);
		assert_true(log_revokes(&log, 2, RUN));
		assert_int_equal(log_revokes(&log, 2, RUN + 1), lane ? 0 : left);
		log_free(&log);
		close_journal();
	}
	assert_true(nth > 5);
}

static void r5_neighbour_revoked_at_any_place(void)
{
	for (u32 lane = 0; lane < 2; lane++)
		beside_a_neighbour(lane, call_revoke);
}

static void r5_neighbour_touched_at_any_place(void)
{
	for (u32 lane = 0; lane < 2; lane++)
		beside_a_neighbour(lane, call_access);
}

/* ---- file blocks ---- */

static void f1_each_transaction_of_a_run_counts(void)
{
	OPEN();
	log_in_lane(0, RUN, 1);
	log_in_lane(0, RUN + 5, 1);
	commit(0);
	log_in_lane(1, RUN + 4, 2);
	log_in_lane(1, RUN + 9, 2);
	assert_int_equal(logged(), BIT(0) | BIT(4) | BIT(5) | BIT(9));
	assert_int_equal(list_count_nodes(&lane(1)->running->file_blocks), 1);
	/* The first one is home and forgotten, the second one is not even committed. */
	join(GO(call_checkpoint));
	assert_int_equal(logged(), BIT(4) | BIT(9));
	commit(1);
	join(GO(call_full_checkpoint));
	assert_int_equal(logged(), 0);
	assert_int_equal(zj_journal_max_file_blocks(fx.journal), 0);
	close_journal();
}

static void f3_revoke_ends_its_blocks_of_a_run(void)
{
	handle_t *h;

	OPEN();
	for (u32 i = 14; i < 20; i++)
		log_in_lane(i % 2, RUN + i, i);
	commit(0);
	commit(1);
	h = start_more(0, 1, 0, 2);
	assert_int_equal(revoke_block(h, RUN + 15), 0);
	assert_int_equal(revoke_block(h, RUN + 16), 0);
	stop(h);
	/* One that was not in the log. */
	revoke_in_lane(0, RUN + 2);
	commit(0);
	assert_int_equal(logged(), BIT(14) | BIT(17) | BIT(18) | BIT(19));
	assert_int_equal(val_after_crash(RUN + 14), 14);
	assert_int_equal(val_after_crash(RUN + 15), 0);
	close_journal();
}

static void f1_range_that_ends_within_a_run(void)
{
	u64 found[4];

	OPEN();
	log_in_lane(0, RUN + 1, 1);
	log_in_lane(0, RUN + 9, 1);
	log_in_lane(1, RUN + 16, 1);
	for (u32 from = 0; from < 18; from++) {
		for (u32 to = from; to < 18; to++) {
			u32 n = zj_journal_find_file_blocks(fx.journal, RUN + from, to - from,
							    found, 4);
			u32 want = 0;

			for (u32 i = from; i < to; i++)
				if (i == 1 || i == 9 || i == 16)
					assert_int_equal(found[want++], RUN + i);
			assert_int_equal(n, want);
		}
	}
	close_journal();
}

CORE_TESTS(block_index,
	CORE_TEST(r5_record_has_each_revoke_of_a_run),
	CORE_TEST(r5_neighbours_stay_revoked),
	CORE_TEST(r5_neighbours_do_not_tie),
	CORE_TEST(r5_newest_revoke_comes_first),
	CORE_TEST(r5_neighbour_revoked_at_any_place),
	CORE_TEST(r5_neighbour_touched_at_any_place),
	CORE_TEST(f1_each_transaction_of_a_run_counts),
	CORE_TEST(f3_revoke_ends_its_blocks_of_a_run),
	CORE_TEST(f1_range_that_ends_within_a_run),
);
