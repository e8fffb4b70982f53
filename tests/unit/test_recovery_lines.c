// SPDX-License-Identifier: GPL-2.0-only
/* Records with lines of blocks: what recovery puts them over, and which it refuses. */
#include <stdlib.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <asm/byteorder.h>
#include "memlog.h"
#include "format/line_set.h"
#include "recovery/recovery_int.h"
#include "tests.h"

#define SEGS	16
#define HOMES	32

static struct memdev *new_log(void)
{
	return ml_new(SEGS, 16, HOMES);
}

/* ---- what is replayed ---- */

static void lines_over_an_image(void **state)
{
	struct memdev *d = new_log();
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .lines = { { 5, 1 << 1 | 1 << 2, 'b' } });
	PUT(d, 0, .stamp = 3, .lines = { { 5, 1 << 2 | 1 << 15, 'c' } });
	ml_recover_ok(d, &s);
	ml_expect_lines(d, 5, 'a', " bc            c");
	assert_int_equal(s.replayed, 1);
	assert_int_equal(s.images, 3);
	ml_free(d);
}

static void images_and_lines_of_one_record(void **state)
{
	struct memdev *d = new_log();

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' }, { 7, 'a' } });
	PUT(d, 0, .stamp = 2, .deps = { 1 }, .revokes = { 7 },
	    .lines = { { 6, 0x3f, 'c' }, { 5, 1 << 3, 'b' } }, .img = { { 8, 'd' }, { 9, 'e' } });
	PUT(d, 0, .stamp = 3, .img = { { 10, 'f' } });
	ml_recover_ok(d, NULL);
	ml_expect_lines(d, 5, 'a', "   b");
	ml_expect_lines(d, 6, 'a', "cccccc");
	ml_expect(d, 7, 0);
	ml_expect(d, 8, 'd');
	ml_expect(d, 9, 'e');
	ml_expect(d, 10, 'f');
	ml_free(d);
}

/* Any number of times. */
static void a_newer_image_voids_older_lines(void **state)
{
	struct memdev *d = new_log();
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 0, .stamp = 3, .img = { { 5, 'c' } });
	ml_recover_ok(d, &s);
	ml_expect(d, 5, 'c');
	assert_int_equal(s.replayed, 1);
	ml_free(d);
	d = new_log();
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 0, .stamp = 3, .img = { { 5, 'c' } });
	PUT(d, 0, .stamp = 4, .lines = { { 5, 1 << 2, 'd' } });
	ml_recover_ok(d, NULL);
	ml_expect_lines(d, 5, 'c', "  d");
	ml_free(d);
}

/* The image is reclaimed, so the block is home, and perhaps newer than the lines. */
static void lines_over_nothing_are_skipped(void **state)
{
	struct memdev *d = new_log();
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 0, .stamp = 3, .lines = { { 5, 1 << 2, 'c' } }, .img = { { 6, 'd' } });
	ml_ckpt(d, 1, 1);
	memset(d->home + 5 * 1024, 'h', 1024);
	memcpy(d->stable, d->home, HOMES * 1024);
	ml_recover_ok(d, &s);
	for (u32 i = 0; i < 1024; i++)
		assert_int_equal(d->home[5 * 1024 + i], 'h');
	ml_expect(d, 6, 'd');
	assert_int_equal(s.replayed, 1);
	ml_free(d);
}

static void revoked_lines(void **state)
{
	struct memdev *d = new_log();
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .revokes = { 5 });
	ml_recover_ok(d, &s);
	ml_expect(d, 5, 0);
	assert_int_equal(s.revoked, 2);
	ml_free(d);
	d = new_log();
	/* The image is reclaimed. */
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .revokes = { 5 });
	ml_ckpt(d, 1, 1);
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 0);
	ml_free(d);
	d = new_log();
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .revokes = { 5 });
	PUT(d, 0, .stamp = 4, .img = { { 5, 'c' } });
	PUT(d, 0, .stamp = 5, .lines = { { 5, 1 << 2, 'd' } });
	ml_recover_ok(d, &s);
	ml_expect_lines(d, 5, 'c', "  d");
	assert_int_equal(s.revoked, 2);
	ml_free(d);
}

