// SPDX-License-Identifier: GPL-2.0-only
/*
 * pipeline.c: runs and their flushes; versions of a buffer, and commits that are put
 * off while there are too many.
 */
#include "fixture.h"

#define JBD2(...)	OPEN(.jbd2 = true, .pipeline = true, .lanes = 1, ##__VA_ARGS__)
#define COMMIT_LOCKS	5	/* times that comp_lock is taken for a lone commit */
#define LANES(...)	OPEN(.pipeline = true, .lanes = 1, ##__VA_ARGS__)

/* An fsync of one changed block that cannot end before release(). */
static struct fiber *fsync_of(u32 block, u8 val)
{
	struct fiber *f = GO(call_complete, .tid = change(0, block, val));

	settle();
	return f;
}

static u64 flushes(void)
{
	return lane(0)->stats.flushes;
}

/* A block of the log that the next transaction's images go to. */
static u32 next_image(void)
{
	return jblock(fx.zj->ring.head + 1);
}

static void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, true);
}

/* Trimmed before its last member's thread has got back: it must not look again. */
static void component_may_be_gone_once_its_last_member_is_committed(void)
{
	struct task_struct *task;
	struct fiber *f;

	OPEN();
	task = lane(0)->task;
	change(0, BLOCK, 1);
	/* After: submitted, last record, committed, its dependants, finished. */
	stop_before(task, &fx.zj->comp_lock, COMMIT_LOCKS + 1);
	freeze(0);
	settle();
	assert_true(stopped(task));
	assert_int_equal(fx.zj->trimmed, 1);
	f = GO(call_checkpoint);
	settle();
	assert_int_equal(fx.zj->trimmed, 2);
	go_on(task);
	join(f);
	assert_int_equal(f->ret, 0);
	close_journal();
}

/* ---- runs ---- */

static void what_gathers_is_one_run(void)
{
	struct fiber *f[4];
	u64 before;

	for (u32 jbd2 = 0; jbd2 < 2; jbd2++) {
		OPEN(.pipeline = true, .lanes = 1, .jbd2 = jbd2);
		before = lane(0)->stats.runs;
		fx.hold_flush = true;
		for (u32 i = 0; i < 4; i++)
			f[i] = fsync_of(BLOCK + i, 1 + i);
		/* The first one's flush is in flight, the others are on their way. */
		assert_int_equal(lane(0)->depth, 4);
		assert_int_equal(nr_held(), 1);
		release();
		for (u32 i = 0; i < 4; i++)
			join(f[i]);
		assert_int_equal(lane(0)->stats.runs - before, 2);
		assert_int_equal(lane(0)->depth, 0);
		for (u32 i = 0; i < 4; i++)
			assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
		close_journal();
	}
}

/* The flush before a run's records is the one after those of the run before. */
static void flushes_are_rolled(void)
{
	struct fiber *first, *second;
	u64 before;

	JBD2(.no_fua = true);
	before = flushes();
	fx.hold_flush = true;
	first = fsync_of(BLOCK, 1);
	second = fsync_of(BLOCK + 1, 2);
	release();
	join(first);
	join(second);
	/* Log blocks of both, a record and the other's log blocks, a record. */
	assert_int_equal(flushes() - before, 3);
	close_journal();
}

static void answer_after_the_covering_flush(void)
{
	struct fiber *first, *second;

	for (u32 jbd2 = 0; jbd2 < 2; jbd2++) {
		OPEN(.pipeline = true, .lanes = 1, .jbd2 = jbd2,
		     .no_fua = true);
		fx.hold_flush = true;
		first = fsync_of(BLOCK, 1);
		second = fsync_of(BLOCK + 1, 2);
		release();
		fx.hold_flush = true;
		settle();
		/* The first one's record is in the cache: so it may be lost. */
		assert_false(first->done);
		assert_int_equal(val_after_crash(BLOCK), 0);
		release();
		join(first);
		assert_int_equal(val_after_crash(BLOCK), 1);
		join(second);
		assert_int_equal(val_after_crash(BLOCK + 1), 2);
		close_journal();
	}
}

