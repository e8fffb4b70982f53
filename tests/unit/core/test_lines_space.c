// SPDX-License-Identifier: GPL-2.0-only
/* log_lanes.c, lines.c: lines take no more log space than was promised for images (N6). */
#include "linesview.h"
#include "small_log.h"

#define MANY		40	/* blocks */

static void has_room_for_two_tags(void)
{
	assert_int_equal(zj_lines_max(DISK_BLOCK) / ZJ_LINE, MOST);
	for (u32 size = 1024; size <= 65536; size *= 2) {
		assert_true(2 * (zj_lines_max(size) + sizeof(struct zj_tag)) <= zj_chunk_room(size));
		assert_true(zj_lines_max(size) >= zj_lines_unit(size));
	}
}

/* The log blocks of a component, all lanes together. */
static u32 blocks_of(u64 stamp)
{
	const struct zj_rec_chunk *c;
	struct log log;
	u32 blocks = 0;

	log_read(&log);
	c = log.r.chunks.items;
	for (u32 i = 0; i < log.r.chunks.nr; i++)
		if (c[i].stamp == stamp) {
			const struct zj_chunk_header *h =
				(const void *)log.image->block[jblock(c[i].log_block)];

			blocks += 1 + le32_to_cpu(h->nr_tags) - le32_to_cpu(h->nr_line_tags);
		}
	log_free(&log);
	return blocks;
}

/* As many revokes as a credit pays for, and lines of @nr blocks each, one of which may be too many. */
static void many_parts(u32 revokes, u32 nr, u32 one)
{
	struct image *image;
	handle_t *h;
	u64 stamp;

	for (u32 i = 0; i < MANY; i++)
		make_known(BLOCK + i, 'a');
	h = start_more(0, MANY + 1, 0, revokes);
	for (u32 i = 0; i < revokes; i++)
		assert_int_equal(revoke_block(h, 500 + i), 0);
	for (u32 i = 0; i < MANY; i++)
		change_lines(h, BLOCK + i, 3, i == MANY / 2 ? one : nr, 'b');
	stop(h);
	commit(0);
	stamp = fx.zj->stamp;
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(lines_of(stamp, BLOCK + i) == WHOLE,
				 (i == MANY / 2 ? one : nr) > MOST);
	/* No more than if they were images. */
	assert_true(blocks_of(stamp) <= 1 + MANY + DIV_ROUND_UP(revokes * 8 + (MANY + 1) * 24, 896));
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < MANY; i++)
		for (u32 k = 0; k < 16; k++) {
			u32 changed = i == MANY / 2 ? one : nr;

			assert_int_equal(image->block[BLOCK + i][k * 64],
					 k >= 3 && k < 3 + changed ? 'b' : 'a');
		}
	image_free(image);
}

static void lines_take_no_more_space_than_images(void)
{
	static const u32 revokes[] = { 0, 50, 60, 110, 112 };

	for (u32 i = 0; i < ARRAY_SIZE(revokes); i++)
		for (u32 nr = 1; nr <= MOST + 1; nr += nr < 3 ? 1 : MOST - 3) {
			OPEN();
			many_parts(revokes[i], nr, nr > MOST ? 1 : MOST + 1);
			close_journal();
		}
}

/* A header that is more than half full of revokes, and one block with more lines than it may have. */
static void an_image_after_all_needs_no_header_of_its_own(void)
{
	handle_t *h;

	OPEN();
	make_known(BLOCK, 'a');
	h = start_more(0, 2, 0, 70);
	for (u32 i = 0; i < 70; i++)
		assert_int_equal(revoke_block(h, 500 + i), 0);
	change_lines(h, BLOCK, 0, MOST + 1, 'b');
	stop(h);
	commit(0);
	assert_int_equal(blocks_of(fx.zj->stamp), 2);
	expect_after_crash(BLOCK, "bbbbbbbaaaaaaaaa");
	close_journal();
}

/* Small sets of lines fill a header: 10 of a line, with their tags. */
static void headers_are_filled(void)
{
	handle_t *h;

	OPEN();
	for (u32 i = 0; i < 11; i++)
		make_known(BLOCK + i, 'a');
	for (u32 nr = 10; nr < 12; nr++) {
		h = start(0, nr);
		for (u32 i = 0; i < nr; i++)
			change_lines(h, BLOCK + i, 3, 1, 'a' + nr);
		stop(h);
		commit(0);
		assert_int_equal(blocks_of(fx.zj->stamp), nr - 9);
	}
	close_journal();
}