/* The first image of a block that is used again is whole. Without barriers it may be lost. */
static void lines_over_what_was_revoked(void **state)
{
	struct memdev *d = new_log();

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .revokes = { 5 });
	PUT(d, 0, .stamp = 3, .lines = { { 5, 1 << 1, 'b' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 0);
	ml_free(d);
}

static void lines_of_an_uncommitted_component(void **state)
{
	struct memdev *d = new_log();

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
	PUT(d, 0, .stamp = 3, .members = 2, .lines = { { 5, 1 << 2, 'c' } });
	/* Depends on what is not committed. */
	PUT(d, 1, .stamp = 4, .lane = 1, .deps = { 3 }, .lines = { { 5, 1 << 3, 'd' } });
	ml_recover_ok(d, NULL);
	ml_expect_lines(d, 5, 'a', " b");
	ml_free(d);
}

/* So are its lines, whose own block is good. */
static void a_record_with_a_torn_image_is_torn(void **state)
{
	struct memdev *d = new_log();
	u32 at;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } }, .img = { { 6, 'b' } });
	memset(ml_block(d, at + 1) + 512, 0, 512);
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 'a');
	ml_expect(d, 6, 0);
	ml_free(d);
}

/* What lies behind its image is of no record. */
static void an_unread_block_behind_a_torn_image(void **state)
{
	struct memdev *d = new_log();
	u32 at;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } }, .img = { { 6, 'b' } });
	memset(ml_block(d, at + 1) + 512, 0, 512);
	d->bad_block = at + 2;
	ml_recover_refused(d, "cannot be read, and a record that was durable may begin there");
	ml_free(d);
}

/* A committed component that has only lines is missed like any other. */
static void a_lost_record_of_lines(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at;

	for (u32 unread = 0; unread < 2; unread++) {
		d = new_log();
		PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
		PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
		at = PUT(d, 1, .stamp = 3, .lane = 1, .lines = { { 5, 1 << 2, 'c' } });
		PUT(d, 0, .stamp = 4, .durable = 3, .lines = { { 5, 1 << 3, 'd' } });
		if (unread)
			d->bad_block = at;
		else
			((u8 *)ml_block(d, at))[1023] ^= 1;
		ml_recover_refused(d, "stamp 3 is not in the log");
		assert_int_equal(ml_recover_dropping(d, &s), 0);
		assert_int_equal(s.newest_stamp, 2);
		ml_expect_lines(d, 5, 'a', " b");
		ml_free(d);
	}
}

/* ---- what is read again ---- */

static void choose(struct zj_recovery *r, struct memdev *d, struct zj_recovery_stats *s)
{
	const struct zj_recovery_args args = ml_args(d, ml_ops(d), 0, s);

	zj_recovery_begin(r, &args);
	r->geo = d->geo;
	r->seed = d->seed;
	r->whole = ZJ_TAG_ALL_LINES;
	r->built = kvmalloc(d->geo.block_size, GFP_KERNEL);
	assert_int_equal(zj_ahead_begin(r, d->geo.seg_blocks, d->geo.nr_segs), 0);
	assert_int_equal(zj_scan(r), 0);
	assert_int_equal(zj_graph(r), 0);
	assert_int_equal(zj_choose(r), 0);
}

/* Chains of images and lines, of many blocks at a time. */
static void lines_without_room_are_read_again(void **state)
{
	for (u32 how = 0; how < 3; how++) {
		struct memdev *d = new_log();
		u64 stamp = 0;

		for (u32 i = 0; i < 12; i++)
			PUT(d, i, .stamp = ++stamp, .lane = i % 8,
			    .img = { { i, 'a' + i }, { 12 + i, 'A' + i } });
		for (u32 k = 0; k < 5; k++)
			for (u32 i = 0; i < 12; i++)
				PUT(d, i, .stamp = ++stamp, .lane = i % 8,
				    .lines = { { 23 - i, 1 << k, '0' + k },
					      { 11 - i, 1 << k, '5' + k } });
		/* One at a time; many; some of them are kept. */
		d->ahead = how;
		d->room = how == 2 ? 1 << 20 : 0;
		ml_recover_ok(d, NULL);
		for (u32 i = 0; i < 12; i++) {
			ml_expect_lines(d, i, 'a' + i, "56789");
			ml_expect_lines(d, 12 + i, 'A' + i, "01234");
		}
		ml_free(d);
	}
}

