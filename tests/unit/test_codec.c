// SPDX-License-Identifier: GPL-2.0-only
#include <linux/crc32c.h>
#include <asm/byteorder.h>
#include "nvm/nvm.h"
#include "memlog.h"
#include "tests.h"

static void crc32c_known_values(void **state)
{
	u8 buf[300];
	u32 seed = 7;

	/* The check value of CRC-32C, and RFC 3720's 32 zero bytes. */
	assert_int_equal(~crc32c(~0U, "123456789", 9), 0xe3069283);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(~crc32c(~0U, buf, 32), 0x8a9136aa);
	for (u32 i = 0; i < sizeof(buf); i++)
		buf[i] = ml_rand(&seed);
	for (u32 len = 0; len < sizeof(buf) - 8; len++)
		assert_int_equal(crc32c(len, buf + len % 8, len),
				 crc32c_tables(len, buf + len % 8, len));
}

static void log_super_round_trip(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_log_geometry back;

	memset(&back, 0xee, sizeof(back));
	assert_null(zj_decode_log_super(ml_block(d, 1), &back));
	assert_memory_equal(back.uuid, d->geo.uuid, 16);
	assert_true(back.generation == d->geo.generation);
	assert_int_equal(back.block_size, d->geo.block_size);
	assert_int_equal(back.total_blocks, d->geo.total_blocks);
	assert_int_equal(back.log_first, d->geo.log_first);
	assert_int_equal(back.seg_blocks, d->geo.seg_blocks);
	assert_int_equal(back.nr_segs, d->geo.nr_segs);
	assert_int_equal(back.nr_lanes, d->geo.nr_lanes);
	ml_free(d);
}

/* Every bit of the sector matters. */
static void log_super_every_bit(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_log_geometry back;
	u8 *block = ml_block(d, 1);

	for (u32 bit = 0; bit < ZJ_SECTOR * 8; bit++) {
		block[bit / 8] ^= 1 << bit % 8;
		assert_non_null(zj_decode_log_super(block, &back));
		block[bit / 8] ^= 1 << bit % 8;
	}
	assert_null(zj_decode_log_super(block, &back));
	ml_free(d);
}

static void log_super_absurd(void **state)
{
	static const struct {
		size_t offset;
		u32 value;
		const char *text;
	} cases[] = {
#define F(f) offsetof(struct zj_log_geometry, f)
		{ F(block_size), 0, "block size" },
		{ F(block_size), 512, "block size" },
		{ F(block_size), 3072, "block size" },
		{ F(block_size), 131072, "block size" },
		{ F(total_blocks), 0, "past the end" },
		{ F(total_blocks), ZJ_LOG_FIRST + 8 * 8 - 1, "past the end" },
		{ F(log_first), 3, "fixed blocks" },
		{ F(log_first), 5, "past the end" },
		{ F(log_first), ~0U, "past the end" },
		{ F(seg_blocks), 0, "segment size" },
		{ F(seg_blocks), 1, "segment size" },
		{ F(seg_blocks), 1025, "segment size" },
		{ F(seg_blocks), ~0U, "segment size" },
		{ F(seg_blocks), 9, "past the end" },
		{ F(nr_segs), 0, "no segments" },
		{ F(nr_segs), 9, "past the end" },
		{ F(nr_segs), 0x20000000, "past the end" },
		{ F(nr_segs), ~0U, "past the end" },
		{ F(nr_lanes), 0, "lanes" },
		{ F(nr_lanes), ZJ_MAX_LANES + 1, "lanes" },
#undef F
	};
	u8 block[65536];
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_log_geometry geo, back;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *wrong;
		u32 size;

		geo = d->geo;
		memcpy((u8 *)&geo + cases[i].offset, &cases[i].value, 4);
		size = geo.block_size;
		geo.block_size = 1024;
		zj_encode_log_super(&geo, block);
		if (size != 1024) {
			struct zj_log_super *sb = (void *)block;

			sb->block_size = cpu_to_le32(size);
			sb->csum = 0;
			sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
		}
		wrong = zj_decode_log_super(block, &back);
		assert_non_null(wrong);
		assert_non_null(strstr(wrong, cases[i].text));
	}
	ml_free(d);
}

