// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of stock's log byte by byte: the writer and the reader share their definitions, so
 * encoding and decoding would not show an error of both.
 */
#include <linux/crc32c.h>
#include <asm/byteorder.h>
#include "format/codec_jbd2.h"
#include "memlog.h"
#include "tests.h"

#define SIZE		1024u
#define SEQUENCE	0x01020304u
#define FIRST_BLOCK	0x12345678ULL
#define OTHER_BLOCK	0x42ULL

/**
 * struct kind - a log's features, and what follows from them
 */
struct kind {
	u32	incompat;
	u32	tag;		/* bytes of a tag */
	u32	tail;		/* bytes at a block's end */
	u32	tags;		/* in a full block */
	u32	revokes;	/* in a full block */
};

static const struct kind kinds[] = {
	{ 0, 8, 0, 124, 252 },
	{ ZJ_JBD2_INCOMPAT_64BIT, 12, 0, 83, 126 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2, 10, 4, 99, 251 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT, 14, 4, 70, 125 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3, 16, 4, 62, 251 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT, 16, 4, 62, 125 },
};

static struct zj_jbd2_super super_of(u32 incompat)
{
	struct zj_jbd2_super sb = {
		.s_blocksize = cpu_to_be32(SIZE),
		.s_first = cpu_to_be32(1),
		.s_maxlen = cpu_to_be32(600),
		.s_feature_incompat = cpu_to_be32(incompat),
	};

	memcpy(sb.s_uuid, mem_uuid, 16);
	return sb;
}

static struct zj_jbd2_geo log_of(u32 incompat)
{
	struct zj_jbd2_super sb = super_of(incompat);
	struct zj_jbd2_geo log;

	memset(&log, 0x55, sizeof(log));
	zj_jbd2_geo_of(&sb, &log);
	return log;
}

static u8 *be(u8 *at, u64 value, u32 bytes)
{
	for (u32 i = 0; i < bytes; i++)
		at[i] = value >> 8 * (bytes - 1 - i);
	return at + bytes;
}

static u8 *header(u8 *at, u32 type)
{
	return be(be(be(at, 0xc03b3998, 4), type, 4), SEQUENCE, 4);
}

static bool wide(const struct kind *kind)
{
	return kind->incompat & ZJ_JBD2_INCOMPAT_64BIT;
}

static u8 *tag_bytes(const struct kind *kind, u8 *at, u64 block, u32 flags, u32 csum)
{
	u8 *end = at + kind->tag;

	at = be(at, block, 4);
	if (kind->incompat & ZJ_JBD2_INCOMPAT_CSUM_V3) {
		be(be(be(at, flags, 4), block >> 32, 4), csum, 4);
		return end;
	}
	at = be(be(at, csum, 2), flags, 2);
	if (wide(kind))
		be(at, block >> 32, 4);
	return end;
}

static void tail_bytes(const struct kind *kind, u8 *block)
{
	u32 seed = crc32c(~0U, mem_uuid, 16);

	if (kind->tail)
		be(block + SIZE - 4, crc32c(seed, block, SIZE), 4);
}

static u32 csum_of(const struct kind *kind, const u8 *data)
{
	u32 crc = crc32c(crc32c(~0U, mem_uuid, 16), "\1\2\3\4", 4);

	if (!kind->tail)
		return 0;
	crc = crc32c(crc, data, SIZE);
	return kind->incompat & ZJ_JBD2_INCOMPAT_CSUM_V3 ? crc : crc & 0xffff;
}