/* The lines of a tag are in the header, wherever the tag is. */
static void lines_behind_an_image(void **state)
{
	for (u32 mib = 0; mib < 2; mib++) {
		struct memdev *d = new_log();
		struct zj_tag *tag, part;
		u32 at;

		PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
		at = PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } },
			 .img = { { 6, 'c' }, { 7, 'd' } });
		tag = zj_chunk_tags(ml_block(d, at), 0, 0);
		part = tag[0];
		tag[0] = tag[1];
		tag[1] = part;
		ml_reseal(d, at);
		d->ahead = true;
		d->room = mib << 20;
		ml_recover_ok(d, NULL);
		ml_expect_lines(d, 5, 'a', " b");
		ml_expect(d, 6, 'c');
		ml_expect(d, 7, 'd');
		ml_free(d);
	}
}

/* Blocks read to write home, besides those of the scan; none if there is room to keep them. */
static u64 read_again(struct memdev *d)
{
	struct memdev *c = ml_clone(d);
	u64 scan;

	c->ahead = true;
	c->room = 1 << 20;
	assert_int_equal(ml_recover(c, true, NULL), 0);
	scan = c->blocks_read;
	assert_int_equal(ml_recover(c, false, NULL), 0);
	assert_int_equal(c->blocks_read, 2 * scan);
	ml_free(c);
	d->ahead = true;
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, true, NULL), 0);
	scan = d->blocks_read;
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, false, NULL), 0);
	return d->blocks_read - scan;
}

static void lines_that_newer_ones_cover_are_not_read(void **state)
{
	struct memdev *d = new_log();

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1 | 1 << 2, 'b' } });
	PUT(d, 0, .stamp = 3, .lines = { { 5, 1 << 3 | 1 << 2, 'c' } });
	PUT(d, 0, .stamp = 4, .lines = { { 5, 1 << 1, 'd' } });
	PUT(d, 0, .stamp = 5, .lines = { { 5, 1 << 4, 'e' } });
	assert_int_equal(read_again(d), 4);
	ml_expect_lines(d, 5, 'a', " dcce");
	ml_free(d);
	d = new_log();
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1 | 1 << 2, 'b' } });
	PUT(d, 0, .stamp = 3, .lines = { { 5, 1 << 1 | 1 << 3, 'c' } });
	/* It has a line that no newer one has. */
	assert_int_equal(read_again(d), 3);
	ml_expect_lines(d, 5, 'a', " cbc");
	ml_free(d);
	d = new_log();
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	for (u32 i = 0; i < 10; i++)
		PUT(d, 0, .stamp = 2 + i, .lines = { { 5, 1 << 1, '0' + i } });
	assert_int_equal(read_again(d), 2);
	ml_expect_lines(d, 5, 'a', " 9");
	ml_free(d);
}

/* Damaged since the scan, or another record now, whose checksum is right. */
static void a_header_that_reads_differently(void **state)
{
	struct zj_recovery_stats s;
	struct zj_recovery r;
	struct memdev *d;
	u32 at;

	for (u32 how = 0; how < 3; how++) {
		d = new_log();
		PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
		at = PUT(d, 0, .stamp = 2, .lines = { { 5, 1 << 1, 'b' } });
		choose(&r, d, &s);
		if (how)
			((u8 *)ml_block(d, at))[1000] ^= 1;
		if (how == 2)
			ml_reseal(d, at);
		assert_int_equal(zj_write_home(&r), how ? -EIO : 0);
		if (how)
			assert_non_null(strstr(d->error, "reads differently the second time"));
		else
			ml_expect_lines(d, 5, 'a', " b");
		zj_recovery_end(&r);
		ml_free(d);
	}
}

/* ---- what no writer can have written ---- */

#define IMPOSSIBLE	"segment 1 block 0: chunk header with a correct checksum"

