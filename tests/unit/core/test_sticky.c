// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors that have to stay: each cause, and everybody who may ask, each of whom asks more than
 * once, and after another task has been told.
 */
#include "core/assert.h"
#include "fixture.h"

/* What was lost is the change of BLOCK by this transaction. */
static tid_t lost;

/* An open handle of lane 1, opened before that, with another one nested in it. */
static handle_t *nested;

/* ---- causes ---- */

static void record_fails(void)
{
	fail_next_write();
	assert_int_equal(zj_complete_transaction(fx.journal, lost), -EIO);
}

static void flush_before_the_record_fails(void)
{
	fail_next_flush();
	assert_int_equal(zj_complete_transaction(fx.journal, lost), -EIO);
}

/* It was committed while barriers were off. */
static void make_up_flush_fails(void)
{
	fx.journal->j_flags &= ~JBD2_BARRIER;
	commit(0);
	fx.journal->j_flags |= JBD2_BARRIER;
	fail_next_flush();
	assert_int_equal(zj_log_wait_commit(fx.journal, lost), -EIO);
}

static void flush_of_another_task_fails(void)
{
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
}

static void ext4_aborts(void)
{
	zj_journal_abort(fx.journal, -EIO);
}

static void shutdown_is_requested(void)
{
	zj_journal_abort(fx.journal, -ESHUTDOWN);
}

static void assertion_fails(void)
{
	zj_assertion_failed(fx.zj);
	settle();
}

static void (*const causes[])(void) = {
	record_fails, flush_before_the_record_fails, make_up_flush_fails,
	flush_of_another_task_fails, ext4_aborts, shutdown_is_requested, assertion_fails,
};

/* ---- who asks ---- */

static long ask_complete(void)
{
	return zj_complete_transaction(fx.journal, lost);
}

static long ask_wait_commit(void)
{
	return zj_log_wait_commit(fx.journal, lost);
}

static long ask_force_commit(void)
{
	return zj_journal_force_commit(fx.journal);
}

static long ask_checkpoint(void)
{
	return zj_checkpoint(fx.zj, true);
}

static long ask_start(void)
{
	handle_t *h = zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0);

	return IS_ERR(h) ? PTR_ERR(h) : 0;
}

static long ask_errno(void)
{
	return zj_journal_errno(fx.journal);
}

static long ask_clear(void)
{
	return zj_journal_clear_err(fx.journal);
}

static long with_handle(int (*ask)(handle_t *h, struct buffer_head *bh))
{
	struct buffer_head *bh = buffer(BLOCK + 1);
	long err;

	own(nested);
	err = ask(nested, bh);
	own(NULL);
	brelse(bh);
	return err;
}

static long ask_access(void)
{
	return with_handle(zj_journal_get_write_access);
}

static long ask_create(void)
{
	return with_handle(zj_journal_get_create_access);
}

static long ask_dirty(void)
{
	return with_handle(zj_journal_dirty_metadata);
}

static long ask_read(void)
{
	return with_handle(zj_journal_read_dependency);
}

static int extend(handle_t *h, struct buffer_head *bh)
{
	return zj_journal_extend(h, 1, 0);
}

static long ask_extend(void)
{
	return with_handle(extend);
}

/* The first ones need no open handle. */
#define WITHOUT_HANDLE	7

static long (*const askers[])(void) = {
	ask_complete, ask_wait_commit, ask_force_commit, ask_checkpoint, ask_start, ask_errno,
	ask_clear, ask_access, ask_create, ask_dirty, ask_read, ask_extend,
};

/* n: how many of them, from the first on */
static void call_ask(struct fiber *f)
{
	for (int i = 0; i < f->n; i++)
		assert_true(askers[i]() < 0);
}

/* Another task, then this one, and both again. */
static void all_are_told(u32 nr)
{
	for (u32 times = 0; times < 2; times++) {
		join(GO(call_ask, .cpu = 1, .n = nr));
		call_ask(&(struct fiber){ .n = nr });
	}
}

