// SPDX-License-Identifier: GPL-2.0-only
/* file_block.c: F1, F3, F4, blocks of file data that recovery may replay. */
#include "fixture.h"
#include "core/wake.h"
#include "txn/file_block.h"

/* Logs a block as an fsync does: the device's buffer gets the data. */
static void log_block(handle_t *h, u32 block, u8 val)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	memset(bh->b_data, val, DISK_BLOCK);
	assert_int_equal(zj_journal_dirty_file_block(h, bh, false), 0);
	brelse(bh);
	own(NULL);
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
	assert_int_equal(zj_txn_wait_committed(txn), 0);
	zj_txn_put(txn);
	assert_false(zj_journal_bring_home(bh, false));
	assert_true(zj_journal_bring_home(bh, true));
	assert_int_equal(home_val(BLOCK), 8);
	brelse(bh);
	close_journal();
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

static u32 limit(void)
{
	return zj_journal_file_data_limit(fx.journal, 0);
}

/* What log writes of two sizes have taken. */
static void took(s64 small_ns, s64 large_ns)
{
	lane(0)->write_time[0] = (struct zj_write_time){ small_ns, 8192 };
	lane(0)->write_time[1] = (struct zj_write_time){ large_ns, 8192 + (1 << 20) };
}

static void limit_follows_from_the_price_of_a_byte(void)
{
	OPEN(.lanes = 1, .journal = 20000);
	/* Nothing is known, or a byte costs nothing: the limit of a disk. */
	took(0, 0);
	assert_int_equal(limit(), 65536);
	took(20000, 20000);
	assert_int_equal(limit(), 65536);
	/* 1 ns a byte, which is written twice. */
	took(20000, 20000 + (1 << 20));
	assert_int_equal(limit(), 10000);
	/* A block at least. */
	took(20, 20 + (1 << 20));
	assert_int_equal(limit(), DISK_BLOCK);
	/* And no more than a part of a transaction. */
	fx.zj->max_txn = 640;
	took(0, 0);
	assert_int_equal(limit(), 10 * DISK_BLOCK);
	close_journal();
}

static void limit_is_of_the_transaction_with_a_log_in_memory(void)
{
	OPEN(.lanes = 1, .nvm = 1 << 22);
	took(20, 20 + (1 << 20));
	assert_int_equal(limit(), fx.zj->max_txn / 64 * DISK_BLOCK);
	close_journal();
}

static void log_writes_are_timed_by_size(void)
{
	const struct zj_write_time *time;
	handle_t *h;

	OPEN(.lanes = 1);
	time = lane(0)->write_time;
	change(0, BLOCK, 1);
	commit(0);
	assert_true(time[0].ns > 0 && time[0].bytes >= 2 * DISK_BLOCK);
	assert_int_equal(time[1].bytes, 0);
	h = start(0, 40);
	for (u32 i = 0; i < 40; i++)
		put(h, BLOCK + i, i);
	stop(h);
	commit(0);
	assert_true(time[1].ns > 0 && time[1].bytes >= 40 * DISK_BLOCK);
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
	CORE_TEST(f3_revoke_ends_it_when_it_is_committed),
	CORE_TEST(f3_revoke_ends_it_for_all_transactions),
	CORE_TEST(f3_freed_in_the_same_transaction),
	CORE_TEST(f4_data_that_a_commit_writes_is_told),
	CORE_TEST(f4_data_on_its_way_is_not_written_by_the_commit),
	CORE_TEST(limit_follows_from_the_price_of_a_byte),
	CORE_TEST(limit_is_of_the_transaction_with_a_log_in_memory),
	CORE_TEST(log_writes_are_timed_by_size),
	CORE_TEST(an_abort_forgets_all_in_the_end),
	CORE_TEST(an_abort_leaves_no_image_in_the_cache));
