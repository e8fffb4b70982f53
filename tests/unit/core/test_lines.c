// SPDX-License-Identifier: GPL-2.0-only
/* log_lanes.c, lines.c, committed.c: lines of blocks in the headers of a log on a disk. */
#include "linesview.h"
#include "txn/txn.h"

/* ---- what is logged ---- */

static void the_first_change_is_an_image(void)
{
	OPEN();
	change_line(0, BLOCK, 3, 'a');
	assert_true(newest_lines(BLOCK) == WHOLE);
	change_line(0, BLOCK, 4, 'b');
	assert_int_equal(newest_lines(BLOCK), 1 << 4);
	/* From another lane, over lines. */
	change_line(1, BLOCK, 3, 'c');
	assert_int_equal(newest_lines(BLOCK), 1 << 3);
	change_line(0, BLOCK, 15, 'd');
	expect_after_crash(BLOCK, "\0\0\0cb\0\0\0\0\0\0\0\0\0\0d");
	close_journal();
}

/* Each byte of a line counts. */
static void one_byte_is_a_line(void)
{
	static const u32 at[] = { 0, 7, 56, 63, 64, 511, 1023 };
	char lines[DISK_BLOCK];
	struct buffer_head *bh;
	struct image *image;
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	memset(lines, 'a', sizeof(lines));
	for (u32 i = 0; i < ARRAY_SIZE(at); i++) {
		h = start(i % 2, 1);
		get_access(h, BLOCK);
		bh = buffer(BLOCK);
		bh->b_data[at[i]] ^= 1 << i;
		lines[at[i]] ^= 1 << i;
		own(h);
		assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
		own(NULL);
		brelse(bh);
		stop(h);
		commit(i % 2);
		assert_int_equal(newest_lines(BLOCK), 1 << at[i] / 64);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_memory_equal(image->block[BLOCK], lines, DISK_BLOCK);
		image_free(image);
	}
	close_journal();
}

/* User space changes it without us, and so does a process the folio of a file that it has mapped. */
static void what_others_change_is_logged_whole(void)
{
	struct buffer_head *bh;
	struct file file;
	handle_t *h;

	OPEN();
	for (u32 i = 0; i < 2; i++) {
		change_line(0, 1, i, 'a');
		bh = buffer(1);
		assert_true(zj_bh_is_super(bh));
		brelse(bh);
		assert_true(newest_lines(1) == WHOLE);
	}
	file_init(&file);
	file_page(&file, BLOCK);
	for (u32 i = 0; i < 2; i++) {
		h = start(0, 1);
		bh = page_bh(&file, 0);
		own(h);
		assert_int_equal(zj_journal_get_write_access(h, bh), 0);
		bh->b_data[64] ^= 1;
		assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
		own(NULL);
		stop(h);
		commit(0);
		assert_true(newest_lines(BLOCK) == WHOLE);
	}
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	file_exit(&file);
	close_journal();
}

/* Recovery does not read home blocks of a disk, so nothing is put over one. */
static void a_block_that_was_read_is_whole(void)
{
	struct buffer_head *bh;

	OPEN();
	bh = buffer(BLOCK);
	zj_journal_buffer_read(bh);
	change_line(0, BLOCK, 3, 'a');
	assert_true(newest_lines(BLOCK) == WHOLE);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	zj_journal_buffer_read(bh);
	change_line(0, BLOCK, 4, 'b');
	assert_true(newest_lines(BLOCK) == WHOLE);
	brelse(bh);
	close_journal();
}

/* Besides the header. */
static void lines_need_no_block(void)
{
	u32 off;

	OPEN();
	make_known(BLOCK, 'a');
	make_known(BLOCK + 1, 'a');
	off = lane(0)->cur_off;
	change_line(0, BLOCK, 3, 'b');
	assert_int_equal(lane(0)->cur_off, off + 1);
	close_journal();
}