static void features(void **state)
{
	struct zj_jbd2_geo log;
	struct zj_jbd2_super sb;

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		log = log_of(kinds[i].incompat);
		assert_int_equal(log.block_size, SIZE);
		assert_int_equal(log.first, 1);
		assert_int_equal(log.last, 600);
		assert_int_equal(log.tag_bytes, kinds[i].tag);
		assert_int_equal(log.tail_bytes, kinds[i].tail);
		assert_int_equal(log.revoke_bytes, wide(&kinds[i]) ? 8 : 4);
		assert_int_equal(log.seed, crc32c(~0U, mem_uuid, 16));
		assert_int_equal(log.b64, wide(&kinds[i]));
		assert_false(log.csum1);
		assert_int_equal(log.csum3, i >= 4);
		assert_memory_equal(log.uuid, mem_uuid, 16);
		assert_int_equal(zj_jbd2_tags_per_block(&log), kinds[i].tags);
		assert_int_equal(zj_jbd2_revokes_per_block(&log), kinds[i].revokes);
	}
	sb = super_of(ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	sb.s_feature_compat = cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
	zj_jbd2_geo_of(&sb, &log);
	assert_true(log.csum1);
	assert_int_equal(log.last, 600 - 256);
	sb.s_num_fc_blks = cpu_to_be32(100);
	zj_jbd2_geo_of(&sb, &log);
	assert_int_equal(log.last, 500);
	sb.s_num_fc_blks = cpu_to_be32(601);
	zj_jbd2_geo_of(&sb, &log);
	assert_int_equal(log.last, 0);
}

/* Of version 2 the low half, all of it. */
static void checksums_of_images(void **state)
{
	u8 data[SIZE];

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct zj_jbd2_geo log = log_of(kinds[i].incompat);

		for (u32 val = 0; val < 32; val++) {
			memset(data, val, SIZE);
			assert_int_equal(zj_jbd2_image_csum(&log, SEQUENCE, data),
					 csum_of(&kinds[i], data));
		}
	}
}

static void descriptor_blocks(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 high = wide(&kinds[i]) ? 0x9abcdULL << 32 : 0;
		struct zj_jbd2_geo log = log_of(kinds[i].incompat);
		struct zj_jbd2_image tag[2] = {
			{ .block = high | FIRST_BLOCK },
			{ .block = OTHER_BLOCK, .flags = ZJ_JBD2_TAG_ESCAPED },
		}, got;
		u8 want[SIZE] = { }, block[SIZE] = { }, data[2][SIZE], *at;
		u32 pos = 0;

		memset(data[0], 1, SIZE);
		memset(data[1], 2, SIZE);
		for (u32 k = 0; k < 2; k++) {
			tag[k].csum = zj_jbd2_image_csum(&log, SEQUENCE, data[k]);
			assert_int_equal(tag[k].csum, csum_of(&kinds[i], data[k]));
		}
		at = header(want, 1);
		at = tag_bytes(&kinds[i], at, tag[0].block, 0, tag[0].csum);
		memcpy(at, mem_uuid, 16);
		tag_bytes(&kinds[i], at + 16, OTHER_BLOCK, 1 | 2 | 8, tag[1].csum);
		tail_bytes(&kinds[i], want);

		zj_jbd2_put_header(block, ZJ_JBD2_DESCRIPTOR, SEQUENCE);
		zj_jbd2_put_tag(&log, block, 0, false, &tag[0]);
		zj_jbd2_put_tag(&log, block, 1, true, &tag[1]);
		zj_jbd2_set_csum(&log, block);
		assert_memory_equal(block, want, SIZE);
		assert_true(zj_jbd2_csum_good(&log, want));

		/* Data after the last one is ignored. */
		memset(want + 12 + 2 * kinds[i].tag + 16, 0xff, 40);
		assert_int_equal(zj_jbd2_csum_good(&log, want), !kinds[i].tail);
		for (u32 k = 0; k < 2; k++) {
			assert_true(zj_jbd2_get_tag(&log, want, &pos, &got));
			assert_int_equal(got.block, tag[k].block);
			assert_int_equal(got.csum, tag[k].csum);
			assert_int_equal(got.flags, k ? 11 : 0);
		}
		assert_false(zj_jbd2_get_tag(&log, want, &pos, &got));
	}
}

