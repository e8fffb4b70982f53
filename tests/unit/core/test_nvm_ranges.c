// SPDX-License-Identifier: GPL-2.0-only
/* log_nvm.c, lines.c: declared ranges of a block, which need no comparison. */
#include "nvmview.h"

/* ---- declared ranges ---- */

static void write_byte(u32 block, u32 at, u8 val)
{
	struct buffer_head *bh = buffer(block);

	bh->b_data[at] = val;
	brelse(bh);
}

static void lines_of_a_range(void)
{
	assert_int_equal(zj_lines_of(0, 1, 4096), 1);
	assert_int_equal(zj_lines_of(63, 1, 4096), 1);
	assert_int_equal(zj_lines_of(63, 2, 4096), 3);
	assert_int_equal(zj_lines_of(256, 256, 4096), 0xf0);
	assert_int_equal(zj_lines_of(256, 257, 4096), 0x1f0);
	assert_true(zj_lines_of(4095, 1, 4096) == 1ULL << 63);
	assert_true(zj_lines_of(0, 4096, 4096) == ~0ULL);
	assert_int_equal(zj_lines_of(0, 1024, 1024), 0xffff);
	/* In larger blocks a bit stands for more than one line. */
	assert_int_equal(zj_lines_of(1023, 2, 65536), 3);
	assert_int_equal(zj_lines_of(1023, 2, 16384), 0x18);
}

static void declared_lines_are_logged_without_a_copy(void)
{
	struct zj_part *part;
	struct image *image;
	handle_t *h;

	NVM();
	h = start_known();
	part = part_of(handle_txn(h), BLOCK);
	assert_null(part->base);
	/* A range of two lines, one of another line, and one that is declared already. */
	change_range(h, BLOCK, 60, 8, 8);
	change_range(h, BLOCK, 640, 64, 8);
	change_range(h, BLOCK, 100, 1, 8);
	assert_null(part->base);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), 1 << 0 | 1 << 1 | 1 << 10);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(image->block[BLOCK][i], (i >= 60 && i < 68) || i == 100 ||
				 (i >= 640 && i < 704) ? 8 : 7);
	image_free(image);
	close_journal();
}

/* The lines were declared, not found by comparison. */
static void what_is_not_declared_is_not_logged(void)
{
	handle_t *h;

	NVM();
	h = start_known();
	write_byte(BLOCK, 900, 1);
	change_range(h, BLOCK, 0, 1, 8);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), 1);
	close_journal();
}