static void many_lines_are_an_image(void)
{
	OPEN();
	make_known(BLOCK, 'a');
	commit_lines(0, BLOCK, 5, MOST, 'b');
	assert_int_equal(newest_lines(BLOCK), 0x3f << 5);
	assert_int_equal(parts_of(BLOCK), 2);
	commit_lines(0, BLOCK, 0, MOST + 1, 'c');
	assert_true(newest_lines(BLOCK) == WHOLE);
	/* It makes the older ones superfluous. */
	assert_int_equal(parts_of(BLOCK), 1);
	commit_lines(0, BLOCK, 15, 1, 'd');
	expect_after_crash(BLOCK, "cccccccbbbbaaaad");
	close_journal();
}

static void blocks_are_logged_whole_if_asked(void)
{
	OPEN(.log_blocks = true);
	make_known(BLOCK, 'a');
	change_line(0, BLOCK, 3, 'b');
	assert_true(newest_lines(BLOCK) == WHOLE);
	assert_int_equal(parts_of(BLOCK), 1);
	close_journal();
}

/* The log has nothing of it, and what comes later is put over the same image. */
static void old_contents_again_are_not_logged(void)
{
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	h = start(0, 2);
	change_lines(h, BLOCK, 3, 1, 'b');
	put(h, BLOCK + 1, 'x');
	fill_line(h, BLOCK, 3, 'a');
	stop(h);
	commit(0);
	assert_int_equal(newest_lines(BLOCK), 0);
	assert_true(newest_lines(BLOCK + 1) == WHOLE);
	assert_int_equal(parts_of(BLOCK), 2);
	/* A component of nothing else is there all the same. */
	h = start(0, 1);
	change_lines(h, BLOCK, 3, 1, 'b');
	fill_line(h, BLOCK, 3, 'a');
	stop(h);
	commit(0);
	assert_int_equal(newest_lines(BLOCK), 0);
	change_line(1, BLOCK, 4, 'c');
	assert_int_equal(newest_lines(BLOCK), 1 << 4);
	expect_after_crash(BLOCK, "aaaacaaaaaaaaaaa");
	close_journal();
}