static void open_handle_is_told(void)
{
	for (u32 times = 0; times < 3; times++) {
		own(nested);
		assert_int_equal(zj_journal_stop(nested), -EIO);
	}
	own(NULL);
}

static void error_stays(const struct setup *setup, void (*cause)(void))
{
	bool apart = setup->lanes > 1;

	open_journal(setup);
	if (apart) {
		nested = start(1, 3);
		nested->h_ref += 2;
		get_access(nested, BLOCK + 1);
	}
	lost = change(0, BLOCK, 1);
	cause();
	assert_true(is_journal_aborted(fx.journal));
	/* In a lane of its own the handle does not keep that transaction open. */
	all_are_told(apart ? ARRAY_SIZE(askers) : WITHOUT_HANDLE);
	if (apart)
		open_handle_is_told();
	close_aborted();
}

static void error_stays_for_everybody(void)
{
	static const struct setup setups[] = {
		{ .lanes = 2, .journal = 2048 },
		{ .lanes = 2, .journal = 2048, .no_fua = true, .pipeline = true },
		{ .lanes = 2, .journal = 2048, .external = true, .ext_no_cache = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true },
	};

	for (u32 s = 0; s < ARRAY_SIZE(setups); s++)
		for (u32 i = 0; i < ARRAY_SIZE(causes); i++) {
			/* Without a cache of the log's device no flush of it was left out. */
			if (causes[i] == make_up_flush_fails && setups[s].external)
				continue;
			error_stays(&setups[s], causes[i]);
		}
}

/* ---- the flush that makes up for those that were left out ---- */

static void call_wait_commit(struct fiber *f)
{
	f->ret = zj_log_wait_commit(fx.journal, f->tid);
}

static void flush_that_was_left_out_fails(const struct setup *setup)
{
	struct fiber *f[3];

	open_journal(setup);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	lost = change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags |= JBD2_BARRIER;
	fail_next_flush();
	for (u32 i = 0; i < ARRAY_SIZE(f); i++)
		f[i] = GO(call_wait_commit, .cpu = i % 2, .tid = lost);
	for (u32 i = 0; i < ARRAY_SIZE(f); i++) {
		join(f[i]);
		assert_int_equal(f[i]->ret, -EIO);
	}
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(zj_log_wait_commit(fx.journal, lost), -EIO);
	close_aborted();
}

/* It fails for everybody who waits for that commit, at the same time or later. */
static void flush_that_was_left_out_fails_for_all(void)
{
	flush_that_was_left_out_fails(&(struct setup){ .lanes = 2, .journal = 2048 });
	flush_that_was_left_out_fails(&(struct setup){ .lanes = 2, .journal = 2048,
						       .pipeline = true });
	flush_that_was_left_out_fails(&(struct setup){ .lanes = 1, .journal = 2048,
						       .jbd2 = true });
	flush_that_was_left_out_fails(&(struct setup){ .lanes = 2, .journal = 2048,
						       .external = true });
}

/* ---- data ---- */

static void call_reported(struct fiber *f)
{
	f->ret = zj_journal_flush_reported(fx.journal, (uintptr_t)f->p);
}

/* Two inodes had data in the cache; each asks twice, and somebody syncs all in between. */
static void lost_data_is_told_to_each_inode(void)
{
	u64 written[2] = { };

	OPEN();
	report_data();
	for (u32 i = 0; i < 2; i++)
		zj_journal_inode_written(fx.journal, &written[i]);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_reported(fx.journal, written[0]), -EIO);
	for (u32 times = 0; times < 2; times++)
		for (u32 i = 0; i < 2; i++) {
			struct fiber *f = GO(call_reported, .cpu = i,
					     .p = (void *)(uintptr_t)written[i]);

			join(f);
			assert_int_equal(f->ret, -EIO);
			assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
		}
	close_aborted();
}

CORE_TESTS(sticky,
	CORE_TEST(error_stays_for_everybody),
	CORE_TEST(flush_that_was_left_out_fails_for_all),
	CORE_TEST(lost_data_is_told_to_each_inode),
);