/* Nothing of a version 3 tag's flags but the low half counts. */
static void high_flags_are_ignored(void **state)
{
	struct zj_jbd2_geo log = log_of(ZJ_JBD2_INCOMPAT_CSUM_V3);
	struct zj_jbd2_image got;
	u8 block[SIZE] = { };
	u32 pos = 0;

	tag_bytes(&kinds[4], header(block, 1), 5, 0x10008, 0);
	assert_true(zj_jbd2_get_tag(&log, block, &pos, &got));
	assert_int_equal(got.flags, 8);
	pos = 0;
	tag_bytes(&kinds[4], header(block, 1), 5, 0x8ffff, 0);
	assert_true(zj_jbd2_get_tag(&log, block, &pos, &got));
	assert_int_equal(got.flags, 0xffff);
}

/* The high half is ignored without its feature. */
static void block_numbers_of_32_bits(void **state)
{
	struct zj_jbd2_geo log = log_of(ZJ_JBD2_INCOMPAT_CSUM_V3);
	struct zj_jbd2_image got;
	u8 block[SIZE] = { };
	u32 pos = 0;

	tag_bytes(&kinds[4], header(block, 1), 7ULL << 32 | 5, 8, 0);
	assert_true(zj_jbd2_get_tag(&log, block, &pos, &got));
	assert_int_equal(got.block, 5);
}

/* None of them is the last one, and no more fit. */
static void full_descriptor_blocks(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct zj_jbd2_geo log = log_of(kinds[i].incompat);
		struct zj_jbd2_image tag = { }, got;
		u8 block[SIZE] = { };
		u32 pos = 0, n;

		zj_jbd2_put_header(block, ZJ_JBD2_DESCRIPTOR, SEQUENCE);
		for (n = 0; n < kinds[i].tags; n++) {
			tag.block = 100 + n;
			zj_jbd2_put_tag(&log, block, n, false, &tag);
		}
		if (kinds[i].tail)
			assert_memory_equal(block + SIZE - 4, "\0\0\0", 4);
		zj_jbd2_set_csum(&log, block);
		for (n = 0; zj_jbd2_get_tag(&log, block, &pos, &got); n++)
			assert_int_equal(got.block, 100 + n);
		assert_int_equal(n, kinds[i].tags);
	}
}

static void revoke_blocks(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct zj_jbd2_geo log = log_of(kinds[i].incompat);
		u32 bytes = wide(&kinds[i]) ? 8 : 4, nr = kinds[i].revokes;
		u64 high = wide(&kinds[i]) ? 0xabcULL << 32 : 0;
		u8 want[SIZE] = { }, block[SIZE] = { }, *at;

		at = be(header(want, 5), 16 + nr * bytes, 4);
		zj_jbd2_put_header(block, ZJ_JBD2_REVOKE, SEQUENCE);
		for (u32 k = 0; k < nr; k++) {
			at = be(at, high | (0x8000000 + k), bytes);
			zj_jbd2_put_revoke(&log, block, k, high | (0x8000000 + k));
		}
		tail_bytes(&kinds[i], want);
		zj_jbd2_set_csum(&log, block);
		assert_memory_equal(block, want, SIZE);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), nr);
		for (u32 k = 0; k < nr; k++)
			assert_int_equal(zj_jbd2_get_revoke(&log, want, k),
					 high | (0x8000000 + k));
		be(want + 12, 0, 4);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), 0);
		be(want + 12, 15, 4);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), 0);
		be(want + 12, 16 + bytes - 1, 4);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), 0);
		be(want + 12, 16 + bytes, 4);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), 1);
		be(want + 12, SIZE - kinds[i].tail, 4);
		assert_int_equal(zj_jbd2_nr_revokes(&log, want), nr);
		be(want + 12, SIZE - kinds[i].tail + 1, 4);
		assert_true(zj_jbd2_nr_revokes(&log, want) < 0);
	}
}

