// SPDX-License-Identifier: GPL-2.0-only
/* FUA in place of a flush, and data that is written beside the log. */
#include "group_commit.h"

/* ---- FUA in place of a flush ---- */

static void change_many(u32 nr)
{
	handle_t *h = start(0, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
}

/* Everything before the record is durable without a flush; nothing else was written. */
static void few_log_blocks_need_no_flush(void)
{
	u64 before;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = lane_flushes();
	change_many(ZJ_FUA_BLOCKS - 2);
	assert_int_equal(lane_flushes() - before, 0);
	assert_int_equal(val_after_crash(BLOCK + ZJ_FUA_BLOCKS - 3), 7);
	change_many(ZJ_FUA_BLOCKS);
	assert_int_equal(lane_flushes() - before, 1);
	close_journal();
}

static void data_in_the_cache_needs_one(void)
{
	u64 before;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = lane_flushes();
	zj_journal_data_written(fx.journal);
	change_many(1);
	assert_int_equal(lane_flushes() - before, 1);
	change_many(1);
	assert_int_equal(lane_flushes() - before, 1);
	close_journal();
}

/* One member of the run has too many blocks for FUA: one flush serves all of them. */
static void one_in_the_cache_needs_one(void)
{
	struct fiber *f[3];
	handle_t *h;
	u64 before;
	tid_t tid;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = lane_flushes();
	fx.hold_block = next_image();
	f[0] = fsync_of(BLOCK + 200, 1);
	f[1] = fsync_of(BLOCK + 201, 2);
	h = start(0, ZJ_FUA_BLOCKS);
	for (u32 i = 0; i < ZJ_FUA_BLOCKS; i++)
		put(h, BLOCK + i, 3);
	tid = handle_txn(h)->public.t_tid;
	stop(h);
	f[2] = GO(call_complete, .tid = tid);
	settle();
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(lane_flushes() - before, 1);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

/* ---- data beside the log ---- */

static void commit_begins_before_the_data_is_there(void)
{
	struct fiber *f;
	struct file file;
	u32 image, before;
	handle_t *h;
	tid_t tid;

	JBD2(.no_fua = true);
	file_init(&file);
	fx.data_block = 900;
	h = start(0, 1);
	tid = handle_txn(h)->public.t_tid;
	put(h, BLOCK, 1);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 0, 10), 0);
	stop(h);
	before = now();
	image = next_image();
	fx.hold_block = 900;
	zj_journal_commit_early(fx.journal, tid);
	settle();
	/* The log is there, its record and the flush before it are not. */
	assert_true(written(image, before) > 0);
	assert_false(flushed_between(before, now()));
	assert_int_equal(val_after_crash(BLOCK), 0);
	f = GO(call_complete, .tid = tid);
	settle();
	assert_false(f->done);
	before = now();
	release();
	join(f);
	assert_true(flushed_between(before, now()));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

/* While the lane's thread is busy others may still join. */
static void commit_begins_early_if_the_lane_is_idle(void)
{
	tid_t first, tid;

	JBD2(.versions = 1);
	fx.zj->max_copies = 0;
	fx.hold_block = next_image();
	first = change(0, BLOCK, 1);
	zj_journal_commit_early(fx.journal, first);
	let_run();
	assert_true(stage_of(first) >= ZJ_SEALED);
	tid = change(0, BLOCK + 1, 2);
	zj_journal_commit_early(fx.journal, tid);
	let_run();
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	release();
	commit(0);
	/* The tid does not exist any more. */
	zj_journal_commit_early(fx.journal, tid);
	close_journal();
}

/* ---- what FUA costs ---- */

/* While runs follow each other, FUA is taken where it costs half a flush at most. */
static void fua_is_weighed_against_flushes(void)
{
	JBD2();
	change(0, BLOCK, 1);
	commit(0);
	/* The time that the device took, in virtual time. */
	assert_in_range(lane(0)->record_ns[1], 1, 1000 * NSEC_PER_MSEC);
	fx.zj->options.live.log_fua = true;
	lane(0)->record_ns[0] = 100;
	lane(0)->record_ns[1] = 300;
	fx.zj->flush.mean_ns = 398;
	/* A lone run needs no flush with FUA. */
	lane(0)->lone_runs_left = 0;
	assert_true(zj_log_wants_fua(lane(0), 1));
	lane(0)->lone_runs_left = 1;
	assert_false(zj_log_wants_fua(lane(0), 1));
	fx.zj->flush.mean_ns = 400;
	assert_true(zj_log_wants_fua(lane(0), 1));
	assert_true(zj_log_wants_fua(lane(0), ZJ_FUA_BLOCKS));
	assert_false(zj_log_wants_fua(lane(0), ZJ_FUA_BLOCKS + 1));
	close_journal();
}

/* A record that takes this long. */
static s64 time_of_a_record(bool fua, u32 ms)
{
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	sleep_ms(ms);
	release();
	settle();
	return lane(0)->record_ns[fua];
}

/* The first one counts in full, each later one for a quarter. */
static void time_of_records_is_a_running_mean(void)
{
	const s64 ms = NSEC_PER_MSEC;

	for (u32 fua = 0; fua < 2; fua++) {
		OPEN(.pipeline = true, .lanes = 1, .no_fua = !fua);
		lane(0)->record_ns[fua] = 0;
		lane(0)->record_ns[!fua] = 5;
		assert_in_range(time_of_a_record(fua, 100), 90 * ms, 110 * ms);
		lane(0)->record_ns[fua] = 400 * ms;
		assert_in_range(time_of_a_record(fua, 200), 347 * ms, 353 * ms);
		assert_int_equal(lane(0)->record_ns[!fua], 5);
		close_journal();
	}
}

CORE_TESTS(log_fua,
	CORE_TEST(time_of_records_is_a_running_mean),
	CORE_TEST(few_log_blocks_need_no_flush),
	CORE_TEST(data_in_the_cache_needs_one),
	CORE_TEST(one_in_the_cache_needs_one),
	CORE_TEST(commit_begins_before_the_data_is_there),
	CORE_TEST(commit_begins_early_if_the_lane_is_idle),
	CORE_TEST(fua_is_weighed_against_flushes),
);
