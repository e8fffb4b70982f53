// SPDX-License-Identifier: GPL-2.0-only
/* home.c, tail.c: home writes, their order, what keeps S back. */
#include <klayer/nvm.h>
#include "fixture.h"

static u64 stamp_on_disk(void)
{
	struct log log;
	u64 stamp;

	log_read(&log);
	stamp = log.r.trim_stamp;
	log_free(&log);
	return stamp;
}

static void valid_images_go_home_then_s_moves(void)
{
	u32 before, home, slot;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(home_val(BLOCK), 0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(fx.zj->trimmed, 2);
	assert_int_equal(stamp_on_disk(), 2);
	/* Home, durable, then S. */
	home = written(BLOCK, before);
	slot = written(jblock(ZJ_BLOCK_TRIM + fx.zj->trim_seq % 2), before);
	assert_true(home < slot);
	assert_true(flushed_between(home, slot));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void newest_valid_image_goes_home_once(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	close_journal();
}

static void block_of_a_running_transaction_stays(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	put(h, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	close_journal();
}

static void block_of_a_frozen_transaction_stays(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	fx.hold_lane[1] = true;
	freeze(1);
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	release();
	settle();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	close_journal();
}

static void full_checkpoint_closes_what_covers_older_images(void)
{
	tid_t tid;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	tid = change(1, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 3);
	assert_true(list_empty(&fx.zj->trim_list));
	close_journal();
}

static void s_does_not_pass_what_is_not_home(void)
{
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK + 1, 1);
	commit(1);
	h = start(0, 1);
	put(h, BLOCK, 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	/* The younger one is home, the older one cannot go. */
	assert_int_equal(home_val(BLOCK + 1), 1);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	stop(h);
	close_journal();
}

static void write_that_fails_aborts_and_keeps_the_log(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	assert_true(said("could not be written home"));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

static void failed_write_back_of_the_kernels_is_noticed_by_trim(void)
{
	OPEN();
	change(0, BLOCK, 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_false(is_journal_aborted(fx.journal));
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stamp_on_disk(), 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

/* Whatever block it was: it may have been one of those that S would pass. */
static void any_failed_write_back_keeps_s_back(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK + 5);
	mark_buffer_dirty(bh);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK + 5);
	settle();
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stamp_on_disk(), 1);
	close_aborted();
}

static void failed_write_back_of_the_kernels_is_noticed_by_write_access(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK);
	settle();
	h = start(0, 1);
	bh = buffer(BLOCK + 1);
	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), -EIO);
	own(NULL);
	brelse(bh);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(stop(h), -EIO);
	close_aborted();
}

static void error_of_before_the_mount_is_not_ours(void)
{
	struct buffer_head *bh;

	make_disk(&(struct setup){ .lanes = 1, .journal = 1024, .new = true });
	bh = buffer(BLOCK + 5);
	set_buffer_dirty(bh);
	fail_next_write();
	buf_write_back(fx.disk, BLOCK + 5);
	settle();
	brelse(bh);
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	close_journal();
}

static void write_that_fails_is_made_good_by_a_new_image(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	set_buffer_write_io_error(bh);
	h = start(0, 1);
	put(h, BLOCK, 1);
	assert_false(buffer_write_io_error(bh));
	brelse(bh);
	stop(h);
	close_journal();
}