/* The tags of images take what the lines have left of a header, and then a new one. */
static void images_beside_lines(void)
{
	for (u32 nr = 0; nr < 9; nr++) {
		struct image *image;
		handle_t *h;

		OPEN();
		make_known(BLOCK, 'a');
		make_known(BLOCK + 1, 'a');
		/* 768 bytes of lines, with 48 of tags, leave room for three tags. */
		h = start(0, 2 + nr);
		change_lines(h, BLOCK, 0, MOST, 'b');
		for (u32 i = 0; i < nr; i++)
			put(h, BLOCK + 2 + i, 'c' + i);
		change_lines(h, BLOCK + 1, 10, MOST, 'd');
		stop(h);
		commit(0);
		assert_int_equal(blocks_of(fx.zj->stamp), nr + 1 + (nr > 3));
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		for (u32 i = 0; i < nr; i++)
			assert_int_equal(image_val(image, BLOCK + 2 + i), 'c' + i);
		image_free(image);
		expect_after_crash(BLOCK, "bbbbbbaaaaaaaaaa");
		expect_after_crash(BLOCK + 1, "aaaaaaaaaadddddd");
		close_journal();
	}
}

static void lines_at_the_end_of_segments(void)
{
	struct image *image;
	handle_t *h;

	for (u32 skew = 0; skew < 8; skew++) {
		OPEN(SMALL);
		for (u32 i = 0; i < 3; i++)
			make_known(BLOCK + i, 'a');
		for (u32 i = 0; i < skew; i++)
			make_known(BLOCK + 9, 'x' + (i & 1));
		/* Lines of two, and an image, which may be in different segments. */
		h = start(0, 3);
		change_lines(h, BLOCK, 1, MOST, 'b');
		change_lines(h, BLOCK + 1, 1, MOST, 'c');
		change_lines(h, BLOCK + 2, 0, 16, 'd');
		stop(h);
		commit(0);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image->block[BLOCK][64], 'b');
		assert_int_equal(image->block[BLOCK + 1][64], 'c');
		assert_int_equal(image->block[BLOCK + 2][64], 'd');
		image_free(image);
		close_journal();
	}
}

/* A block that is changed all the time keeps its image in the log only while there is room. */
static void a_hot_block_does_not_fill_the_log(void)
{
	u32 whole = 0, nr = 300;

	OPEN(SMALL);
	make_known(BLOCK, 'a');
	for (u32 i = 0; i < nr; i++) {
		handle_t *h = start(0, 2);

		change_lines(h, BLOCK, i % 16, 1, 'b' + i % 16);
		put(h, BLOCK + 1 + i % 8, 'x' + (i & 1));
		stop(h);
		commit(0);
		whole += newest_lines(BLOCK) == WHOLE;
	}
	assert_in_range(whole, 1, nr / 4);
	expect_after_crash(BLOCK, "bcdefghijklmnopq");
	close_journal();
}

/*
 * A block that always has an owner never goes home. Before its image keeps the tail until the log
 * is full, and starts have to wait, it is logged whole.
 */
static void a_block_that_is_never_home_does_not_stop_the_tail(void)
{
	u32 whole = 0;
	handle_t *h;

	OPEN(.journal = 400);
	h = start(0, 2);
	change_lines(h, BLOCK, 0, 16, 'a');
	for (u32 i = 0; i < 400; i++) {
		u32 ln = i % 2;

		put(h, BLOCK + 1 + i % 8, 'x' + (i & 1));
		stop(h);
		seal(ln);
		/* The next owner comes before its thread has run. */
		h = start(!ln, 2);
		change_lines(h, BLOCK, i % 16, 1, 'b' + i % 16);
		settle();
		assert_true(newest_part(BLOCK)->txn->comp->stage < ZJ_SEALED);
		whole += newest_lines(BLOCK) == WHOLE;
	}
	stop(h);
	assert_int_equal(lane(0)->stats.wait_space + lane(1)->stats.wait_space, 0);
	assert_in_range(whole, 2, 40);
	close_journal();
}

CORE_TESTS(lines_space,
	CORE_TEST(has_room_for_two_tags),
	CORE_TEST(lines_take_no_more_space_than_images),
	CORE_TEST(an_image_after_all_needs_no_header_of_its_own),
	CORE_TEST(headers_are_filled),
	CORE_TEST(images_beside_lines),
	CORE_TEST(lines_at_the_end_of_segments),
	CORE_TEST(a_hot_block_does_not_fill_the_log),
	CORE_TEST(a_block_that_is_never_home_does_not_stop_the_tail),
);