static void reseal_super(struct zj_log_super *sb)
{
	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
}

/* Each of these is the last that will do. */
static void log_super_at_its_bounds(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_log_geometry geo = d->geo, back;
	struct zj_log_super *sb;
	u8 block[65536], again[65536];

	geo.version = ZJ_FORMAT_VERSION;
	geo.ckpt_stamp = 0x123456789abcdefULL;
	for (u32 size = 1024; size <= 65536; size *= 2) {
		geo.block_size = size;
		geo.seg_blocks = size <= 16384 ? (1 << 20) / size : 64;
		geo.total_blocks = ZJ_LOG_FIRST + 8 * geo.seg_blocks;
		geo.nr_lanes = ZJ_MAX_LANES;
		zj_encode_log_super(&geo, block);
		assert_null(zj_decode_log_super(block, &back));
		zj_encode_log_super(&back, again);
		assert_memory_equal(again, block, size);
		geo.total_blocks += 8;
		geo.seg_blocks++;
		zj_encode_log_super(&geo, block);
		assert_string_equal(zj_decode_log_super(block, &back),
				    "segment size out of range");
	}
	geo.seg_blocks = 2;
	geo.nr_lanes = 1;
	zj_encode_log_super(&geo, block);
	assert_null(zj_decode_log_super(block, &back));
	sb = (void *)block;
	sb->version = cpu_to_le32(ZJ_FORMAT_OLDEST);
	reseal_super(sb);
	assert_null(zj_decode_log_super(block, &back));
	sb->version = cpu_to_le32(ZJ_FORMAT_OLDEST - 1);
	reseal_super(sb);
	assert_non_null(strstr(zj_decode_log_super(block, &back), "version"));
	sb->version = cpu_to_le32(ZJ_FORMAT_VERSION);
	sb->reserved0 = cpu_to_le32(1);
	reseal_super(sb);
	assert_string_equal(zj_decode_log_super(block, &back), "reserved fields are not zero");
	sb->magic ^= 1;
	assert_string_equal(zj_decode_log_super(block, &back), "wrong magic number");
	ml_free(d);
}

static void log_super_version_and_reserved(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_log_super *sb = ml_block(d, 1);
	struct zj_log_geometry back;

	sb->version = cpu_to_le32(ZJ_FORMAT_VERSION + 1);
	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
	assert_non_null(strstr(zj_decode_log_super(sb, &back), "version"));
	ml_log_super(d);
	sb->reserved[sizeof(sb->reserved) - 1] = 1;
	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
	assert_non_null(strstr(zj_decode_log_super(sb, &back), "reserved"));
	ml_free(d);
}

static void geometry_sizes(void **state)
{
	struct zj_log_geometry geo;

	for (u32 size = 1024; size <= 65536; size *= 2)
		for (u32 lanes = 1; lanes <= ZJ_MAX_LANES; lanes += lanes / 3 + 1)
			for (u64 n = 68; n <= U32_MAX; n += n / 3 + 1) {
				u8 block[65536];

				memset(&geo, 0, sizeof(geo));
				assert_int_equal(zj_make_geometry(&geo, n, size, lanes), 0);
				assert_int_equal(geo.seg_blocks & (geo.seg_blocks - 1), 0);
				assert_true(geo.nr_segs >= 8);
				/* fewer than 4 per lane only if they are small already */
				assert_true(geo.nr_segs >= 4 * lanes || geo.seg_blocks <= 64);
				/* small only if there would be fewer than 8 */
				assert_true(geo.seg_blocks >= 64 ||
					    (n - 4) / (geo.seg_blocks * 2) < 8);
				assert_true(geo.seg_blocks <= 64 ||
					    geo.seg_blocks * size <= 1 << 20);
				/* what is left over is less than a segment */
				assert_true(n - 4 - (u64)geo.nr_segs * geo.seg_blocks <
					    geo.seg_blocks);
				zj_encode_log_super(&geo, block);
				assert_null(zj_decode_log_super(block, &geo));
			}
	assert_int_equal(zj_make_geometry(&geo, 32768, 4096, 4), 0);
	assert_int_equal(geo.seg_blocks, 256);
	assert_int_equal(geo.nr_segs, 127);
}