static void what_write_back_brought_home_is_let_go(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	bh = buffer(BLOCK);
	assert_true(buffer_jbd(bh));
	/* The thread looks once in a commit interval, or when it is woken. */
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_false(buffer_jbd(bh));
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static void more_than_a_batch_goes_home(void)
{
	const u32 nr = 300;
	handle_t *h;

	OPEN();
	h = start(0, nr);
	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 7);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

/* Three batches; the first is stuck in the device. */
static struct fiber *checkpoint_with_a_stuck_batch(u32 nr)
{
	struct fiber *f;
	handle_t *h;

	fx.zj->batch_size = nr / 3;
	h = start(0, nr);
	for (u32 i = 0; i < nr; i++)
		put(h, BLOCK + i, 7);
	stop(h);
	commit(0);
	fx.hold_block = BLOCK;
	f = GO(call_checkpoint);
	settle();
	assert_false(f->done);
	return f;
}

/* S waits for all batches, whoever brings them home. */
static void lanes_help_while_space_is_short(void)
{
	const u32 nr = 12;
	struct fiber *f;

	OPEN();
	atomic_inc(&fx.zj->space_waiters);
	f = checkpoint_with_a_stuck_batch(nr);
	for (u32 i = nr / 3; i < nr; i++)
		assert_int_equal(home_val(BLOCK + i), 7);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(stamp_on_disk(), 1);
	release();
	join(f);
	atomic_dec(&fx.zj->space_waiters);
	assert_int_equal(f->ret, 0);
	assert_int_equal(fx.zj->trimmed, 2);
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
}

/* An fsync of the lane would have to wait for a whole batch. */
static void lanes_do_not_help_while_there_is_space(void)
{
	const u32 nr = 12;
	struct fiber *f;

	OPEN();
	f = checkpoint_with_a_stuck_batch(nr);
	assert_int_equal(home_val(BLOCK + nr - 1), 0);
	release();
	join(f);
	assert_int_equal(home_val(BLOCK + nr - 1), 7);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static bool offered_after(struct zj_lane *lane, u32 blocks)
{
	zj_checkpoint_owe(lane, blocks);
	return zj_checkpoint_offers(lane);
}

/* Their fsyncs do not wait for what other lanes have filled the log with. */
static void small_transactions_bring_nothing_home(void)
{
	struct zj_journal *zj;
	struct zj_lane *lane;

	OPEN();
	zj = fx.zj;
	lane = &zj->lanes[0];
	zj->batch_size = 8;
	zj->homeward = 1;
	/* Nobody waits: nothing is due, whatever was logged. */
	assert_false(offered_after(lane, 8));
	atomic_inc(&zj->space_waiters);
	lane->owes = 0;
	assert_false(offered_after(lane, 3));
	assert_true(offered_after(lane, 1));
	/* Without work nobody waits for the lane. */
	lane->owes = 0;
	assert_false(zj_checkpoint_offers(lane));
	lane->committed = jiffies - HZ - 1;
	assert_true(zj_checkpoint_offers(lane));
	/* It has work again. */
	assert_false(offered_after(lane, 0));
	/* What it has not come to is forgiven. */
	lane->owes = 16;
	atomic_dec(&zj->space_waiters);
	assert_false(offered_after(lane, 3));
	assert_int_equal(lane->owes, 6);
	/* Nothing left to bring home. */
	atomic_inc(&zj->space_waiters);
	zj->homeward = 0;
	assert_false(offered_after(lane, 8));
	atomic_dec(&zj->space_waiters);
	close_journal();
}

static void write_that_fails_in_a_lanes_batch_aborts(void)
{
	handle_t *h;

	OPEN();
	fx.zj->batch_size = 1;
	h = start(0, 3);
	for (u32 i = 0; i < 3; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	commit(0);
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_int_equal(stamp_on_disk(), 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

/*
 * An idle lane covers a block of the oldest transaction. It is not closed while there
 * is space: what is closed early is logged again.
 */
static void who_waits_for_space_closes_what_keeps_s_back(void)
{
	tid_t tid;

	OPEN(.lanes = 2, .journal = 230);
	change(0, BLOCK, 1);
	commit(0);
	tid = change(1, BLOCK, 2);
	for (u32 i = 0; i < 60; i++) {
		change(0, BLOCK + 1 + i % 3, 1 + i);
		change(0, BLOCK + 4, 1 + i);
		change(0, BLOCK + 5, 1 + i);
		commit(0);
		settle();
		assert_true(state_of(tid) == ZJ_C_RUNNING || lane(0)->stats.wait_space);
	}
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	assert_int_equal(lane(0)->stats.wait_space, 1);
	assert_true(fx.zj->trimmed > 10);
	close_journal();
}

static void two_thirds_of_a_log_start_the_background_thread(void)
{
	handle_t *h;

	OPEN(.lanes = 1, .journal = 140);
	for (u32 i = 0; i < 5; i++) {
		h = start(0, 20);
		for (u32 k = 0; k < 20; k++)
			put(h, BLOCK + 20 * i + k, 1 + i);
		stop(h);
		commit(0);
	}
	settle();
	assert_true(fx.zj->trimmed > 1);
	assert_int_equal(home_val(BLOCK), 1);
	close_journal();
}

static void home_writes_of_a_block_follow_one_another(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fx.hold_block = BLOCK;
	buf_write_back(fx.disk, BLOCK);
	h = start(1, 1);
	f = GO(call_access, .h = h, .block = BLOCK);
	settle();
	/* The older image is in flight: the newer one cannot overtake. */
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(dirty(h, BLOCK, 2), 0);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(home_val(BLOCK), 2);
	close_journal();
}

static void call_full_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, true);
}

/* Else the log would be marked clean before S covers what another trim has taken. */
static void log_is_not_empty_before_s_is_written(void)
{
	struct fiber *one, *other;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	freeze(0);
	settle();
	one = GO(call_full_checkpoint);
	/* After: progress, what is finished, what is dead.  Is anything frozen? */
	stop_before(&one->task->task, &fx.zj->comp_lock, 4);
	let_run();
	assert_true(stopped(&one->task->task));
	release();
	settle();
	fx.hold_flush = true;
	other = GO(call_full_checkpoint);
	settle();
	go_on(&one->task->task);
	settle();
	/* S is on its way, whoever writes it. */
	assert_int_equal(nr_held(), 1);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_false(one->done);
	assert_false(other->done);
	release();
	join(one);
	join(other);
	assert_int_equal(fx.zj->trimmed, 2);
	close_journal();
}

static void begin_kick(void)
{
	zj_checkpoint_kick(fx.zj);
}

/* A block gets home, and somebody wants the checkpoint's thread to know. */
static void call_home_and_kick(struct fiber *f)
{
	buf_write_back(fx.disk, BLOCK);
	sleep_ms(2);
	zj_checkpoint_kick(fx.zj);
}

/* Whatever the thread is at: after a kick it goes round once more. */
static void kick_is_never_lost(void)
{
	struct buffer_head *bh;
	bool more;
	int n = 1;

	OPEN();
	bh = buffer(BLOCK);
	do {
		change(0, BLOCK, n);
		commit(0);
		settle();
		more = preempt_task_at(n++, fx.zj->ckpt_task, begin_kick,
				       CALL(call_home_and_kick));
		assert_false(buffer_jbd(bh));
	} while (more);
	assert_true(n > 10);
	brelse(bh);
	close_journal();
}

/* There may be thousands of them: comp_lock is everybody's. */
static void dead_components_are_looked_for_without_comp_lock(void)
{
	struct zj_txn *txn;
	struct fiber *f;
	tid_t tid;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fx.hold_lane[1] = true;
	tid = change(1, BLOCK + 1, 1);
	freeze(1);
	settle();
	txn = txn_of(tid);
	release();
	settle();
	f = GO(call_full_checkpoint);
	/* After: the walk of its one part, and that one's end. Are there more? */
	stop_before(&f->task->task, &txn->list_lock, 4);
	settle();
	assert_true(stopped(&f->task->task));
	assert_true(list_empty(&txn->parts));
	assert_null(fx.zj->comp_lock.kl.owner);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(fx.zj->trimmed, 3);
	zj_txn_put(txn);
	close_journal();
}

/* ---- somebody else has the buffer locked: it may be on its way home ---- */

/* The checkpoint's thread lets go of what write-back has brought home. */
static void head_of_a_locked_buffer_is_not_let_go(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	bh = buffer(BLOCK);
	lock_buffer(bh);
	assert_true(buffer_jbd(bh));
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_true(buffer_jbd(bh));
	unlock_buffer(bh);
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_false(buffer_jbd(bh));
	brelse(bh);
	close_journal();
}

/* ---- the order of home writes ---- */

static void home_writes_go_up(void)
{
	static const u32 blocks[] = { 7, 2, 9, 4, 0 };
	handle_t *h;
	u32 before;
	int last = -1, at;

	OPEN();
	h = start(0, 5);
	for (u32 i = 0; i < ARRAY_SIZE(blocks); i++)
		put(h, BLOCK + 2 * blocks[i], 1);
	stop(h);
	commit(0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	for (u32 b = 0; b < 20; b++) {
		at = written(BLOCK + b, before);
		if (at < 0)
			continue;
		assert_true(at > last);
		last = at;
	}
	assert_true(last >= 0);
	close_journal();
}

/* ---- valid, and not finished: somebody's callbacks take their time ---- */

static void sleep_once(struct zj_txn *txn)
{
	fx.on_commit = NULL;
	sleep_ms(500);
}

/* Its buffers are not dirty yet, so there is nothing to do but to wait. */
static void checkpoint_waits_for_what_is_not_finished(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	fx.hold_lane[0] = true;
	change(0, BLOCK + 1, 1);
	freeze(0);
	/* Depends on the one before, so that one thread finishes both. */
	change(1, BLOCK + 1, 2);
	tid = change(1, BLOCK, 2);
	freeze(1);
	settle();
	fx.on_commit = sleep_once;
	release();
	sleep_ms(100);
	assert_null(fx.on_commit);
	assert_int_equal(state_of(tid), ZJ_C_VALID);
	f = GO(call_full_checkpoint);
	stop_before(&f->task->task, &fx.zj->comp_lock, 50);
	sleep_ms(100);
	assert_false(stopped(&f->task->task));
	assert_false(f->done);
	stop_nowhere(&f->task->task);
	join(f);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->trimmed, 4);
	close_journal();
}

/* A log of lines keeps the oldest part of a buffer, too: it is found twice. */
static void buffer_that_is_found_twice_holds_nobody_up(void)
{
	const u32 nr = 64;
	struct buffer_head *bh;
	ktime_t begin;
	handle_t *h;

	OPEN(.nvm = 4 << 20);
	for (u32 i = 0; i < nr; i++) {
		bh = buffer(BLOCK + i);
		zj_journal_buffer_read(bh);
		brelse(bh);
	}
	for (u32 n = 1; n <= 2; n++) {
		h = start(0, nr);
		for (u32 i = 0; i < nr; i++)
			put(h, BLOCK + i, n);
		stop(h);
		commit(0);
	}
	begin = ktime_get();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_true(ktime_get() - begin < 10 * NSEC_PER_MSEC);
	close_journal();
}

/* ---- memory ---- */

/* It is copied on its way to the log, where it would pass for a header. */
static void put_magic(handle_t *h, u32 block)
{
	struct buffer_head *bh = buffer(block);

	get_access(h, block);
	*(__be32 *)bh->b_data = cpu_to_be32(ZJ_JBD2_MAGIC);
	own(h);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
	brelse(bh);
}

static void busy_file(struct file *file, u32 n)
{
	handle_t *h = start_more(n % fx.zj->nr_lanes, 8, 0, 4);

	own(h);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file->jinode, 0, 100), 0);
	assert_int_equal(zj_journal_revoke(h, 1000 + n, NULL), 0);
	own(NULL);
	put_magic(h, BLOCK + 10 + n);
	for (u32 i = 0; i < 4; i++)
		put(h, BLOCK + i, n);
	stop(h);
}

/* One lane's work over the other's, all of it home: no allocation on the way may fail. */
static void busy_round(struct file *file)
{
	for (u32 n = 0; n < 3; n++) {
		busy_file(file, n);
		freeze(n % fx.zj->nr_lanes);
	}
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
}

static void memory_that_may_be_refused_is_not_needed(void)
{
	static const struct setup logs[] = {
		{ .lanes = 2, .journal = 2048 },
		{ .lanes = 2, .journal = 2048, .pipeline = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true, .pipeline = true, .cpus = 2 },
		{ .lanes = 2, .journal = 400, .nvm = 1 << 20 },
	};
	struct file file;
	unsigned long n;

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		open_journal(&logs[i]);
		file_init(&file);
		n = 0;
		do {
			zj_fail_alloc = ++n;
			busy_round(&file);
		} while (!zj_fail_alloc);
		zj_fail_alloc = 0;
		assert_true(n > 1);
		close_journal();
	}
}

