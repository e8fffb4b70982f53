// SPDX-License-Identifier: GPL-2.0-only
/* file_block.c: F1, F3, F4, blocks of file data that recovery may replay. */
#include "fixture.h"
#include "core/core.h"
#include "txn/txn.h"

/* Writes a block in place, as an application does past the page cache and with a flush. */
static void write_in_place(u32 block, u8 val)
{
	struct sim_buf *buf = (struct sim_buf *)buffer(block);

	lock_buffer(&buf->bh);
	memset(buf->bh.b_data, val, DISK_BLOCK);
	assert_int_equal(buf_write_locked(&buf->bh), 0);
	clear_buffer_uptodate(&buf->bh);
	brelse(&buf->bh);
	join(GO(call_flush));
}

static void log_in_lane(u32 lane, u32 block, u8 val)
{
	handle_t *h = start(lane, 1);

	log_block(h, block, val);
	stop(h);
}

static u32 logged(u32 block, u32 count)
{
	return zj_journal_file_blocks_logged(fx.journal, block, count);
}

static u32 most_logged(void)
{
	return zj_journal_max_file_blocks(fx.journal);
}

static void free_logged(u32 lane, u32 block)
{
	handle_t *h = start_more(lane, 1, 0, 1);

	assert_int_equal(revoke_block(h, block), 0);
	stop(h);
}

static void f1_block_is_known_until_the_tail_has_passed(void)
{
	OPEN();
	assert_int_equal(logged(BLOCK, 1), 0);
	log_in_lane(0, BLOCK, 7);
	assert_int_equal(logged(BLOCK, 1), 1);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 7);
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_true(most_logged());
	join(GO(call_full_checkpoint));
	assert_int_equal(home_val(BLOCK), 7);
	assert_int_equal(logged(BLOCK, 1), 0);
	assert_int_equal(most_logged(), 0);
	close_journal();
}

/*
 * The tail has passed an image, but the log still has it. Recovery must not replay it over what was
 * written in place since, even if one checkpoint slot cannot be read any more.
 */
static void f1_holds_without_one_of_the_checkpoint_slots(void)
{
	for (u32 slot = 0; slot < ZJ_CKPT_SLOTS; slot++) {
		static const u8 rotten[DISK_BLOCK];
		struct image *image;

		OPEN();
		log_in_lane(0, BLOCK, 7);
		commit(0);
		join(GO(call_full_checkpoint));
		assert_int_equal(logged(BLOCK, 1), 0);
		write_in_place(BLOCK, 9);
		image = cut_power();
		image->block[jblock(ZJ_BLOCK_CKPT + slot)] = rotten;
		image->quiet = true;
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image_val(image, BLOCK), 9);
		image_free(image);
		close_journal();
	}
}