/* At each number of blocks from which on the segments are larger, and one block below. */
static void geometry_at_its_bounds(void **state)
{
	static const struct {
		u32 lanes, segs, seg_blocks;	/* so many are just enough for that size */
	} cases[] = {
		/* Four of a lane, but eight at least. */
		{ 4, 16, 256 }, { 4, 16, 128 }, { 3, 12, 256 },
		{ 1, 8, 256 }, { 2, 8, 128 },
		/* As small as usual, with lanes or without; smaller for the eight alone. */
		{ 1, 8, 64 }, { 8, 8, 64 }, { 1, 8, 32 }, { 8, 8, 16 },
	};
	struct zj_log_geometry geo;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 blocks = ZJ_LOG_FIRST + cases[i].segs * cases[i].seg_blocks;

		assert_int_equal(zj_make_geometry(&geo, blocks, 4096, cases[i].lanes), 0);
		assert_int_equal(geo.seg_blocks, cases[i].seg_blocks);
		assert_int_equal(geo.nr_segs, cases[i].segs);
		assert_int_equal(zj_make_geometry(&geo, blocks - 1, 4096, cases[i].lanes), 0);
		assert_int_equal(geo.seg_blocks, cases[i].seg_blocks / 2);
	}
	assert_int_equal(zj_make_geometry(&geo, ZJ_LOG_FIRST + 8 * 8, 4096, 1), 0);
	assert_int_equal(geo.seg_blocks, 8);
}

static void geometry_refused(void **state)
{
	struct zj_log_geometry geo;

	assert_int_equal(zj_make_geometry(&geo, 67, 4096, 1), -ENOSPC);
	assert_int_equal(zj_make_geometry(&geo, 0, 4096, 1), -ENOSPC);
	assert_int_equal(zj_make_geometry(&geo, 1024, 512, 1), -EINVAL);
	assert_int_equal(zj_make_geometry(&geo, 1024, 4097, 1), -EINVAL);
	assert_int_equal(zj_make_geometry(&geo, 1024, 4096, 0), -EINVAL);
	assert_int_equal(zj_make_geometry(&geo, 1024, 4096, ZJ_MAX_LANES + 1),
			 -EINVAL);
}

/* Blocks are encoded completely, whatever the memory held. */
static void old_contents_do_not_show(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	u8 junk[1024], clean[1024] = { };

	memset(junk, 0xee, sizeof(junk));
	zj_encode_ckpt(&d->geo, 5, 6, junk);
	zj_encode_ckpt(&d->geo, 5, 6, clean);
	assert_memory_equal(junk, clean, sizeof(clean));
	memset(junk, 0xee, sizeof(junk));
	zj_encode_log_super(&d->geo, junk);
	zj_encode_log_super(&d->geo, clean);
	assert_memory_equal(junk, clean, sizeof(clean));
	ml_free(d);
}

static void checkpoint_round_trip_and_every_bit(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	u8 *block = ml_block(d, 3);
	u64 seq, stamp;

	ml_ckpt(d, 77, 0x123456789abcdefULL);
	assert_true(zj_decode_ckpt(&d->geo, block, &seq, &stamp));
	assert_true(seq == 77 && stamp == 0x123456789abcdefULL);
	for (u32 bit = 0; bit < ZJ_SECTOR * 8; bit++) {
		block[bit / 8] ^= 1 << bit % 8;
		assert_false(zj_decode_ckpt(&d->geo, block, &seq, &stamp));
		block[bit / 8] ^= 1 << bit % 8;
	}
	d->geo.generation++;
	assert_false(zj_decode_ckpt(&d->geo, block, &seq, &stamp));
	d->geo.generation--;
	d->geo.uuid[3] ^= 1;
	assert_false(zj_decode_ckpt(&d->geo, block, &seq, &stamp));
	ml_free(d);
}