static void last_image_of_a_run_counts(void)
{
	struct fiber *f[4];

	JBD2();
	fx.hold_flush = true;
	f[0] = fsync_of(BLOCK + 9, 9);
	for (u32 i = 1; i < 4; i++)
		f[i] = fsync_of(BLOCK, i);
	release();
	for (u32 i = 0; i < 4; i++)
		join(f[i]);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void revokes_end_a_run(void)
{
	struct fiber *f[3];
	handle_t *h;
	tid_t tid;
	u64 runs;

	JBD2();
	change(0, BLOCK, 1);
	commit(0);
	runs = lane(0)->stats.runs;
	fx.hold_flush = true;
	f[0] = fsync_of(BLOCK + 9, 9);
	h = start_more(0, 2, 0, 1);
	own(h);
	assert_int_equal(zj_journal_revoke(h, BLOCK, buffer(BLOCK)), 0);
	own(NULL);
	tid = handle_txn(h)->pub.t_tid;
	stop(h);
	f[1] = GO(call_complete, .tid = tid);
	settle();
	f[2] = fsync_of(BLOCK, 5);
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(lane(0)->stats.runs - runs, 3);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

/* A run is closed when the device is ready for its records, not before. */
static void who_comes_during_a_record_joins_the_next_run(void)
{
	struct fiber *f[3];
	u64 runs;

	LANES();
	runs = lane(0)->stats.runs;
	fx.hold_flush = true;
	f[0] = fsync_of(BLOCK, 1);
	f[1] = fsync_of(BLOCK + 1, 2);
	release();
	fx.hold_lane[0] = true;
	settle();
	f[2] = fsync_of(BLOCK + 2, 3);
	assert_false(f[0]->done);
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(lane(0)->stats.runs - runs, 2);
	close_journal();
}

static void run_has_a_bound(void)
{
	struct fiber *f[5];
	u64 runs;

	JBD2();
	RECONFIGURE(.flush_batch = 2);
	runs = lane(0)->stats.runs;
	fx.hold_flush = true;
	for (u32 i = 0; i < 5; i++)
		f[i] = fsync_of(BLOCK + i, 1);
	release();
	for (u32 i = 0; i < 5; i++)
		join(f[i]);
	assert_int_equal(lane(0)->stats.runs - runs, 3);
	close_journal();
}

/* What is home of a run's first member stays in the log with the rest of the run. */
static void run_is_trimmed_as_a_whole(void)
{
	struct fiber *f[3];
	u32 tail;

	JBD2();
	fx.hold_flush = true;
	f[0] = fsync_of(BLOCK + 9, 9);
	f[1] = fsync_of(BLOCK, 1);
	f[2] = fsync_of(BLOCK + 1, 2);
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	/* The last one is held up by a newer owner. */
	change(0, BLOCK + 1, 3);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 1);
	tail = fx.zj->ring.tail;
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(fx.zj->ring.tail != tail);
	assert_int_equal(fx.zj->nr_pool, fx.zj->geo.nr_segs - 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

static void flush_that_fails_answers_nobody(void)
{
	struct fiber *first, *second;

	JBD2();
	fx.hold_flush = true;
	first = fsync_of(BLOCK, 1);
	second = fsync_of(BLOCK + 1, 2);
	fail_next_flush();
	release();
	join(first);
	join(second);
	assert_int_equal(first->ret, -EIO);
	assert_int_equal(second->ret, -EIO);
	/* Told once, for all that was on its way. */
	assert_true(said("error -5: a flush failed"));
	assert_null(strstr(strstr(fx.messages, "a flush failed") + 1, "a flush failed"));
	close_aborted();
}

/* A record that fails ends what is behind it as well, once. */
static void record_that_fails_takes_the_next_run_with_it(void)
{
	struct fiber *first, *second;

	JBD2();
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	fail_next_write();
	fx.hold_lane[0] = true;
	second = fsync_of(BLOCK + 1, 2);
	release();
	join(first);
	join(second);
	assert_int_equal(first->ret, -EIO);
	assert_int_equal(second->ret, -EIO);
	close_aborted();
}

/* Its thread is anywhere in sending them out, and the flush thread looks for more to do. */
static void commit_block_waits_for_the_log_blocks(void)
{
	struct task_struct *task;
	struct image *image;
	bool more;
	int n = 1;

	do {
		JBD2();
		task = lane(0)->task;
		fx.hold_lane[0] = true;
		change(0, BLOCK, 1);
		freeze(0);
		settle();
		change(0, BLOCK + 1, 2);
		stop_at_point(task, n++);
		freeze(0);
		settle();
		more = stopped(task);
		release();
		settle();
		image = keep_all();
		assert_int_equal(recover_image(image), 0);
		image_free(image);
		if (more)
			go_on(task);
		else
			stop_nowhere(task);
		settle();
		assert_int_equal(val_after_crash(BLOCK + 1), 2);
		close_journal();
	} while (more);
	assert_true(n > 20);
}

/* ---- without FUA, without barriers ---- */

/* Whatever runs have in common: who is answered is durable. */
static void all_of_a_run_wait_for_the_covering_flush(void)
{
	struct fiber *f[4];
	u32 answered = 0;

	LANES(.no_fua = true);
	fx.hold_flush = true;
	for (u32 i = 0; i < 4; i++)
		f[i] = fsync_of(BLOCK + i, 1 + i);
	for (u32 n = 0; n < 6; n++) {
		release();
		fx.hold_flush = true;
		settle();
		answered = 0;
		for (u32 i = 0; i < 4; i++) {
			answered += f[i]->done;
			if (f[i]->done)
				assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
		}
	}
	assert_int_equal(answered, 4);
	release();
	for (u32 i = 0; i < 4; i++)
		join(f[i]);
	close_journal();
}

/* Nothing is waited for that would make it durable. */
static void without_barriers_a_run_does_not_wait_for_the_next(void)
{
	struct fiber *first, *second;

	JBD2();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	/* Of the second: the first has a descriptor, an image and a commit block. */
	fx.hold_block = next_image() + 3;
	first = GO(call_complete, .tid = change(0, BLOCK, 1));
	let_run();
	assert_false(first->done);
	second = fsync_of(BLOCK + 1, 2);
	assert_int_equal(nr_held(), 1);
	assert_false(second->done);
	assert_true(first->done);
	release();
	join(first);
	join(second);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
}

/* ---- FUA in place of a flush ---- */

static void change_many(u32 nr)
{
	handle_t *h = start(0, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
}

/* All that is before the record is durable without one; nothing else was written. */
static void few_log_blocks_need_no_flush(void)
{
	u64 before;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = flushes();
	change_many(ZJ_FUA_BLOCKS - 2);
	assert_int_equal(flushes() - before, 0);
	assert_int_equal(val_after_crash(BLOCK + ZJ_FUA_BLOCKS - 3), 7);
	change_many(ZJ_FUA_BLOCKS);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

static void data_in_the_cache_needs_one(void)
{
	u64 before;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = flushes();
	zj_journal_data_written(fx.journal);
	change_many(1);
	assert_int_equal(flushes() - before, 1);
	change_many(1);
	assert_int_equal(flushes() - before, 1);
	close_journal();
}

/* Of a run's members one had too many blocks: a flush for all of them. */
static void one_in_the_cache_needs_one(void)
{
	struct fiber *f[3];
	handle_t *h;
	u64 before;
	tid_t tid;

	JBD2();
	report_data();
	RECONFIGURE(.log_fua = true);
	before = flushes();
	fx.hold_block = next_image();
	f[0] = fsync_of(BLOCK + 200, 1);
	f[1] = fsync_of(BLOCK + 201, 2);
	h = start(0, ZJ_FUA_BLOCKS);
	for (u32 i = 0; i < ZJ_FUA_BLOCKS; i++)
		put(h, BLOCK + i, 3);
	tid = handle_txn(h)->pub.t_tid;
	stop(h);
	f[2] = GO(call_complete, .tid = tid);
	settle();
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(flushes() - before, 1);
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
	tid = handle_txn(h)->pub.t_tid;
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
	assert_true(state_of(first) >= ZJ_C_FROZEN);
	tid = change(0, BLOCK + 1, 2);
	zj_journal_commit_early(fx.journal, tid);
	let_run();
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	release();
	commit(0);
	/* Nothing of that name any more. */
	zj_journal_commit_early(fx.journal, tid);
	close_journal();
}

/* ---- versions ---- */

static void each_in_flight_has_its_own_copy(void)
{
	struct fiber *f[3];

	JBD2();
	fx.hold_flush = true;
	for (u32 i = 0; i < 3; i++)
		f[i] = fsync_of(BLOCK, 1 + i);
	assert_int_equal(lane(0)->stats.wait_log, 0);
	assert_int_equal(lane(0)->stats.conflicts, 0);
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	assert_int_equal(atomic_read(&lane(0)->copies), 0);
	close_journal();
}

static void too_many_versions_put_a_commit_off(void)
{
	struct fiber *first, *second;
	handle_t *h;
	tid_t tid;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	assert_int_equal(lane(0)->stats.put_off, 1);
	assert_int_equal(lane(0)->stats.conflicts, 1);
	/* Others join meanwhile, without a wait. */
	h = start(0, 1);
	assert_int_equal(handle_txn(h)->pub.t_tid, tid);
	put(h, BLOCK + 1, 3);
	stop(h);
	release();
	join(first);
	join(second);
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

static void put_off_has_a_bound(void)
{
	struct fiber *first, *second, *late;
	tid_t tid;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	sleep_ms(2 * 1000 * ZJ_PUT_OFF / HZ + 10);
	assert_int_equal(state_of(tid), ZJ_C_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	release();
	join(first);
	join(second);
	join(late);
	stop(late->h);
	close_journal();
}

static void without_coalescing_starts_wait(void)
{
	struct fiber *first, *second, *late;
	tid_t tid;

	JBD2(.versions = 1, .no_coalesce = true);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	tid = change(0, BLOCK, 2);
	second = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(state_of(tid), ZJ_C_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	release();
	join(first);
	join(second);
	join(late);
	stop(late->h);
	close_journal();
}

/* Forgotten again: nothing is in the way any more. */
static void forgotten_version_is_none(void)
{
	struct fiber *first, *second;
	tid_t tid;
	handle_t *h;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	h = start(0, 2);
	tid = handle_txn(h)->pub.t_tid;
	put(h, BLOCK, 2);
	forget(h, BLOCK);
	put(h, BLOCK + 1, 2);
	stop(h);
	second = GO(call_complete, .tid = tid);
	release();
	join(first);
	join(second);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

static void five_versions_and_no_more(void)
{
	struct fiber *f[7];
	u32 i;

	LANES();
	/* In our format images are logged after the data's flush. */
	fx.hold_flush = true;
	for (i = 0; i < 6; i++)
		f[i] = fsync_of(BLOCK, 1 + i);
	assert_int_equal(lane(0)->stats.put_off, 1);
	assert_int_equal(lane(0)->depth, 5);
	release();
	for (i = 0; i < 6; i++)
		join(f[i]);
	assert_int_equal(val_after_crash(BLOCK), 6);
	close_journal();
}

/* ---- memory ---- */

static void without_memory_for_copies_others_wait(void)
{
	struct fiber *first, *access;
	handle_t *h;
	u64 before;

	JBD2();
	before = lane(0)->stats.ahead;
	fx.zj->max_copies = 0;
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	assert_int_equal(lane(0)->stats.ahead, before);
	h = start(0, 1);
	access = GO(call_access, .h = h, .block = BLOCK);
	let_run();
	assert_false(access->done);
	release();
	join(access);
	dirty(h, BLOCK, 2);
	stop(h);
	join(first);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* The one too many changes hands in its component: the other transaction waits now. */
static void crowded_part_moves_with_its_image(void)
{
	struct zj_txn *txn[2];
	struct fiber *first;
	handle_t *h[2];

	OPEN(.pipeline = true, .lanes = 2, .versions = 1);
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[0] = true;
	first = fsync_of(BLOCK, 1);
	for (u32 i = 0; i < 2; i++) {
		h[i] = start(i, 1);
		txn[i] = handle_txn(h[i]);
		get_access(h[i], BLOCK);
	}
	assert_ptr_equal(txn[0]->comp, txn[1]->comp);
	assert_int_equal(atomic_read(&txn[0]->crowded), 1);
	assert_int_equal(atomic_read(&txn[1]->crowded), 0);
	dirty(h[1], BLOCK, 2);
	assert_int_equal(atomic_read(&txn[0]->crowded), 0);
	assert_int_equal(atomic_read(&txn[1]->crowded), 1);
	stop(h[0]);
	stop(h[1]);
	release();
	join(first);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* It could not be frozen in the end: starts go on at once. */
static void commit_that_is_put_off_lets_starts_go_on(void)
{
	struct fiber *first, *late;
	handle_t *h;
	tid_t tid;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	freeze(0);
	assert_int_equal(state_of(tid), ZJ_C_LOCKED);
	late = GO(call_start, .n = 1);
	let_run();
	assert_false(late->done);
	put(h, BLOCK, 2);
	stop(h);
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	let_run();
	assert_true(late->done);
	join(late);
	stop(late->h);
	release();
	join(first);
	close_journal();
}

/* Who asks all lanes to commit is in no greater hurry than an fsync. */
static void request_to_all_is_put_off_too(void)
{
	struct fiber *first;
	tid_t tid;

	JBD2(.versions = 1);
	fx.hold_block = next_image();
	first = fsync_of(BLOCK, 1);
	tid = change(0, BLOCK, 2);
	zj_commit_request_all(fx.zj);
	assert_int_equal(state_of(tid), ZJ_C_RUNNING);
	assert_int_equal(lane(0)->stats.put_off, 1);
	release();
	join(first);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* While runs follow each other, FUA is taken where it costs half a flush at most. */
static void fua_is_weighed_against_flushes(void)
{
	JBD2();
	change(0, BLOCK, 1);
	commit(0);
	/* What the device has taken in the simulator's time. */
	assert_in_range(lane(0)->record_took[1], 1, 1000 * NSEC_PER_MSEC);
	fx.zj->options.live.log_fua = true;
	lane(0)->record_took[0] = 100;
	lane(0)->record_took[1] = 300;
	fx.zj->flush.took = 398;
	/* A lone run: with FUA nobody has to flush. */
	lane(0)->company = 0;
	assert_true(zj_log_wants_fua(lane(0), 1));
	lane(0)->company = 1;
	assert_false(zj_log_wants_fua(lane(0), 1));
	fx.zj->flush.took = 400;
	assert_true(zj_log_wants_fua(lane(0), 1));
	assert_true(zj_log_wants_fua(lane(0), ZJ_FUA_BLOCKS));
	assert_false(zj_log_wants_fua(lane(0), ZJ_FUA_BLOCKS + 1));
	close_journal();
}

/* Was the first record from @from on written with FUA? */
static bool record_with_fua(u32 from)
{
	int at = record_written(from);
	const struct disk_event *e = fx.disk->log;

	assert_true(at >= 0);
	for (u32 i = at; i < now(); i++)
		if (e[i].request == e[at].request && e[i].what != DISK_WRITE)
			return e[i].what == DISK_DONE_FUA;
	assert_true(false);
	return false;
}

/*
 * Another run follows, whose flush would do: FUA then only if it is much faster; if the
 * follower's log blocks are in no cache, that flush is one that FUA saves.
 */
static void record_of_a_run_that_is_followed(void)
{
	static const struct {
		bool log_fua;
		u32 blocks[2];		/* of the transactions of the run that follows */
		s64 price;		/* of FUA, where a flush takes 1000 */
		bool fua;
	} cases[] = {
		{ true, { 1, 1 }, 300, true },
		{ true, { 1, 1 }, 650, true },
		{ true, { 1, 1 }, 2000, false },
		{ true, { 1, ZJ_FUA_BLOCKS }, 300, false },
		{ true, { ZJ_FUA_BLOCKS, 1 }, 300, false },
		{ false, { 1, 1 }, 300, false },
		{ false, { 1, 1 }, 50, true },
		{ false, { 1, 1 }, 187, true },
	};
	struct fiber *f[3];
	u32 before;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		JBD2(.journal = 4096);
		fx.zj->options.live.log_fua = cases[i].log_fua;
		zj_journal_data_written(fx.journal);
		fx.hold_flush = true;
		f[0] = fsync_of(BLOCK, 1);
		for (u32 k = 0; k < 2; k++) {
			handle_t *h = start(0, cases[i].blocks[k]);

			for (u32 b = 0; b < cases[i].blocks[k]; b++)
				put(h, BLOCK + 100 * (k + 1) + b, 2);
			f[1 + k] = GO(call_complete, .tid = h->h_transaction->t_tid);
			stop(h);
			settle();
		}
		assert_int_equal(lane(0)->depth, 3);
		/* Of the past: what is measured now counts for a quarter. */
		lane(0)->record_took[0] = 0;
		lane(0)->record_took[1] = cases[i].price * NSEC_PER_MSEC;
		fx.zj->flush.took = 1000 * NSEC_PER_MSEC;
		before = now();
		release();
		for (u32 k = 0; k < 3; k++)
			join(f[k]);
		assert_int_equal(record_with_fua(before), cases[i].fua);
		close_journal();
	}
}

static void begin_other_lane(void)
{
	freeze(1);
}

/* While barriers are off for a moment, lane 0 answers for what it has not flushed. */
static void call_without_barriers(struct fiber *f)
{
	fx.journal->j_flags &= ~JBD2_BARRIER;
	release();
	zj_complete_transaction(fx.journal, f->tid);
	fx.journal->j_flags |= JBD2_BARRIER;
}

/* Whatever a chunk claims to be durable: it has been flushed. */
static void what_went_without_a_flush_is_not_claimed(void)
{
	struct fiber f = { .fn = call_without_barriers, .cpu = 0 };
	struct image *image;
	bool more;
	int n = 1;

	do {
		OPEN(.pipeline = true);
		/* Lane 0 writes into the cache, lane 1 with FUA. */
		lane(0)->company = ZJ_COMPANY;
		lane(0)->record_took[1] = 1000 * NSEC_PER_MSEC;
		fx.hold_lane[0] = true;
		f.tid = change(0, BLOCK, 1);
		freeze(0);
		settle();
		assert_int_equal(nr_held(), 1);
		change(1, BLOCK + 1, 1);
		more = preempt_task_at(n++, lane(1)->flusher, begin_other_lane, &f);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		image_free(image);
		close_journal();
	} while (more);
	assert_true(n > 10);
}

/* ---- what cannot be frozen yet ---- */

/* Whoever changes BLOCK now changes what is on its way to the log. */
static struct fiber *crowd(void)
{
	fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_ALWAYS;
	fx.hold_lane[0] = true;
	return fsync_of(BLOCK, 1);
}

/* It takes no more: nobody is to go on in it until it can be frozen. */
static void full_transaction_is_not_put_off(void)
{
	struct fiber *first;
	struct zj_txn *txn;
	handle_t *h;

	LANES(.versions = 1);
	first = crowd();
	h = start(0, 1);
	put(h, BLOCK, 2);
	txn = running(0);
	zj_commit_now(fx.zj, txn);
	stop(h);
	assert_int_equal(txn->comp->state, ZJ_C_LOCKED);
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->state, ZJ_C_VALID);
	zj_txn_put(txn);
	close_journal();
}

/* It is not at its freeze point: who has a reservation may still come. */
static void reserved_handle_joins_what_cannot_be_frozen_yet(void)
{
	struct fiber *first, *r;
	struct zj_txn *txn;
	handle_t *h, *rsv;

	LANES(.versions = 1, .no_coalesce = true);
	first = crowd();
	h = start_more(0, 1, 1, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	put(h, BLOCK, 2);
	stop(h);
	txn = running(0);
	freeze(0);
	assert_int_equal(txn->comp->state, ZJ_C_LOCKED);
	assert_false(txn->freezing);
	r = GO(call_reserved, .h = rsv);
	join(r);
	assert_int_equal(r->ret, 0);
	put(rsv, BLOCK + 1, 3);
	stop(rsv);
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->state, ZJ_C_VALID);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	zj_txn_put(txn);
	close_journal();
}

/* Not at the end of its time, which is far away here. */
static void commit_that_was_put_off_goes_on_when_it_can(void)
{
	struct fiber *first;
	struct zj_txn *txn;

	LANES(.versions = 1);
	first = crowd();
	change(0, BLOCK, 2);
	txn = running(0);
	freeze(0);
	assert_int_equal(txn->comp->state, ZJ_C_RUNNING);
	assert_true(txn->comp->wanted);
	txn->comp->wanted_by += 1000 * HZ;
	txn->expires = txn->comp->wanted_by;
	release();
	join(first);
	settle();
	assert_int_equal(txn->comp->state, ZJ_C_VALID);
	zj_txn_put(txn);
	close_journal();
}

/* The end of its time is that of the one that was put off, whichever is the larger. */
static void united_with_one_that_was_put_off_has_its_time(void)
{
	struct fiber *first;
	unsigned long until;
	struct zj_txn *txn;
	handle_t *h[3];

	OPEN(.pipeline = true, .lanes = 3, .versions = 1);
	first = crowd();
	for (u32 i = 0; i < 3; i++)
		h[i] = start(i, 2);
	put(h[1], BLOCK + 1, 1);
	get_access(h[2], BLOCK + 1);
	txn = handle_txn(h[2]);
	put(h[0], BLOCK, 2);
	freeze(0);
	until = handle_txn(h[0])->comp->wanted_by;
	assert_int_equal(until, jiffies + ZJ_PUT_OFF);
	assert_false(txn->comp->wanted);
	get_access(h[0], BLOCK + 1);
	assert_ptr_equal(txn->comp, handle_txn(h[0])->comp);
	assert_int_equal(txn->comp->nr_members, 3);
	assert_true(txn->comp->wanted);
	assert_int_equal(txn->comp->wanted_by, until);
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	release();
	join(first);
	close_journal();
}

/* Too late for all of them once the flush has begun, not for the first one alone. */
static void data_is_too_late_for_every_member_of_a_run(void)
{
	struct fiber *f[3];

	LANES();
	fx.hold_flush = true;
	for (u32 i = 0; i < 3; i++)
		f[i] = fsync_of(BLOCK + i, 1 + i);
	release();
	fx.hold_flush = true;
	settle();
	assert_int_equal(nr_held(), 1);
	assert_false(f[1]->done);
	assert_false(zj_trans_takes_written(fx.journal, f[1]->tid, 1));
	assert_false(zj_trans_takes_written(fx.journal, f[2]->tid, 1));
	release();
	for (u32 i = 0; i < 3; i++)
		join(f[i]);
	close_journal();
}

/* Each run that comes alone counts once. */
static void company_is_expected_for_some_runs(void)
{
	LANES();
	lane(0)->company = ZJ_COMPANY;
	for (u32 i = 1; i <= ZJ_COMPANY; i++) {
		change(0, BLOCK, i);
		commit(0);
		assert_int_equal(lane(0)->company, ZJ_COMPANY - i);
	}
	change(0, BLOCK, 9);
	commit(0);
	assert_int_equal(lane(0)->company, 0);
	close_journal();
}

static void call_unmount(struct fiber *f)
{
	f->ret = unmount_journal();
}

/* All that is on its way is waited for, run by run, before it is freed. */
static void aborted_runs_are_waited_for(void)
{
	struct fiber *f[4], *end;

	for (u32 jbd2 = 0; jbd2 < 2; jbd2++) {
		OPEN(.pipeline = true, .lanes = 1, .jbd2 = jbd2);
		fx.zj->options.live.flush_batch = 1;
		fx.hold_flush = true;
		for (u32 i = 0; i < 4; i++)
			f[i] = fsync_of(BLOCK + i, 1 + i);
		assert_int_equal(lane(0)->depth, 4);
		/* Not that of the super block. */
		fx.hold_flush = false;
		zj_journal_abort(fx.journal, -EIO);
		for (u32 i = 0; i < 4; i++) {
			join(f[i]);
			assert_int_equal(f[i]->ret, -EIO);
		}
		end = GO(call_unmount);
		settle();
		assert_false(end->done);
		release();
		join(end);
		assert_int_equal(end->ret, -EIO);
		discard_disk();
	}
}

/*
 * The flush thread, which is awake, comes to log blocks while their lane's thread waits
 * for them, as it has sent them out of live buffers: it leaves them to that.
 */
static void log_blocks_are_waited_for_once(void)
{
	struct task_struct *task;
	struct journal_head *jh;
	struct buffer_head *bh;
	bool more;
	tid_t tid;
	int n = 1;

	do {
		JBD2();
		fx.zj->options.live.frozen_copy = ZJ_FROZEN_COPY_NEVER;
		task = lane(0)->task;
		fx.hold_flush = true;
		change(0, BLOCK, 1);
		freeze(0);
		settle();
		tid = change(0, BLOCK + 1, 2);
		bh = buffer(BLOCK + 1);
		jh = zj_jh_get(bh);
		stop_before(task, &jh->lock, n++);
		freeze(0);
		settle();
		release();
		settle();
		more = stopped(task);
		stop_nowhere(task);
		settle();
		assert_int_equal(state_of(tid), ZJ_C_VALID);
		zj_jh_put(jh);
		brelse(bh);
		close_journal();
	} while (more);
	assert_true(n > 3);
}

/* With one thread nobody comes meanwhile: it goes on as soon as the record is written. */
static void lane_without_a_flush_thread_waits_for_nobody(void)
{
	ktime_t begin;

	OPEN(.lanes = 1, .jbd2 = true);
	fx.disk->io_ns = 1000;
	lane(0)->record_took[0] = lane(0)->record_took[1] = 1000 * NSEC_PER_MSEC;
	change(0, BLOCK, 1);
	begin = ktime_get();
	commit(0);
	assert_true(ktime_get() - begin < ZJ_PATIENCE_MAX_NS);
	close_journal();
}

/* Company is expected, but does not come: FUA is taken at half the price of a flush. */
static void record_of_a_run_that_company_is_expected_for(void)
{
	static const struct {
		s64 price;
		bool fua;
	} cases[] = { { 300, true }, { 450, true }, { 600, false } };
	u32 before;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		LANES();
		/* No data: no flush is measured before. */
		report_data();
		assert_int_equal(zj_journal_flush_data(fx.journal), 0);
		lane(0)->company = ZJ_COMPANY;
		lane(0)->record_took[0] = 0;
		lane(0)->record_took[1] = cases[i].price * NSEC_PER_MSEC;
		fx.zj->flush.took = 1000 * NSEC_PER_MSEC;
		change(0, BLOCK, 1);
		before = now();
		commit(0);
		assert_int_equal(record_with_fua(before), cases[i].fua);
		close_journal();
	}
}

CORE_TESTS(pipeline,
	CORE_TEST(commit_that_is_put_off_lets_starts_go_on),
	CORE_TEST(component_may_be_gone_once_its_last_member_is_committed),
	CORE_TEST(what_gathers_is_one_run),
	CORE_TEST(flushes_are_rolled),
	CORE_TEST(answer_after_the_covering_flush),
	CORE_TEST(last_image_of_a_run_counts),
	CORE_TEST(revokes_end_a_run),
	CORE_TEST(who_comes_during_a_record_joins_the_next_run),
	CORE_TEST(run_has_a_bound),
	CORE_TEST(run_is_trimmed_as_a_whole),
	CORE_TEST(flush_that_fails_answers_nobody),
	CORE_TEST(record_that_fails_takes_the_next_run_with_it),
	CORE_TEST(commit_block_waits_for_the_log_blocks),
	CORE_TEST(all_of_a_run_wait_for_the_covering_flush),
	CORE_TEST(without_barriers_a_run_does_not_wait_for_the_next),
	CORE_TEST(few_log_blocks_need_no_flush),
	CORE_TEST(data_in_the_cache_needs_one),
	CORE_TEST(one_in_the_cache_needs_one),
	CORE_TEST(commit_begins_before_the_data_is_there),
	CORE_TEST(commit_begins_early_if_the_lane_is_idle),
	CORE_TEST(each_in_flight_has_its_own_copy),
	CORE_TEST(too_many_versions_put_a_commit_off),
	CORE_TEST(put_off_has_a_bound),
	CORE_TEST(without_coalescing_starts_wait),
	CORE_TEST(forgotten_version_is_none),
	CORE_TEST(five_versions_and_no_more),
	CORE_TEST(without_memory_for_copies_others_wait),
	CORE_TEST(crowded_part_moves_with_its_image),
	CORE_TEST(request_to_all_is_put_off_too),
	CORE_TEST(fua_is_weighed_against_flushes),
	CORE_TEST(record_of_a_run_that_is_followed),
	CORE_TEST(what_went_without_a_flush_is_not_claimed),
	CORE_TEST(full_transaction_is_not_put_off),
	CORE_TEST(reserved_handle_joins_what_cannot_be_frozen_yet),
	CORE_TEST(commit_that_was_put_off_goes_on_when_it_can),
	CORE_TEST(united_with_one_that_was_put_off_has_its_time),
	CORE_TEST(data_is_too_late_for_every_member_of_a_run),
	CORE_TEST(company_is_expected_for_some_runs),
	CORE_TEST(aborted_runs_are_waited_for),
	CORE_TEST(log_blocks_are_waited_for_once),
	CORE_TEST(lane_without_a_flush_thread_waits_for_nobody),
	CORE_TEST(record_of_a_run_that_company_is_expected_for),
);
