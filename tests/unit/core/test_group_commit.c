// SPDX-License-Identifier: GPL-2.0-only
/* group_commit.c: runs and their flushes. */
#include "group_commit.h"

/* Reclaimed before its last member's thread has got back: it must not look again. */
static void component_may_be_gone_once_its_last_member_is_durable(void)
{
	struct zj_component *comp;
	struct task_struct *task;
	struct zj_txn *txn;
	struct fiber *f;

	OPEN();
	task = lane(0)->task;
	txn = txn_of(change(0, BLOCK, 1));
	comp = txn->comp;
	zj_txn_put(txn);
	stop_before(task, &lane(0)->lock, 1);
	seal(0);
	for (settle(); !comp->finished; settle()) {
		go_on(task);
		stop_before(task, &lane(0)->lock, 1);
	}
	assert_true(stopped(task));
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	f = GO(call_full_checkpoint);
	settle();
	assert_int_equal(fx.zj->ckpt_stamp, 2);
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
	before = lane_flushes();
	fx.hold_flush = true;
	first = fsync_of(BLOCK, 1);
	second = fsync_of(BLOCK + 1, 2);
	release();
	join(first);
	join(second);
	/* Log blocks of both, a record and the other's log blocks, a record. */
	assert_int_equal(lane_flushes() - before, 3);
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

/* Revokes of stock's transaction void all of its images: so who logs the block again begins a run. */
static void what_a_run_revokes_is_logged_in_the_next_one(void)
{
	for (u32 again = 0; again < 2; again++) {
		struct fiber *f[4];
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
		tid = handle_txn(h)->public.t_tid;
		stop(h);
		f[1] = GO(call_complete, .tid = tid);
		settle();
		f[2] = fsync_of(BLOCK + 3, 3);
		f[3] = fsync_of(again ? BLOCK : BLOCK + 4, 5);
		release();
		for (u32 i = 0; i < 4; i++)
			join(f[i]);
		assert_int_equal(lane(0)->stats.runs - runs, 2 + again);
		assert_int_equal(val_after_crash(BLOCK + 3), 3);
		assert_int_equal(val_after_crash(BLOCK), again ? 5 : 0);
		close_journal();
	}
}

static void revoke_in_use(handle_t *h)
{
	struct buffer_head *bh = buffer(BLOCK);

	own(h);
	assert_int_equal(zj_journal_revoke_home(h, bh), 0);
	own(NULL);
	brelse(bh);
}

static void bring_home(void)
{
	struct buffer_head *bh = buffer(BLOCK);

	assert_false(zj_journal_bring_home(bh, false));
	assert_true(zj_journal_bring_home(bh, true));
	assert_int_equal(zj_journal_file_blocks_logged(fx.journal, BLOCK, 1), 1);
	brelse(bh);
}

/* The open run revokes a block that stays in use, whose image is home; returns who revokes it. */
static tid_t settle_in_the_open_run(void)
{
	handle_t *h;
	tid_t tid;

	JBD2();
	h = start(0, 1);
	log_block(h, BLOCK, 7);
	stop(h);
	commit(0);
	bring_home();
	fx.hold_flush = true;
	change(0, BLOCK + 9, 9);
	seal(0);
	settle();
	h = start_more(0, 0, 0, 1);
	revoke_in_use(h);
	tid = handle_txn(h)->public.t_tid;
	stop(h);
	seal(0);
	settle();
	assert_int_equal(lane(0)->run_len, 1);
	return tid;
}

static void log_between_others(u8 val, bool own_revoke)
{
	handle_t *h = start_more(0, 3, 0, 1);

	if (own_revoke)
		revoke_in_use(h);
	put(h, BLOCK + 5, val);
	log_block(h, BLOCK, val);
	put(h, BLOCK + 6, val);
	assert_int_equal(handle_txn(h)->nr_revokes, 0);
	stop(h);
	seal(0);
	settle();
}

/*
 * Whoever logs it has other images as well, and may have taken back a revoke of its own. The run
 * that this begins revokes nothing, so others join it.
 */
static void settled_block_is_logged_in_the_next_run(void)
{
	for (u32 own_revoke = 0; own_revoke < 2; own_revoke++) {
		u64 runs;

		settle_in_the_open_run();
		runs = lane(0)->stats.runs;
		log_between_others(1, own_revoke);
		log_between_others(2, false);
		release();
		settle();
		assert_int_equal(lane(0)->stats.runs - runs, 3);
		assert_int_equal(val_after_crash(BLOCK), 2);
		assert_int_equal(val_after_crash(BLOCK + 5), 2);
		assert_int_equal(val_after_crash(BLOCK + 6), 2);
		close_journal();
	}
}

static void begin_to_log_it_again(void)
{
	handle_t *h = start(0, 1);

	log_block(h, BLOCK, 8);
	stop(h);
	seal(0);
}

static void call_release(struct fiber *f)
{
	release();
	call_complete(f);
}

/* The open run is closed and becomes durable at any place of who looks for its revokes. */
static void run_with_revokes_ends_while_a_member_joins(void)
{
	bool more;
	tid_t tid;
	int n = 1;

	do {
		tid = settle_in_the_open_run();
		more = preempt_task_at(n++, lane(0)->task, begin_to_log_it_again,
				       CALL(call_release, .tid = tid));
		assert_null(lane(0)->running);
		assert_int_equal(val_after_crash(BLOCK), 8);
		close_journal();
	} while (more);
	assert_true(n > 20);
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

/* The first member of a run is home, but stays in the log with the rest of the run. */
static void run_is_reclaimed_as_a_whole(void)
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
	/* The error is reported once, for all transactions in flight. */
	assert_true(said("error -5: a flush of the device's cache failed"));
	assert_null(strstr(strstr(fx.messages, "cache failed") + 1, "cache failed"));
	close_aborted();
}

/* A record that fails ends what is behind it as well, once. */
static void record_that_fails_takes_the_next_run_with_it(void)
{
	struct fiber *first, *second;

	JBD2();
	first = fsync_with_image_held();
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

/* The lane's thread is anywhere in sending log blocks when the flush thread looks for work. */
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
		seal(0);
		settle();
		change(0, BLOCK + 1, 2);
		stop_at_point(task, n++);
		seal(0);
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

/* A commit that is reported is durable, even if its run shares a flush. */
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

/* Without barriers it waits for no flush. */
static void without_barriers_a_run_does_not_wait_for_the_next(void)
{
	struct fiber *first, *second;

	JBD2();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	/*
	 * Hold the second transaction: the first takes a descriptor, an image and a commit
	 * block.
	 */
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

/* ---- the record of a run ---- */

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
		/* Forget earlier measurements, as a new one counts for a quarter only. */
		lane(0)->record_ns[0] = 0;
		lane(0)->record_ns[1] = cases[i].price * NSEC_PER_MSEC;
		fx.zj->flush.mean_ns = 1000 * NSEC_PER_MSEC;
		before = now();
		release();
		for (u32 k = 0; k < 3; k++)
			join(f[k]);
		assert_int_equal(record_with_fua(before), cases[i].fua);
		close_journal();
	}
}

/* A log of lanes has no blocks outside its records, so the next run flushes in any case. */
static void record_of_lanes_that_is_followed(void)
{
	static const struct {
		s64 price;
		bool fua;
	} cases[] = { { 50, true }, { 300, false } };
	struct fiber *f[2];
	u32 before;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		LANES();
		zj_journal_data_written(fx.journal);
		fx.hold_flush = true;
		for (u32 k = 0; k < 2; k++)
			f[k] = fsync_of(BLOCK + k, 1);
		assert_int_equal(lane(0)->depth, 2);
		lane(0)->record_ns[0] = 0;
		lane(0)->record_ns[1] = cases[i].price * NSEC_PER_MSEC;
		fx.zj->flush.mean_ns = 1000 * NSEC_PER_MSEC;
		before = now();
		release();
		for (u32 k = 0; k < 2; k++)
			join(f[k]);
		assert_int_equal(record_with_fua(before), cases[i].fua);
		close_journal();
	}
}

