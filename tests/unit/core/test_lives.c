// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a log promises in each of its lives: after it was emptied or mounted again, with
 * barriers off before, meanwhile, or twice.
 */
#include "fixture.h"

static void barriers(bool on)
{
	if (on)
		fx.journal->j_flags |= JBD2_BARRIER;
	else
		fx.journal->j_flags &= ~JBD2_BARRIER;
}

static void change_and_commit(u32 lane, u32 block, u8 val)
{
	change(lane, block, val);
	commit(lane);
}

static void empty_log(void)
{
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
}

static void mount_again(void)
{
	assert_int_equal(unmount_journal(), 0);
	assert_int_equal(mount_journal(), 0);
}

/* How the life at hand began. */
enum life { FIRST, EMPTIED, AFTER_OFF, WHILE_OFF, OFF_TWICE, MOUNTED, MOUNTED_AFTER_OFF, NR_LIVES };

static void commit_without_barriers(u8 val)
{
	barriers(false);
	change_and_commit(0, BLOCK + 9, val);
}

static void begin_life(const struct setup *setup, enum life life)
{
	open_journal(setup);
	if (life == EMPTIED || life == MOUNTED)
		change_and_commit(0, BLOCK + 9, 9);
	else if (life != FIRST)
		commit_without_barriers(9);
	if (life != WHILE_OFF)
		barriers(true);
	if (life == MOUNTED || life == MOUNTED_AFTER_OFF)
		mount_again();
	else if (life != FIRST)
		empty_log();
	if (life == OFF_TWICE) {
		commit_without_barriers(8);
		barriers(true);
		empty_log();
	}
	barriers(true);
	report_data();
}

static const struct setup formats[] = {
	{ .lanes = 2, .journal = 2048 },
	{ .lanes = 2, .journal = 2048, .no_fua = true },
	{ .lanes = 2, .journal = 2048, .pipeline = true },
	{ .lanes = 2, .journal = 2048, .external = true },
	{ .lanes = 2, .journal = 2048, .external = true, .ext_no_fua = true },
	{ .lanes = 1, .journal = 2048, .jbd2 = true },
	{ .lanes = 1, .journal = 2048, .jbd2 = true, .no_fua = true, .pipeline = true },
	{ .lanes = 2, .journal = 400, .nvm = 4 << 20 },
};

static void in_each_life(u32 nr_formats, void (*test)(void))
{
	for (u32 i = 0; i < nr_formats; i++)
		for (enum life life = FIRST; life < NR_LIVES; life++) {
			begin_life(&formats[i], life);
			test();
		}
}

/* ---- what is committed is durable ---- */

static void found_after_crash(u32 block, u8 val)
{
	struct image *image = cut_power();

	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, block), val);
	image_free(image);
}

/* Nobody waits for these commits, who would flush. */
static void commits_are_durable(void)
{
	u32 lanes = fx.zj->nr_lanes;

	for (u8 n = 1; n < 4; n++) {
		change(n % lanes, BLOCK, n);
		seal(n % lanes);
		settle();
		found_after_crash(BLOCK, n);
	}
	commit_without_barriers(1);
	barriers(true);
	change(lanes - 1, BLOCK, 5);
	seal(lanes - 1);
	settle();
	found_after_crash(BLOCK + 9, 1);
	found_after_crash(BLOCK, 5);
	close_journal();
}

static void commits_are_durable_in_each_life(void)
{
	in_each_life(ARRAY_SIZE(formats), commits_are_durable);
}

/* ---- what is missing is missed ---- */

static int commit_and_find_record(u32 lane, u32 block)
{
	u32 from = now();

	change_and_commit(lane, block, 1);
	for (u32 i = from; i < now(); i++) {
		const struct disk_event *e = &fx.disk->log[i];

		if (e->what == DISK_WRITE &&
		    *(const __le32 *)e->data == cpu_to_le32(ZJ_CHUNK_MAGIC))
			return i;
	}
	fail();
	return -1;
}

/* Recovery of the disk without this record. */
static int recover_without(int record)
{
	struct image *image = cut_power();
	u8 *block = calloc(1, DISK_BLOCK);
	int err;

	image->block[fx.disk->log[record].block] = block;
	image->quiet = true;
	err = recover_image(image);
	image_free(image);
	free(block);
	return err;
}