/* ---- passes ---- */

#define PER_TXN		10u

static void change_blocks(u32 lane, u32 first, u32 nr, u8 val)
{
	handle_t *h = start(lane, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, first + i, val);
	stop(h);
}

/* Valid transactions until hardly any of the log is free; nothing of them is home. */
static u32 fill_log(u32 first)
{
	u32 nr = 0;

	while (fx.zj->nr_pool > fx.zj->geo.nr_segs / 12) {
		change_blocks(0, first + PER_TXN * nr++, PER_TXN, 1);
		commit(0);
	}
	return nr;
}

/* What is younger may be logged again: it stays. */
static void pass_brings_half_a_budget_home(void)
{
	u32 nr, most;

	OPEN(.lanes = 1, .journal = 1024);
	mutex_lock(&fx.zj->ckpt_lock);
	nr = fill_log(BLOCK);
	mutex_unlock(&fx.zj->ckpt_lock);
	most = DIV_ROUND_UP(fx.zj->budget / 2, PER_TXN);
	assert_true(nr > most);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK + PER_TXN * most - 1), 1);
	assert_int_equal(home_val(BLOCK + PER_TXN * most), 0);
	assert_int_equal(fx.zj->trimmed, 1 + most);
	close_journal();
}

/* S is written for one pass while the next one's blocks are on their way. */
static void s_does_not_wait_for_the_next_pass(void)
{
	handle_t *h;

	OPEN();
	h = start(1, fx.zj->max_credits);
	fx.zj->low_pool = fx.zj->geo.nr_segs;
	fx.hold_block = BLOCK;
	change(0, BLOCK, 1);
	commit(0);
	settle();
	assert_int_equal(nr_held(), 1);
	change(0, BLOCK + 1, 1);
	commit(0);
	fx.zj->ckpt_wanted = false;
	release();
	fx.hold_block = BLOCK + 1;
	settle();
	assert_int_equal(nr_held(), 1);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(fx.zj->trimmed, 2);
	release();
	settle();
	assert_int_equal(fx.zj->trimmed, 3);
	stop(h);
	close_journal();
}