/* The older one's record is in flight when the newer one's lines are found. */
static void lines_over_what_is_in_flight(void)
{
	handle_t *h;
	struct log log;
	u64 stamp;

	OPEN(.lanes = 3);
	change(0, BLOCK, 'a');
	fx.hold_lane[0] = true;
	/* The image is copied, because its thread has not run yet. */
	seal(0);
	for (u32 i = 1; i < 3; i++) {
		h = start(i, 1);
		change_lines(h, BLOCK, i, 1, 'a' + i);
		stop(h);
		seal_held(i);
	}
	stamp = fx.zj->stamp;
	assert_int_equal(parts_of(BLOCK), 3);
	/* Nothing of it is durable. */
	expect_after_crash(BLOCK, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	release();
	settle();
	assert_true(lines_of(stamp - 2, BLOCK) == WHOLE);
	assert_int_equal(lines_of(stamp - 1, BLOCK), 1 << 1);
	assert_int_equal(lines_of(stamp, BLOCK), 1 << 2);
	log_read(&log);
	assert_true(log_depends(&log, stamp, stamp - 1));
	assert_true(log_depends(&log, stamp - 1, stamp - 2));
	log_free(&log);
	expect_after_crash(BLOCK, "abcaaaaaaaaaaaaa");
	close_journal();
}

static void magic_numbers_in_lines(void)
{
	static const u8 magic[] = { 0xc0, 0x3b, 0x39, 0x98 };
	struct buffer_head *bh;
	struct image *image;
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	/* First in lines, then in more lines than fit. */
	for (u32 nr = 2; nr < 16; nr += 12) {
		h = start(0, 1);
		change_lines(h, BLOCK, 0, nr, 'b' + nr);
		bh = buffer(BLOCK);
		memcpy(bh->b_data, magic, 4);
		brelse(bh);
		stop(h);
		commit(0);
		assert_int_equal(newest_lines(BLOCK) == WHOLE, nr > MOST);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_memory_equal(image->block[BLOCK], magic, 4);
		assert_int_equal(image->block[BLOCK][4], 'b' + nr);
		assert_int_equal(image->block[BLOCK][nr * 64 - 1], 'b' + nr);
		assert_int_equal(image->block[BLOCK][15 * 64], 'a');
		image_free(image);
	}
	/* Lines over an escaped image. */
	change_line(0, BLOCK, 15, 'z');
	assert_int_equal(newest_lines(BLOCK), 1 << 15);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_memory_equal(image->block[BLOCK], magic, 4);
	assert_int_equal(image->block[BLOCK][15 * 64], 'z');
	image_free(image);
	/* The copies that this took are freed. */
	assert_int_equal(atomic_read(&lane(0)->copies), 0);
	close_journal();
}

/* ---- triggers ---- */

static void on_frozen(struct jbd2_buffer_trigger_type *type, struct buffer_head *bh,
		      void *data, size_t size)
{
	((u8 *)data)[900] = 0x77;
}

/* What it changes is found if the block is compared; else it has to be declared. */
static void a_trigger_changes_a_line(void)
{
	struct jbd2_buffer_trigger_type type = { .t_frozen = on_frozen };
	struct buffer_head *bh;
	struct image *image;
	handle_t *h;

	for (u32 declared = 0; declared < 2; declared++) {
		OPEN();
		make_known(BLOCK, 'a');
		h = start(0, 1);
		if (declared)
			range_access(h, BLOCK);
		else
			get_access(h, BLOCK);
		bh = buffer(BLOCK);
		zj_journal_set_triggers(bh, &type);
		if (declared)
			change_range(h, BLOCK, 0, 64, 'b');
		else
			fill_line(h, BLOCK, 0, 'b');
		if (declared)
			assert_int_equal(zj_journal_dirty_range(h, bh, 900, 1), 0);
		brelse(bh);
		stop(h);
		commit(0);
		assert_true(newest_lines(BLOCK) == (1 | 1 << 900 / 64));
		/* Put over what the trigger has left, too. */
		change_line(1, BLOCK, 1, 'c');
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image->block[BLOCK][0], 'b');
		assert_int_equal(image->block[BLOCK][64], 'c');
		assert_int_equal(image->block[BLOCK][900], 0x77);
		image_free(image);
		close_journal();
	}
}

/* ---- declared ranges ---- */

static void declared_lines_are_logged(void)
{
	OPEN();
	declare_range(0, BLOCK, 0, 64, 'a');
	assert_true(newest_lines(BLOCK) == WHOLE);
	declare_range(0, BLOCK, 100, 64, 'b');
	assert_int_equal(newest_lines(BLOCK), 6);
	assert_int_equal(parts_of(BLOCK), 2);
	declare_range(0, BLOCK, 0, (MOST + 1) * 64, 'c');
	assert_true(newest_lines(BLOCK) == WHOLE);
	assert_int_equal(parts_of(BLOCK), 1);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	declare_range(0, BLOCK, 0, 1, 'd');
	assert_true(newest_lines(BLOCK) == WHOLE);
	close_journal();
}

/* ---- the image stays in the log (J2) ---- */

/* A block that somebody changes all the time does not go home. */
static void the_image_stays_while_the_block_is_changed(void)
{
	handle_t *h;
	u64 image;

	OPEN();
	make_known(BLOCK, 'a');
	image = fx.zj->stamp;
	for (u32 i = 0; i < 10; i++) {
		change_line(i % 2, BLOCK, i, 'b' + i);
		assert_int_equal(newest_lines(BLOCK), 1 << i);
		h = start(1, 1);
		get_access(h, BLOCK);
		zj_checkpoint_up_to(fx.zj, fx.zj->stamp);
		assert_int_equal(fx.zj->ckpt_stamp, image - 1);
		fill_line(h, BLOCK, 15, 'z');
		stop(h);
		commit(1);
	}
	assert_int_equal(parts_of(BLOCK), 2);
	expect_after_crash(BLOCK, "bcdefghijkaaaaaz");
	close_journal();
}

