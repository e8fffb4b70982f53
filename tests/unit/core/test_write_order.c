// SPDX-License-Identifier: GPL-2.0-only
/* commit.c: what is durable before what, with and without a cache, FUA and barriers. */
#include "fixture.h"

static void ordered_data_is_durable_before_the_record_goes_out(void)
{
	u32 before, data, record;
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	fx.data_block = 500;
	before = now();
	h = start(0, 1);
	put(h, BLOCK, 1);
	zj_journal_inode_ranged_write(h, &file.jinode, 0, DISK_BLOCK);
	stop(h);
	fx.hold_block = 500;
	seal(0);
	settle();
	/* The data is in flight: nothing else may go out. */
	assert_int_equal(record_written(before), -1);
	release();
	settle();
	data = written(500, before);
	record = record_written(before);
	assert_true(data < record);
	assert_true(flushed_between(data, record));
	close_journal();
}

static void record_waits_for_the_flush(void)
{
	u32 before;
	tid_t tid;

	OPEN();
	before = now();
	tid = change(0, BLOCK, 1);
	fx.hold_flush = true;
	seal(0);
	settle();
	assert_int_equal(nr_held(), 1);
	assert_int_equal(record_written(before), -1);
	release();
	settle();
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	close_journal();
}

static void survives(struct zj_txn *txn)
{
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
}

/* Committed changes survive on every kind of device. */
static void committed_is_durable(void)
{
	handle_t *a, *b;

	fx.on_commit = survives;
	a = start(0, 1);
	b = start(1, 2);
	put(a, BLOCK, 1);
	put(b, BLOCK, 1);
	put(b, BLOCK + 1, 1);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(fx.nr_calls, 2);
}

static void committed_is_durable_with_fua(void)
{
	u64 flushes;

	OPEN();
	flushes = fx.disk->flushes;
	committed_is_durable();
	/* Before the records: one each, or one for both. */
	assert_in_range(fx.disk->flushes - flushes, 1, 2);
	close_journal();
}

static void committed_is_durable_without_fua(void)
{
	u64 flushes;

	OPEN(.no_fua = true);
	flushes = fx.disk->flushes;
	committed_is_durable();
	/* Before the records one each, or one for both; after them one for both. */
	assert_in_range(fx.disk->flushes - flushes, 2, 3);
	close_journal();
}

static void all_data_in_the_log_means_no_flush_before_the_record(void)
{
	u64 flushes;

	OPEN();
	fx.journal->j_flags |= ZJ_DATA_JOURNALED;
	flushes = fx.disk->flushes;
	committed_is_durable();
	assert_int_equal(fx.disk->flushes - flushes, 0);
	assert_true(zj_trans_will_send_data_barrier(fx.journal, 0));
	close_journal();
}

static void all_data_in_the_log_without_fua_means_one_flush(void)
{
	u64 flushes;

	OPEN(.no_fua = true);
	fx.journal->j_flags |= ZJ_DATA_JOURNALED;
	flushes = fx.disk->flushes;
	committed_is_durable();
	assert_int_equal(fx.disk->flushes - flushes, 1);
	close_journal();
}

static void committed_is_durable_without_a_cache(void)
{
	u64 flushes;

	OPEN(.no_cache = true);
	flushes = fx.disk->flushes;
	committed_is_durable();
	assert_int_equal(fx.disk->flushes - flushes, 0);
	close_journal();
}

static void no_barrier_means_no_flush(void)
{
	u32 flushes;

	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	flushes = fx.disk->flushes;
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(fx.disk->flushes, flushes);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
}

/* On, off, on: @off is done without barriers; what comes later is not to outlive it. */
static void barriers_again(const struct setup *setup, u32 lane, void (*off)(void))
{
	struct image *image;

	open_journal(setup);
	report_data();
	change(0, 2, 2);
	commit(0);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	off();
	fx.journal->j_flags |= JBD2_BARRIER;
	change(lane, BLOCK + 1, 1);
	/* No task waits for it, which would flush. */
	seal(lane);
	settle();
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	assert_int_equal(image_val(image, BLOCK + 1), 1);
	image_free(image);
	close_journal();
}

static void change_and_commit(void)
{
	change(0, BLOCK, 1);
	commit(0);
}

/* The log starts again, in a new generation. */
static void begin_anew(void)
{
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	change_and_commit();
}

/* The checkpoint stamp goes on, and what it frees is used again. */
static void use_space_again(void)
{
	change_and_commit();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change_and_commit();
}