/* However often it is woken: not until one pass is home, but until enough is free. */
static void thread_works_until_enough_is_free(void)
{
	OPEN(.lanes = 1, .journal = 1024);
	mutex_lock(&fx.zj->ckpt_lock);
	fill_log(BLOCK);
	/* It has been woken, and waits for us. */
	fx.zj->ckpt_wanted = false;
	mutex_unlock(&fx.zj->ckpt_lock);
	settle();
	assert_true(fx.zj->trimmed > 1 + DIV_ROUND_UP(fx.zj->budget / 2, PER_TXN));
	assert_false(zj_space_low(fx.zj));
	close_journal();
}

/*
 * A running transaction keeps the oldest one. What is younger than that goes home, and
 * if one pass has no room for all of it, the next one goes on.
 */
static void pass_goes_on_where_the_last_one_had_no_room(void)
{
	const u32 first = BLOCK + 1;
	u32 nr;

	OPEN(.journal = 2000);
	assert_int_equal(fx.zj->nr_lanes, 2);
	nr = fx.zj->max_txn;
	mutex_lock(&fx.zj->ckpt_lock);
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	assert_true(nr > fx.zj->max_found);
	change_blocks(0, first, nr, 1);
	commit(0);
	fill_log(first + nr);
	mutex_unlock(&fx.zj->ckpt_lock);
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_int_equal(fx.zj->trimmed, 1);
	assert_int_equal(home_val(BLOCK), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(home_val(first + i), 1);
	close_journal();
}

/* It was on the checkpoint's stack. */
static void pass_that_has_ended_is_nobodys(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_null(fx.zj->pass);
	close_journal();
}

/* Somebody has locked it since it came home: perhaps it is on its way again. */
static void buffer_that_is_locked_again_is_not_home(void)
{
	struct journal_head *jh;
	struct buffer_head *bh;
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK);
	jh = zj_jh_get(bh);
	f = GO(call_checkpoint);
	/* After: is there something to bring home?  Is it there? */
	stop_before(&f->task->task, &jh->lock, 2);
	settle();
	assert_true(stopped(&f->task->task));
	assert_int_equal(home_val(BLOCK), 1);
	lock_buffer(bh);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(fx.zj->trimmed, 1);
	assert_non_null(jh->newest);
	unlock_buffer(bh);
	zj_jh_put(jh);
	brelse(bh);
	close_journal();
}