static void the_tail_waits_for_the_image(void)
{
	struct fiber *f;
	u64 image;

	OPEN();
	make_known(BLOCK, 'a');
	image = fx.zj->stamp;
	change_line(0, BLOCK, 1, 'b');
	change_line(0, BLOCK, 2, 'c');
	assert_int_equal(parts_of(BLOCK), 2);
	/* Its home write is in flight. */
	fx.hold_block = BLOCK;
	f = GO(call_checkpoint);
	settle();
	assert_true(fx.zj->ckpt_stamp < image);
	expect_after_crash(BLOCK, "abcaaaaaaaaaaaaa");
	release();
	join(f);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.zj->ckpt_stamp, fx.zj->stamp);
	assert_int_equal(parts_of(BLOCK), 0);
	/* The log has no image any more. */
	change_line(0, BLOCK, 3, 'd');
	assert_true(newest_lines(BLOCK) == WHOLE);
	expect_after_crash(BLOCK, "abcdaaaaaaaaaaaa");
	close_journal();
}

/* The block is home, but the handle came before the journal has looked. */
static void home_but_not_looked_at(void)
{
	struct buffer_head *bh;
	u64 image;

	OPEN();
	make_known(BLOCK, 'a');
	image = fx.zj->stamp;
	bh = buffer(BLOCK);
	write_dirty_buffer(bh, 0);
	wait_on_buffer(bh);
	brelse(bh);
	change_line(0, BLOCK, 1, 'b');
	assert_int_equal(newest_lines(BLOCK), 1 << 1);
	zj_checkpoint_up_to(fx.zj, image);
	expect_after_crash(BLOCK, "abaaaaaaaaaaaaaa");
	close_journal();
}

/* Lines whose image is reclaimed are of a block that is home, and change nothing there. */
static void lines_that_outlive_their_image(void)
{
	handle_t *h;
	u64 image;

	OPEN(.lanes = 3);
	make_known(BLOCK, 'a');
	image = fx.zj->stamp;
	change_line(0, BLOCK, 1, 'b');
	/* Keeps the tail between the two, as it is not home. */
	change(2, BLOCK + 1, 'x');
	commit(2);
	change_line(1, BLOCK, 2, 'c');
	h = start(2, 1);
	get_access(h, BLOCK + 1);
	zj_checkpoint_up_to(fx.zj, fx.zj->stamp);
	assert_true(fx.zj->ckpt_stamp > image);
	assert_true(fx.zj->ckpt_stamp < fx.zj->stamp);
	assert_int_equal(newest_lines(BLOCK), 1 << 2);
	expect_after_crash(BLOCK, "abcaaaaaaaaaaaaa");
	/* An image again. */
	change_line(1, BLOCK, 3, 'd');
	assert_true(newest_lines(BLOCK) == WHOLE);
	expect_after_crash(BLOCK, "abcdaaaaaaaaaaaa");
	stop(h);
	close_journal();
}

static void a_new_life_is_whole(void)
{
	handle_t *h;

	OPEN();
	for (u32 how = 0; how < 6; how++) {
		u32 ln = how >= 4;

		make_known(BLOCK, 'a');
		h = start_more(0, 3, 0, 1);
		if (how & 1)
			change_lines(h, BLOCK, 1, 1, 'b');
		assert_int_equal(revoke_block(h, BLOCK), 0);
		/* In the same transaction; after its commit; or between its seal and its commit. */
		if (how & 2) {
			stop(h);
			commit(0);
			h = start(0, 1);
		} else if (ln) {
			stop(h);
			seal(0);
			h = start(1, 1);
		}
		change_lines(h, BLOCK, 2, 1, 'c');
		stop(h);
		commit(ln);
		assert_true(newest_lines(BLOCK) == WHOLE);
		change_line(0, BLOCK, 3, 'd');
		assert_int_equal(newest_lines(BLOCK), 1 << 3);
		expect_after_crash(BLOCK, how & 1 ? "abcdaaaaaaaaaaaa" : "aacdaaaaaaaaaaaa");
	}
	close_journal();
}