static void f1_each_transaction_with_an_image_counts(void)
{
	OPEN();
	log_in_lane(0, BLOCK, 1);
	commit(0);
	log_in_lane(1, BLOCK, 2);
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_true(most_logged() >= 2);
	/* The first one is home and forgotten, the second one is not even committed. */
	join(GO(call_checkpoint));
	assert_int_equal(logged(BLOCK, 1), 1);
	commit(1);
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void f1_one_transaction_counts_a_block_once(void)
{
	u32 n = ZJ_FILE_BLOCK_STEP;

	OPEN();
	for (u32 i = 0; i <= n; i++)
		log_in_lane(0, BLOCK, i);
	assert_int_equal(most_logged(), n);
	for (u32 i = 1; i <= n; i++)
		log_in_lane(0, BLOCK + i, i);
	assert_int_equal(most_logged(), 2 * n);
	assert_int_equal(logged(BLOCK, n + 5), n + 1);
	close_journal();
}

static void f1_other_blocks_are_not_counted(void)
{
	OPEN();
	change(0, BLOCK, 1);
	log_in_lane(0, BLOCK + 1, 1);
	log_in_lane(0, BLOCK + 4, 1);
	assert_int_equal(logged(BLOCK, 1), 0);
	assert_int_equal(logged(BLOCK, 4), 1);
	assert_int_equal(logged(BLOCK, 5), 2);
	assert_int_equal(logged(BLOCK + 2, 2), 0);
	close_journal();
}

static void asking_takes_no_lock_if_nothing_was_logged(void)
{
	u64 before;

	OPEN();
	before = locks_taken;
	assert_int_equal(logged(BLOCK, 100), 0);
	assert_int_equal(most_logged(), 0);
	assert_int_equal(locks_taken, before);
	close_journal();
}

static void f2_image_has_its_journal_head_until_it_is_home(void)
{
	struct buffer_head *bh;

	OPEN();
	log_in_lane(0, BLOCK, 7);
	bh = buffer(BLOCK);
	commit(0);
	assert_true(buffer_jbd(bh));
	assert_true(buffer_uptodate(bh));
	assert_int_equal(home_val(BLOCK), 0);
	join(GO(call_full_checkpoint));
	assert_int_equal(home_val(BLOCK), 7);
	assert_false(buffer_jbd(bh));
	/* From now on the file may be written past the buffer. */
	assert_false(buffer_uptodate(bh));
	brelse(bh);
	close_journal();
}

static void checkpoint_thread_wakes_after(u32 seconds)
{
	sleep_ms(seconds * 1000);
	zj_checkpoint_kick(fx.zj);
	settle();
}

/* Nobody kicks the thread, as nobody waits for space. */
static void logged_data_is_home_in_time_whatever_the_commit_interval(void)
{
	static const u32 seconds[] = { 1, 20, 600 };

	for (u32 i = 0; i < 2 * ARRAY_SIZE(seconds); i++) {
		OPEN(.nvm = i % 2 << 20, .journal = 400);
		fx.journal->j_commit_interval = seconds[i / 2] * HZ;
		/* The thread sees the new interval when it sleeps again. */
		checkpoint_thread_wakes_after(0);
		log_in_lane(0, BLOCK, 7);
		commit(0);
		sleep_ms(5 * 1000);
		assert_int_equal(home_val(BLOCK), 0);
		sleep_ms(26 * 1000);
		assert_int_equal(home_val(BLOCK), 7);
		close_journal();
	}
}

static void logged_data_goes_home_when_it_is_old(void)
{
	OPEN();
	log_in_lane(0, BLOCK, 7);
	commit(0);
	checkpoint_thread_wakes_after(20);
	assert_int_equal(home_val(BLOCK), 0);
	checkpoint_thread_wakes_after(20);
	assert_int_equal(home_val(BLOCK), 7);
	assert_int_equal(logged(BLOCK, 1), 0);
	close_journal();
}

/* More than one pass takes. */
static void all_old_logged_data_goes_home_at_once(void)
{
	u32 n;

	OPEN(.journal = 400);
	n = fx.zj->budget * 3 / 4 / 8 * 8;
	for (u32 i = 0; i < n; i++) {
		log_in_lane(0, BLOCK + i, 7);
		if (i % 8 == 7)
			commit(0);
	}
	assert_int_equal(home_val(BLOCK + n - 1), 0);
	checkpoint_thread_wakes_after(40);
	assert_int_equal(home_val(BLOCK), 7);
	assert_int_equal(home_val(BLOCK + n - 1), 7);
	assert_int_equal(most_logged(), 0);
	close_journal();
}

static void metadata_alone_is_left_to_the_kernel(void)
{
	OPEN();
	change(0, BLOCK, 7);
	commit(0);
	checkpoint_thread_wakes_after(80);
	assert_int_equal(home_val(BLOCK), 0);
	/* The age of file data counts from when there was some. */
	log_in_lane(0, BLOCK + 1, 8);
	commit(0);
	checkpoint_thread_wakes_after(10);
	assert_int_equal(home_val(BLOCK + 1), 0);
	close_journal();
}

static void f2_image_is_brought_home_before_its_turn(void)
{
	struct buffer_head *bh;

	OPEN();
	log_in_lane(0, BLOCK, 7);
	bh = buffer(BLOCK);
	commit(0);
	/* The first call sends it, the second one waits for it. */
	assert_false(zj_journal_bring_home(bh, true));
	assert_true(zj_journal_bring_home(bh, true));
	assert_int_equal(home_val(BLOCK), 7);
	assert_false(buffer_jbd(bh));
	/* The log has it all the same, until the tail passes. */
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_true(zj_journal_bring_home(bh, true));
	brelse(bh);
	close_journal();
}

static void f2_image_is_committed_before_it_is_brought_home(void)
{
	struct buffer_head *bh;
	struct zj_txn *txn;

	OPEN();
	log_in_lane(0, BLOCK, 7);
	commit(0);
	log_in_lane(1, BLOCK, 8);
	txn = running(1);
	bh = buffer(BLOCK);
	assert_false(zj_journal_bring_home(bh, true));
	assert_int_equal(home_val(BLOCK), 0);
	/* Nobody else asks for the commit. */
	assert_int_equal(zj_txn_wait_finished(txn), 0);
	zj_txn_put(txn);
	assert_false(zj_journal_bring_home(bh, false));
	assert_true(zj_journal_bring_home(bh, true));
	assert_int_equal(home_val(BLOCK), 8);
	brelse(bh);
	close_journal();
}

/* ---- blocks that are to be written in place (F1) ---- */

static int revoke_home(handle_t *h, u32 block)
{
	/* It need not be read. */
	struct buffer_head *bh = __getblk(fx.journal->j_fs_dev, block, DISK_BLOCK);
	int err;

	own(h);
	err = zj_journal_revoke_home(h, bh);
	own(NULL);
	brelse(bh);
	return err;
}

static int settle_in_lane(u32 lane, u32 block)
{
	handle_t *h = start_more(lane, 0, 0, 1);
	int err = revoke_home(h, block);

	stop(h);
	return err;
}

static void call_home(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	f->ret = zj_journal_wait_home(bh, true);
	brelse(bh);
}

static void call_commit(struct fiber *f)
{
	f->ret = zj_journal_force_commit(fx.journal);
}

static void commit_all(void)
{
	join(GO(call_commit));
}

static void bring_home(u32 block)
{
	struct fiber *f = GO(call_home, .block = block);

	join(f);
	assert_int_equal(f->ret, 0);
}

static void log_home(u32 lane, u32 block, u8 val)
{
	log_in_lane(lane, block, val);
	bring_home(block);
}

static void found_in_order(void)
{
	const u32 at[] = { 3, 4, 15, 16, 40, 60 };
	u64 found[8];

	OPEN();
	assert_int_equal(zj_journal_find_file_blocks(fx.journal, BLOCK, 100, found, 8), 0);
	for (u32 i = 0; i < ARRAY_SIZE(at); i++)
		log_in_lane(i % 2, BLOCK + at[i], i);
	log_in_lane(1, BLOCK + 4, 9);
	assert_int_equal(zj_journal_find_file_blocks(fx.journal, BLOCK, 100, found, 8), 6);
	for (u32 i = 0; i < ARRAY_SIZE(at); i++)
		assert_int_equal(found[i], BLOCK + at[i]);
	/* The range ends before the last one, and there is room for two. */
	assert_int_equal(zj_journal_find_file_blocks(fx.journal, BLOCK + 4, 56, found, 2), 2);
	assert_int_equal(found[1], BLOCK + 15);
	assert_int_equal(zj_journal_find_file_blocks(fx.journal, BLOCK + 16, 44, found, 8), 2);
	assert_int_equal(logged(BLOCK, 60), 5);
	assert_int_equal(logged(BLOCK, 61), 6);
	close_journal();
}

static void f2_home_is_waited_for(void)
{
	struct fiber *f;

	OPEN();
	/* Committed, then running, then nothing to wait for. */
	log_in_lane(0, BLOCK, 7);
	commit(0);
	bring_home(BLOCK);
	assert_int_equal(home_val(BLOCK), 7);
	log_in_lane(1, BLOCK, 8);
	bring_home(BLOCK);
	assert_int_equal(home_val(BLOCK), 8);
	assert_null(newest_part(BLOCK));
	f = GO(call_home, .block = BLOCK);
	let_run();
	assert_true(f->done);
	join(f);
	assert_int_equal(f->ret, 0);
	/* Metadata of others stays where it is: that is not what was asked for. */
	change(0, BLOCK + 1, 5);
	log_in_lane(0, BLOCK, 9);
	bring_home(BLOCK);
	assert_int_equal(home_val(BLOCK), 9);
	assert_int_equal(home_val(BLOCK + 1), 0);
	close_journal();
}

static void f2_block_that_cannot_go_home_is_told(void)
{
	struct fiber *f;

	OPEN();
	log_in_lane(0, BLOCK, 7);
	commit(0);
	fx.disk->fail_write = fx.disk->writes + 1;
	f = GO(call_home, .block = BLOCK);
	join(f);
	assert_int_equal(f->ret, -EIO);
	assert_true(logged(BLOCK, 1));
	zj_journal_abort(fx.journal, -EIO);
	close_aborted();
}

static void f1_revoked_block_may_be_written_in_place(void)
{
	OPEN();
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	/* A power cut now would bring the image back. */
	assert_int_equal(logged(BLOCK, 1), 1);
	commit(1);
	assert_int_equal(logged(BLOCK, 1), 0);
	write_in_place(BLOCK, 9);
	assert_int_equal(val_after_crash(BLOCK), 9);
	/* It may be logged again later. */
	log_in_lane(0, BLOCK, 3);
	assert_int_equal(logged(BLOCK, 1), 1);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

/* The home write is in the device's cache, and the record of the revoke would be made with FUA. */
static void f1_what_went_home_is_durable_when_the_revoke_is(void)
{
	OPEN();
	/* Otherwise each commit flushes. */
	report_data();
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	commit(1);
	assert_int_equal(logged(BLOCK, 1), 0);
	assert_int_equal(val_after_crash(BLOCK), 7);
	close_journal();
}

static void f1_image_that_is_not_home_is_not_revoked(void)
{
	OPEN();
	log_in_lane(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(1, BLOCK), -EBUSY);
	assert_int_equal(settle_in_lane(0, BLOCK), -EBUSY);
	commit(0);
	assert_int_equal(settle_in_lane(1, BLOCK), -EBUSY);
	commit_all();
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 7);
	close_journal();
}

static void f1_block_logged_before_the_revoke_is_sealed(void)
{
	OPEN();
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	log_in_lane(0, BLOCK, 8);
	commit_all();
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 8);
	close_journal();
}

