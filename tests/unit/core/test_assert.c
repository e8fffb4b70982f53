// SPDX-License-Identifier: GPL-2.0-only
/* An assertion that fails, as in the kernel: the program goes on. */
#include "fixture.h"

static int errno_on_disk(void)
{
	const struct zj_jbd2_super *sb = (const void *)fx.disk->seen[jblock(0)];

	return (int)be32_to_cpu(sb->s_errno);
}

static int times_said(const char *text)
{
	const char *at = fx.messages;
	int nr = 0;

	while ((at = strstr(at, text))) {
		at += strlen(text);
		nr++;
	}
	return nr;
}

static void failed_assertion_aborts_and_wakes_all(void)
{
	struct fiber *sync, *locked;
	struct zj_txn *txn;
	u32 before;
	handle_t *h;
	tid_t tid;

	OPEN();
	change(0, BLOCK + 1, 5);
	commit(0);
	tid = change(0, BLOCK, 1);
	h = start(1, 1);
	seal(1);
	seal(0);
	before = now();
	/* The lane's thread finds that, and goes on. */
	txn = txn_of(tid);
	atomic_set(&txn->comp->unsubmitted, 0);
	zj_txn_put(txn);
	sync = GO(call_complete, .tid = tid);
	locked = GO(call_start, .cpu = 1, .n = 1);
	expect_warning("unsubmitted) > 0");
	join(sync);
	join(locked);
	warned();
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(sync->ret, -EIO);
	assert_int_equal(locked->ret, -EROFS);
	assert_int_equal(fx.journal->j_errno, -EIO);
	assert_int_equal(stop(h), -EIO);
	settle();
	assert_int_equal(errno_on_disk(), -EIO);
	assert_int_equal(writes_of(jblock(0), before), 1);
	assert_int_equal(record_written(before), -1);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	assert_int_equal(val_after_crash(BLOCK + 1), 5);
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_aborted();
}

static void assertions_that_fail_are_reported_once(void)
{
	u32 before;

	OPEN();
	before = now();
	zj_assertion_failed(fx.zj);
	zj_assertion_failed(fx.zj);
	settle();
	zj_assertion_failed(fx.zj);
	zj_journal_abort(fx.journal, -EUCLEAN);
	settle();
	assert_int_equal(times_said("aborted"), 1);
	assert_int_equal(writes_of(jblock(0), before), 1);
	assert_int_equal(errno_on_disk(), -EIO);
	close_aborted();
}

/* A failed assertion does not sleep, and takes no lock that is outside of a spinlock. */
static void assertion_may_fail_under_any_spinlock(void)
{
	OPEN();
	change(0, BLOCK, 1);
	spin_lock(&fx.zj->comp_lock);
	spin_lock(&lane(0)->lock);
	spin_lock(&fx.zj->pool_lock);
	zj_assertion_failed(fx.zj);
	spin_unlock(&fx.zj->pool_lock);
	spin_unlock(&lane(0)->lock);
	spin_unlock(&fx.zj->comp_lock);
	assert_int_equal(errno_on_disk(), 0);
	settle();
	assert_int_equal(errno_on_disk(), -EIO);
	close_aborted();
}

/* Block 0 has the error when an abort returns, no matter which task writes it. */
static void abort_records_what_an_assertion_owes(void)
{
	OPEN();
	zj_assertion_failed(fx.zj);
	assert_int_equal(errno_on_disk(), 0);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(errno_on_disk(), -EIO);
	close_aborted();
}

static void call_abort(struct fiber *f)
{
	zj_journal_abort(fx.journal, -EUCLEAN);
}

static void call_failed_assertion(struct fiber *f)
{
	zj_assertion_failed(fx.zj);
}

/* Whichever is the first: one message, and one error, that of block 0. */
static void abort_and_assertion_meet_anywhere(void)
{
	bool more;
	int n;

	for (int i = 0; i < 2; i++) {
		n = 1;
		do {
			OPEN();
			fx.messages[0] = 0;
			more = i ? preempt_at(n, CALL(call_abort), CALL(call_failed_assertion)) :
				   preempt_at(n, CALL(call_failed_assertion), CALL(call_abort));
			settle();
			assert_int_equal(times_said("aborted"), 1);
			assert_int_equal(fx.journal->j_errno,
					 said("an assertion failed") ? -EIO : -EUCLEAN);
			assert_int_equal(errno_on_disk(), fx.journal->j_errno);
			close_aborted();
			n++;
		} while (more);
		assert_true(n > 5);
	}
}

/* Components that must not be united are left alone: the lists remain as they were. */
static void sealed_component_is_not_united_after_a_failed_assertion(void)
{
	struct zj_txn *txn, *other;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	txn = running(0);
	other = running(1);
	txn->comp->stage = ZJ_SEALED;
	expect_warning("to->stage < ZJ_SEALED");
	zj_tie(txn, other, ZJ_KIND_OTHER);
	warned();
	txn->comp->stage = ZJ_RUNNING;
	assert_ptr_not_equal(txn->comp, other->comp);
	assert_int_equal(txn->comp->nr_members, 1);
	zj_txn_put(txn);
	zj_txn_put(other);
	assert_int_equal(stop(a), -EIO);
	assert_int_equal(stop(b), -EIO);
	close_aborted();
}