static const struct zj_chunk sample = {
	.seg_seq = 0x1122334455667788ULL,
	.seg_index = 2,
	.seg_block = 1,
	.stamp = 0xabcdef0123456789ULL,
	.tid = 0xdeadbeef,
	.lane = 3,
	.nr_members = 4,
	.chunk_index = 5,
	.nr_chunks = 6,
	.nr_deps = 2,
	.nr_revokes = 3,
	.nr_tags = 4,
	.commit_sec = 0x66778899aabbccddULL,
};

static void chunk_round_trip_and_every_bit(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	struct zj_chunk back;
	u8 *block = ml_block(d, ml_seg_block(d, 2, 1));

	memset(&back, 0, sizeof(back));
	/* Each tag has all lines. */
	memset(block, 0xff, d->geo.block_size);
	zj_encode_chunk(&d->geo, d->seed, &sample, block);
	assert_true(zj_decode_chunk(&d->geo, d->seed, 2, 1, block, &back));
	assert_memory_equal(&back, &sample, sizeof(back));
	assert_false(zj_decode_chunk(&d->geo, d->seed, 3, 1, block, &back));
	assert_false(zj_decode_chunk(&d->geo, d->seed, 2, 0, block, &back));
	assert_false(zj_decode_chunk(&d->geo, d->seed + 1, 2, 1, block, &back));
	/* Of another generation, though the checksum is right. */
	d->geo.generation++;
	assert_false(zj_decode_chunk(&d->geo, d->seed, 2, 1, block, &back));
	d->geo.generation--;
	for (u32 bit = 0; bit < d->geo.block_size * 8; bit++) {
		block[bit / 8] ^= 1 << bit % 8;
		assert_false(zj_decode_chunk(&d->geo, d->seed, 2, 1, block, &back));
		block[bit / 8] ^= 1 << bit % 8;
	}
	ml_free(d);
}

static bool sane(struct memdev *d, const struct zj_chunk *c)
{
	struct zj_chunk back;
	u8 block[1024];

	/* Each tag has all lines. */
	memset(block, 0xff, sizeof(block));
	zj_encode_chunk(&d->geo, d->seed, c, block);
	assert_true(zj_chunk_csum_good(&d->geo, d->seed, block));
	return zj_decode_chunk(&d->geo, d->seed, c->seg_index, c->seg_block,
			       block, &back);
}

static void chunk_absurd(void **state)
{
	struct memdev *d = ml_new(8, 64, 1);
	struct zj_chunk c;
	u32 room = (1024 - 128) / 8;

#define SANE(want, field, value) do {				\
	c = sample;						\
	c.field = (value);					\
	assert_int_equal(sane(d, &c), (want));			\
} while (0)
	SANE(true, tid, 0);
	SANE(false, stamp, 0);
	SANE(false, nr_members, 0);
	SANE(true, nr_members, 8);
	SANE(false, nr_members, 9);
	SANE(false, nr_members, ~0U);
	SANE(true, lane, 7);
	SANE(false, lane, 8);
	SANE(false, lane, ~0U);
	SANE(false, nr_chunks, 0);
	SANE(false, nr_chunks, 5);
	SANE(false, chunk_index, 6);
	SANE(false, chunk_index, ~0U);
	SANE(true, nr_deps, 8);		/* one for each lane */
	SANE(false, nr_deps, 9);
	SANE(false, nr_deps, 0x20000000);
	SANE(false, nr_deps, ~0U);
	SANE(true, nr_revokes, room - 2 - 4 * 3);
	SANE(false, nr_revokes, room - 2 - 4 * 3 + 1);
	SANE(false, nr_revokes, ~0U);
	SANE(true, nr_tags, (room - 5) / 3);
	SANE(false, nr_tags, (room - 5) / 3 + 1);
	SANE(false, nr_tags, ~0U);
	SANE(true, committed_stamp, sample.stamp - 1);
	SANE(false, committed_stamp, sample.stamp);
	SANE(false, committed_stamp, ~0ULL);
	SANE(true, seg_block, 59);
	SANE(false, seg_block, 60);	/* its images would leave the segment */
	SANE(false, seg_block, 64);
	SANE(false, seg_block, ~0U);
