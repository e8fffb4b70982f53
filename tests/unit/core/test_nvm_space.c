// SPDX-License-Identifier: GPL-2.0-only
/* log_nvm.c: segments and tails, and blocks that are logged again so that space is freed. */
#include "nvmview.h"

/* ---- the tail ---- */

/* Lines are of no use without the image that they are put over. */
static void keep_the_oldest_image(bool declared)
{
	struct image *image;
	handle_t *h;
	u64 stamp;

	NVM(.lanes = 1, .cpus = 1);
	change(0, BLOCK, 7);
	commit(0);
	stamp = fx.zj->stamp;
	for (u32 i = 1; i < 5; i++) {
		if (declared)
			declare_range(0, BLOCK, i * ZJ_NVM_LINE, ZJ_NVM_LINE, 10 + i);
		else
			change_line(0, BLOCK, i, 10 + i);
	}
	/* It does not get home under its owner. */
	h = start(0, 1);
	get_access(h, BLOCK);
	fill_line(h, BLOCK, 9, 9);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 0);
	assert_true(fx.zj->ckpt_stamp < stamp);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < LINES; i++)
		assert_int_equal(image->block[BLOCK][i * ZJ_NVM_LINE],
				 i && i < 5 ? 10 + i : 7);
	image_free(image);
	stop(h);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.zj->ckpt_stamp, fx.zj->stamp);
	close_journal();
}

static void lines_keep_the_oldest_image_in_the_log(void)
{
	keep_the_oldest_image(false);
	keep_the_oldest_image(true);
}

/* As with whole blocks, parts between the oldest and the newest are dropped. */
static void parts_between_the_oldest_and_the_newest_go(void)
{
	struct journal_head *jh;
	struct buffer_head *bh;

	NVM(.lanes = 1, .cpus = 1);
	change(0, BLOCK, 7);
	commit(0);
	for (u32 i = 1; i < 20; i++)
		change_line(0, BLOCK, i % LINES, i);
	bh = buffer(BLOCK);
	jh = zj_jh_get(bh);
	assert_int_equal(list_count_nodes(&jh->parts), 2);
	zj_jh_put(jh);
	brelse(bh);
	close_journal();
}

/* A block that always has an owner that is not committed does not fill the log. */
static void a_hot_block_does_not_keep_the_stamp_back(void)
{
	u32 whole = 0, other, i;
	tid_t tid[2] = { };
	handle_t *h;

	NVM(.nvm = 300 << 10, .lanes = 2);
	tid[0] = change(0, BLOCK, 7);
	for (i = 1; i < 3000; i++) {
		other = (i + 1) % 2;
		seal(other);
		h = start(i % 2, 1);
		tid[i % 2] = h->h_transaction->t_tid;
		get_access(h, BLOCK);
		fill_line(h, BLOCK, i % LINES, i);
		stop(h);
		assert_int_equal(zj_complete_transaction(fx.journal, tid[other]), 0);
		whole += logged(other, BLOCK) == ALL;
	}
	assert_true(fx.zj->ckpt_stamp > 2000);
	assert_int_equal(lane(0)->stats.wait_space + lane(1)->stats.wait_space, 0);
	/* Now and then. */
	assert_in_range(whole, 2, 300);
	commit((i + 1) % 2);
	close_journal();
}

/* The checkpoint has to make progress in the older half of the log. */
static void only_what_is_old_is_logged_whole_for_the_checkpoint(void)
{
	handle_t *h;

	NVM(.lanes = 1, .cpus = 1);
	make_known(BLOCK, 7);
	for (u32 i = 1; i < 10; i++)
		make_known(BLOCK + i, 7);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	h = start(0, 4);
	range_access(h, BLOCK + 1);
	/* As if a task waited for space. */
	atomic_inc(&fx.zj->space_waiters);
	get_access(h, BLOCK);
	get_access(h, BLOCK + 4);
	get_access(h, BLOCK + 5);
	atomic_dec(&fx.zj->space_waiters);
	assert_true(zj_part_test(part_of(handle_txn(h), BLOCK + 1), ZJ_PART_DECLARED));
	assert_null(part_of(handle_txn(h), BLOCK)->base);
	assert_null(part_of(handle_txn(h), BLOCK + 4)->base);
	assert_non_null(part_of(handle_txn(h), BLOCK + 5)->base);
	stop(h);
	close_journal();
}

/* ---- checkpoints without a request ---- */

static void kick_after(u32 seconds)
{
	sleep_ms(seconds * 1000);
	zj_checkpoint_kick(fx.zj);
	settle();
}