static void call_kick(struct fiber *f)
{
	zj_checkpoint_kick(fx.zj);
}

static void call_pause(struct fiber *f)
{
	sleep_ms(2);
}

/* The thread may wake, and look, while who has woken it is not done yet. */
static void kick_is_seen_by_who_wakes_at_once(void)
{
	struct buffer_head *bh;
	bool more;
	int n = 1;

	OPEN();
	bh = buffer(BLOCK);
	do {
		change(0, BLOCK, n);
		commit(0);
		buf_write_back(fx.disk, BLOCK);
		settle();
		assert_true(buffer_jbd(bh));
		more = preempt_at(n++, CALL(call_kick), CALL(call_pause));
		settle();
		assert_false(buffer_jbd(bh));
	} while (more);
	assert_true(n > 2);
	brelse(bh);
	close_journal();
}

static void error_of_a_trim_is_told_as_it_is(void)
{
	OPEN(.journal = 400, .nvm = 1 << 20);
	change(0, BLOCK, 1);
	commit(0);
	kl_nvm.gone = true;
	assert_int_equal(zj_checkpoint(fx.zj, true), -ENODEV);
	kl_nvm.gone = false;
	assert_int_equal(fx.zj->trimmed, 1);
	close_aborted();
}

/* The next pass need not wait for news: the last one had no room for all. */
static void passes_follow_each_other_while_they_move_something(void)
{
	ktime_t begin;

	OPEN(.journal = 1024, .lanes = 1);
	change_blocks(0, BLOCK, fx.zj->max_txn, 1);
	commit(0);
	assert_true(fx.zj->max_txn > fx.zj->max_found);
	fx.disk->io_ns = 1000;
	begin = ktime_get();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_true(ktime_get() - begin < 50 * NSEC_PER_MSEC);
	close_journal();
}