static void with_barriers_again_all_before_is_durable(void)
{
	static const struct setup setups[] = {
		{ .lanes = 2, .journal = 2048 },
		{ .lanes = 2, .journal = 2048, .no_fua = true },
		{ .lanes = 2, .journal = 2048, .pipeline = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true, .pipeline = true },
	};

	for (u32 i = 0; i < ARRAY_SIZE(setups); i++)
		for (u32 lane = 0; lane < setups[i].lanes; lane++) {
			barriers_again(&setups[i], lane, change_and_commit);
			barriers_again(&setups[i], lane, begin_anew);
			barriers_again(&setups[i], lane, use_space_again);
		}
}

/* The same with nothing left to commit, only to flush. */
static void fsync_after_that_flushes(void)
{
	u64 counted;
	u32 flushes;
	tid_t tid;

	OPEN();
	tid = change(0, 2, 2);
	commit(0);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change_and_commit();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	flushes = fx.disk->flushes;
	counted = lane(0)->stats.flushes;
	fx.journal->j_flags |= JBD2_BARRIER;
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	assert_int_equal(zj_log_wait_commit(fx.journal, tid), 0);
	assert_int_equal(fx.disk->flushes, flushes + 1);
	assert_int_equal(lane(0)->stats.flushes, counted + 1);
	close_journal();
}

/* The flush has lost what was already committed. */
static void fsync_that_cannot_flush_it_aborts(void)
{
	tid_t tid;

	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	tid = change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags |= JBD2_BARRIER;
	fail_next_flush();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(said("cache failed"));
	close_aborted();
}

/* A record that was on its way when barriers came back is waited for, and flushed. */
static void fsync_of_what_is_on_its_way_flushes(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	fx.hold_lane[0] = true;
	tid = change(0, BLOCK, 1);
	seal(0);
	settle();
	assert_int_equal(nr_held(), 1);
	fx.journal->j_flags |= JBD2_BARRIER;
	f = GO(call_complete, .tid = tid);
	settle();
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

/* It gets that flush's error as well. */
static void fsync_of_what_is_on_its_way_fails_with_its_flush(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	fx.hold_lane[0] = true;
	tid = change(0, BLOCK, 1);
	seal(0);
	settle();
	fx.journal->j_flags |= JBD2_BARRIER;
	f = GO(call_complete, .tid = tid);
	settle();
	fail_next_flush();
	release();
	join(f);
	assert_int_equal(f->ret, -EIO);
	close_aborted();
}

static void barriers_come_back(struct zj_txn *txn)
{
	fx.journal->j_flags |= JBD2_BARRIER;
	fail_next_flush();
}

/* The same result if it is committed by then. */
static void fsync_of_what_is_committed_without_a_flush_fails_with_its_own(void)
{
	struct fiber *f;

	OPEN();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	fx.hold_lane[0] = true;
	f = GO(call_complete, .tid = change(0, BLOCK, 1));
	settle();
	fx.on_commit = barriers_come_back;
	release();
	join(f);
	fx.on_commit = NULL;
	assert_int_equal(f->ret, -EIO);
	close_aborted();
}

/* A live block 0 must not be there without the log super block. */
static void log_super_block_is_durable_without_barriers(void)
{
	struct zj_log_geometry geo;
	struct image *image;

	OPEN(.new = true);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change_and_commit();
	image = cut_power();
	assert_null(zj_decode_log_super(image->block[jblock(ZJ_BLOCK_LOG_SUPER)],
					&geo));
	image_free(image);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
}

/* The checkpoint stamp is lost, and the space that it freed was used again: no damage. */
static void log_without_barriers_is_not_refused(void)
{
	struct image *image, *durable;

	OPEN();
	change_and_commit();
	change_and_commit();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	use_space_again();
	durable = cut_power();
	image = keep_all();
	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++)
		image->block[jblock(ZJ_BLOCK_CKPT + i)] =
			durable->block[jblock(ZJ_BLOCK_CKPT + i)];
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(durable);
	image_free(image);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
}

static void begin_lane_1(void)
{
	seal(1);
}

/* The checkpoint stamp moves without a flush, and freed space is used again; n: barriers. */
static void call_checkpoint_without_barriers(struct fiber *f)
{
	fx.journal->j_flags &= ~JBD2_BARRIER;
	zj_checkpoint(fx.zj, false);
	if (f->n)
		fx.journal->j_flags |= JBD2_BARRIER;
	change_and_commit();
}