#undef SANE
	ml_free(d);
}

static void chunk_reserved_fields(void **state)
{
	struct memdev *d = ml_new(8, 8, 1);
	u32 at = ml_seg_block(d, 2, 1);
	u8 *block = ml_block(d, at);
	struct zj_chunk back;

	for (u32 byte = 0x50; byte < sizeof(struct zj_chunk_header); byte++) {
		if (byte >= 0x58 && byte < 0x60)
			continue;
		zj_encode_chunk(&d->geo, d->seed, &sample, block);
		block[byte] = 1;
		ml_reseal(d, at);
		assert_true(zj_chunk_csum_good(&d->geo, d->seed, block));
		assert_false(zj_decode_chunk(&d->geo, d->seed, 2, 1, block, &back));
	}
	ml_free(d);
}

static void escape_round_trip(void **state)
{
	static const struct {
		u8 bytes[4];
		u16 flags;
	} cases[] = {
		{ { 0xc0, 0x3b, 0x39, 0x98 }, ZJ_TAG_ESC_JBD2 },
		{ { 'Z', 'J', 'C', 'H' }, ZJ_TAG_ESC_CHUNK },
		{ { 0x98, 0x39, 0x3b, 0xc0 }, 0 },
		{ { 'H', 'C', 'J', 'Z' }, 0 },
		{ { 0, 0, 0, 0 }, 0 },
	};
	u8 image[8];

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u16 flags;

		memset(image, 0x5a, sizeof(image));
		memcpy(image, cases[i].bytes, 4);
		flags = zj_escape(image);
		assert_int_equal(flags, cases[i].flags);
		if (flags)
			assert_memory_equal(image, "\0\0\0", 4);
		zj_unescape(image, flags);
		assert_memory_equal(image, cases[i].bytes, 4);
		assert_memory_equal(image + 4, "\x5a\x5a\x5a\x5a", 4);
	}
}

/*
 * What a commit may take at worst, and what a mount makes of a journal's size: numbers
 * that promises and old logs rely on, so that nobody changes them unawares.
 */
static void promises_in_numbers(void **state)
{
	static const struct {
		u32 blocks, size, lanes, got, segs, seg, largest, txn[4];
	} rows[] = {
		/* txn: log blocks of 0, 1, 100 and 5000 images */
		{ 68, 1024, 1, 1, 8, 8, 15,
		  { 5, 6, 141, 6852 } },
		{ 67, 1024, 1, 0, 0, 0, 14,
		  { 0, 0, 0, 0 } },
		{ 124, 1024, 4, 4, 15, 8, 28,
		  { 5, 6, 141, 6852 } },
		{ 160, 1024, 2, 2, 9, 16, 35,
		  { 5, 6, 121, 5874 } },
		{ 400, 1024, 4, 3, 12, 32, 88,
		  { 5, 6, 113, 5482 } },
		{ 1023, 1024, 2, 2, 15, 64, 224,
		  { 5, 6, 109, 5304 } },
		{ 1024, 1024, 2, 1, 15, 64, 768,
		  { 5, 6, 109, 5304 } },
		{ 1024, 4096, 2, 2, 15, 64, 702,
		  { 5, 6, 107, 5197 } },
		{ 1273, 1024, 2, 2, 19, 64, 954,
		  { 5, 6, 109, 5304 } },
		{ 1661, 1024, 3, 3, 25, 64, 1100,
		  { 5, 6, 109, 5304 } },
		{ 4096, 4096, 8, 8, 63, 64, 1365,
		  { 5, 6, 107, 5197 } },
		{ 8192, 4096, 4, 4, 31, 256, 2730,
		  { 5, 6, 105, 5073 } },
		{ 16384, 4096, 16, 16, 127, 128, 5461,
		  { 5, 6, 105, 5113 } },
		{ 32768, 4096, 4, 4, 127, 256, 10922,
		  { 5, 6, 105, 5073 } },
		{ 32768, 4096, 64, 64, 511, 64, 10922,
		  { 5, 6, 107, 5197 } },
		{ 65536, 4096, 256, 223, 1023, 64, 21845,
		  { 5, 6, 107, 5197 } },
		{ 262144, 4096, 256, 256, 2047, 128, 87381,
		  { 5, 6, 105, 5113 } },
		{ 1048576, 1024, 256, 256, 2047, 512, 349525,
		  { 7, 8, 109, 5162 } },
		{ 16384, 65536, 16, 16, 255, 64, 5461,
		  { 5, 6, 107, 5166 } },
		{ 4096, 16384, 3, 3, 63, 64, 1365,
		  { 5, 6, 107, 5172 } },
	};
	static const u32 n[] = { 0, 1, 100, 5000 };
	struct zj_log_geometry geo;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(zj_fit_lanes(&geo, rows[i].blocks, rows[i].size, rows[i].lanes),
				 rows[i].got);
		assert_int_equal(zj_largest_handle(rows[i].blocks, rows[i].size),
				 rows[i].largest);
		if (!rows[i].got)
			continue;
		assert_int_equal(geo.nr_lanes, rows[i].got);
		assert_int_equal(geo.nr_segs, rows[i].segs);
		assert_int_equal(geo.seg_blocks, rows[i].seg);
		for (u32 k = 0; k < ARRAY_SIZE(n); k++)
			assert_int_equal(zj_txn_blocks(&geo, n[k]), rows[i].txn[k]);
	}
}

