// SPDX-License-Identifier: GPL-2.0-only
/* revoke.c: R5, the revokes that keep older images from being replayed. */
#include "fixture.h"
#include "txn/txn.h"

static void free_block(u32 lane, u32 block)
{
	handle_t *h = start_more(lane, 1, 0, 1);

	assert_int_equal(revoke_block(h, block), 0);
	stop(h);
}

/* Recovery of what a power cut leaves: how many images it holds back. */
static u32 revoked_after_crash(void)
{
	struct image *cut = cut_power();
	u32 n;

	assert_int_equal(recover_image(cut), 0);
	n = cut->stats.revoked;
	image_free(cut);
	return n;
}

static void r5_revoke_stands_in_the_record(void)
{
	struct log log;

	OPEN();
	free_block(0, BLOCK);
	commit(0);
	log_read(&log);
	assert_int_equal(log_chunk(&log, 2, 0, 0)->nr_revokes, 1);
	assert_true(log_revokes(&log, 2, BLOCK));
	log_free(&log);
	close_journal();
}

static void r5_older_image_is_not_replayed(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	free_block(1, BLOCK);
	/* Free only when that is committed. */
	assert_int_equal(val_after_crash(BLOCK), 1);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK), 0);
	assert_int_equal(revoked_after_crash(), 1);
	close_journal();
}

static void r5_newer_image_is_replayed(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	free_block(1, BLOCK);
	commit(1);
	change(0, BLOCK, 5);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 5);
	assert_int_equal(revoked_after_crash(), 1);
	close_journal();
}

static void r5_journaling_anew_cancels_the_own_revoke(void)
{
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start_more(0, 1, 0, 1);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	assert_int_equal(handle_txn(h)->nr_revokes, 1);
	put(h, BLOCK, 2);
	assert_int_equal(handle_txn(h)->nr_revokes, 0);
	stop(h);
	commit(0);
	log_read(&log);
	assert_false(log_revokes(&log, 3, BLOCK));
	assert_non_null(log_image(&log, 3, BLOCK));
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void r5_touch_of_another_lanes_revoke_unites_and_cancels(void)
{
	handle_t *a, *b;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	a = start_more(0, 1, 0, 1);
	b = start(1, 1);
	assert_int_equal(revoke_block(a, BLOCK), 0);
	put(b, BLOCK, 2);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(a)->nr_revokes, 0);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(revoked_after_crash(), 0);
	close_journal();
}

/* Lane @lane revokes the block, and a handle of lane 0 takes it again; false: no such place. */
static bool touch_of_a_revoked_block_at(u32 lane, int n)
{
	handle_t *h, *free;
	struct fiber *f;
	bool there;

	OPEN();
	h = start_more(0, 2, 0, 1);
	free = lane ? start_more(lane, 2, 0, 1) : h;
	put(free, BLOCK, 1);
	assert_int_equal(revoke_block(free, BLOCK), 0);
	f = GO(call_access, .h = h, .block = BLOCK);
	stop_at_point(&f->task->task, n);
	let_run();
	there = stopped(&f->task->task);
	if (zj_revoke_pending(fx.zj, BLOCK) && newest_part(BLOCK))
		assert_ptr_not_equal(handle_txn(h)->comp, handle_txn(free)->comp);
	if (there)
		go_on(&f->task->task);
	else
		stop_nowhere(&f->task->task);
	join(f);
	assert_false(zj_revoke_pending(fx.zj, BLOCK));
	assert_non_null(newest_part(BLOCK));
	stop(h);
	if (lane)
		stop(free);
	close_journal();
	return there;
}

static void r5_component_never_has_both_a_revoke_and_an_image(void)
{
	for (u32 lane = 0; lane < 2; lane++) {
		int n = 1;

		while (touch_of_a_revoked_block_at(lane, n))
			n++;
		assert_true(n > 5);
	}
}