static void the_first_image_is_whole_even_if_declared(void)
{
	NVM();
	declare_range(0, BLOCK, 0, 64, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	declare_range(0, BLOCK, 0, 64, 9);
	assert_int_equal(logged(0, BLOCK), 1);
	/* It is home, and no other handle has changed it. */
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	declare_range(0, BLOCK, 64, 64, 9);
	assert_int_equal(logged(0, BLOCK), 2);
	close_journal();
}

static void members_tell_of_one_image(void)
{
	handle_t *a, *b;

	NVM(.lanes = 2);
	make_known(BLOCK, 7);
	a = start(0, 1);
	b = start(1, 1);
	range_access(a, BLOCK);
	range_access(b, BLOCK);
	/* The image moves to lane 1, which has the space for it. */
	change_range(b, BLOCK, 128, 10, 8);
	change_range(a, BLOCK, 0, 10, 8);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(logged(1, BLOCK), 1 << 0 | 1 << 2);
	assert_int_equal(logged(0, BLOCK), 0);
	close_journal();
}

enum plain { PLAIN_NONE, PLAIN_BEFORE, PLAIN_BETWEEN, PLAIN_DIRTY, PLAIN_AFTER };

/* Plain access comes from the same lane, or from another one that it unites. */
static void plain_among_declared(enum plain when, bool check, u32 ln, u64 lines)
{
	handle_t *h, *other;

	NVM(.lanes = 2, .log_check = check);
	make_known(BLOCK, 7);
	h = start(0, 2);
	other = start(ln, 1);
	if (when == PLAIN_BEFORE)
		get_access(other, BLOCK);
	range_access(h, BLOCK);
	if (when == PLAIN_BETWEEN)
		get_access(other, BLOCK);
	if (when == PLAIN_DIRTY)
		dirty(h, BLOCK, 7);
	change_range(h, BLOCK, 0, 1, 8);
	if (when == PLAIN_AFTER)
		get_access(other, BLOCK);
	stop(h);
	stop(other);
	commit(0);
	assert_int_equal(logged(0, BLOCK), lines);
	assert_false(is_journal_aborted(fx.journal));
	close_journal();
}

static void plain_access_makes_it_unknown(void)
{
	for (u32 how = 0; how < 4; how++) {
		plain_among_declared(PLAIN_NONE, how & 1, how / 2, 1);
		plain_among_declared(PLAIN_BEFORE, how & 1, how / 2, 1);
		plain_among_declared(PLAIN_BETWEEN, how & 1, how / 2, ALL);
		plain_among_declared(PLAIN_DIRTY, how & 1, how / 2, ALL);
		plain_among_declared(PLAIN_AFTER, how & 1, how / 2, ALL);
	}
}

static void declared_after_a_plain_dirty(void)
{
	handle_t *h;

	NVM();
	h = start_known();
	write_byte(BLOCK, 900, 1);
	fill_line(h, BLOCK, 0, 8);
	change_range(h, BLOCK, 64, 1, 8);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static void declared_lines_over_a_sealed_image(void)
{
	struct image *image;
	handle_t *h;

	for (u32 check = 0; check < 2; check++) {
		NVM(.log_check = check);
		make_known(BLOCK, 6);
		change(0, BLOCK, 7);
		seal(0);
		h = start(1, 1);
		range_access(h, BLOCK);
		change_range(h, BLOCK, 3 * 64, 64, 8);
		stop(h);
		commit(1);
		assert_int_equal(logged(1, BLOCK), 1 << 3);
		assert_int_equal(newest(1).nr_deps, 1);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		expect_lines(image, BLOCK, 3, 8, 7);
		image_free(image);
		close_journal();
	}
}

/* The sealed transaction's lines are declared, too; the next owner has its own. */
static void declared_parts_of_one_buffer(void)
{
	struct image *image;
	handle_t *h;

	NVM();
	h = start_known();
	change_range(h, BLOCK, 0, 64, 8);
	stop(h);
	seal(0);
	h = start(1, 1);
	range_access(h, BLOCK);
	change_range(h, BLOCK, 64, 64, 9);
	stop(h);
	commit(1);
	assert_int_equal(logged(0, BLOCK), 1);
	assert_int_equal(logged(1, BLOCK), 2);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image->block[BLOCK][0], 8);
	assert_int_equal(image->block[BLOCK][64], 9);
	assert_int_equal(image->block[BLOCK][128], 7);
	image_free(image);
	close_journal();
}

static void a_new_life_is_whole_even_if_declared(void)
{
	handle_t *h;

	NVM();
	for (u32 how = 0; how < 4; how++) {
		make_known(BLOCK, 7);
		h = start_more(0, 3, 0, 1);
		/*
		 * Its ranges are declared before it is freed in the same transaction, or are
		 * not.
		 */
		if (how & 1) {
			range_access(h, BLOCK);
			change_range(h, BLOCK, 0, 1, 1);
		}
		assert_int_equal(revoke_block(h, BLOCK), 0);
		if (how & 2) {
			stop(h);
			commit(0);
			h = start(0, 1);
		}
		range_access(h, BLOCK);
		change_range(h, BLOCK, 0, 1, 2);
		stop(h);
		commit(0);
		assert_int_equal(logged(0, BLOCK), ALL);
	}
	close_journal();
}

static void dirty_without_us_is_whole_even_if_declared(void)
{
	struct buffer_head *bh;

	NVM();
	make_known(BLOCK, 7);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	bh = buffer(BLOCK);
	bh->b_data[900] = 1;
	mark_buffer_dirty(bh);
	brelse(bh);
	declare_range(0, BLOCK, 0, 1, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static void on_sealed(struct jbd2_buffer_trigger_type *type, struct buffer_head *bh,
		      void *data, size_t size)
{
	((u8 *)data)[900] = 0x77;
}

static void what_a_trigger_changes_is_declared(void)
{
	struct jbd2_buffer_trigger_type type = { .t_frozen = on_sealed };
	struct buffer_head *bh;
	handle_t *h;

	for (u32 check = 0; check < 2; check++) {
		NVM(.log_check = check);
		h = start_known();
		bh = buffer(BLOCK);
		zj_journal_set_triggers(bh, &type);
		change_range(h, BLOCK, 0, 1, 8);
		assert_int_equal(zj_journal_dirty_range(h, bh, 900, 1), 0);
		brelse(bh);
		stop(h);
		commit(0);
		assert_int_equal(logged(0, BLOCK), 1 | 1 << 900 / 64);
		close_journal();
	}
}

static void check_finds_what_a_trigger_changes(void)
{
	struct jbd2_buffer_trigger_type type = { .t_frozen = on_sealed };
	struct buffer_head *bh;
	handle_t *h;

	NVM(.log_check = 1);
	h = start_known();
	bh = buffer(BLOCK);
	zj_journal_set_triggers(bh, &type);
	brelse(bh);
	change_range(h, BLOCK, 0, 1, 8);
	stop(h);
	seal(0);
	settle();
	assert_true(said("block 8 was changed in lines 0x4000, but only 0x1 were declared"));
	close_aborted();
}

static void check_finds_what_was_not_declared(const struct setup *setup)
{
	struct image *image;
	handle_t *h;

	open_journal(setup);
	make_known(BLOCK, 7);
	declare_range(0, BLOCK, 0, 64, 8);
	h = start(0, 1);
	range_access(h, BLOCK);
	/* One byte beyond. */
	write_byte(BLOCK, 128, 9);
	change_range(h, BLOCK, 64, 64, 9);
	stop(h);
	seal(0);
	settle();
	assert_true(is_journal_aborted(fx.journal));
	assert_true(said("block 8 was changed in lines 0x4, but only 0x2 were declared"));
	/* Nothing of it is in the log. */
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	expect_lines(image, BLOCK, 0, 8, 7);
	image_free(image);
	close_aborted();
}

static void the_check_finds_what_was_not_declared(void)
{
	check_finds_what_was_not_declared(&(struct setup){
		.lanes = 2, .journal = 400, .nvm = 1 << 20, .log_check = true });
	check_finds_what_was_not_declared(&(struct setup){
		.lanes = 2, .journal = 2048, .log_check = true });
}

static void other_logs_take_ranges_for_blocks(void)
{
	struct image *image;
	handle_t *h;

	OPEN(.jbd2 = true);
	h = start_known();
	write_byte(BLOCK, 900, 1);
	change_range(h, BLOCK, 0, 1, 8);
	stop(h);
	commit(0);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image->block[BLOCK][0], 8);
	assert_int_equal(image->block[BLOCK][900], 1);
	image_free(image);
	close_journal();
	NVM(.log_blocks = true, .log_check = true);
	make_known(BLOCK, 7);
	declare_range(0, BLOCK, 0, 1, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

/* ---- declared again ---- */

/* Ranges that are declared already are not stored again under the lock. */
static void a_line_that_is_declared_again_takes_no_lock(void)
{
	struct buffer_head *bh;
	struct journal_head *jh;
	handle_t *h;

	NVM();
	h = start_known();
	change_range(h, BLOCK, 64, 128, 8);
	bh = buffer(BLOCK);
	jh = bh2jh(bh);
	own(h);
	spin_lock(&jh->lock);
	assert_int_equal(zj_journal_get_range_access(h, bh), 0);
	assert_int_equal(zj_journal_dirty_range(h, bh, 100, 60), 0);
	spin_unlock(&jh->lock);
	own(NULL);
	brelse(bh);
	stop(h);
	close_journal();
}

CORE_TESTS(nvm_ranges,
	CORE_TEST(lines_of_a_range),
	CORE_TEST(declared_lines_are_logged_without_a_copy),
	CORE_TEST(what_is_not_declared_is_not_logged),
	CORE_TEST(the_first_image_is_whole_even_if_declared),
	CORE_TEST(members_tell_of_one_image),
	CORE_TEST(plain_access_makes_it_unknown),
	CORE_TEST(declared_after_a_plain_dirty),
	CORE_TEST(declared_lines_over_a_sealed_image),
	CORE_TEST(declared_parts_of_one_buffer),
	CORE_TEST(a_new_life_is_whole_even_if_declared),
	CORE_TEST(dirty_without_us_is_whole_even_if_declared),
	CORE_TEST(what_a_trigger_changes_is_declared),
	CORE_TEST(check_finds_what_a_trigger_changes),
	CORE_TEST(the_check_finds_what_was_not_declared),
	CORE_TEST(other_logs_take_ranges_for_blocks),
	CORE_TEST(a_line_that_is_declared_again_takes_no_lock),
);