/* After the checkpoint stamp has moved without a flush, no header names a committed stamp. */
static void checkpoint_without_barriers_beside_a_header(bool on_again)
{
	struct fiber ckpt = { .fn = call_checkpoint_without_barriers, .n = on_again };
	struct image *image, *durable;
	bool more;
	int n = 1;

	do {
		OPEN(.new = true);
		/* The generation's first record: it names nothing durable. */
		change_and_commit();
		assert_false(fx.zj->stamped);
		change(1, BLOCK + 1, 1);
		more = preempt_task_at(n++, lane(1)->task, begin_lane_1, &ckpt);
		durable = cut_power();
		image = keep_all();
		for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++)
			image->block[jblock(ZJ_BLOCK_CKPT + i)] =
				durable->block[jblock(ZJ_BLOCK_CKPT + i)];
		assert_int_equal(recover_image(image), 0);
		image_free(durable);
		image_free(image);
		fx.journal->j_flags |= JBD2_BARRIER;
		close_journal();
	} while (more);
	assert_true(n > 10);
}

static void checkpoint_without_barriers_beside_the_first_stamped_header(void)
{
	checkpoint_without_barriers_beside_a_header(false);
	checkpoint_without_barriers_beside_a_header(true);
}

/* The thread of the lane that writes its records. */
static struct task_struct *writer(void)
{
	return lane(0)->flusher ?: lane(0)->task;
}

/* Let it go on to its @nth place; false if it has nothing left to do before that. */
static bool writer_stops(int nth)
{
	stop_at_point(writer(), nth);
	sleep_ms(12);
	let_run();
	return stopped(writer());
}

/*
 * Barriers go off at the @off-th place of a commit, and on again @on places later. What
 * is answered with barriers is durable. Returns 0: no such place, 1: the commit ends
 * without barriers, 2: neither.
 */
static int barriers_toggled(const struct setup *setup, int off, int on)
{
	struct image *image;
	int got = 0;
	tid_t tid;

	open_journal(setup);
	report_data();
	change(0, BLOCK, 1);
	commit(0);
	tid = change(0, BLOCK + 1, 1);
	stop_at_point(writer(), off);
	seal(0);
	sleep_ms(12);
	let_run();
	if (stopped(writer())) {
		got = 1;
		fx.journal->j_flags &= ~JBD2_BARRIER;
		stop_nowhere(writer());
		got += writer_stops(on);
		fx.journal->j_flags |= JBD2_BARRIER;
	}
	stop_nowhere(writer());
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	assert_int_equal(image_val(image, BLOCK + 1), 1);
	image_free(image);
	close_journal();
	return got;
}

static void barriers_may_toggle_within_a_commit(void)
{
	static const struct setup setups[] = {
		{ .lanes = 2, .journal = 2048 },
		{ .lanes = 2, .journal = 2048, .no_fua = true },
		{ .lanes = 2, .journal = 2048, .no_fua = true, .pipeline = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true, .no_fua = true,
		  .pipeline = true },
	};

	for (u32 i = 0; i < ARRAY_SIZE(setups); i++) {
		int off = 1, on, got;

		do {
			for (on = 1; ; on += 29) {
				got = barriers_toggled(&setups[i], off, on);
				if (got < 2)
					break;
			}
			off += 23;
		} while (got);
		assert_true(off > 10 * 23);
	}
}

CORE_TESTS(write_order,
	CORE_TEST(ordered_data_is_durable_before_the_record_goes_out),
	CORE_TEST(record_waits_for_the_flush),
	CORE_TEST(committed_is_durable_with_fua),
	CORE_TEST(committed_is_durable_without_fua),
	CORE_TEST(all_data_in_the_log_means_no_flush_before_the_record),
	CORE_TEST(all_data_in_the_log_without_fua_means_one_flush),
	CORE_TEST(committed_is_durable_without_a_cache),
	CORE_TEST(no_barrier_means_no_flush),
	CORE_TEST(with_barriers_again_all_before_is_durable),
	CORE_TEST(fsync_after_that_flushes),
	CORE_TEST(fsync_that_cannot_flush_it_aborts),
	CORE_TEST(fsync_of_what_is_on_its_way_flushes),
	CORE_TEST(fsync_of_what_is_on_its_way_fails_with_its_flush),
	CORE_TEST(fsync_of_what_is_committed_without_a_flush_fails_with_its_own),
	CORE_TEST(log_super_block_is_durable_without_barriers),
	CORE_TEST(log_without_barriers_is_not_refused),
	CORE_TEST(barriers_may_toggle_within_a_commit),
	CORE_TEST(checkpoint_without_barriers_beside_the_first_stamped_header),
);