/* Ten minutes after the last time it goes home, so that a recovery is short; no other log. */
static void what_is_old_goes_home(void)
{
	for (u32 nvm = 0; nvm < 2; nvm++) {
		OPEN(.nvm = nvm << 20, .journal = 400);
		change(0, BLOCK, 1);
		commit(0);
		kick_after(590);
		assert_int_equal(fx.zj->ckpt_stamp, 1);
		kick_after(20);
		assert_int_equal(fx.zj->ckpt_stamp, 1 + nvm);
		change(0, BLOCK + 1, 2);
		commit(0);
		kick_after(580);
		assert_int_equal(fx.zj->ckpt_stamp, 1 + nvm);
		close_journal();
	}
}

/* Nobody kicks the thread; with commit=3600 it would sleep for an hour. */
static void what_is_old_goes_home_whatever_the_commit_interval(void)
{
	OPEN(.nvm = 1 << 20, .journal = 400);
	fx.journal->j_commit_interval = 3600 * HZ;
	kick_after(0);
	change(0, BLOCK, 1);
	commit(0);
	sleep_ms(595 * 1000);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	sleep_ms(10 * 1000);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	close_journal();
}

/* What write-back has brought home gives its journal head back, and its log space. */
static void what_is_home_is_let_go_whatever_the_commit_interval(void)
{
	struct buffer_head *bh;

	OPEN();
	fx.journal->j_commit_interval = 600 * HZ;
	kick_after(0);
	change(0, BLOCK, 1);
	commit(0);
	bh = buffer(BLOCK);
	write_dirty_buffer(bh, 0);
	wait_on_buffer(bh);
	assert_int_equal(home_val(BLOCK), 1);
	assert_true(buffer_jbd(bh));
	sleep_ms(31 * 1000);
	assert_false(buffer_jbd(bh));
	assert_int_equal(fx.zj->ckpt_stamp, fx.zj->stamp);
	brelse(bh);
	close_journal();
}

/* ---- space ---- */

static void round_and_round(void)
{
	struct image *image;

	NVM(.nvm = 300 << 10, .lanes = 1);
	for (u32 i = 0; i < 3000; i++) {
		change_line(0, BLOCK + i % 7, i % LINES, i);
		if (i % 500 != 499)
			continue;
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		for (u32 n = i - 6; n <= i; n++)
			assert_int_equal(image->block[BLOCK + n % 7]
					 [n % LINES * ZJ_NVM_LINE], (u8)n);
		image_free(image);
	}
	assert_true(fx.zj->ckpt_stamp > 1000);
	assert_int_equal(ckpt_word(), fx.zj->ckpt_stamp);
	close_journal();
}

/*
 * A lane's tail has half of a stamp: it must not outlive 2^31 commits of the others, nor be
 * confused with a stamp after these.
 */
static void a_lane_rests_for_very_long(void)
{
	struct image *image;

	for (u64 rest = 1ULL << 30; rest <= 1ULL << 34; rest <<= 1) {
		NVM(.nvm = 300 << 10, .lanes = 2);
		change(1, BLOCK, 7);
		commit(1);
		assert_int_not_equal(tail(1), 0);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_true(tail(0) == 0 && tail(1) == 0);
		fx.zj->stamp += rest + 10;
		/* Lane 0 overwrites all of lane 1's records; the checkpoint stamp follows. */
		for (u32 i = 0; i < 1500; i++)
			change_line(0, BLOCK + i % 7, i % LINES, i);
		assert_true(fx.zj->ckpt_stamp > rest);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image->block[BLOCK + 1499 % 7][1499 % LINES * ZJ_NVM_LINE],
				 (u8)1499);
		image_free(image);
		/* The lane is back. */
		change(1, BLOCK + 20, 9);
		commit(1);
		assert_int_equal(tail(1) >> 32, (u32)fx.zj->stamp);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image_val(image, BLOCK + 20), 9);
		image_free(image);
		close_journal();
	}
}

/* A chunk of so many declared lines and one record, or of one entry alone. */
#define RECORD_LINES	(zj_nvm_info_bytes(0, 0, 1) / ZJ_NVM_LINE)
#define ENTRY_LINES	(zj_nvm_info_bytes(0, 1, 0) / ZJ_NVM_LINE)

static u32 left(void)
{
	return fx.zj->geo.seg_blocks - lane(0)->cur_off;
}