static void r5_touch_of_a_block_that_has_no_buffer_in_the_journal_ties_too(void)
{
	handle_t *a, *b;

	OPEN();
	/* Never journaled here: only the index knows. */
	a = start_more(0, 1, 0, 1);
	b = start(1, 1);
	own(a);
	assert_int_equal(zj_journal_revoke(a, BLOCK, NULL), 0);
	own(NULL);
	get_access(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_int_equal(handle_txn(a)->nr_revokes, 0);
	stop(a);
	stop(b);
	close_journal();
}

static void r5_touch_of_a_sealed_revoke_depends_and_leaves_it(void)
{
	struct zj_txn *holder;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	free_block(0, BLOCK);
	holder = running(0);
	seal(0);
	h = start(1, 1);
	put(h, BLOCK, 2);
	assert_true(depends(handle_txn(h), holder));
	assert_int_equal(holder->nr_revokes, 1);
	stop(h);
	commit(1);
	log_read(&log);
	assert_true(log_revokes(&log, 3, BLOCK));
	assert_non_null(log_image(&log, 4, BLOCK));
	log_free(&log);
	assert_int_equal(val_after_crash(BLOCK), 2);
	zj_txn_put(holder);
	close_journal();
}

static void r5_revoke_of_a_foreign_block_drops_its_image_there(void)
{
	struct log log;
	handle_t *a, *b;

	OPEN();
	a = start(0, 2);
	b = start_more(1, 1, 0, 1);
	put(a, BLOCK, 9);
	put(a, BLOCK + 1, 9);
	assert_int_equal(revoke_block(b, BLOCK), 0);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	stop(a);
	stop(b);
	commit(0);
	log_read(&log);
	assert_null(log_image(&log, 2, BLOCK));
	assert_non_null(log_image(&log, 2, BLOCK + 1));
	assert_true(log_revokes(&log, 2, BLOCK));
	log_free(&log);
	/* The block may be written as data at once: no image of the journal comes over it. */
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_journal();
}

static void r5_revoke_of_a_foreign_sealed_block_depends(void)
{
	struct zj_txn *old;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 9);
	old = running(0);
	seal(0);
	h = start_more(1, 1, 0, 1);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	assert_true(depends(handle_txn(h), old));
	stop(h);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK), 0);
	assert_int_equal(revoked_after_crash(), 1);
	zj_txn_put(old);
	close_journal();
}

static void r5_revoke_of_another_lanes_revoked_block_unites(void)
{
	handle_t *a, *b;
	struct log log;

	OPEN();
	a = start_more(0, 1, 0, 1);
	b = start_more(1, 1, 0, 1);
	own(a);
	assert_int_equal(zj_journal_revoke(a, 1900, NULL), 0);
	own(b);
	assert_int_equal(zj_journal_revoke(b, 1900, NULL), 0);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	/* One of the two ties is enough. */
	assert_int_equal(handle_txn(a)->nr_revokes + handle_txn(b)->nr_revokes, 1);
	stop(a);
	stop(b);
	commit(0);
	log_read(&log);
	assert_true(log_revokes(&log, 2, 1900));
	log_free(&log);
	close_journal();
}

static void r5_older_holder_does_not_take_the_newer_revoke_along(void)
{
	struct zj_txn *newer;
	handle_t *h;

	OPEN(.lanes = 3);
	free_block(0, BLOCK);
	seal_held(0);
	free_block(1, BLOCK);
	newer = running(1);
	release();
	settle();
	/* The older one is committed and gone, the newer one still owns the block. */
	assert_int_equal(newer->nr_revokes, 1);
	h = start(2, 1);
	get_access(h, BLOCK);
	assert_ptr_equal(handle_txn(h)->comp, newer->comp);
	stop(h);
	zj_txn_put(newer);
	close_journal();
}

/*
 * While a handle ties itself to the transaction that revokes a block, that one takes the block
 * back and lets go of it, and a third transaction revokes it: the handle belongs to that one.
 */
static void r5_revoke_that_took_the_place_of_another_ties_too(void)
{
	handle_t *first, *next, *h;
	struct zj_block_bucket *bucket;
	struct fiber *f;

	OPEN(.lanes = 3);
	first = start_more(0, 1, 0, 1);
	next = start_more(1, 1, 0, 1);
	h = start(2, 1);
	assert_int_equal(revoke_block(first, BLOCK), 0);
	bucket = zj_bucket_of(&fx.zj->revokes, BLOCK);
	f = GO(call_access, .h = h, .block = BLOCK);
	stop_before(&f->task->task, &bucket->lock, 2);
	let_run();
	assert_true(stopped(&f->task->task));
	get_access(first, BLOCK);
	forget(first, BLOCK);
	assert_int_equal(revoke_block(next, BLOCK), 0);
	assert_ptr_not_equal(handle_txn(next)->comp, handle_txn(first)->comp);
	go_on(&f->task->task);
	join(f);
	assert_ptr_equal(handle_txn(h)->comp, handle_txn(next)->comp);
	assert_int_equal(handle_txn(next)->nr_revokes, 0);
	stop(first);
	stop(next);
	stop(h);
	close_journal();
}

