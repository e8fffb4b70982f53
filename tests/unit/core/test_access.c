// SPDX-License-Identifier: GPL-2.0-only
/* access.c: dirtying, create access, heads that go meanwhile; its rules are in test_rules.c. */
#include "fixture.h"

/* ---- dirty ---- */

static void dirty_takes_one_credit_a_block(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 3);
	put(h, BLOCK, 1);
	put(h, BLOCK, 2);
	assert_int_equal(dirty(h, BLOCK, 3), 0);
	assert_int_equal(zj_handle_buffer_credits(h), 2);
	put(h, BLOCK + 1, 1);
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	close_journal();
}

/* Access that a handle already has is given again without reading shared state. */
static void access_and_dirty_again_take_no_lock(void)
{
	handle_t *h[2];
	struct buffer_head *bh;
	struct journal_head *jh;

	OPEN();
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	put(h[0], BLOCK, 1);
	get_access(h[1], BLOCK);
	bh = buffer(BLOCK);
	jh = bh2jh(bh);
	for (u32 i = 0; i < 2; i++) {
		own(h[i]);
		/* A task that locks the buffer would take this lock twice. */
		spin_lock(&jh->lock);
		assert_int_equal(zj_journal_get_write_access(h[i], bh), 0);
		assert_int_equal(zj_journal_get_range_access(h[i], bh), 0);
		assert_int_equal(zj_journal_dirty_metadata(h[i], bh), 0);
		assert_int_equal(zj_journal_dirty_range(h[i], bh, 0, 1), 0);
		spin_unlock(&jh->lock);
		own(NULL);
	}
	brelse(bh);
	stop(h[0]);
	stop(h[1]);
	close_journal();
}

static void dirty_without_access_is_refused(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	assert_int_equal(dirty(h, BLOCK, 1), -EUCLEAN);
	/* It has an owner, but not this one. */
	change(1, BLOCK, 1);
	seal(1);
	expect_warning("!zj_unite(txn, part->txn");
	assert_int_equal(dirty(h, BLOCK, 1), -EINVAL);
	warned();
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	close_journal();
}

static void refused_when_aborted(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	h = start(0, 3);
	bh = buffer(BLOCK);
	zj_journal_abort(fx.journal, -EIO);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_get_range_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_get_create_access(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), -EROFS);
	assert_int_equal(zj_journal_dirty_range(h, bh, 0, 1), -EROFS);
	assert_int_equal(zj_journal_read_dependency(h, bh), -EROFS);
	get_bh(bh);
	assert_int_equal(zj_journal_forget(h, bh), -EROFS);
	own(NULL);
	assert_false(buffer_jbd(bh));
	brelse(bh);
	stop(h);
	close_aborted();
}

static void dirty_without_credits_is_refused(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 1);
	get_access(h, BLOCK + 1);
	expect_warning("zj_handle_buffer_credits(handle) <= 0");
	assert_int_equal(dirty(h, BLOCK + 1, 1), -ENOSPC);
	warned();
	assert_false(zj_part_test(newest_part(BLOCK + 1), ZJ_PART_MODIFIED));
	stop(h);
	close_journal();
}

/* The log space is promised for one image and one block of revokes (N6). */
static void images_do_not_take_the_credits_of_revokes(void)
{
	handle_t *h;

	OPEN(.journal = 200, .lanes = 1, .jbd2 = true);
	h = start_more(0, 1, 0, 1);
	put(h, BLOCK, 1);
	own(h);
	assert_int_equal(zj_handle_buffer_credits(h), 0);
	own(NULL);
	get_access(h, BLOCK + 1);
	expect_warning("zj_handle_buffer_credits(handle) <= 0");
	assert_int_equal(dirty(h, BLOCK + 1, 2), -ENOSPC);
	warned();
	assert_int_equal(revoke_block(h, BLOCK + 100), 0);
	stop(h);
	close_journal();
}

/* ---- create access ---- */

static void create_access_forgets_the_former_life(void)
{
	static struct jbd2_buffer_trigger_type trigger;
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	h = start(0, 2);
	get_access(h, BLOCK);
	zj_journal_set_triggers(bh, &trigger);
	assert_true(zj_part_test(newest_part(BLOCK), ZJ_PART_WAS_DIRTY));
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(h, bh), 0);
	unlock_buffer(bh);
	assert_null(bh2jh(bh)->triggers);
	stop(h);
	commit(0);
	assert_false(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void create_access_unites_too(void)
{
	struct buffer_head *bh;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	bh = buffer(BLOCK);
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(b, bh), 0);
	unlock_buffer(bh);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	brelse(bh);
	stop(a);
	stop(b);
	close_journal();
}

/* E4: only where home writes may be on their way a handle waits for the buffer lock. */
static void owned_block_is_not_locked(void)
{
	struct buffer_head *bh;
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	bh = buffer(BLOCK);
	lock_buffer(bh);
	f = GO(call_access, .h = b, .block = BLOCK);
	let_run();
	assert_true(f->done);
	unlock_buffer(bh);
	join(f);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	brelse(bh);
	stop(a);
	stop(b);
	close_journal();
}

