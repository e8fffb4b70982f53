// SPDX-License-Identifier: GPL-2.0-only
/* access.c and version.c: forget, triggers, and what zext4 asks about buffers. */
#include "fixture.h"

/* ---- forget ---- */

static void forget_drops_the_own_image(void)
{
	struct log log;
	handle_t *h;

	OPEN();
	h = start(0, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 1, 1);
	forget(h, BLOCK);
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	commit(0);
	log_read(&log);
	assert_null(log_image(&log, 2, BLOCK));
	assert_non_null(log_image(&log, 2, BLOCK + 1));
	log_free(&log);
	close_journal();
}

static void expect_clean(struct buffer_head *bh)
{
	assert_false(buffer_jbddirty(bh));
	assert_false(buffer_dirty(bh));
}

/* Whatever made it dirty: nothing of it goes home, and nor does ext4 take its folio for dirty. */
static void forgotten_buffer_is_clean(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	h = start(0, 1);
	/* It was dirty before, and has no image. */
	mark_buffer_dirty(bh);
	get_access(h, BLOCK);
	assert_true(buffer_jbddirty(bh));
	forget(h, BLOCK);
	expect_clean(bh);
	/* Others make it dirty beside the journal. */
	put(h, BLOCK, 1);
	mark_buffer_dirty(bh);
	forget(h, BLOCK);
	expect_clean(bh);
	stop(h);
	commit(0);
	expect_clean(bh);
	/* There is an older image, which a crash must find. */
	change(0, BLOCK, 2);
	commit(0);
	h = start(0, 1);
	put(h, BLOCK, 3);
	assert_true(buffer_jbddirty(bh));
	forget(h, BLOCK);
	expect_clean(bh);
	stop(h);
	commit(0);
	expect_clean(bh);
	brelse(bh);
	close_journal();
}

static void forget_of_another_lanes_block_unites_and_drops_its_image(void)
{
	struct log log;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	forget(b, BLOCK);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	assert_null(part_of(handle_txn(a), BLOCK));
	/* The credit was the other handle's: it is not given to this one. */
	assert_int_equal(zj_handle_buffer_credits(b), 1);
	stop(a);
	stop(b);
	commit(0);
	log_read(&log);
	assert_null(log_image(&log, 2, BLOCK));
	log_free(&log);
	close_journal();
}

static void forget_of_a_sealed_block_leaves_its_image(void)
{
	struct zj_txn *old;
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	old = running(0);
	seal(0);
	h = start(1, 1);
	forget(h, BLOCK);
	assert_true(depends(handle_txn(h), old));
	assert_true(zj_part_test(part_of(handle_txn(h), BLOCK), ZJ_PART_FORGET));
	stop(h);
	commit(1);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 1);
	assert_null(log_image(&log, 3, BLOCK));
	log_free(&log);
	zj_txn_put(old);
	close_journal();
}

static void forgotten_block_does_not_go_home_once_that_is_committed(void)
{
	struct buffer_head *bh;
	handle_t *h;
	u32 before;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	forget(h, BLOCK);
	stop(h);
	/* Not committed yet: the older image is what a crash must find. */
	assert_int_equal(val_after_crash(BLOCK), 1);
	before = now();
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, before), 0);
	bh = buffer(BLOCK);
	assert_false(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void forgotten_block_holds_back_the_checkpoint_until_committed(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	forget(h, BLOCK);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	close_journal();
}

static void forget_waits_for_home_io_in_flight(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	f = GO(call_forget, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	stop(h);
	close_journal();
}

static void forget_of_a_block_the_journal_let_go_waits_too(void)
{
	struct buffer_head *bh;
	struct fiber *f;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	assert_false(buffer_jbd(bh));
	h = start(1, 1);
	f = GO(call_forget, .h = h, .block = BLOCK);
	settle();
	assert_false(f->done);
	release();
	join(f);
	brelse(bh);
	stop(h);
	close_journal();
}

static void create_access(handle_t *h, u32 block)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	lock_buffer(bh);
	assert_int_equal(zj_journal_get_create_access(h, bh), 0);
	unlock_buffer(bh);
	own(NULL);
	brelse(bh);
}

static void block_is_used_again_after_it_was_forgotten(void)
{
	struct log log;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(0, 2);
	put(h, BLOCK, 2);
	forget(h, BLOCK);
	create_access(h, BLOCK);
	assert_false(zj_part_test(part_of(handle_txn(h), BLOCK), ZJ_PART_FORGET));
	put(h, BLOCK, 3);
	assert_int_equal(zj_handle_buffer_credits(h), 1);
	stop(h);
	commit(0);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 3);
	log_free(&log);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(BLOCK), 3);
	close_journal();
}