static void r5_committed_revoke_is_nobodys(void)
{
	handle_t *h;

	OPEN();
	free_block(0, BLOCK);
	commit(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_int_equal(unions(1) + dependencies(1), 0);
	stop(h);
	for (u32 i = 0; i < 1u << ZJ_REVOKE_HASH_BITS; i++)
		assert_true(hlist_empty(&fx.zj->revokes.buckets[i].head));
	close_journal();
}

static bool free_is_certain;

static void is_free(struct zj_txn *txn)
{
	/* Only now ext4 gives the block to another file. */
	if (txn->lane->index == 1)
		free_is_certain = val_after_crash(BLOCK) == 0;
}

static void v3_block_is_used_again_only_when_its_free_is_committed(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(0, BLOCK + 1, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start_more(1, 2, 0, 1);
	put(h, BLOCK + 1, 2);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	stop(h);
	fx.on_commit = is_free;
	fx.nr_calls = 0;
	seal(1);
	settle();
	/* Its record is durable, but recovery would discard it. */
	assert_int_equal(fx.nr_calls, 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	release();
	settle();
	assert_int_equal(fx.nr_calls, 2);
	assert_true(free_is_certain);
	close_journal();
}

static void call_revoke(struct fiber *f)
{
	f->ret = revoke_block(f->h, f->block);
}

static void revoke_waits_for_home_io_in_flight(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start_more(1, 1, 0, 1);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	f = GO(call_revoke, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	stop(h);
	close_journal();
}

static void revoke_finds_the_cached_buffer(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 0, 1);
	put(h, BLOCK, 1);
	own(h);
	assert_int_equal(zj_journal_revoke(h, BLOCK, NULL), 0);
	own(NULL);
	assert_null(part_of(handle_txn(h), BLOCK));
	stop(h);
	close_journal();
}

static void revoking_again_leaves_one_revoke(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 1, 0, 2);
	own(h);
	assert_int_equal(zj_journal_revoke(h, 1900, NULL), 0);
	assert_int_equal(zj_journal_revoke(h, 1900, NULL), 0);
	own(NULL);
	assert_int_equal(h->h_revoke_credits, 0);
	assert_int_equal(handle_txn(h)->nr_revokes, 1);
	stop(h);
	close_journal();
}

static void revoke_without_credits_is_refused(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	expect_warning("h_revoke_credits <= 0");
	assert_int_equal(revoke_block(h, BLOCK), -EIO);
	warned();
	assert_int_equal(handle_txn(h)->nr_revokes, 0);
	stop(h);
	close_journal();
}

static u32 refused;

static void call_revoke_again(struct fiber *f)
{
	own(f->h);
	f->ret = zj_journal_revoke(f->h, f->block, NULL);
	own(NULL);
	assert_true(!f->ret || f->ret == -EIO);
	refused += f->ret == -EIO;
}

/* ext4 never does this: one call gets an error, and nothing stays locked. */
static void block_that_is_revoked_twice_at_once(void)
{
	handle_t *a, *b;
	bool more;
	int n = 1;

	OPEN(.lanes = 1);
	do {
		a = start_more(0, 1, 0, 2);
		b = start_more(0, 1, 0, 2);
		more = preempt_at(n++, CALL(call_revoke_again, .h = a, .block = BLOCK),
				  CALL(call_revoke_again, .h = b, .block = BLOCK));
		assert_int_equal(handle_txn(a)->nr_revokes, 1);
		stop(a);
		stop(b);
		commit(0);
	} while (more);
	assert_true(complained("is freed twice"));
	assert_true(refused > 0);
	assert_true(n > 10);
	close_journal();
}

/* The block's number does not matter. */
static void every_block_has_a_chain(void)
{
	OPEN();
	for (u32 i = 0; i < 1U << ZJ_REVOKE_HASH_BITS; i++) {
		spin_lock(&fx.zj->revokes.buckets[i].lock);
		assert_true(hlist_empty(&fx.zj->revokes.buckets[i].head));
		spin_unlock(&fx.zj->revokes.buckets[i].lock);
	}
	close_journal();
}

CORE_TESTS(revoke,
	CORE_TEST(every_block_has_a_chain),
	CORE_TEST(block_that_is_revoked_twice_at_once),
	CORE_TEST(r5_revoke_stands_in_the_record),
	CORE_TEST(r5_older_image_is_not_replayed),
	CORE_TEST(r5_newer_image_is_replayed),
	CORE_TEST(r5_journaling_anew_cancels_the_own_revoke),
	CORE_TEST(r5_touch_of_another_lanes_revoke_unites_and_cancels),
	CORE_TEST(r5_component_never_has_both_a_revoke_and_an_image),
	CORE_TEST(r5_touch_of_a_block_that_has_no_buffer_in_the_journal_ties_too),
	CORE_TEST(r5_touch_of_a_sealed_revoke_depends_and_leaves_it),
	CORE_TEST(r5_revoke_of_a_foreign_block_drops_its_image_there),
	CORE_TEST(r5_revoke_of_a_foreign_sealed_block_depends),
	CORE_TEST(r5_revoke_of_another_lanes_revoked_block_unites),
	CORE_TEST(r5_older_holder_does_not_take_the_newer_revoke_along),
	CORE_TEST(r5_revoke_that_took_the_place_of_another_ties_too),
	CORE_TEST(r5_committed_revoke_is_nobodys),
	CORE_TEST(v3_block_is_used_again_only_when_its_free_is_committed),
	CORE_TEST(revoke_waits_for_home_io_in_flight),
	CORE_TEST(revoke_finds_the_cached_buffer),
	CORE_TEST(revoking_again_leaves_one_revoke),
	CORE_TEST(revoke_without_credits_is_refused),
);