CORE_TESTS(checkpoint,
	CORE_TEST(head_of_a_locked_buffer_is_not_let_go),
	CORE_TEST(home_writes_go_up),
	CORE_TEST(buffer_that_is_found_twice_holds_nobody_up),
	CORE_TEST(checkpoint_waits_for_what_is_not_finished),
	CORE_TEST(memory_that_may_be_refused_is_not_needed),
	CORE_TEST(kick_is_never_lost),
	CORE_TEST(dead_components_are_looked_for_without_comp_lock),
	CORE_TEST(log_is_not_empty_before_s_is_written),
	CORE_TEST(valid_images_go_home_then_s_moves),
	CORE_TEST(newest_valid_image_goes_home_once),
	CORE_TEST(block_of_a_running_transaction_stays),
	CORE_TEST(block_of_a_frozen_transaction_stays),
	CORE_TEST(full_checkpoint_closes_what_covers_older_images),
	CORE_TEST(s_does_not_pass_what_is_not_home),
	CORE_TEST(write_that_fails_aborts_and_keeps_the_log),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_trim),
	CORE_TEST(any_failed_write_back_keeps_s_back),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_write_access),
	CORE_TEST(error_of_before_the_mount_is_not_ours),
	CORE_TEST(write_that_fails_is_made_good_by_a_new_image),
	CORE_TEST(what_write_back_brought_home_is_let_go),
	CORE_TEST(more_than_a_batch_goes_home),
	CORE_TEST(lanes_help_while_space_is_short),
	CORE_TEST(lanes_do_not_help_while_there_is_space),
	CORE_TEST(small_transactions_bring_nothing_home),
	CORE_TEST(write_that_fails_in_a_lanes_batch_aborts),
	CORE_TEST(who_waits_for_space_closes_what_keeps_s_back),
	CORE_TEST(two_thirds_of_a_log_start_the_background_thread),
	CORE_TEST(home_writes_of_a_block_follow_one_another),
	CORE_TEST(pass_brings_half_a_budget_home),
	CORE_TEST(s_does_not_wait_for_the_next_pass),
	CORE_TEST(thread_works_until_enough_is_free),
	CORE_TEST(pass_goes_on_where_the_last_one_had_no_room),
	CORE_TEST(pass_that_has_ended_is_nobodys),
	CORE_TEST(buffer_that_is_locked_again_is_not_home),
	CORE_TEST(kick_is_seen_by_who_wakes_at_once),
	CORE_TEST(error_of_a_trim_is_told_as_it_is),
	CORE_TEST(passes_follow_each_other_while_they_move_something),
);