/* ---- triggers ---- */

static int frozen_calls;

static void mark_sealed(struct jbd2_buffer_trigger_type *type,
			struct buffer_head *bh, void *data, size_t size)
{
	frozen_calls++;
	memset(data, 0xee, size);
}

static struct jbd2_buffer_trigger_type marker = { .t_frozen = mark_sealed };

static void set_marker(u32 block)
{
	struct buffer_head *bh = buffer(block);

	zj_journal_set_triggers(bh, &marker);
	brelse(bh);
}

static void trigger_runs_once_a_commit_before_the_image_is_taken(void)
{
	struct log log;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 1);
	set_marker(BLOCK);
	stop(h);
	assert_int_equal(frozen_calls, 0);
	commit(0);
	assert_int_equal(frozen_calls, 1);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 0xee);
	log_free(&log);
	assert_int_equal(live_val(BLOCK), 0xee);
	close_journal();
}

static void trigger_runs_when_an_accessor_copies(void)
{
	struct log log;
	handle_t *h;

	OPEN(.log_blocks = true);
	h = start(0, 1);
	put(h, BLOCK, 1);
	set_marker(BLOCK);
	stop(h);
	seal(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_int_equal(frozen_calls, 1);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	commit(1);
	/* Once for each of the two. */
	assert_int_equal(frozen_calls, 2);
	log_read(&log);
	assert_int_equal(log_data(&log, log_image(&log, 2, BLOCK))[0], 0xee);
	assert_int_equal(log_data(&log, log_image(&log, 3, BLOCK))[0], 0xee);
	log_free(&log);
	close_journal();
}

static void trigger_of_a_forgotten_block_does_not_run(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 1);
	set_marker(BLOCK);
	forget(h, BLOCK);
	stop(h);
	commit(0);
	assert_int_equal(frozen_calls, 0);
	close_journal();
}

static void trigger_needs_a_journaled_block(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	expect_warning("!jh");
	zj_journal_set_triggers(bh, &marker);
	warned();
	brelse(bh);
	close_journal();
}

/* ---- questions about buffers ---- */

static void buffer_tid_names_the_newest_owner_that_is_not_committed(void)
{
	struct buffer_head *bh;
	tid_t tid;

	OPEN();
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_buffer_tid(fx.journal, bh), 0);
	change(0, BLOCK, 1);
	seal(0);
	tid = change(1, BLOCK, 2);
	assert_int_equal(zj_journal_buffer_tid(fx.journal, bh), tid);
	commit(1);
	assert_int_equal(zj_journal_buffer_tid(fx.journal, bh), 0);
	brelse(bh);
	close_journal();
}

static void newest_flag_says_whose_state_the_buffer_holds(void)
{
	struct zj_txn *old, *new;
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	change(0, BLOCK, 1);
	old = running(0);
	assert_true(zj_journal_newest_is(bh, &old->public));
	seal(0);
	assert_true(zj_journal_newest_is(bh, &old->public));
	change(1, BLOCK, 2);
	new = running(1);
	assert_false(zj_journal_newest_is(bh, &old->public));
	assert_true(zj_journal_newest_is(bh, &new->public));
	zj_txn_put(old);
	zj_txn_put(new);
	brelse(bh);
	close_journal();
}

