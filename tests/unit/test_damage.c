// SPDX-License-Identifier: GPL-2.0-only
/* Logs that no crash can leave: recovery refuses them, says why, and writes nothing. */
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include "memlog.h"
#include "tests.h"

/* A log that would be replayed, so that a write would show. */
static struct memdev *good_log(void)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	return d;
}

static void refused(struct memdev *d, const char *text)
{
	ml_recover_refused(d, text);
	ml_free(d);
}

static void log_super_damaged(void **state)
{
	struct memdev *d = good_log();
	u8 *block = ml_block(d, 1);

	block[0x20] ^= 1;
	ml_recover_refused(d, "log super block (journal block 1): wrong checksum");
	block[0] ^= 1;
	refused(d, "log super block (journal block 1): wrong magic");
}

/* The journal is so long, and has blocks of this size. */
static int recover_as(struct memdev *d, u32 block_size, u32 journal_blocks, unsigned int flags)
{
	struct zj_recovery_stats stats;
	struct zj_recovery_args args = ml_args(d, &mem_ops, flags, &stats);

	args.block_size = block_size;
	args.journal_blocks = journal_blocks;
	return zj_recover(&args, mem_uuid);
}

static void log_super_does_not_fit(void **state)
{
	struct memdev *d = good_log();
	struct zj_recovery_stats s;
	struct zj_recovery_args args = ml_args(d, &mem_ops, ZJ_RECOVER_DRY_RUN, &s);
	u8 other[16] = "another-fs-uuid";
	struct zj_log_geometry geo = d->geo;
	u32 total = geo.total_blocks;
	u8 block[2048];

	/* tune2fs -U under a live log: the bit in block 0 says that it is ours. */
	assert_int_equal(zj_recover(&args, other), 0);
	assert_int_equal(d->notices, 2);
	assert_int_equal(recover_as(d, 1024, total - 1, 0), -EUCLEAN);
	assert_non_null(strstr(d->error, "132 blocks long, but the journal only 131"));
	assert_int_equal(recover_as(d, 1024, total + 9, ZJ_RECOVER_DRY_RUN), 0);
	geo.block_size = 2048;
	zj_encode_log_super(&geo, block);
	memcpy(ml_block(d, 1), block, 1024);
	assert_int_equal(recover_as(d, 1024, total, 0), -EUCLEAN);
	assert_non_null(strstr(d->error, "block size is 2048"));
	assert_int_equal(d->writes, 0);
	ml_free(d);
}

static void arguments_out_of_range(void **state)
{
	static const u32 sizes[] = { 0, 1, 512, 1025, 131072, 0x80000000 };
	struct memdev *d = good_log();

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(recover_as(d, sizes[i], 132, 0), -EINVAL);
	assert_int_equal(recover_as(d, 1024, ZJ_LOG_FIRST, 0), -EINVAL);
	assert_int_equal(d->reads, 0);
	assert_int_equal(d->writes, 0);
	ml_free(d);
}

static void seal_ckpt(struct memdev *d, u32 at)
{
	struct zj_ckpt_slot *slot = ml_block(d, at);

	slot->csum = 0;
	slot->csum = cpu_to_le32(crc32c(d->seed, slot, sizeof(*slot)));
}

static void ckpt_slots_contradict(void **state)
{
	struct memdev *d = good_log();

	ml_ckpt(d, 1, 20);
	ml_ckpt(d, 2, 19);
	refused(d, "checkpoint slots (journal blocks 2 and 3) contradict");
	d = good_log();
	ml_ckpt(d, 1, 5);
	memcpy(ml_block(d, 2), ml_block(d, 3), 1024);
	refused(d, "checkpoint slot (journal block 2) has a correct checksum, but belongs in the other slot");
	d = good_log();
	ml_ckpt(d, 1, 5);
	*(u8 *)(ml_block(d, 3) + 0x20) = 1;
	seal_ckpt(d, 3);
	refused(d, "checkpoint slot (journal block 3) has a correct checksum");
	d = good_log();
	ml_ckpt(d, 1, 5);
	ml_ckpt(d, 2, 6);
	*(u8 *)(ml_block(d, 2) + 0x18) ^= 1;
	*(u8 *)(ml_block(d, 3) + 0x18) ^= 1;
	refused(d, "both checkpoint slots");
}

static void member_counts_contradict(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2);
	PUT(d, 2, .stamp = 2, .lane = 2, .members = 3);
	refused(d, "stamp 2: segment 1 block 0 and segment 2 block 0 disagree on the number of members");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .members = 1);
	PUT(d, 2, .stamp = 2, .lane = 2, .members = 1);
	PUT(d, 3, .stamp = 2, .lane = 3, .members = 1);
	refused(d, "stamp 2 has 3 members, but segment 1 block 0 names only 1");
}

static void members_contradict(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 2, .lane = 1, .tid = 3, .chunks = 2, .index = 0);
	PUT(d, 1, .stamp = 2, .lane = 1, .tid = 4, .chunks = 2, .index = 1);
	refused(d, "segment 1 block 0 and segment 1 block 1 are two transactions of one lane");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .chunks = 2, .index = 0);
	PUT(d, 1, .stamp = 2, .lane = 1, .chunks = 3, .index = 1);
	refused(d, "disagree on the number of chunks");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .chunks = 2, .index = 1);
	PUT(d, 2, .stamp = 2, .lane = 1, .chunks = 2, .index = 1);
	refused(d, "are the same chunk of one transaction");
}