static void f1_block_logged_after_the_revoke_is_sealed(void)
{
	OPEN();
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	seal_held(1);
	log_in_lane(0, BLOCK, 8);
	release();
	settle();
	/* The revoke has ended the first image only. */
	assert_int_equal(logged(BLOCK, 1), 1);
	commit(0);
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 8);
	bring_home(BLOCK);
	assert_int_equal(home_val(BLOCK), 8);
	close_journal();
}

/* It has looked for a revoke already, and waits for the buffer, when the block is revoked. */
static void f1_block_logged_while_it_is_revoked(void)
{
	struct buffer_head *bh;
	struct fiber *f;
	handle_t *h;

	OPEN();
	log_home(0, BLOCK, 7);
	h = start(0, 1);
	bh = buffer(BLOCK);
	lock_buffer(bh);
	f = GO(call_access, .h = h, .block = BLOCK);
	let_run();
	assert_false(f->done);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	unlock_buffer(bh);
	brelse(bh);
	join(f);
	log_block(h, BLOCK, 8);
	stop(h);
	/* Two transactions that did not know of each other would be sealed in this order. */
	commit(0);
	commit_all();
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 8);
	close_journal();
}

static void f1_block_revoked_in_two_lanes(void)
{
	OPEN(.lanes = 3);
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(0, BLOCK), 0);
	assert_int_equal(settle_in_lane(1, BLOCK), 0);
	/* Neither revoke may come after the image. */
	log_in_lane(2, BLOCK, 8);
	commit(2);
	commit_all();
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 8);
	close_journal();
}