/* The second record has these lines of blocks 5 and up, and of that many an image. */
static struct memdev *log_of_parts(const u64 *lines, u32 nr, u32 images)
{
	struct memdev *d = new_log();
	struct rec rec = { .stamp = 2, .lane = 1 };

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' }, { 7, 'a' }, { 8, 'a' } });
	for (u32 i = 0; i < images; i++) {
		rec.img[i].block = 20 + i;
		rec.img[i].val = 'x';
	}
	ml_put(d, 1, &rec);
	/* The tags are made by hand, as their lines need not fit. */
	for (u32 i = 0; i < nr; i++) {
		struct zj_chunk_header *h = ml_block(d, ml_seg_block(d, 1, 0));
		struct zj_tag *tag = zj_chunk_tags(h, 0, 0);

		memmove(tag + i + 1, tag + i, images * sizeof(*tag));
		tag[i] = (struct zj_tag){ .block = cpu_to_le64(5 + i),
					  .lines = cpu_to_le64(lines[i]) };
		h->nr_tags = cpu_to_le32(images + i + 1);
		h->nr_line_tags = cpu_to_le32(i + 1);
	}
	ml_reseal(d, ml_seg_block(d, 1, 0));
	return d;
}

static struct zj_chunk_header *second(struct memdev *d)
{
	return ml_block(d, ml_seg_block(d, 1, 0));
}

static void refused(struct memdev *d, const char *text)
{
	ml_reseal(d, ml_seg_block(d, 1, 0));
	ml_recover_refused(d, text);
	ml_free(d);
}