static void begin_other_lane(void)
{
	seal(1);
}

/* While barriers are off for a moment, lane 0 answers for what it has not flushed. */
static void call_without_barriers(struct fiber *f)
{
	fx.journal->j_flags &= ~JBD2_BARRIER;
	release();
	zj_complete_transaction(fx.journal, f->tid);
	fx.journal->j_flags |= JBD2_BARRIER;
}

/* A chunk claims that a stamp is durable only after a flush. */
static void what_went_without_a_flush_is_not_claimed(void)
{
	struct fiber f = { .fn = call_without_barriers, .cpu = 0 };
	struct image *image;
	bool more;
	int n = 1;

	do {
		OPEN(.pipeline = true);
		/* Lane 0 writes into the cache, lane 1 with FUA. */
		lane(0)->lone_runs_left = ZJ_LONE_RUNS;
		lane(0)->record_ns[1] = 1000 * NSEC_PER_MSEC;
		fx.hold_lane[0] = true;
		f.tid = change(0, BLOCK, 1);
		seal(0);
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

/* ---- company, an abort, and other ends of a run ---- */

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
static void follower_is_expected_for_some_runs(void)
{
	LANES();
	lane(0)->lone_runs_left = ZJ_LONE_RUNS;
	for (u32 i = 1; i <= ZJ_LONE_RUNS; i++) {
		change(0, BLOCK, i);
		commit(0);
		assert_int_equal(lane(0)->lone_runs_left, ZJ_LONE_RUNS - i);
	}
	change(0, BLOCK, 9);
	commit(0);
	assert_int_equal(lane(0)->lone_runs_left, 0);
	close_journal();
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
		/* The flush for the superblock is not held back. */
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
		seal(0);
		settle();
		tid = change(0, BLOCK + 1, 2);
		bh = buffer(BLOCK + 1);
		jh = zj_jh_get(bh);
		stop_before(task, &jh->lock, n++);
		seal(0);
		settle();
		release();
		settle();
		more = stopped(task);
		stop_nowhere(task);
		settle();
		assert_int_equal(stage_of(tid), ZJ_COMMITTED);
		zj_jh_put(jh);
		brelse(bh);
		close_journal();
	} while (more);
	assert_true(n > 3);
}

/* With one thread no other run can follow, so it continues once the record is written. */
static void lane_without_a_flush_thread_waits_for_nobody(void)
{
	ktime_t begin;

	OPEN(.lanes = 1, .jbd2 = true);
	fx.disk->io_ns = 1000;
	lane(0)->record_ns[0] = lane(0)->record_ns[1] = 1000 * NSEC_PER_MSEC;
	change(0, BLOCK, 1);
	begin = ktime_get();
	commit(0);
	assert_true(ktime_get() - begin < ZJ_PATIENCE_MAX_NS);
	close_journal();
}

/* Company is expected, but does not come: FUA is taken at half the price of a flush. */
static void record_of_a_run_that_a_follower_is_expected_for(void)
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
		lane(0)->lone_runs_left = ZJ_LONE_RUNS;
		lane(0)->record_ns[0] = 0;
		lane(0)->record_ns[1] = cases[i].price * NSEC_PER_MSEC;
		fx.zj->flush.mean_ns = 1000 * NSEC_PER_MSEC;
		change(0, BLOCK, 1);
		before = now();
		commit(0);
		assert_int_equal(record_with_fua(before), cases[i].fua);
		close_journal();
	}
}