/* Fill the segment of lane 0 up to so many lines. */
static void leave(u32 lines)
{
	const u32 most = LINES + RECORD_LINES, least = 1 + RECORD_LINES;
	u32 n;

	do {
		n = left() < lines + least || left() > lines + most ? most : left() - lines;
		/* The next record has to fit, too. */
		if (left() > lines + most && left() - most < lines + least)
			n = least;
		declare_range(0, BLOCK, 0, (n - RECORD_LINES) * ZJ_NVM_LINE, n);
	} while (left() != lines);
}

/* Nothing at the end of a segment is wasted on what would fit. */
static void a_chunk_may_end_with_its_segment(void)
{
	handle_t *h;
	u32 segment;

	for (u32 what = 0; what < 3; what++) {
		NVM();
		make_known(BLOCK, 7);
		leave(what ? ENTRY_LINES : 7 + RECORD_LINES);
		segment = lane(0)->cur->index;
		fx.hold_lane[1] = true;
		if (what == 2) {
			change(1, BLOCK + 1, 1);
			seal(1);
		}
		h = start_more(0, 1, 0, 1);
		if (!what) {
			range_access(h, BLOCK);
			change_range(h, BLOCK, 0, 7 * ZJ_NVM_LINE, 9);
		} else if (what == 1) {
			assert_int_equal(revoke_block(h, BLOCK + 1), 0);
		} else {
			get_access(h, BLOCK + 1);
		}
		stop(h);
		seal(0);
		settle();
		assert_int_equal(lane(0)->cur->index, segment);
		assert_int_equal(left(), 0);
		release();
		settle();
		close_journal();
	}
}

/* Its thread is about to show a newer one when the checkpoint finds the old tail dead. */
static void checkpoint_leaves_a_newer_tail(void)
{
	struct image *image;

	NVM(.lanes = 2);
	change(1, BLOCK, 7);
	commit(1);
	change(0, BLOCK + 1, 7);
	commit(0);
	change(1, BLOCK + 2, 8);
	commit(1);
	/* Blocks 0 and 1 get home, 2 has a running owner: the checkpoint stamp stays below. */
	change(0, BLOCK + 2, 9);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(tail(0), 0);
	assert_int_equal(tail(1) >> 32, (u32)newest(1).stamp);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK + 2), 8);
	image_free(image);
	close_journal();
}

static void every_size_fits_its_promise(void)
{
	NVM(.nvm = 400 << 10, .lanes = 1, .info_max = 256);
	for (u32 n = 1; n <= fx.zj->max_credits; n++) {
		handle_t *h = start(0, n);
		tid_t tid = h->h_transaction->t_tid;

		for (u32 i = 0; i < n; i++)
			put(h, BLOCK + i, n);
		stop(h);
		/*
		 * A transaction that takes most of the log was closed by the checkpoint
		 * already.
		 */
		assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	}
	assert_false(is_journal_aborted(fx.journal));
	close_journal();
}

/* ---- a checkpoint that comes late ---- */

/* A checkpoint that has found the lane's tail to be dead, and then comes late. */
static void call_ckpt_all(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

static void tail_that_is_shown_meanwhile_stays(void)
{
	struct fiber *f;

	NVM(.lanes = 2);
	change(0, BLOCK, 1);
	commit(0);
	f = GO(call_ckpt_all, .cpu = 1);
	stop_before(&f->task->task, &lane(0)->lock, 1);
	settle();
	assert_true(stopped(&f->task->task));
	assert_int_equal(lane(0)->nvm_shown, 2);
	change(0, BLOCK + 1, 2);
	commit(0);
	assert_int_equal(lane(0)->nvm_shown, 3);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

CORE_TESTS(nvm_space,
	CORE_TEST(lines_keep_the_oldest_image_in_the_log),
	CORE_TEST(parts_between_the_oldest_and_the_newest_go),
	CORE_TEST(a_hot_block_does_not_keep_the_stamp_back),
	CORE_TEST(only_what_is_old_is_logged_whole_for_the_checkpoint),
	CORE_TEST(what_is_old_goes_home),
	CORE_TEST(what_is_old_goes_home_whatever_the_commit_interval),
	CORE_TEST(what_is_home_is_let_go_whatever_the_commit_interval),
	CORE_TEST(round_and_round),
	CORE_TEST(a_lane_rests_for_very_long),
	CORE_TEST(checkpoint_leaves_a_newer_tail),
	CORE_TEST(every_size_fits_its_promise),
	CORE_TEST(a_chunk_may_end_with_its_segment),
	CORE_TEST(tail_that_is_shown_meanwhile_stays),
);