static void call_revoke_home(struct fiber *f)
{
	f->ret = revoke_home(f->h, f->block);
}

static void call_log(struct fiber *f)
{
	log_block(f->h, f->block, 8);
}

/* One handle revokes a block; at each place in turn another one does what @other says. */
static void at_any_place(void (*other)(struct fiber *f))
{
	handle_t *a, *b;
	bool more = true;

	for (int nth = 1; more; nth++) {
		OPEN(.lanes = 3);
		log_home(0, BLOCK, 7);
		a = start_more(1, 0, 0, 1);
		b = start_more(2, 1, 0, 1);
		more = preempt_at(nth, CALL(call_revoke_home, .h = a, .block = BLOCK),
				  CALL(other, .h = b, .block = BLOCK));
		stop(a);
		stop(b);
		if (other != call_log)
			log_in_lane(0, BLOCK, 8);
		/* What did not know of the others would be sealed last. */
		commit(other == call_log ? 2 : 0);
		commit_all();
		assert_int_equal(logged(BLOCK, 1), 1);
		assert_int_equal(val_after_crash(BLOCK), 8);
		close_journal();
	}
}

static void f1_block_logged_at_any_place_of_the_revoke(void)
{
	at_any_place(call_log);
}

static void f1_block_revoked_at_any_place_of_the_revoke(void)
{
	at_any_place(call_revoke_home);
}