/* A record names what was durable before it, also if barriers were off at some time (D5). */
static void lost_record_is_missed(void)
{
	int first = commit_and_find_record(0, BLOCK);

	assert_int_equal(recover_without(first), 0);
	change_and_commit(1, BLOCK + 1, 1);
	assert_int_equal(recover_without(first), -EUCLEAN);
	assert_false(fx.zj->unflushed);
	close_journal();
}

static void lost_record_is_missed_in_each_life(void)
{
	in_each_life(5, lost_record_is_missed);
}

static void committed_stamp_is_named_again_in_a_new_generation(void)
{
	begin_life(&formats[0], AFTER_OFF);
	lost_record_is_missed();
	begin_life(&formats[0], OFF_TWICE);
	lost_record_is_missed();
}

/* Without barriers nothing is missed that a power cut may take. */
static void log_without_barriers_is_not_refused(void)
{
	struct image *image, *durable;

	change_and_commit(0, BLOCK, 1);
	change_and_commit(1, BLOCK, 2);
	barriers(false);
	change_and_commit(0, BLOCK, 3);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change_and_commit(0, BLOCK, 4);
	durable = cut_power();
	image = keep_all();
	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++)
		image->block[jblock(ZJ_BLOCK_CKPT + i)] =
			durable->block[jblock(ZJ_BLOCK_CKPT + i)];
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 4);
	image_free(durable);
	image_free(image);
	barriers(true);
	close_journal();
}

static void log_without_barriers_is_not_refused_in_any_life(void)
{
	in_each_life(3, log_without_barriers_is_not_refused);
}

/* No record of this life names a stamp, so the checkpoint stamp need not be durable. */
static void checkpoint_does_not_flush(void)
{
	u32 before;

	barriers(false);
	change_and_commit(0, BLOCK, 1);
	before = flushes();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(flushes(), before);
	barriers(true);
	close_journal();
}

static void stamps_of_an_earlier_life_cost_no_flush(void)
{
	for (enum life life = EMPTIED; life < NR_LIVES; life++) {
		begin_life(&formats[0], life);
		checkpoint_does_not_flush();
	}
}

/* ---- the flush that makes up for those that were left out ---- */

static void wait_flushes(void)
{
	tid_t tid = change(0, BLOCK, 1);
	u32 before;

	barriers(false);
	commit(0);
	barriers(true);
	before = flushes();
	assert_int_equal(zj_log_wait_commit(fx.journal, tid), 0);
	assert_true(flushes() > before);
	found_after_crash(BLOCK, 1);
	before = flushes();
	assert_int_equal(zj_log_wait_commit(fx.journal, tid), 0);
	assert_int_equal(flushes(), before);
	close_journal();
}

static void who_waits_for_a_commit_flushes_what_it_has_left_out(void)
{
	/* A log in memory has no cache to flush. */
	in_each_life(ARRAY_SIZE(formats) - 1, wait_flushes);
}

/* The same just before barriers come back, and while the waiter does not look. */
static void barriers_come_back_before_a_waiter_looks(void)
{
	struct fiber *f;
	u32 before;
	tid_t tid;

	tid = change(0, BLOCK, 7);
	barriers(false);
	fx.hold_lane[0] = true;
	f = GO(call_complete, .tid = tid);
	let_run();
	settle();
	assert_false(f->done);
	stop_before(&f->task->task, &lane(0)->waits.lock, 1);
	release();
	settle();
	assert_true(stopped(&f->task->task));
	barriers(true);
	before = flushes();
	go_on(&f->task->task);
	join(f);
	assert_int_equal(f->ret, 0);
	assert_true(flushes() > before);
	found_after_crash(BLOCK, 7);
	close_journal();
}

static void waiter_that_wakes_with_barriers_flushes(void)
{
	in_each_life(1, barriers_come_back_before_a_waiter_looks);
}

CORE_TESTS(lives,
	CORE_TEST(commits_are_durable_in_each_life),
	CORE_TEST(lost_record_is_missed_in_each_life),
	CORE_TEST(committed_stamp_is_named_again_in_a_new_generation),
	CORE_TEST(log_without_barriers_is_not_refused_in_any_life),
	CORE_TEST(stamps_of_an_earlier_life_cost_no_flush),
	CORE_TEST(who_waits_for_a_commit_flushes_what_it_has_left_out),
	CORE_TEST(waiter_that_wakes_with_barriers_flushes),
);
