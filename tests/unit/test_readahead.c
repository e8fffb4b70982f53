// SPDX-License-Identifier: GPL-2.0-only
/* What recovery reads ahead, keeps and reads again. */
#include <stdio.h>
#include <stdlib.h>
#include <asm/byteorder.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include "memlog.h"
#include "recovery/recovery_int.h"
#include "tests.h"

#define SEGS		32
#define SEG_BLOCKS	64
#define IMAGES		15	/* of a chunk; four chunks fill a segment */
#define SEG_IMAGES	(SEG_BLOCKS / (IMAGES + 1) * IMAGES)
#define HOMES		2048

/* Segments @first to @last full, of images whose home is elsewhere in the order. */
static void fill(struct memdev *d, u32 first, u32 last)
{
	struct rec rec = { 0 };
	u32 image = first * SEG_IMAGES;

	for (u32 seg = first; seg <= last; seg++)
		while (d->next[seg] < SEG_BLOCKS) {
			rec.stamp = image + 1;
			for (u32 i = 0; i < IMAGES; i++, image++) {
				rec.img[i].block = image * 1021 % HOMES;
				rec.img[i].val = 1 + image % 200;
			}
			ml_put(d, seg, &rec);
		}
}

static void expect(struct memdev *d, u32 first, u32 last)
{
	for (u32 i = first * SEG_IMAGES; i < (last + 1) * SEG_IMAGES; i++)
		ml_expect(d, i * 1021 % HOMES, 1 + i % 200);
}

static struct memdev *full_log(u64 room)
{
	struct memdev *d = ml_new(SEGS, SEG_BLOCKS, HOMES);

	fill(d, 0, SEGS - 1);
	d->ahead = true;
	d->room = room;
	return d;
}

static void full_log_is_read_once_and_ahead(void **state)
{
	struct memdev *d = full_log(64 << 20);

	assert_int_equal(ml_recover(d, false, NULL), 0);
	expect(d, 0, SEGS - 1);
	assert_int_equal(d->blocks_read, 3 + SEGS * SEG_BLOCKS);
	assert_int_equal(d->most_in_flight, ZJ_READ_SLOTS * SEG_BLOCKS);
	ml_free(d);
}

/* 8 MiB, however large the segments are. */
static void memory_ahead_is_bounded(void **state)
{
	struct memdev *d = ml_new(SEGS, 1024, 32);

	for (u32 seg = 0; seg < SEGS; seg++)
		PUT(d, seg, .stamp = seg + 1, .img = { { seg, 'a' } });
	d->ahead = true;
	assert_int_equal(ml_recover(d, false, NULL), 0);
	assert_int_equal(d->most_in_flight, 8 << 10);
	ml_free(d);
}