static void same_block_twice(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2, .img = { { 8, 'w' }, { 9, 'x' } });
	PUT(d, 2, .stamp = 2, .lane = 2, .members = 2, .img = { { 9, 'y' } });
	refused(d, "stamp 2: two images of block 9, in segment 1 block 2 and segment 2 block 1");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 9, 'x' }, { 9, 'x' } });
	refused(d, "two images of block 9");
}

static void dependency_not_older(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 2 });
	refused(d, "segment 1 block 0: stamp 2 depends on 2");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2, .deps = { 1, ~0ULL });
	refused(d, "depends on 18446744073709551615");
}

static void home_block_beyond(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 31, 'x' }, { 32, 'x' } });
	refused(d, "segment 1 block 0: image of block 32, but the device has 32");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 33, 'x' } });
	refused(d, "image of block 33, but the device has 32 blocks");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1, .revokes = { 31, 32 });
	refused(d, "revoke of block 32, but the device has 32");
}

static void home_block_of_the_journal(void **state)
{
	struct memdev *d = good_log();

	/* It lies in blocks 20 and up. */
	d->log_home = 20;
	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 19, 'x' } });
	ml_recover_ok(d, NULL);
	ml_free(d);
	d = good_log();
	d->log_home = 20;
	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 7, 'y' }, { 23, 'x' } });
	refused(d, "stamp 2: segment 1 block 2 is an image of block 23, which is the journal's own block 3");
}

static void tag_contents(void **state)
{
	static const struct {
		u64 lines;
		u16 flags, reserved;
		const char *text;
	} cases[] = {
		{ ~1ULL, 0, 0, "impossible counts" },
		{ 0, 0, 0, "impossible counts" },
		{ ~0ULL, 4, 0, "unknown flags 0x4" },
		{ ~0ULL, 0x8000, 0, "unknown flags 0x8000" },
		{ ~0ULL, 3, 0, "unknown flags 0x3" },
		{ ~0ULL, 0, 1, "unknown flags" },
		{ ~0ULL, 1, 0, "marked as escaped" },
		{ ~0ULL, 2, 0, "marked as escaped" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memdev *d = good_log();
		u32 at = PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 9, 'x' } });
		struct zj_tag *tag = zj_chunk_tags(ml_block(d, at), 0, 0);

		tag->lines = cpu_to_le64(cases[i].lines);
		tag->flags = cpu_to_le16(cases[i].flags);
		tag->reserved = cpu_to_le16(cases[i].reserved);
		ml_reseal(d, at);
		refused(d, cases[i].text);
	}
}

static void header_in_wrong_place(void **state)
{
	struct memdev *d = good_log();

	memcpy(ml_block(d, ml_seg_block(d, 3, 0)),
	       ml_block(d, ml_seg_block(d, 0, 0)), 1024);
	refused(d, "segment 3 block 0: chunk header with a correct checksum");
}

static void header_counts(void **state)
{
	struct memdev *d = good_log();
	u32 at = PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 9, 'x' } });
	struct zj_chunk_header *h = ml_block(d, at);

	h->nr_tags = cpu_to_le32(8);
	ml_reseal(d, at);
	refused(d, "segment 1 block 0: chunk header with a correct checksum");
}

static void segment_of_two_lanes(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 0, .stamp = 2, .lane = 1);
	refused(d, "segment 0 block 2: chunk of lane 1 in a segment of lane 0");
}

static void stamps_go_back(void **state)
{
	struct memdev *d = good_log();

	PUT(d, 1, .stamp = 3, .lane = 1);
	PUT(d, 1, .stamp = 2, .lane = 1);
	refused(d, "segment 1 block 1: stamp 2 after 3");
	d = good_log();
	PUT(d, 1, .stamp = 2, .lane = 1);
	PUT(d, 1, .stamp = 4, .lane = 1);
	PUT(d, 1, .stamp = 3, .lane = 1);
	refused(d, "segment 1 block 2: stamp 3 after 4");
}

const struct CMUnitTest damage_tests[] = {
	cmocka_unit_test(log_super_damaged),
	cmocka_unit_test(log_super_does_not_fit),
	cmocka_unit_test(arguments_out_of_range),
	cmocka_unit_test(ckpt_slots_contradict),
	cmocka_unit_test(member_counts_contradict),
	cmocka_unit_test(members_contradict),
	cmocka_unit_test(same_block_twice),
	cmocka_unit_test(dependency_not_older),
	cmocka_unit_test(home_block_beyond),
	cmocka_unit_test(home_block_of_the_journal),
	cmocka_unit_test(tag_contents),
	cmocka_unit_test(header_in_wrong_place),
	cmocka_unit_test(header_counts),
	cmocka_unit_test(segment_of_two_lanes),
	cmocka_unit_test(stamps_go_back),
};
const size_t nr_damage_tests = ARRAY_SIZE(damage_tests);