static void call_wait_buffer(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	f->ret = zj_journal_wait_buffer(fx.journal, bh);
	brelse(bh);
}

static void wait_buffer_commits_the_owner_and_waits(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	f = GO(call_wait_buffer, .block = BLOCK);
	settle();
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

/* Another handle has changed it before the first owner was committed. */
static void wait_buffer_waits_for_the_newest_owner(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	change(0, BLOCK, 1);
	seal(0);
	stop_at_point(lane(0)->task, 1);
	f = GO(call_wait_buffer, .block = BLOCK);
	let_run();
	tid = change(1, BLOCK, 2);
	go_on(lane(0)->task);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

static void call_lock_committed(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_lock_committed_buffer(fx.journal, bh);
	f->ret = zj_journal_buffer_tid(fx.journal, bh);
	while (!READ_ONCE(f->n))
		sleep_ms(1);
	unlock_buffer(bh);
	brelse(bh);
}

static void lock_committed_buffer_keeps_writers_out(void)
{
	struct fiber *f, *writer;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	f = GO(call_lock_committed, .block = BLOCK);
	f->ret = -1;
	settle();
	assert_int_equal(f->ret, 0);
	h = start(1, 1);
	writer = GO(call_access, .h = h, .block = BLOCK);
	settle();
	assert_false(writer->done);
	f->n = 1;
	join(f);
	join(writer);
	stop(h);
	close_journal();
}

/* Each transaction of a lane changes the block, and there is always one that is not committed. */
static void call_change_on_and_on(struct fiber *f)
{
	handle_t *h;

	for (f->n = 0; f->n < 100; f->n++) {
		h = start(1, 1);
		put(h, BLOCK, f->n);
		own(h);
		sleep_ms(3);
		stop(h);
	}
}

static void lock_committed_buffer_waits_for_two_changes_at_most(void)
{
	struct fiber *f, *writer;
	int before;

	OPEN();
	writer = GO(call_change_on_and_on, .cpu = 1);
	sleep_ms(50);
	before = writer->n;
	f = GO(call_lock_committed, .block = BLOCK, .n = 1);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_in_range(writer->n - before, 1, 9);
	join(writer);
	assert_int_equal(fx.zj->barrier, 0);
	close_journal();
}

/* Like a freeze, it writes the superblock while no handle is open. */
static void call_lock_committed_in_barrier(struct fiber *f)
{
	zj_journal_lock_updates(fx.journal);
	f->n = 1;
	call_lock_committed(f);
	assert_int_equal(f->ret, 0);
	zj_journal_unlock_updates(fx.journal);
}

static void call_put(struct fiber *f)
{
	call_start(f);
	own(f->h);
	put(f->h, f->block, 2);
	stop(f->h);
}

static void call_put_reserved(struct fiber *f)
{
	call_reserved(f);
	put(f->h, f->block, 2);
	stop(f->h);
}

/* With the barrier up there is one owner at most to wait for: it is not called for twice. */
static void lock_committed_buffer_under_the_own_barrier(void)
{
	struct fiber lock = { .fn = call_lock_committed_in_barrier, .block = BLOCK };
	struct fiber other;
	bool more;
	int n;

	OPEN();
	for (int i = 0; i < 4; i++) {
		n = 1;
		do {
			other = (struct fiber){ .fn = call_put, .cpu = 1, .n = 1,
						.block = BLOCK };
			change(0, BLOCK, 1);
			if (i / 2) {
				handle_t *h = start_more(1, 1, 2, 0);

				other.fn = call_put_reserved;
				other.h = h->h_rsv_handle;
				h->h_rsv_handle = NULL;
				stop(h);
			}
			more = i % 2 ? preempt_at(n, &lock, &other) :
				       preempt_at(n, &other, &lock);
			n++;
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

/* Freed: what others had changed in it outside the journal is void as well. */
static void forgotten_block_that_was_dirty_is_clean(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	for (u32 older = 0; older < 2; older++) {
		mark_buffer_dirty(bh);
		h = start(0, 2);
		get_access(h, BLOCK);
		assert_false(buffer_dirty(bh));
		/* Changed outside the journal under its owner, too. */
		mark_buffer_dirty(bh);
		forget(h, BLOCK);
		assert_false(buffer_dirty(bh));
		stop(h);
		commit(0);
		assert_false(buffer_dirty(bh));
		/* The same with an older image in the way. */
		change(0, BLOCK, 1);
		commit(0);
	}
	brelse(bh);
	close_journal();
}

/* The older owner changed nothing, so the dirty bit would pass to the task that forgets. */
static void dirt_of_an_owner_that_goes_first_is_void_too(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	mark_buffer_dirty(bh);
	change(0, BLOCK + 1, 1);
	h = start(0, 1);
	get_access(h, BLOCK);
	stop(h);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 1);
	forget(h, BLOCK);
	stop(h);
	release();
	settle();
	commit(1);
	settle();
	assert_false(buffer_jbd(bh));
	assert_false(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

/* Its owner will not be committed any more, so only the lock can be waited for. */
static void waits_for_a_buffer_end_with_an_abort(void)
{
	struct buffer_head *bh;
	struct fiber *f, *g;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	f = GO(call_lock_committed, .block = BLOCK, .n = 1);
	g = GO(call_wait_buffer, .block = BLOCK);
	settle();
	assert_false(f->done || g->done);
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	join(g);
	assert_int_equal(g->ret, -EIO);
	bh = buffer(BLOCK);
	zj_journal_lock_committed_buffer(fx.journal, bh);
	assert_true(buffer_locked(bh));
	unlock_buffer(bh);
	brelse(bh);
	close_aborted();
}

static void lock_committed_buffer_inside_a_handle_only_locks(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	put(h, BLOCK, 1);
	bh = buffer(BLOCK);
	own(h);
	zj_journal_lock_committed_buffer(fx.journal, bh);
	own(NULL);
	assert_true(buffer_locked(bh));
	assert_int_equal(handle_txn(h)->comp->stage, ZJ_RUNNING);
	unlock_buffer(bh);
	brelse(bh);
	stop(h);
	close_journal();
}

CORE_TESTS(forget,
	CORE_TEST(forget_drops_the_own_image),
	CORE_TEST(forgotten_buffer_is_clean),
	CORE_TEST(forget_of_another_lanes_block_unites_and_drops_its_image),
	CORE_TEST(forget_of_a_sealed_block_leaves_its_image),
	CORE_TEST(forgotten_block_does_not_go_home_once_that_is_committed),
	CORE_TEST(forgotten_block_holds_back_the_checkpoint_until_committed),
	CORE_TEST(forget_waits_for_home_io_in_flight),
	CORE_TEST(forget_of_a_block_the_journal_let_go_waits_too),
	CORE_TEST(block_is_used_again_after_it_was_forgotten),
	CORE_TEST(trigger_runs_once_a_commit_before_the_image_is_taken),
	CORE_TEST(trigger_runs_when_an_accessor_copies),
	CORE_TEST(trigger_of_a_forgotten_block_does_not_run),
	CORE_TEST(trigger_needs_a_journaled_block),
	CORE_TEST(buffer_tid_names_the_newest_owner_that_is_not_committed),
	CORE_TEST(newest_flag_says_whose_state_the_buffer_holds),
	CORE_TEST(wait_buffer_commits_the_owner_and_waits),
	CORE_TEST(wait_buffer_waits_for_the_newest_owner),
	CORE_TEST(lock_committed_buffer_keeps_writers_out),
	CORE_TEST(lock_committed_buffer_waits_for_two_changes_at_most),
	CORE_TEST(lock_committed_buffer_under_the_own_barrier),
	CORE_TEST(forgotten_block_that_was_dirty_is_clean),
	CORE_TEST(dirt_of_an_owner_that_goes_first_is_void_too),
	CORE_TEST(waits_for_a_buffer_end_with_an_abort),
	CORE_TEST(lock_committed_buffer_inside_a_handle_only_locks),
);