/* Of a free segment one block is read, but for those taken for used. */
static void free_segments_cost_a_block_each(void **state)
{
	static const struct {
		u32	used[SEGS / 4];	/* in a row, then as many are free, and so on; 0: end */
		u32	wasted;		/* segments read for nothing, at most */
	} cases[] = {
		{ { 0 }, 0 },
		{ { 1 }, 1 },
		{ { 10 }, ZJ_READ_SLOTS },
		{ { 1, 1, 1, 1, 1, 1, 1 }, 7 },
		{ { 2, 2, 2, 2, 2, 2, 2 }, 15 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memdev *d = ml_new(SEGS, SEG_BLOCKS, HOMES);
		u32 seg = 0, nr, used = 0, least, most;

		for (u32 k = 0; (nr = cases[i].used[k]); k++) {
			fill(d, seg, seg + nr - 1);
			used += nr;
			seg += 2 * nr;
		}
		d->ahead = true;
		d->room = 64 << 20;
		assert_int_equal(ml_recover(d, false, NULL), 0);
		least = 3 + SEGS + used * (SEG_BLOCKS - 1);
		most = least + cases[i].wasted * (SEG_BLOCKS - 1);
		print_message("%u used segments: %llu blocks read, needed %u\n", used,
			      d->blocks_read, least);
		assert_in_range(d->blocks_read, least, most);
		ml_free(d);
	}
}

/* The host has room for some of the images; the others are read again, many at once. */
static void images_without_room_are_read_again(void **state)
{
	const u32 images = SEGS * SEG_IMAGES, scan = 3 + SEGS * SEG_BLOCKS;

	for (u32 mib = 0; mib < 3; mib++) {
		struct memdev *d = full_log(mib << 20);

		assert_int_equal(ml_recover(d, false, NULL), 0);
		expect(d, 0, SEGS - 1);
		assert_int_equal(d->blocks_read, scan + images - min(images, mib << 10));
		ml_free(d);
	}
}

/* The images of a chunk are one read, although they go home in the opposite order. */
static void neighbours_in_the_log_are_read_again_together(void **state)
{
	const u32 chunks = SEGS * SEG_IMAGES / IMAGES;
	u32 reads[2];

	for (u32 room = 0; room < 2; room++) {
		struct memdev *d = ml_new(SEGS, SEG_BLOCKS, HOMES);

		for (u32 i = 0; i < chunks; i++) {
			struct rec rec = { .stamp = i + 1 };

			for (u32 k = 0; k < IMAGES; k++) {
				rec.img[k].block = HOMES - 1 - i * IMAGES - k;
				rec.img[k].val = 1 + k;
			}
			ml_put(d, i / (SEG_IMAGES / IMAGES), &rec);
		}
		d->ahead = true;
		d->room = room * (64 << 20);
		assert_int_equal(ml_recover(d, false, NULL), 0);
		for (u32 i = 0; i < chunks * IMAGES; i++)
			ml_expect(d, HOMES - 1 - i, 1 + i % IMAGES);
		reads[room] = d->reads;
		ml_free(d);
	}
	print_message("%u reads for %u chunks\n", reads[0] - reads[1], chunks);
	assert_in_range(reads[0] - reads[1], chunks, 2 * chunks);
}

static void bad_block_of_a_used_segment(void **state)
{
	for (u32 at = 0; at < 4 * SEG_BLOCKS; at += 13) {
		struct memdev *d = full_log(0);
		u32 seg = 8 + at / SEG_BLOCKS;
		char text[80];

		d->bad_block = ml_seg_block(d, seg, at % SEG_BLOCKS);
		assert_int_equal(ml_recover(d, false, NULL), -EUCLEAN);
		snprintf(text, sizeof(text), "journal block %u cannot be read", d->bad_block);
		assert_non_null(strstr(d->error, text));
		assert_int_equal(d->writes, 0);
		d->bad_block = ML_NEVER;
		assert_int_equal(ml_recover(d, false, NULL), 0);
		expect(d, 0, SEGS - 1);
		ml_free(d);
	}
}

/* Read ahead, but not needed. */
static void bad_block_of_a_free_segment(void **state)
{
	for (u32 seg = 10; seg < 14; seg++) {
		struct memdev *d = ml_new(SEGS, SEG_BLOCKS, HOMES);

		fill(d, 0, 9);
		d->ahead = true;
		d->bad_block = ml_seg_block(d, seg, 5);
		assert_int_equal(ml_recover(d, false, NULL), 0);
		expect(d, 0, 9);
		ml_free(d);
	}
}

/* Up to the choice of what is written home. */
static void choose(struct zj_recovery *r, struct memdev *d, struct zj_recovery_stats *s)
{
	const struct zj_recovery_args args = ml_args(d, ml_ops(d), 0, s);

	zj_recovery_begin(r, &args);
	r->geo = d->geo;
	r->seed = d->seed;
	r->whole = ZJ_TAG_ALL_LINES;
	assert_int_equal(zj_ahead_begin(r, SEG_BLOCKS, SEGS), 0);
	assert_int_equal(zj_scan(r), 0);
	assert_int_equal(zj_graph(r), 0);
	assert_int_equal(zj_choose(r), 0);
}

/* A block of an image that is read again, good in the scan. */
static void bad_block_in_the_second_reading(void **state)
{
	struct memdev *d = full_log(1 << 20);
	u32 bad = ml_seg_block(d, SEGS - 1, 7);
	struct zj_recovery_stats s;
	struct zj_recovery r;
	char text[80];

	choose(&r, d, &s);
	d->bad_block = bad;
	assert_int_equal(zj_write_home(&r), -EIO);
	snprintf(text, sizeof(text), "error -5 reading the log at journal block %u (1 blocks)",
		 bad);
	assert_non_null(strstr(d->error, text));
	d->bad_block = ML_NEVER;
	zj_recovery_end(&r);

	choose(&r, d, &s);
	memset(ml_block(d, bad), 1, 1024);
	assert_int_equal(zj_write_home(&r), -EIO);
	snprintf(text, sizeof(text), "journal block %u reads differently", bad);
	assert_non_null(strstr(d->error, text));
	zj_recovery_end(&r);
	ml_free(d);
}

/* Damage ends the scan while more is on its way: ml_free() asserts that nothing is. */
static void damage_ends_what_is_on_its_way(void **state)
{
	struct memdev *d = full_log(0);
	u32 at = ml_seg_block(d, 9, 0);
	struct zj_chunk_header *h = ml_block(d, at);

	h->lane = cpu_to_le32(ZJ_MAX_LANES);
	ml_reseal(d, at);
	assert_int_equal(ml_recover(d, false, NULL), -EUCLEAN);
	assert_true(d->most_in_flight > SEG_BLOCKS);
	ml_free(d);
}

/* With half of the memory half is on its way. */
static void without_memory_less_is_read_ahead(void **state)
{
	struct memdev *d = full_log(0);
	int err;

	/* The first two are for the fixed blocks, and for one that is put together. */
	zj_fail_alloc = 3;
	err = ml_recover(d, false, NULL);
	zj_fail_alloc = 0;
	assert_int_equal(err, 0);
	expect(d, 0, SEGS - 1);
	assert_int_equal(d->most_in_flight, ZJ_READ_SLOTS / 2 * SEG_BLOCKS);
	ml_free(d);
}

const struct CMUnitTest readahead_tests[] = {
	cmocka_unit_test(full_log_is_read_once_and_ahead),
	cmocka_unit_test(memory_ahead_is_bounded),
	cmocka_unit_test(free_segments_cost_a_block_each),
	cmocka_unit_test(images_without_room_are_read_again),
	cmocka_unit_test(neighbours_in_the_log_are_read_again_together),
	cmocka_unit_test(bad_block_of_a_used_segment),
	cmocka_unit_test(bad_block_of_a_free_segment),
	cmocka_unit_test(bad_block_in_the_second_reading),
	cmocka_unit_test(damage_ends_what_is_on_its_way),
	cmocka_unit_test(without_memory_less_is_read_ahead),
};
const size_t nr_readahead_tests = ARRAY_SIZE(readahead_tests);