static void impossible_lines(void **state)
{
	static const struct {
		bool	ok;
		u64	lines[4];
		u32	nr;
	} cases[] = {
		{ true, { 0x3f }, 1 },
		{ true, { 1 << 15 }, 1 },
		{ false, { 0 }, 1 },
		{ false, { 1, 0 }, 2 },
		{ false, { 1 << 16 }, 1 },
		{ false, { 1 << 3 | 1ULL << 63 }, 1 },
		{ false, { 0x7f }, 1 },
		{ false, { 1, 0xfe }, 2 },
		/* 832 bytes of them and three tags are more than the header has room for. */
		{ true, { 0x3f, 0x1f, 1 }, 3 },
		{ false, { 0x3f, 0x1f, 3 }, 3 },
		{ false, { 0x3f, 0x3f, 1 }, 3 },
		/* As much as the block; more, so that they would begin before it. */
		{ false, { 0x3f, 0x3f, 0xf }, 3 },
		{ false, { 0x3f, 0x3f, 0x3f }, 3 },
		{ false, { 0x3f, 0x3f, 0x3f, 0x3f }, 4 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		for (u32 images = 0; images < 2; images++) {
			struct memdev *d = log_of_parts(cases[i].lines, cases[i].nr, images);

			if (!cases[i].ok) {
				refused(d, IMPOSSIBLE);
				continue;
			}
			ml_recover_ok(d, NULL);
			ml_free(d);
		}
}

/* The entries leave 848 bytes less 8 for each. */
static void lines_reach_up_to_the_entries(void **state)
{
	static const u64 lines[] = { 0x3f, 0x3f };

	for (u32 nr = 9; nr < 12; nr++) {
		struct memdev *d = log_of_parts(lines, 2, 0);
		struct zj_chunk_header *h = second(d);
		struct zj_tag *tag = zj_chunk_tags(h, 0, 0);

		memmove(zj_chunk_tags(h, 0, nr), tag, 2 * sizeof(*tag));
		for (u32 i = 0; i < nr; i++)
			zj_chunk_revokes(h, 0)[i] = cpu_to_le64(10 + i);
		h->nr_revokes = cpu_to_le32(nr);
		if (nr > 10) {
			refused(d, IMPOSSIBLE);
			continue;
		}
		ml_reseal(d, ml_seg_block(d, 1, 0));
		ml_recover_ok(d, NULL);
		ml_free(d);
	}
}

static void numbers_of_parts(void **state)
{
	static const u64 lines[] = { 1, 2 };

	for (u32 nr = 0; nr < 5; nr++) {
		struct memdev *d = log_of_parts(lines, 2, 2);

		second(d)->nr_line_tags = cpu_to_le32(nr);
		if (nr != 2) {
			refused(d, IMPOSSIBLE);
			continue;
		}
		ml_recover_ok(d, NULL);
		ml_free(d);
	}
	/* An image counts as none of them, and its tag says which it is. */
	for (u32 nr = 1; nr < 3; nr++) {
		struct memdev *d = log_of_parts(lines, 0, 1);

		second(d)->nr_line_tags = cpu_to_le32(nr);
		refused(d, IMPOSSIBLE);
	}
}

/* Lines have neither flags nor a checksum of their own. */
static void tags_of_lines(void **state)
{
	static const u64 lines[] = { 2, 4 };

	for (u32 how = 0; how < 6; how++) {
		struct memdev *d = log_of_parts(lines, 2, 0);
		struct zj_tag *tag = zj_chunk_tags(second(d), 0, 0);

		switch (how) {
		case 0:
			tag[1].flags = cpu_to_le16(1);
			break;
		case 1:
			tag[1].flags = cpu_to_le16(2);
			break;
		case 2:
			tag[1].csum = cpu_to_le32(1);
			break;
		case 3:
			tag[1].reserved = cpu_to_le16(1);
			refused(d, "image of block 6 with unknown flags");
			continue;
		case 4:
			tag[1].block = cpu_to_le64(HOMES);
			refused(d, "image of block 32, but the device has 32");
			continue;
		case 5:
			tag[1].block = tag[0].block;
			refused(d, "two images of block 5");
			continue;
		}
		refused(d, "lines of block 6 with the flags or checksum");
	}
}

/* Two tags of the most lines fit, and no tag has more; the images are in the blocks behind it. */
static void most_lines_of_each_block_size(void **state)
{
	for (u32 size = 1024; size <= 65536; size *= 2) {
		struct zj_log_geometry geo = { .block_size = size, .seg_blocks = 8, .nr_lanes = 1 };
		u32 most = zj_lines_max(size) / zj_lines_unit(size);
		struct zj_chunk c = { .stamp = 1, .nr_members = 1, .nr_chunks = 1, .nr_tags = 3,
				      .nr_line_tags = 2 }, back;
		u8 *block = calloc(1, size);
		struct zj_tag *tag = zj_chunk_tags(block, 0, 0);
		struct zj_tag_walk walk;

		tag[0].lines = cpu_to_le64((1ULL << most) - 1);
		tag[1].lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
		tag[2].lines = cpu_to_le64((1ULL << most) - 1);
		zj_encode_chunk(&geo, 7, &c, block);
		assert_true(zj_decode_chunk(&geo, 7, 0, 0, block, &back));
		assert_int_equal(back.nr_line_tags, 2);
		assert_int_equal(zj_chunk_images(&back), 1);
		zj_tag_walk_begin(&walk, &geo, &back, block);
		for (u32 i = 0; i < 3; i++) {
			assert_true(zj_tag_walk_next(&walk));
			assert_ptr_equal(walk.tag, &tag[i]);
			assert_int_equal(walk.image, i > 0);
			assert_int_equal(walk.data,
					 size - (1 + i / 2) * most * zj_lines_unit(size));
		}
		assert_false(zj_tag_walk_next(&walk));
		tag[2].lines = cpu_to_le64((2ULL << most) - 1);
		zj_encode_chunk(&geo, 7, &c, block);
		assert_false(zj_decode_chunk(&geo, 7, 0, 0, block, &back));
		free(block);
	}
}

const struct CMUnitTest recovery_lines_tests[] = {
	cmocka_unit_test(lines_over_an_image),
	cmocka_unit_test(images_and_lines_of_one_record),
	cmocka_unit_test(a_newer_image_voids_older_lines),
	cmocka_unit_test(lines_over_nothing_are_skipped),
	cmocka_unit_test(revoked_lines),
	cmocka_unit_test(lines_over_what_was_revoked),
	cmocka_unit_test(lines_of_an_uncommitted_component),
	cmocka_unit_test(a_record_with_a_torn_image_is_torn),
	cmocka_unit_test(an_unread_block_behind_a_torn_image),
	cmocka_unit_test(a_lost_record_of_lines),
	cmocka_unit_test(lines_without_room_are_read_again),
	cmocka_unit_test(lines_behind_an_image),
	cmocka_unit_test(lines_that_newer_ones_cover_are_not_read),
	cmocka_unit_test(a_header_that_reads_differently),
	cmocka_unit_test(impossible_lines),
	cmocka_unit_test(lines_reach_up_to_the_entries),
	cmocka_unit_test(numbers_of_parts),
	cmocka_unit_test(tags_of_lines),
	cmocka_unit_test(most_lines_of_each_block_size),
};
const size_t nr_recovery_lines_tests = ARRAY_SIZE(recovery_lines_tests);