/*
 * A touch that has looked already finds one revoke when it looks again. So there must not be
 * two that may be sealed after it.
 */
static void f1_block_logged_while_two_revoke_it(void)
{
	handle_t *h, *a, *b;
	struct buffer_head *bh;
	struct fiber *f;
	bool more = true;

	for (int nth = 1; more; nth++) {
		OPEN(.lanes = 3);
		log_home(0, BLOCK, 7);
		h = start(0, 1);
		a = start_more(1, 0, 0, 1);
		b = start_more(2, 1, 0, 1);
		bh = buffer(BLOCK);
		lock_buffer(bh);
		f = GO(call_access, .h = h, .block = BLOCK);
		let_run();
		more = preempt_at(nth, CALL(call_revoke_home, .h = a, .block = BLOCK),
				  CALL(call_revoke_home, .h = b, .block = BLOCK));
		unlock_buffer(bh);
		brelse(bh);
		join(f);
		log_block(h, BLOCK, 8);
		stop(h);
		stop(a);
		stop(b);
		commit(0);
		commit_all();
		assert_int_equal(logged(BLOCK, 1), 1);
		assert_int_equal(val_after_crash(BLOCK), 8);
		close_journal();
	}
}

static void f1_block_freed_after_it_was_revoked(void)
{
	OPEN();
	log_home(0, BLOCK, 7);
	assert_int_equal(settle_in_lane(0, BLOCK), 0);
	free_logged(1, BLOCK);
	commit_all();
	assert_int_equal(logged(BLOCK, 1), 0);
	close_journal();
}

static void f1_revoke_of_an_aborted_handle(void)
{
	handle_t *h;

	OPEN();
	log_home(0, BLOCK, 7);
	h = start_more(0, 0, 0, 1);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(revoke_home(h, BLOCK), -EROFS);
	stop(h);
	close_aborted();
}

static void f3_revoke_ends_it_when_it_is_committed(void)
{
	OPEN();
	log_in_lane(0, BLOCK, 7);
	commit(0);
	free_logged(1, BLOCK);
	/* A power cut now would bring the file back. */
	assert_int_equal(logged(BLOCK, 1), 1);
	assert_int_equal(val_after_crash(BLOCK), 7);
	commit(1);
	assert_int_equal(logged(BLOCK, 1), 0);
	assert_int_equal(val_after_crash(BLOCK), 0);
	join(GO(call_full_checkpoint));
	assert_int_equal(home_val(BLOCK), 0);
	close_journal();
}

static void f3_revoke_ends_it_for_all_transactions(void)
{
	OPEN();
	log_in_lane(0, BLOCK, 1);
	commit(0);
	log_in_lane(1, BLOCK, 2);
	commit(1);
	free_logged(0, BLOCK);
	commit(0);
	assert_int_equal(logged(BLOCK, 1), 0);
	close_journal();
}

static void f3_freed_in_the_same_transaction(void)
{
	handle_t *h;

	OPEN();
	h = start_more(0, 2, 0, 1);
	log_block(h, BLOCK, 7);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	stop(h);
	commit(0);
	assert_int_equal(logged(BLOCK, 1), 0);
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_journal();
}

static void f4_data_that_a_commit_writes_is_told(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	assert_false(zj_journal_inode_orders(NULL, 0, 4096));
	assert_false(zj_journal_inode_orders(&file.jinode, 0, 4096));
	h = start(0, 1);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 4096, 4096), 0);
	stop(h);
	assert_true(zj_journal_inode_orders(&file.jinode, 4096, 8192));
	assert_true(zj_journal_inode_orders(&file.jinode, 8191, 12288));
	assert_true(zj_journal_inode_orders(&file.jinode, 0, 4097));
	assert_false(zj_journal_inode_orders(&file.jinode, 0, 4096));
	assert_false(zj_journal_inode_orders(&file.jinode, 8192, 12288));
	commit(0);
	assert_false(zj_journal_inode_orders(&file.jinode, 4096, 8192));
	close_journal();
}

