// SPDX-License-Identifier: GPL-2.0-only
/* flush.c: which writes a flush covers, and which task issues it. */
#include "fixture.h"

/* Starts a flush that is stuck in the device, or behind one that is. */
static struct fiber *begin(void)
{
	struct fiber *f = GO(call_flush);

	settle();
	assert_false(f->done);
	return f;
}

/* Requests in flight end; later ones are held back. */
static void end_one(void)
{
	release();
	fx.hold_flush = true;
	settle();
}

static void lone_callers_flush_each(void)
{
	u32 before;

	OPEN();
	before = flushes();
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* Reported data is flushed once; data that was not reported was written with FUA. */
static void reported_data_is_flushed_once(void)
{
	u32 before;

	OPEN();
	report_data();
	before = flushes();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 0);
	zj_journal_data_written(fx.journal);
	zj_journal_data_written(fx.journal);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* In stock's format only if log blocks go out with FUA, too. */
static void fua_data_where_it_saves_a_flush(void)
{
	OPEN();
	assert_false(zj_journal_wants_fua(fx.journal, 0));
	report_data();
	assert_true(zj_journal_wants_fua(fx.journal, 0));
	close_journal();
	OPEN(.jbd2 = true, .lanes = 1);
	report_data();
	assert_false(zj_journal_wants_fua(fx.journal, 0));
	RECONFIGURE(.log_fua = true);
	assert_true(zj_journal_wants_fua(fx.journal, 0));
	close_journal();
}

/* Older data of the file is flushed with it: no block goes out with FUA over it. */
static void no_fua_where_a_flush_is_due(void)
{
	u64 written = 0;

	OPEN();
	report_data();
	zj_journal_inode_written(fx.journal, &written);
	assert_false(zj_journal_wants_fua(fx.journal, written));
	assert_true(zj_journal_wants_fua(fx.journal, 0));
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_true(zj_journal_wants_fua(fx.journal, written));
	zj_journal_data_written(fx.journal);
	assert_false(zj_journal_wants_fua(fx.journal, 0));
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_true(zj_journal_wants_fua(fx.journal, 0));
	close_journal();
}

static void unreported_data_is_always_flushed(void)
{
	u32 before;

	OPEN();
	before = flushes();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* A flush in flight may have missed what is reported now: the next one covers it. */
static void reported_during_a_flush(void)
{
	struct fiber *first, *second;

	OPEN();
	report_data();
	fx.hold_flush = true;
	first = begin();
	zj_journal_data_written(fx.journal);
	second = GO(call_flush_reported);
	settle();
	end_one();
	assert_true(first->done);
	assert_false(second->done);
	release();
	join(first);
	join(second);
	close_journal();
}

/* Only transactions that have taken an inode's number flush for its data. */
static void an_inode_s_data_is_its_own(void)
{
	u64 written = 0;
	u32 before;

	OPEN();
	report_data();
	before = flushes();
	zj_journal_inode_written(fx.journal, &written);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes() - before, 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* A handle that changes the inode takes the number, even if it took one before. */
static void a_commit_flushes_what_it_has_taken(void)
{
	u64 written = 0;
	handle_t *h;
	u32 before;

	OPEN(.lanes = 2);
	report_data();
	before = flushes();
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	zj_journal_inode_written(fx.journal, &written);
	put(h, BLOCK, 1);
	stop(h);
	change(0, BLOCK + 1, 1);
	commit(0);
	assert_int_equal(flushes() - before, 0);
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	put(h, BLOCK, 2);
	stop(h);
	change(1, BLOCK + 2, 1);
	commit(1);
	assert_int_equal(flushes() - before, 0);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	/* It is covered now: the next one takes it for nothing. */
	h = start(0, 1);
	zj_journal_take_written(h, &written);
	put(h, BLOCK, 3);
	stop(h);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* An fsync hands over what no handle has; too late, and it has to flush itself. */
static void an_fsync_hands_its_data_over(void)
{
	u64 written = 0;
	tid_t tid;
	u32 before;

	OPEN();
	report_data();
	zj_journal_inode_written(fx.journal, &written);
	before = flushes();
	tid = change(0, BLOCK, 1);
	assert_true(zj_trans_takes_written(fx.journal, tid, written));
	fx.hold_flush = true;
	seal(0);
	settle();
	zj_journal_inode_written(fx.journal, &written);
	assert_false(zj_trans_takes_written(fx.journal, tid, written));
	release();
	settle();
	assert_int_equal(flushes() - before, 1);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), 0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* A number noted in an inode outlives the inode, and any sync flushes for it. */
static void what_is_noted_is_not_lost(void)
{
	u64 written = 0, other = 0;
	u32 before;

	OPEN();
	report_data();
	before = flushes();
	zj_journal_inode_written(fx.journal, &written);
	zj_journal_written_by_all(fx.journal, written);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	/* Covered: no reason for another. */
	zj_journal_written_by_all(fx.journal, written);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(flushes() - before, 1);
	zj_journal_inode_written(fx.journal, &other);
	zj_journal_written_by_all(fx.journal, ULLONG_MAX);
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* It may have missed the newcomers' writes. */
static void flush_in_flight_is_not_joined(void)
{
	struct fiber *first, *second;

	OPEN();
	fx.hold_flush = true;
	first = begin();
	second = begin();
	end_one();
	assert_true(first->done);
	assert_false(second->done);
	assert_int_equal(nr_held(), 1);
	release();
	join(first);
	join(second);
	assert_int_equal(second->ret, 0);
	close_journal();
}

static void all_who_wait_share_the_next_flush(void)
{
	struct fiber *f[4];
	u32 before;

	OPEN();
	before = flushes();
	fx.hold_flush = true;
	for (int i = 0; i < 4; i++)
		f[i] = begin();
	end_one();
	release();
	for (int i = 0; i < 4; i++)
		join(f[i]);
	assert_int_equal(flushes() - before, 2);
	close_journal();
}

/* Who is covered goes on, even if the next flush has begun by the time it is awake. */
static void next_flush_does_not_keep_who_is_covered(void)
{
	struct fiber *first, *leader, *covered, *next;

	OPEN();
	fx.hold_flush = true;
	first = begin();
	covered = begin();
	/* Another one leads the flush that it waits for. */
	stop_at_point(&covered->task->task, 1);
	end_one();
	assert_true(first->done);
	leader = begin();
	go_on(&covered->task->task);
	next = begin();
	stop_at_point(&covered->task->task, 1);
	end_one();
	assert_true(leader->done);
	assert_true(stopped(&covered->task->task));
	assert_int_equal(nr_held(), 1);
	go_on(&covered->task->task);
	settle();
	assert_true(covered->done);
	assert_false(next->done);
	release();
	join(first);
	join(leader);
	join(covered);
	join(next);
	close_journal();
}

static void failure_reaches_all_who_ask_from_then_on(void)
{
	struct fiber *first, *second, *third;

	OPEN();
	fx.hold_flush = true;
	first = begin();
	second = begin();
	third = begin();
	end_one();
	fail_next_flush();
	release();
	join(first);
	join(second);
	join(third);
	assert_int_equal(first->ret, 0);
	assert_int_equal(second->ret, -EIO);
	assert_int_equal(third->ret, -EIO);
	for (int i = 0; i < 2; i++)
		assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	close_aborted();
}

/* Two components in two lanes: tasks that arrive during a flush share the next one. */
static void commits_of_several_lanes_share_flushes(void)
{
	u32 before;

	OPEN(.lanes = 4);
	before = flushes();
	fx.hold_flush = true;
	for (int i = 0; i < 4; i++) {
		change(i, BLOCK + i, 1);
		seal(i);
		settle();
	}
	release();
	settle();
	assert_int_equal(flushes() - before, 2);
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_journal();
}

/* ---- calls that meet anywhere ---- */

/**
 * struct asked - an inode's data, and what its flush has returned
 */
struct asked {
	u64	written;
	int	ret;
};

static void call_flush_inode(struct fiber *f)
{
	struct asked *a = f->p;

	a->ret = zj_journal_flush_reported(fx.journal, a->written);
}

/* Every task whose writes the failed flush should have covered gets its error. */
static void failure_is_seen_with_its_flush(void)
{
	struct asked one, other;
	bool more;
	int n = 1;

	do {
		/* The error stays, so each time it is another journal's. */
		OPEN();
		report_data();
		one = other = (struct asked){ };
		zj_journal_inode_written(fx.journal, &one.written);
		zj_journal_inode_written(fx.journal, &other.written);
		fail_next_flush();
		more = preempt_at(n++, CALL(call_flush_inode, .p = &one),
				  CALL(call_flush_inode, .p = &other));
		assert_int_equal(one.ret, -EIO);
		assert_int_equal(other.ret, -EIO);
		close_aborted();
	} while (more);
	assert_true(n > 20);
}

static u64 noted;

static void call_note(struct fiber *f)
{
	if (f->n)
		zj_journal_inode_written(fx.journal, &noted);
	else
		zj_journal_data_written(fx.journal);
}

/* Data, a flush, and data again. */
static void call_flush_and_note(struct fiber *f)
{
	assert_int_equal(zj_journal_flush_data(fx.journal), 0);
	call_note(f);
}

/* The higher number stays: what is noted last is not covered yet. */
static void note_of_a_flush_never_goes_back(void)
{
	bool more;
	int n = 1;
	u32 before;

	OPEN();
	report_data();
	for (int inode = 0; inode < 2; inode++) {
		do {
			more = preempt_at(n++, CALL(call_note, .n = inode),
					  CALL(call_flush_and_note, .n = inode));
			before = flushes();
			assert_int_equal(zj_journal_flush_reported(fx.journal,
							inode ? noted : 0), 0);
			assert_int_equal(flushes() - before, 1);
		} while (more);
		assert_true(n > 3);
		n = 1;
	}
	close_journal();
}

static void call_written_by_all(struct fiber *f)
{
	zj_journal_written_by_all(fx.journal, *(u64 *)f->p);
}

/* A number that the flush in flight does not cover is not replaced by one that it covers. */
static void older_note_does_not_hide_a_newer_one(void)
{
	struct fiber *f;
	u64 older;
	bool more;
	int n = 1;
	u32 before;

	OPEN();
	report_data();
	do {
		older = 0;
		zj_journal_inode_written(fx.journal, &older);
		fx.hold_flush = true;
		f = begin();
		more = preempt_at(n++, CALL(call_note), CALL(call_written_by_all, .p = &older));
		release();
		join(f);
		before = flushes();
		assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
		assert_int_equal(flushes() - before, 1);
	} while (more);
	assert_true(n > 3);
	close_journal();
}

/* A sync flushes for the highest number noted in an inode, and only once. */
static void all_that_inodes_noted_is_flushed_once(void)
{
	u64 written = 0;
	u32 before;

	OPEN();
	report_data();
	zj_journal_inode_written(fx.journal, &written);
	zj_journal_written_by_all(fx.journal, ULLONG_MAX);
	before = flushes();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), 0);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

static void call_take(struct fiber *f)
{
	zj_txn_take_written(f->p, f->n);
}

static void transaction_keeps_the_newest_that_it_has_taken(void)
{
	struct transaction_s txn;
	bool more;
	int n = 1;

	OPEN();
	do {
		txn.t_written = 0;
		more = preempt_at(n++, CALL(call_take, .p = &txn, .n = 5),
				  CALL(call_take, .p = &txn, .n = 9));
		assert_int_equal(txn.t_written, 9);
	} while (more);
	assert_true(n > 3);
	close_journal();
}

static tid_t committing;
static bool promised;

static void begin_commit(void)
{
	seal(0);
}

/* An fsync that has written data and finds a commit to see to it. */
static void call_hand_over(struct fiber *f)
{
	noted = 0;
	zj_journal_inode_written(fx.journal, &noted);
	promised = zj_trans_takes_written(fx.journal, committing, noted);
}

/* A commit that has promised to flush data does so, wherever it was at that moment. */
static void promised_data_is_flushed(void)
{
	int n = 1, kept = 0;
	bool more;

	OPEN();
	report_data();
	do {
		committing = change(0, BLOCK, n);
		more = preempt_task_at(n++, lane(0)->task, begin_commit,
				       CALL(call_hand_over));
		assert_int_equal(stage_of(committing), ZJ_COMMITTED);
		if (promised)
			assert_true(fx.zj->flush.done >= noted);
		kept += promised;
	} while (more);
	assert_true(kept > 5 && kept < n - 5);
	close_journal();
}

/* Flushes that meet anywhere: all end, and each covers its caller's writes. */
static void flushes_meet_anywhere(void)
{
	struct asked one, other;
	bool more;
	int n = 1;

	OPEN();
	report_data();
	do {
		one = other = (struct asked){ };
		zj_journal_inode_written(fx.journal, &one.written);
		zj_journal_inode_written(fx.journal, &other.written);
		more = preempt_at(n++, CALL(call_flush_inode, .p = &one),
				  CALL(call_flush_inode, .p = &other));
		assert_int_equal(one.ret | other.ret, 0);
		assert_true(fx.zj->flush.done >= other.written);
	} while (more);
	close_journal();
}

/* A quarter of the newest, three of what was known; the first one is all of it. */
static void time_of_a_flush_is_averaged(void)
{
	u64 first;

	OPEN();
	fx.zj->flush.mean_ns = 0;
	assert_int_equal(zj_dev_flush(fx.zj, lane(0)), 0);
	first = fx.zj->flush.mean_ns;
	assert_in_range(first, NSEC_PER_MSEC, NSEC_PER_MSEC + 10000);
	fx.zj->flush.mean_ns = 9 * NSEC_PER_MSEC;
	assert_int_equal(zj_dev_flush(fx.zj, lane(0)), 0);
	assert_in_range(fx.zj->flush.mean_ns, 7 * NSEC_PER_MSEC, 7 * NSEC_PER_MSEC + 10000);
	close_journal();
}

/* Its error is known by then. */
static void flush_of_an_aborted_log_says_nothing(void)
{
	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags |= JBD2_BARRIER;
	zj_journal_abort(fx.journal, -EIO);
	fail_next_flush();
	assert_int_equal(zj_log_flush(fx.zj, lane(0)), -EIO);
	assert_false(said("cache failed"));
	close_aborted();
}

CORE_TESTS(flush,
	CORE_TEST(older_note_does_not_hide_a_newer_one),
	CORE_TEST(all_that_inodes_noted_is_flushed_once),
	CORE_TEST(flush_of_an_aborted_log_says_nothing),
	CORE_TEST(time_of_a_flush_is_averaged),
	CORE_TEST(failure_is_seen_with_its_flush),
	CORE_TEST(note_of_a_flush_never_goes_back),
	CORE_TEST(transaction_keeps_the_newest_that_it_has_taken),
	CORE_TEST(promised_data_is_flushed),
	CORE_TEST(flushes_meet_anywhere),
	CORE_TEST(lone_callers_flush_each),
	CORE_TEST(reported_data_is_flushed_once),
	CORE_TEST(fua_data_where_it_saves_a_flush),
	CORE_TEST(no_fua_where_a_flush_is_due),
	CORE_TEST(unreported_data_is_always_flushed),
	CORE_TEST(reported_during_a_flush),
	CORE_TEST(an_inode_s_data_is_its_own),
	CORE_TEST(a_commit_flushes_what_it_has_taken),
	CORE_TEST(an_fsync_hands_its_data_over),
	CORE_TEST(what_is_noted_is_not_lost),
	CORE_TEST(flush_in_flight_is_not_joined),
	CORE_TEST(all_who_wait_share_the_next_flush),
	CORE_TEST(next_flush_does_not_keep_who_is_covered),
	CORE_TEST(failure_reaches_all_who_ask_from_then_on),
	CORE_TEST(commits_of_several_lanes_share_flushes),
);