CORE_TESTS(group_commit,
	CORE_TEST(component_may_be_gone_once_its_last_member_is_durable),
	CORE_TEST(what_gathers_is_one_run),
	CORE_TEST(flushes_are_rolled),
	CORE_TEST(answer_after_the_covering_flush),
	CORE_TEST(last_image_of_a_run_counts),
	CORE_TEST(what_a_run_revokes_is_logged_in_the_next_one),
	CORE_TEST(settled_block_is_logged_in_the_next_run),
	CORE_TEST(run_with_revokes_ends_while_a_member_joins),
	CORE_TEST(who_comes_during_a_record_joins_the_next_run),
	CORE_TEST(run_has_a_bound),
	CORE_TEST(run_is_reclaimed_as_a_whole),
	CORE_TEST(flush_that_fails_answers_nobody),
	CORE_TEST(record_that_fails_takes_the_next_run_with_it),
	CORE_TEST(commit_block_waits_for_the_log_blocks),
	CORE_TEST(all_of_a_run_wait_for_the_covering_flush),
	CORE_TEST(without_barriers_a_run_does_not_wait_for_the_next),
	CORE_TEST(record_of_a_run_that_is_followed),
	CORE_TEST(record_of_lanes_that_is_followed),
	CORE_TEST(what_went_without_a_flush_is_not_claimed),
	CORE_TEST(data_is_too_late_for_every_member_of_a_run),
	CORE_TEST(follower_is_expected_for_some_runs),
	CORE_TEST(aborted_runs_are_waited_for),
	CORE_TEST(log_blocks_are_waited_for_once),
	CORE_TEST(lane_without_a_flush_thread_waits_for_nobody),
	CORE_TEST(record_of_a_run_that_a_follower_is_expected_for),
);