static void f4_data_on_its_way_is_not_written_by_the_commit(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	assert_int_equal(zj_journal_inode_ranged_wait(h, &file.jinode, 0, 4096), 0);
	stop(h);
	assert_false(zj_journal_inode_orders(&file.jinode, 0, 4096));
	commit(0);
	close_journal();
}

static void an_abort_forgets_all_in_the_end(void)
{
	handle_t *h;

	OPEN();
	log_in_lane(0, BLOCK, 1);
	commit(0);
	log_in_lane(1, BLOCK + 1, 1);
	h = start(0, 1);
	zj_journal_abort(fx.journal, -EIO);
	own(h);
	assert_int_equal(zj_journal_dirty_file_block(h, NULL, false), -EROFS);
	own(NULL);
	stop(h);
	/* What is committed is replayed by the next mount. */
	assert_int_equal(logged(BLOCK, 1), 1);
	close_aborted();
}

/*
 * Recovery writes through the same buffer if somebody keeps the device open until then: if it
 * were dirty already, nobody would write it, and what is in its folio would stay in the cache.
 */
static void an_abort_leaves_no_image_in_the_cache(void)
{
	struct buffer_head *bh;

	OPEN();
	log_in_lane(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK);
	assert_true(buffer_dirty(bh));
	zj_journal_abort(fx.journal, -ESHUTDOWN);
	settle();
	assert_int_equal(unmount_journal(), -EIO);
	assert_false(buffer_dirty(bh));
	assert_false(buffer_uptodate(bh));
	brelse(bh);
	discard_disk();
}

CORE_TESTS(file_block,
	CORE_TEST(f1_block_is_known_until_the_tail_has_passed),
	CORE_TEST(f1_holds_without_one_of_the_checkpoint_slots),
	CORE_TEST(f1_each_transaction_with_an_image_counts),
	CORE_TEST(f1_one_transaction_counts_a_block_once),
	CORE_TEST(f1_other_blocks_are_not_counted),
	CORE_TEST(asking_takes_no_lock_if_nothing_was_logged),
	CORE_TEST(f2_image_has_its_journal_head_until_it_is_home),
	CORE_TEST(logged_data_is_home_in_time_whatever_the_commit_interval),
	CORE_TEST(logged_data_goes_home_when_it_is_old),
	CORE_TEST(all_old_logged_data_goes_home_at_once),
	CORE_TEST(metadata_alone_is_left_to_the_kernel),
	CORE_TEST(f2_image_is_brought_home_before_its_turn),
	CORE_TEST(f2_image_is_committed_before_it_is_brought_home),
	CORE_TEST(found_in_order),
	CORE_TEST(f2_home_is_waited_for),
	CORE_TEST(f2_block_that_cannot_go_home_is_told),
	CORE_TEST(f1_revoked_block_may_be_written_in_place),
	CORE_TEST(f1_what_went_home_is_durable_when_the_revoke_is),
	CORE_TEST(f1_image_that_is_not_home_is_not_revoked),
	CORE_TEST(f1_block_logged_before_the_revoke_is_sealed),
	CORE_TEST(f1_block_logged_after_the_revoke_is_sealed),
	CORE_TEST(f1_block_logged_while_it_is_revoked),
	CORE_TEST(f1_block_revoked_in_two_lanes),
	CORE_TEST(f1_block_logged_at_any_place_of_the_revoke),
	CORE_TEST(f1_block_revoked_at_any_place_of_the_revoke),
	CORE_TEST(f1_block_logged_while_two_revoke_it),
	CORE_TEST(f1_block_freed_after_it_was_revoked),
	CORE_TEST(f1_revoke_of_an_aborted_handle),
	CORE_TEST(f3_revoke_ends_it_when_it_is_committed),
	CORE_TEST(f3_revoke_ends_it_for_all_transactions),
	CORE_TEST(f3_freed_in_the_same_transaction),
	CORE_TEST(f4_data_that_a_commit_writes_is_told),
	CORE_TEST(f4_data_on_its_way_is_not_written_by_the_commit),
	CORE_TEST(an_abort_forgets_all_in_the_end),
	CORE_TEST(an_abort_leaves_no_image_in_the_cache));