static void jbd2_super_csum(void **state)
{
	struct zj_jbd2_super sb = { .s_magic = cpu_to_be32(ZJ_JBD2_MAGIC) };
	__be32 csum = zj_jbd2_super_csum(&sb);

	/* Independent of what stands in the field, dependent on all else. */
	assert_int_equal(be32_to_cpu(csum), crc32c(~0U, &sb, sizeof(sb)));
	sb.s_checksum = csum;
	assert_int_equal(zj_jbd2_super_csum(&sb), csum);
	sb.s_users[767] = 1;
	assert_int_not_equal(zj_jbd2_super_csum(&sb), csum);
}

static struct zj_jbd2_super good_jbd2_super(void)
{
	struct zj_jbd2_super sb = {
		.s_magic = cpu_to_be32(ZJ_JBD2_MAGIC),
		.s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2),
		.s_blocksize = cpu_to_be32(4096),
		.s_maxlen = cpu_to_be32(1024),
		.s_first = cpu_to_be32(1),
	};

	return sb;
}

#define CHECK_JBD2(text, in_use, change)					\
do {									\
	const char *wrong;						\
									\
	sb = good_jbd2_super();						\
	change;								\
	wrong = zj_check_jbd2_super(&sb, 4096, 1024, in_use);		\
	if (text)							\
		assert_string_equal(wrong, text);			\
	else								\
		assert_null(wrong);					\
} while (0)