/* A component that is on a list yet is not freed: the end of the journal finds it. */
static void component_on_a_list_is_not_freed(void)
{
	struct zj_txn *txn;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	txn = txn_of(tid);
	fx.hold_lane[0] = true;
	seal(0);
	/* On two, by now. */
	expect_warning("list_empty(&comp->");
	zj_component_free(fx.zj, txn->comp);
	warned();
	zj_txn_put(txn);
	close_aborted();
}

/* What breaks the rules of the tail, and what the assertion says. */
static const struct {
	bool	jbd2;
	const char *says;
} wrong_tails[] = {
	{ false, "stamp > zj->ckpt_stamp" },
	{ false, "stamp <= READ_ONCE(zj->committed_stamp)" },
	{ true, "(s32)(run - ring->tail_run) >= 0" },
	{ true, "tail < zj->geo.total_blocks" },
};

static void break_tail(int i)
{
	if (i == 0)
		fx.zj->ckpt_stamp = 100;
	if (i == 1)
		fx.zj->committed_stamp = 1;
	if (i == 2)
		fx.zj->ring.tail_run = 100;
	if (i == 3)
		fx.zj->geo.total_blocks = 2;
}

/* On the device the log begins where it did, and all of it is found. */
static void wrong_tail_does_not_reach_the_device(void)
{
	const struct zj_jbd2_super *sb;
	__be32 start, sequence;
	u64 stamp;

	for (u32 i = 0; i < ARRAY_SIZE(wrong_tails); i++) {
		OPEN(.lanes = 1, .jbd2 = wrong_tails[i].jbd2);
		sb = (const void *)fx.disk->seen[jblock(0)];
		change(0, BLOCK, 1);
		commit(0);
		start = sb->s_start;
		sequence = sb->s_sequence;
		stamp = wrong_tails[i].jbd2 ? 0 : stamp_on_disk();
		break_tail(i);
		expect_warning(wrong_tails[i].says);
		assert_int_equal(zj_checkpoint(fx.zj, true), -EIO);
		warned();
		assert_true(is_journal_aborted(fx.journal));
		sb = (const void *)fx.disk->seen[jblock(0)];
		assert_int_equal(sb->s_start, start);
		assert_int_equal(sb->s_sequence, sequence);
		assert_int_equal(errno_on_disk(), -EIO);
		if (!wrong_tails[i].jbd2)
			assert_int_equal(stamp_on_disk(), stamp);
		close_aborted();
	}
}

/* There is no thread any more that could write it. */
static void assertion_that_fails_at_the_end_is_recorded(void)
{
	OPEN();
	change(0, BLOCK, 1);
	lane(1)->starts_waiting = 1;
	expect_warning("starts_waiting");
	assert_int_equal(unmount_journal(), 0);
	warned();
	assert_int_equal(errno_on_disk(), -EIO);
	discard_disk();
}

/* ---- stages ---- */

static const struct bad_stage {
	enum zj_txn_stage from, to;
	const char *says;
	enum zj_txn_stage then;
} bad_stages[] = {
	/* Back, after it was finished. */
	{ ZJ_FINISHED, ZJ_FLUSHING, "txn->stage < to", ZJ_FINISHED },
	/* The same once more. */
	{ ZJ_RECORDED, ZJ_RECORDED, "txn->stage < to", ZJ_RECORDED },
	/* Nothing was copied, and no flush has begun. */
	{ ZJ_SEALED, ZJ_RECORDED, "txn->stage + 1 == to", ZJ_RECORDED },
	/* Its callbacks have not run. */
	{ ZJ_RECORDED, ZJ_FINISHED, "txn->stage + 1 == to", ZJ_FINISHED },
};

/* A stage is never taken back, and none is left out unless an abort drops the transaction. */
static void stages_come_one_after_the_other(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_stages); i++) {
		const struct bad_stage *bad = &bad_stages[i];
		struct zj_txn *txn;

		OPEN();
		txn = zj_txn_alloc(lane(0));
		txn->stage = bad->from;
		expect_warning(bad->says);
		zj_txn_advance(txn, bad->to);
		warned();
		assert_int_equal(txn->stage, bad->then);
		assert_true(is_journal_aborted(fx.journal));
		/* From now on everything is dropped, in any stage. */
		txn->stage = bad->from;
		if (bad->from < ZJ_FINISHED)
			zj_txn_advance(txn, ZJ_FINISHED);
		assert_int_equal(txn->stage, ZJ_FINISHED);
		zj_component_free(fx.zj, txn->comp);
		close_aborted();
	}
}

CORE_TESTS(assert,
	CORE_TEST(failed_assertion_aborts_and_wakes_all),
	CORE_TEST(assertions_that_fail_are_reported_once),
	CORE_TEST(assertion_may_fail_under_any_spinlock),
	CORE_TEST(abort_records_what_an_assertion_owes),
	CORE_TEST(abort_and_assertion_meet_anywhere),
	CORE_TEST(sealed_component_is_not_united_after_a_failed_assertion),
	CORE_TEST(component_on_a_list_is_not_freed),
	CORE_TEST(wrong_tail_does_not_reach_the_device),
	CORE_TEST(assertion_that_fails_at_the_end_is_recorded),
	CORE_TEST(stages_come_one_after_the_other),
);