/* ---- what is home ---- */

/* Two handles, one after the other, had access and made no use of it. */
static void block_that_nobody_has_changed_stays_clean(void)
{
	struct zj_part *part;
	handle_t *h;

	OPEN();
	h = start(0, 2);
	get_access(h, BLOCK);
	put(h, BLOCK + 1, 1);
	stop(h);
	seal(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	part = newest_part(BLOCK);
	assert_false(list_is_first(&part->jh_link, &part->jh->parts));
	settle();
	assert_true(list_is_first(&part->jh_link, &part->jh->parts));
	stop(h);
	commit(1);
	assert_false(is_dirty(BLOCK));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	close_journal();
}

/*
 * It was written without an error, and is not written again for a handle that changes nothing.
 */
static void image_that_is_home_is_not_written_again(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_false(is_dirty(BLOCK));
	h = start(1, 1);
	get_access(h, BLOCK);
	stop(h);
	commit(1);
	assert_false(is_dirty(BLOCK));
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	close_journal();
}

/* It was dirty before the journal saw it, too: once home it is clean at every later check. */
static void image_over_a_dirty_buffer_goes_home_once(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_false(buffer_dirty(bh));
	assert_false(buffer_jbd(bh));
	assert_int_equal(writes_of(BLOCK, 0), 1);
	brelse(bh);
	close_journal();
}

/* ---- the buffer goes home, and its head goes, at any place of a call ---- */

static void call_create(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	own(f->h);
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(f->h, bh), 0);
	unlock_buffer(bh);
	own(NULL);
	brelse(bh);
}

/* Called without access: the buffer's owner is of another lane, or there is none any more. */
static void call_dirty(struct fiber *f)
{
	int err = dirty(f->h, f->block, f->n);

	assert_true(err == -EINVAL || err == -EUCLEAN);
}

static void call_newest_is(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_newest_is(bh, f->h->h_transaction);
	brelse(bh);
}

static void call_set_triggers(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_set_triggers(bh, NULL);
	brelse(bh);
}

static void call_put(struct fiber *f)
{
	put(f->h, f->block, f->n);
}

static void (*const touchers[])(struct fiber *f) = {
	call_access, call_put, call_create, call_forget, call_newest_is, call_dirty,
	call_set_triggers,
};

/* The text of the warning if the head is gone, or never belonged to this handle. */
static const char *warning_of(void (*toucher)(struct fiber *f))
{
	if (toucher == call_dirty)
		return "!zj_unite(txn, part->txn";
	return toucher == call_set_triggers ? "!jh" : NULL;
}

static void go_home(struct fiber *f)
{
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
}

/* ASan reports a head or a part that is read after it was freed. */
static void heads_go_at_any_place_of_a_call(void)
{
	const char *warning;
	bool more;
	handle_t *h;
	int n;

	for (u32 i = 0; i < ARRAY_SIZE(touchers); i++) {
		OPEN();
		n = 1;
		warning = warning_of(touchers[i]);
		do {
			change(0, BLOCK, n);
			commit(0);
			h = start(1, 2);
			if (warning)
				expect_warning(warning);
			more = preempt_at(n, CALL(touchers[i], .h = h, .block = BLOCK,
						  .n = n, .cpu = 1), CALL(go_home));
			if (warning)
				expect_warning("");
			stop(h);
			commit(1);
			assert_int_equal(zj_checkpoint(fx.zj, true), 0);
			n++;
		} while (more);
		assert_true(n > 3);
		close_journal();
	}
}

/* It has access by the other handle's, of which it is one part from then on. */
static void who_dirties_what_another_has_access_to_is_united(void)
{
	handle_t *h[2];

	OPEN();
	h[0] = start(0, 1);
	h[1] = start(1, 1);
	get_access(h[0], BLOCK);
	assert_int_equal(dirty(h[1], BLOCK, 5), 0);
	assert_ptr_equal(handle_txn(h[0])->comp, handle_txn(h[1])->comp);
	stop(h[0]);
	stop(h[1]);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

CORE_TESTS(access,
	CORE_TEST(block_that_nobody_has_changed_stays_clean),
	CORE_TEST(image_that_is_home_is_not_written_again),
	CORE_TEST(image_over_a_dirty_buffer_goes_home_once),
	CORE_TEST(heads_go_at_any_place_of_a_call),
	CORE_TEST(dirty_takes_one_credit_a_block),
	CORE_TEST(access_and_dirty_again_take_no_lock),
	CORE_TEST(dirty_without_access_is_refused),
	CORE_TEST(refused_when_aborted),
	CORE_TEST(dirty_without_credits_is_refused),
	CORE_TEST(images_do_not_take_the_credits_of_revokes),
	CORE_TEST(create_access_forgets_the_former_life),
	CORE_TEST(create_access_unites_too),
	CORE_TEST(owned_block_is_not_locked),
	CORE_TEST(who_dirties_what_another_has_access_to_is_united),
);