static void jbd2_super_is_checked(void **state)
{
	struct zj_jbd2_super sb;

	CHECK_JBD2(NULL, false, );
	CHECK_JBD2("is not a journal superblock", false, sb.s_magic ^= 1);
	CHECK_JBD2(NULL, false, sb.s_blocktype = cpu_to_be32(3));
	CHECK_JBD2("is not of version 1 or 2", false, sb.s_blocktype = cpu_to_be32(2));
	CHECK_JBD2("is not of version 1 or 2", false, sb.s_blocktype = cpu_to_be32(5));
	CHECK_JBD2("has a block size that differs from the file system's", false,
		   sb.s_blocksize = cpu_to_be32(1024));
	CHECK_JBD2("says that the journal is longer than its inode or device", false,
		   sb.s_maxlen = cpu_to_be32(1025));
	CHECK_JBD2(NULL, false, sb.s_maxlen = cpu_to_be32(2));
	CHECK_JBD2("has a bad first block", false, sb.s_maxlen = cpu_to_be32(1));
	CHECK_JBD2("has a bad first block", false, sb.s_first = 0);
	CHECK_JBD2("has a bad first block", false, sb.s_first = cpu_to_be32(1024));
	CHECK_JBD2(NULL, false, sb.s_first = cpu_to_be32(1023));
	/* A checksum is ignored if no feature asks for it. */
	CHECK_JBD2(NULL, false, sb.s_checksum = 1);
	for (u32 kind = ZJ_JBD2_INCOMPAT_CSUM_V2; ; kind = ZJ_JBD2_INCOMPAT_CSUM_V3) {
		CHECK_JBD2("has a wrong checksum", false,
			   sb.s_feature_incompat = cpu_to_be32(kind);
			   sb.s_checksum_type = ZJ_JBD2_CRC32C);
		CHECK_JBD2("asks for an unknown kind of checksums", false,
			   sb.s_feature_incompat = cpu_to_be32(kind));
		CHECK_JBD2("asks for two kinds of checksums", false,
			   sb.s_feature_incompat = cpu_to_be32(kind);
			   sb.s_feature_compat = cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM));
		/* e2fsck may have changed s_errno of a log in use. */
		CHECK_JBD2(NULL, true, sb.s_feature_incompat = cpu_to_be32(kind);
			   sb.s_checksum_type = ZJ_JBD2_CRC32C);
		CHECK_JBD2(NULL, false, sb.s_feature_incompat = cpu_to_be32(kind);
			   sb.s_checksum_type = ZJ_JBD2_CRC32C;
			   zj_jbd2_super_set_csum(&sb));
		if (kind == ZJ_JBD2_INCOMPAT_CSUM_V3)
			break;
	}
	sb = good_jbd2_super();
	zj_jbd2_super_set_csum(&sb);
	assert_int_equal(sb.s_checksum, 0);
}

/* Ours are gone, what is stock's stays; the number only grows. */
static void jbd2_super_of_a_clean_journal(void **state)
{
	u8 uuid[16] = "memory's number";

	for (u32 nvm = 0; nvm < 2; nvm++) {
		struct zj_jbd2_super sb = good_jbd2_super(), want = sb;

		memset(sb.s_padding, 0x55, sizeof(sb.s_padding));
		want = sb;
		want.s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_64BIT);
		want.s_sequence = cpu_to_be32(256);
		if (nvm)
			memset(want.s_padding + ZJ_NVM_MARK_AT, 0, sizeof(struct zj_nvm_mark));
		sb.s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_64BIT |
						    ZJ_JBD2_INCOMPAT_LANES);
		if (nvm)
			zj_set_nvm_mark(&sb, uuid, 77);
		sb.s_sequence = cpu_to_be32(255);
		sb.s_start = cpu_to_be32(5);
		sb.s_head = cpu_to_be32(6);
		zj_clean_jbd2_super(&sb);
		assert_memory_equal(&sb, &want, sizeof(sb));
	}
}

const struct CMUnitTest codec_tests[] = {
	cmocka_unit_test(crc32c_known_values),
	cmocka_unit_test(log_super_round_trip),
	cmocka_unit_test(log_super_every_bit),
	cmocka_unit_test(log_super_absurd),
	cmocka_unit_test(log_super_at_its_bounds),
	cmocka_unit_test(log_super_version_and_reserved),
	cmocka_unit_test(geometry_sizes),
	cmocka_unit_test(geometry_at_its_bounds),
	cmocka_unit_test(geometry_refused),
	cmocka_unit_test(old_contents_do_not_show),
	cmocka_unit_test(checkpoint_round_trip_and_every_bit),
	cmocka_unit_test(chunk_round_trip_and_every_bit),
	cmocka_unit_test(chunk_absurd),
	cmocka_unit_test(chunk_reserved_fields),
	cmocka_unit_test(escape_round_trip),
	cmocka_unit_test(promises_in_numbers),
	cmocka_unit_test(jbd2_super_csum),
	cmocka_unit_test(jbd2_super_is_checked),
	cmocka_unit_test(jbd2_super_of_a_clean_journal),
};
const size_t nr_codec_tests = ARRAY_SIZE(codec_tests);
