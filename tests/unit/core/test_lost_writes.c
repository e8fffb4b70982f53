// SPDX-License-Identifier: GPL-2.0-only
/* Writes lost by a failed flush: which tasks get the error, and what must not be committed. */
#include "fixture.h"

/* Other data makes a flush necessary: that one brings nothing back. */
static void lost_data_of_an_inode_stays_lost(void)
{
	u64 written = 0;

	OPEN();
	report_data();
	zj_journal_inode_written(fx.journal, &written);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), -EIO);
	zj_journal_data_written(fx.journal);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), -EIO);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), -EIO);
	/* Nobody knows what else was lost: newer data does not end it. */
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), -EIO);
	zj_journal_inode_written(fx.journal, &written);
	assert_int_equal(zj_journal_flush_reported(fx.journal, written), -EIO);
	close_aborted();
}

/* Every task gets the error of reported data, also when newer data is reported. */
static void lost_reported_data_is_everybodys(void)
{
	OPEN();
	report_data();
	zj_journal_data_written(fx.journal);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), -EIO);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), -EIO);
	zj_journal_data_written(fx.journal);
	assert_int_equal(zj_journal_flush_reported(fx.journal, 0), -EIO);
	close_aborted();
}

/* The flush that was to cover it was on its way already: the next one does not. */
static void lost_by_a_flush_in_flight(void)
{
	static void (*const calls[])(struct fiber *f) = { call_flush_reported, call_flush };
	struct fiber *first, *second;

	for (u32 i = 0; i < ARRAY_SIZE(calls); i++)
		for (u32 reported = 0; reported < 2; reported++) {
			OPEN();
			if (reported)
				report_data();
			zj_journal_data_written(fx.journal);
			fail_next_flush();
			fx.hold_flush = true;
			first = GO(call_flush);
			settle();
			assert_int_equal(nr_held(), 1);
			second = go_fiber(&(struct fiber){ .fn = calls[i] });
			settle();
			release();
			join(first);
			join(second);
			assert_int_equal(first->ret, -EIO);
			assert_int_equal(second->ret, -EIO);
			close_aborted();
		}
}

/*
 * A flush of another task has lost what was in the cache: to the next one nothing is
 * wrong, and neither the inode nor newer data of others may hide that.
 */
static void commit_of_what_was_lost(bool evicted, bool other_data)
{
	u64 written = 0;
	tid_t tid;

	OPEN();
	report_data();
	tid = change(0, BLOCK, 1);
	zj_journal_inode_written(fx.journal, &written);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	if (evicted)
		zj_journal_written_by_all(fx.journal, written);
	if (other_data)
		zj_journal_data_written(fx.journal);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_aborted();
}

static void nothing_is_committed_once_a_flush_has_failed(void)
{
	commit_of_what_was_lost(false, false);
	commit_of_what_was_lost(false, true);
	commit_of_what_was_lost(true, false);
	commit_of_what_was_lost(true, true);
}

/* Its log blocks were in the cache and lost: no commit block may follow them. */
static void log_blocks_that_a_flush_has_lost_are_not_committed(void)
{
	struct zj_txn *txn;
	struct fiber *f;
	u32 at, before;

	OPEN(.lanes = 1, .jbd2 = true, .no_fua = true);
	at = fx.zj->ring.head;
	before = now();
	f = GO(call_complete, .tid = change(0, BLOCK, 1));
	txn = running(0);
	/* It looks for data to send, fixes its parts, and waits for data to be there. */
	stop_before(lane(0)->task, &txn->list_lock, 3);
	settle();
	assert_true(stopped(lane(0)->task));
	assert_true(written(jblock(at), before) >= 0);
	assert_int_equal(nr_held(), 0);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	go_on(lane(0)->task);
	join(f);
	assert_int_equal(f->ret, -EIO);
	assert_int_equal(val_after_crash(BLOCK), 0);
	zj_txn_put(txn);
	close_aborted();
}

/* Home writes were lost, too: the log keeps their images. */
static void home_writes_that_a_flush_has_lost_are_not_reclaimed(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_int_equal(home_val(BLOCK), 1);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	assert_int_equal(zj_checkpoint(fx.zj, true), -EIO);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_true(complained("cache failed"));
	close_aborted();
}

/* The flush of the log blocks brings back no data that an older one has lost. */
static void commit_that_flushes_its_log_fails_for_lost_data_as_well(void)
{
	u64 written = 0;
	tid_t tid;

	OPEN(.lanes = 1, .jbd2 = true, .no_fua = true);
	report_data();
	tid = change(0, BLOCK, 1);
	zj_journal_inode_written(fx.journal, &written);
	fail_next_flush();
	assert_int_equal(zj_journal_flush_data(fx.journal), -EIO);
	/* An fsync relies on this commit to report the error. */
	assert_true(zj_trans_takes_written(fx.journal, tid, written));
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_aborted();
}

/*
 * So does the flush that marking the log as empty begins with: a freeze or a direct read asks
 * for that, and whoever syncs data of another file later must learn that it is lost.
 */
static void flush_before_the_log_is_marked_as_empty_loses_data_of_others(bool external)
{
	u64 written = 0;
	tid_t tid;

	OPEN(.external = external);
	tid = change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	zj_journal_inode_written(fx.journal, &written);
	fail_next_flush();
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), -EIO);
	zj_journal_unlock_updates(fx.journal);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(complained("marking the log as empty"));
	assert_true(zj_journal_is_live(fx.journal));
	close_aborted();
}

static void data_that_marking_the_log_as_empty_has_lost_stays_lost(void)
{
	flush_before_the_log_is_marked_as_empty_loses_data_of_others(false);
	flush_before_the_log_is_marked_as_empty_loses_data_of_others(true);
}

CORE_TESTS(lost_writes,
	CORE_TEST(lost_data_of_an_inode_stays_lost),
	CORE_TEST(lost_reported_data_is_everybodys),
	CORE_TEST(nothing_is_committed_once_a_flush_has_failed),
	CORE_TEST(log_blocks_that_a_flush_has_lost_are_not_committed),
	CORE_TEST(home_writes_that_a_flush_has_lost_are_not_reclaimed),
	CORE_TEST(lost_by_a_flush_in_flight),
	CORE_TEST(data_that_marking_the_log_as_empty_has_lost_stays_lost),
	CORE_TEST(commit_that_flushes_its_log_fails_for_lost_data_as_well),
);
