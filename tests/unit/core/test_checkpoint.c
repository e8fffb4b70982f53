// SPDX-License-Identifier: GPL-2.0-only
/* home.c, tail.c: home writes, their order, what keeps the checkpoint stamp back. */
#include "fixture.h"
#include <linux/sched/signal.h>

static void committed_images_go_home_then_the_stamp_moves(void)
{
	u32 before, home, slot;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(home_val(BLOCK), 0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	assert_int_equal(stamp_on_disk(), 2);
	/* Home, durable, then the checkpoint stamp. */
	home = written(BLOCK, before);
	slot = written(jblock(ZJ_BLOCK_CKPT + fx.zj->ckpt_seq % 2), before);
	assert_true(home < slot);
	assert_true(flushed_between(home, slot));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void newest_committed_image_goes_home_once(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
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
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	stop(h);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	close_journal();
}

static void block_of_a_sealed_transaction_stays(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	change(1, BLOCK, 2);
	seal_held(1);
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
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	assert_true(list_empty(&fx.zj->ckpt_list));
	close_journal();
}

static void stamp_does_not_pass_what_is_not_home(void)
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
	assert_int_equal(fx.zj->ckpt_stamp, 1);
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
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(stamp_on_disk(), 1);
	assert_true(said("could not be written to its place"));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

static void failed_write_back_of_the_kernels_is_noticed_by_checkpoint(void)
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

/* The lost block may be one of those that the checkpoint stamp would pass. */
static void any_failed_write_back_keeps_the_stamp_back(void)
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

/* Nobody changes the buffer here; whoever reads the block must find it nevertheless. */
static void access_after_a_failed_write_keeps_the_contents(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	set_buffer_write_io_error(bh);
	clear_buffer_uptodate(bh);
	h = start(0, 1);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	assert_true(buffer_uptodate(bh));
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
	/* The thread checks once in a commit interval, or when it is woken. */
	zj_checkpoint_kick(fx.zj);
	settle();
	assert_false(buffer_jbd(bh));
	brelse(bh);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(writes_of(BLOCK, 0), 1);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
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
	assert_int_equal(fx.zj->ckpt_stamp, 2);
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

/* Otherwise the log would be marked clean before another checkpoint's work is covered. */
static void log_is_not_empty_before_the_stamp_is_written(void)
{
	struct fiber *one, *other;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	settle();
	one = GO(call_full_checkpoint);
	/* After: what is finished, what is dead. Is anything sealed? */
	stop_before(&one->task->task, &fx.zj->comp_lock, 3);
	let_run();
	assert_true(stopped(&one->task->task));
	release();
	settle();
	fx.hold_flush = true;
	other = GO(call_full_checkpoint);
	settle();
	go_on(&one->task->task);
	settle();
	/* The checkpoint stamp is being written by some task. */
	assert_int_equal(nr_held(), 1);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_false(one->done);
	assert_false(other->done);
	release();
	join(one);
	join(other);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	close_journal();
}

/* Each commit looks for watchers, but only theirs are told. */
static void progress_is_counted_for_those_who_watch(void)
{
	int before;

	OPEN();
	before = atomic_read(&fx.zj->progress);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(atomic_read(&fx.zj->progress), before);
	zj_watch_progress(fx.zj);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(atomic_read(&fx.zj->progress), before + 1);
	zj_unwatch_progress(fx.zj);
	close_journal();
}

/* It looks again every 100 ms, but does not wait for that. */
static void full_checkpoint_is_woken_by_a_commit(void)
{
	struct fiber *f;
	s64 begin;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	settle();
	f = GO(call_full_checkpoint);
	settle();
	assert_int_equal(atomic_read(&fx.zj->watchers), 1);
	begin = sim_now;
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_true(sim_now - begin < 20 * NSEC_PER_MSEC);
	assert_int_equal(atomic_read(&fx.zj->watchers), 0);
	close_journal();
}

/* There may be thousands of them, and comp_lock is shared by all lanes. */
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
	seal(1);
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
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	zj_txn_put(txn);
	close_journal();
}

/* ---- another task holds the buffer's lock: it may be on its way home ---- */

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

/* ---- committed, but not finished, because callbacks take long ---- */

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
	seal(0);
	/* Depends on the one before, so that one thread finishes both. */
	change(1, BLOCK + 1, 2);
	tid = change(1, BLOCK, 2);
	seal(1);
	settle();
	fx.on_commit = sleep_once;
	release();
	sleep_ms(100);
	assert_null(fx.on_commit);
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	f = GO(call_full_checkpoint);
	stop_before(&f->task->task, &fx.zj->comp_lock, 50);
	sleep_ms(100);
	assert_false(stopped(&f->task->task));
	assert_false(f->done);
	stop_nowhere(&f->task->task);
	join(f);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(fx.zj->ckpt_stamp, 4);
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

/* ---- one block, on demand ---- */

static void call_home(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	f->ret = zj_journal_wait_home(bh, f->n);
	brelse(bh);
}

/*
 * Another handle logs it again while the older image is on its way. Nobody else closes the
 * transaction of that one.
 */
static void block_logged_again_is_committed_at_once(void)
{
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	f = GO(call_home, .block = BLOCK);
	stop_before(&f->task->task, &newest_part(BLOCK)->jh->lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	change(1, BLOCK, 2);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(home_val(BLOCK), 2);
	close_journal();
}

/* It need not be home then, but for a caller that cannot give up. */
static void wait_for_home_ends_when_the_task_is_killed(void)
{
	OPEN();
	for (u32 killable = 0; killable <= 1; killable++) {
		struct fiber *f;

		change(0, BLOCK, 1 + killable);
		kl_killed_in = 1;
		f = GO(call_home, .block = BLOCK, .n = killable);
		join(f);
		kl_killed_in = 0;
		assert_int_equal(f->ret, killable ? -EINTR : 0);
		assert_int_equal(home_val(BLOCK), 1);
	}
	close_journal();
}

static void wait_for_home_ends_with_an_abort(void)
{
	struct fiber *f;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	f = GO(call_home, .block = BLOCK);
	settle();
	assert_false(f->done);
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	assert_int_equal(f->ret, -EIO);
	close_aborted();
}

static void call_home_that_succeeds(struct fiber *f)
{
	call_home(f);
	assert_int_equal(f->ret, 0);
}

/* A checkpoint may write it home, and let its head go, at any place. */
static void block_that_others_write_home_is_home(void)
{
	bool more = true;

	OPEN();
	for (int n = 1; more; n++) {
		change(0, BLOCK, n);
		commit(0);
		more = preempt_at(n, CALL(call_home_that_succeeds, .block = BLOCK),
				  CALL(call_full_checkpoint));
		assert_int_equal(home_val(BLOCK), (u8)n);
		assert_true(more || n > 20);
	}
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

/*
 * One lane changes what the other has changed, and all is written home: no allocation here may
 * fail.
 */
static void busy_round(struct file *file)
{
	for (u32 n = 0; n < 3; n++) {
		busy_file(file, n);
		seal(n % fx.zj->nr_lanes);
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

/* ---- a buffer that is locked again ---- */

/* Another task has locked the buffer since it was written home: it may be in flight again. */
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
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_non_null(jh->newest);
	unlock_buffer(bh);
	zj_jh_put(jh);
	brelse(bh);
	close_journal();
}

/* Who waits for space waits for half a budget, not for the whole log. */
static void pass_for_waiting_starts_takes_half_a_budget(void)
{
	struct zj_pass pass;
	u32 budget;

	OPEN(.lanes = 1);
	for (u32 i = 0; i < 2; i++) {
		change(0, BLOCK + 40 * i, 1);
		commit(0);
	}
	budget = fx.zj->budget;
	fx.zj->budget = 2;
	atomic_inc(&fx.zj->space_waiters);
	mutex_lock(&fx.zj->ckpt_lock);
	zj_pass_begin(&pass, fx.zj, false);
	zj_pass_end(&pass);
	mutex_unlock(&fx.zj->ckpt_lock);
	atomic_dec(&fx.zj->space_waiters);
	fx.zj->budget = budget;
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(writes_of(BLOCK + 40, 0), 0);
	close_journal();
}

CORE_TESTS(checkpoint,
	CORE_TEST(head_of_a_locked_buffer_is_not_let_go),
	CORE_TEST(home_writes_go_up),
	CORE_TEST(buffer_that_is_found_twice_holds_nobody_up),
	CORE_TEST(block_logged_again_is_committed_at_once),
	CORE_TEST(wait_for_home_ends_when_the_task_is_killed),
	CORE_TEST(wait_for_home_ends_with_an_abort),
	CORE_TEST(block_that_others_write_home_is_home),
	CORE_TEST(checkpoint_waits_for_what_is_not_finished),
	CORE_TEST(memory_that_may_be_refused_is_not_needed),
	CORE_TEST(dead_components_are_looked_for_without_comp_lock),
	CORE_TEST(log_is_not_empty_before_the_stamp_is_written),
	CORE_TEST(progress_is_counted_for_those_who_watch),
	CORE_TEST(full_checkpoint_is_woken_by_a_commit),
	CORE_TEST(committed_images_go_home_then_the_stamp_moves),
	CORE_TEST(newest_committed_image_goes_home_once),
	CORE_TEST(block_of_a_running_transaction_stays),
	CORE_TEST(block_of_a_sealed_transaction_stays),
	CORE_TEST(full_checkpoint_closes_what_covers_older_images),
	CORE_TEST(stamp_does_not_pass_what_is_not_home),
	CORE_TEST(write_that_fails_aborts_and_keeps_the_log),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_checkpoint),
	CORE_TEST(any_failed_write_back_keeps_the_stamp_back),
	CORE_TEST(failed_write_back_of_the_kernels_is_noticed_by_write_access),
	CORE_TEST(error_of_before_the_mount_is_not_ours),
	CORE_TEST(write_that_fails_is_made_good_by_a_new_image),
		CORE_TEST(access_after_a_failed_write_keeps_the_contents),
	CORE_TEST(what_write_back_brought_home_is_let_go),
	CORE_TEST(more_than_a_batch_goes_home),
	CORE_TEST(home_writes_of_a_block_follow_one_another),
	CORE_TEST(buffer_that_is_locked_again_is_not_home),
	CORE_TEST(pass_for_waiting_starts_takes_half_a_budget),
);