/* Revoked over a sealed transaction that has only lines. */
static void revoked_lines_are_not_replayed(void)
{
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	change_line(0, BLOCK, 1, 'b');
	h = start_more(1, 1, 0, 1);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	stop(h);
	commit(1);
	expect_after_crash(BLOCK, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	close_journal();
}

/*
 * A part without an image is the oldest, because the one that was older had no image either. Its
 * block was freed. Then the newest lines are finished before the two that are older.
 */
static void a_forgotten_part_keeps_no_image(void)
{
	struct zj_txn *freed, *image;
	handle_t *h;

	OPEN(.lanes = 4);
	/* Access only, and something else to log. */
	h = start(3, 2);
	get_access(h, BLOCK);
	put(h, BLOCK + 1, 'x');
	stop(h);
	seal(3);
	h = start_more(0, 1, 0, 1);
	put(h, BLOCK + 2, 'x');
	assert_int_equal(revoke_block(h, BLOCK), 0);
	stop(h);
	assert_int_equal(parts_of(BLOCK), 2);
	freed = running(0);
	seal_held(0);
	assert_int_equal(parts_of(BLOCK), 1);
	h = start(1, 1);
	put(h, BLOCK, 'a');
	stop(h);
	image = running(1);
	seal(1);
	settle();
	h = start(2, 1);
	change_lines(h, BLOCK, 1, 1, 'b');
	stop(h);
	seal_held(2);
	assert_int_equal(parts_of(BLOCK), 3);
	/* Lane 0's thread finishes the first two, and is late. */
	stop_before(lane(0)->task, &freed->list_lock, 1);
	stop_before(lane(2)->task, &fx.zj->comp_lock, 1);
	release();
	settle();
	assert_true(stopped(lane(0)->task) && stopped(lane(2)->task));
	go_on(lane(2)->task);
	settle();
	assert_int_equal(image->comp->stage, ZJ_COMMITTED);
	assert_true(newest_part(BLOCK)->flags & BIT(ZJ_PART_HOMEWARD));
	go_on(lane(0)->task);
	settle();
	assert_int_equal(parts_of(BLOCK), 2);
	assert_non_null(part_of(image, BLOCK));
	zj_txn_put(freed);
	zj_txn_put(image);
	expect_after_crash(BLOCK, "abaaaaaaaaaaaaaa");
	close_journal();
}

/* ---- handles go on ---- */

static void handles_go_on_during_the_log_io(void)
{
	handle_t *h;
	u64 copies;

	OPEN();
	make_known(BLOCK, 'a');
	h = start(0, 1);
	change_lines(h, BLOCK, 1, 1, 'b');
	stop(h);
	seal_held(0);
	copies = lane(1)->stats.copies;
	h = start(1, 1);
	change_lines(h, BLOCK, 1, 1, 'c');
	assert_int_equal(lane(1)->stats.copies, copies);
	assert_int_equal(lane(1)->stats.wait_log, 0);
	expect_after_crash(BLOCK, "aaaaaaaaaaaaaaaa");
	release();
	settle();
	expect_after_crash(BLOCK, "abaaaaaaaaaaaaaa");
	stop(h);
	commit(1);
	expect_after_crash(BLOCK, "acaaaaaaaaaaaaaa");
	close_journal();
}

/* At any moment of the commit, whether it takes lines or has to settle for an image. */
static void begin_lane(void)
{
	seal(0);
}

static void call_change(struct fiber *f)
{
	handle_t *h;

	own(NULL);
	h = zj_journal_start(fx.journal, 1, 0, 0, 0, 0, 0);
	assert_false(IS_ERR(h));
	own(NULL);
	change_lines(h, f->block, 15, 1, 'z');
	own(h);
	assert_int_equal(zj_journal_stop(h), 0);
	own(NULL);
}

static void change_at_any_moment(u32 nr)
{
	bool more = true;
	handle_t *h;

	for (int n = 1; more; n++) {
		OPEN();
		make_known(BLOCK, 'a');
		h = start(0, 1);
		change_lines(h, BLOCK, 0, nr, 'b');
		stop(h);
		more = preempt_task_at(n, lane(0)->task, begin_lane,
				       CALL(call_change, .cpu = 1, .block = BLOCK));
		if (lane(1)->running)
			commit(1);
		settle();
		expect_after_crash(BLOCK, nr == 1 ? "baaaaaaaaaaaaaaz" :
				   nr == MOST ? "bbbbbbaaaaaaaaaz" : "bbbbbbbaaaaaaaaz");
		close_journal();
	}
}

static void the_buffer_is_changed_at_any_moment(void)
{
	change_at_any_moment(1);
	change_at_any_moment(MOST);
	change_at_any_moment(MOST + 1);
}

/* Who waits for the buffer goes on when it turns out that all of it will be logged. */
static void unsettling_wakes(void)
{
	struct zj_part *part;
	struct zj_txn *txn;
	struct fiber *f;
	handle_t *h;
	void *none = NULL;

	OPEN();
	make_known(BLOCK, 'a');
	h = start(0, 1);
	change_lines(h, BLOCK, 0, MOST + 1, 'b');
	stop(h);
	txn = running(0);
	/* Its thread has not run yet. */
	seal(0);
	part = part_of(txn, BLOCK);
	assert_true(zj_part_image(fx.zj, part, &none));
	h = start(1, 1);
	f = GO(call_access, .cpu = 1, .h = h, .block = BLOCK);
	stop_before(lane(0)->task, &lane(0)->lock, 1);
	let_run();
	assert_false(f->done);
	zj_part_unsettle(fx.zj, part);
	assert_null(part->image);
	assert_null(part->base);
	let_run();
	assert_true(f->done);
	join(f);
	go_on(lane(0)->task);
	stop(h);
	zj_txn_put(txn);
	settle();
	assert_true(newest_lines(BLOCK) == WHOLE);
	close_journal();
}

/* ---- failures ---- */

/* What the log has not got is not taken for logged: the journal is aborted. */
static void lines_whose_record_fails(void)
{
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	h = start(0, 1);
	change_lines(h, BLOCK, 1, 1, 'b');
	stop(h);
	fail_next_write();
	seal(0);
	settle();
	assert_true(is_journal_aborted(fx.journal));
	expect_after_crash(BLOCK, "aaaaaaaaaaaaaaaa");
	close_aborted();
}

CORE_TESTS(lines,
	CORE_TEST(the_first_change_is_an_image),
	CORE_TEST(one_byte_is_a_line),
	CORE_TEST(what_others_change_is_logged_whole),
	CORE_TEST(a_block_that_was_read_is_whole),
	CORE_TEST(lines_need_no_block),
	CORE_TEST(many_lines_are_an_image),
	CORE_TEST(blocks_are_logged_whole_if_asked),
	CORE_TEST(old_contents_again_are_not_logged),
	CORE_TEST(lines_over_what_is_in_flight),
	CORE_TEST(magic_numbers_in_lines),
	CORE_TEST(a_trigger_changes_a_line),
	CORE_TEST(declared_lines_are_logged),
	CORE_TEST(the_image_stays_while_the_block_is_changed),
	CORE_TEST(the_tail_waits_for_the_image),
	CORE_TEST(home_but_not_looked_at),
	CORE_TEST(lines_that_outlive_their_image),
	CORE_TEST(a_new_life_is_whole),
	CORE_TEST(revoked_lines_are_not_replayed),
	CORE_TEST(a_forgotten_part_keeps_no_image),
	CORE_TEST(handles_go_on_during_the_log_io),
	CORE_TEST(the_buffer_is_changed_at_any_moment),
	CORE_TEST(unsettling_wakes),
	CORE_TEST(lines_whose_record_fails),
);