static void commit_blocks(void **state)
{
	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct zj_jbd2_geo log = log_of(kinds[i].incompat);
		u8 want[SIZE] = { }, block[SIZE] = { };

		header(want, 2);
		be(be(want + 48, 0x1122334455667788ULL, 8), 0x99aabb, 4);
		if (kinds[i].tail)
			be(want + 16, crc32c(crc32c(~0U, mem_uuid, 16), want, SIZE), 4);
		zj_jbd2_put_commit(&log, block, SEQUENCE, 0x1122334455667788ULL, 0x99aabb);
		assert_memory_equal(block, want, SIZE);
		assert_true(zj_jbd2_commit_good(&log, want));
		/* Torn: what is behind it is another block's. */
		memset(want + sizeof(struct zj_jbd2_commit), 0x77,
		       SIZE - sizeof(struct zj_jbd2_commit));
		assert_true(zj_jbd2_commit_good(&log, want));
		for (u32 byte = 12; byte < 60; byte++) {
			want[byte] ^= 1;
			assert_int_equal(zj_jbd2_commit_good(&log, want), !kinds[i].tail);
			want[byte] ^= 1;
		}
		/* The checksum of a block that is not zero at its end. */
		if (!kinds[i].tail)
			continue;
		be(want + 16, 0, 4);
		be(want + 16, crc32c(crc32c(~0U, mem_uuid, 16), want, SIZE), 4);
		assert_true(zj_jbd2_commit_good(&log, want));
		want[SIZE - 1] ^= 1;
		assert_false(zj_jbd2_commit_good(&log, want));
	}
}

static void types_of_blocks(void **state)
{
	u8 block[SIZE] = { };

	header(block, 5);
	assert_int_equal(zj_jbd2_type(block, SEQUENCE), ZJ_JBD2_REVOKE);
	assert_int_equal(zj_jbd2_type(block, SEQUENCE + 1), 0);
	block[3] ^= 1;
	assert_int_equal(zj_jbd2_type(block, SEQUENCE), 0);
}

static void images_that_look_like_blocks_of_the_log(void **state)
{
	u8 image[8] = { 0xc0, 0x3b, 0x39, 0x98, 1, 2, 3, 4 };

	assert_true(zj_jbd2_escape(image));
	assert_memory_equal(image, "\0\0\0\0\1\2\3\4", 8);
	assert_false(zj_jbd2_escape(image));
	memcpy(image, "\xc0\x3b\x39\x99", 4);
	assert_false(zj_jbd2_escape(image));
	assert_memory_equal(image, "\xc0\x3b\x39\x99\1\2\3\4", 8);
}

static void steps_in_the_ring(void **state)
{
	const struct zj_jbd2_geo log = { .first = 3, .last = 10 };

	assert_int_equal(zj_jbd2_step(&log, 3, 1), 4);
	assert_int_equal(zj_jbd2_step(&log, 8, 1), 9);
	assert_int_equal(zj_jbd2_step(&log, 9, 1), 3);
	assert_int_equal(zj_jbd2_step(&log, 3, 6), 9);
	assert_int_equal(zj_jbd2_step(&log, 4, 6), 3);
	assert_int_equal(zj_jbd2_step(&log, 9, 6), 8);
}

const struct CMUnitTest codec_jbd2_tests[] = {
	cmocka_unit_test(features),
	cmocka_unit_test(checksums_of_images),
	cmocka_unit_test(descriptor_blocks),
	cmocka_unit_test(high_flags_are_ignored),
	cmocka_unit_test(block_numbers_of_32_bits),
	cmocka_unit_test(full_descriptor_blocks),
	cmocka_unit_test(revoke_blocks),
	cmocka_unit_test(commit_blocks),
	cmocka_unit_test(types_of_blocks),
	cmocka_unit_test(images_that_look_like_blocks_of_the_log),
	cmocka_unit_test(steps_in_the_ring),
};
const size_t nr_codec_jbd2_tests = ARRAY_SIZE(codec_jbd2_tests);
