// SPDX-License-Identifier: GPL-2.0-only
/* What recovery does with logs that a correct writer and a crash can leave. */
#include <asm/byteorder.h>
#include "memlog.h"
#include "tests.h"

static void empty_log(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	assert_int_equal(s.replayed, 0);
	ml_free(d);
}

static void committed_chain(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 0, .stamp = 2, .deps = { 1 }, .img = { { 5, 'b' } });
	PUT(d, 3, .stamp = 3, .lane = 1, .deps = { 1, 2 }, .img = { { 7, 'c' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 3);
	assert_int_equal(s.committed_components, 3);
	assert_int_equal(s.transactions, 3);
	assert_int_equal(s.chunks, 3);
	assert_int_equal(s.images, 4);
	assert_int_equal(s.replayed, 3);
	assert_int_equal(s.newest_stamp, 3);
	ml_expect(d, 5, 'b');
	ml_expect(d, 6, 'a');
	ml_expect(d, 7, 'c');
	ml_expect(d, 8, 0);
	ml_free(d);
}

/* One member, three chunks in two segments, the last one first. */
static void member_of_many_chunks(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 1, .chunks = 3, .index = 2, .img = { { 1, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 0, .img = { { 2, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 1, .img = { { 3, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.chunks, 3);
	assert_int_equal(s.transactions, 1);
	for (u64 b = 1; b <= 3; b++)
		ml_expect(d, b, 'a');
	ml_free(d);
}

static void missing_chunk(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 1, .chunks = 3, .index = 2, .img = { { 1, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 0, .img = { { 2, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 1);
	assert_int_equal(s.replayed, 0);
	ml_expect(d, 1, 0);
	ml_free(d);
}

static void missing_dependency(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 2, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .deps = { 1, 2 }, .img = { { 6, 'a' } });
	PUT(d, 2, .stamp = 4, .lane = 2, .deps = { 3 }, .img = { { 7, 'a' } });
	PUT(d, 3, .stamp = 5, .lane = 3, .deps = { 2 }, .img = { { 8, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.committed_components, 2);
	assert_int_equal(s.discarded, 2);
	ml_expect(d, 5, 'a');
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 0);
	ml_expect(d, 8, 'a');
	ml_free(d);
}

static void dependency_on_reclaimed(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_ckpt(d, 1, 7);
	PUT(d, 0, .stamp = 7, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 8, .deps = { 7, 3 }, .img = { { 6, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.ckpt_stamp, 7);
	assert_int_equal(s.components, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

static void reclaimed_images_are_not_read(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	ml_ckpt(d, 1, 7);
	at = PUT(d, 0, .stamp = 7, .img = { { 5, 'o' } });
	memset(ml_block(d, at + 1), 0xff, 1024);
	PUT(d, 0, .stamp = 8, .img = { { 6, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.torn_chunks, 0);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

static void torn_image(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 0, .stamp = 2, .img = { { 7, 'b' } });
	memset(ml_block(d, at + 2) + ZJ_SECTOR, 0, ZJ_SECTOR);
	ml_recover_ok(d, &s);
	assert_int_equal(s.torn_chunks, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	/* Scanning goes on after it; nothing says that 2 needs 1. */
	ml_expect(d, 7, 'b');
	ml_free(d);
}

static void torn_header(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .deps = { 1 }, .img = { { 6, 'b' } });
	memset(ml_block(d, at) + ZJ_SECTOR, 0xff, ZJ_SECTOR);
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_free(d);
}

static void ckpt_slots_alternate(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	for (u64 seq = 1; seq < 6; seq++) {
		ml_ckpt(d, seq, seq * 10);
		assert_int_equal(ml_recover(d, true, &s), 0);
		assert_int_equal(s.ckpt_stamp, seq * 10);
	}
	ml_free(d);
}

static void ckpt_slot_torn(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_ckpt(d, 1, 10);
	memset(ml_block(d, 3) + 0x18, 0, 8);
	assert_int_equal(ml_recover(d, true, &s), 0);
	assert_int_equal(s.ckpt_stamp, 0);
	ml_ckpt(d, 1, 10);
	ml_ckpt(d, 2, 20);
	memset(ml_block(d, 2) + 0x18, 0, 8);
	assert_int_equal(ml_recover(d, true, &s), 0);
	assert_int_equal(s.ckpt_stamp, 10);
	ml_free(d);
}

/* A slot of the last generation says nothing about this one. */
static void ckpt_slot_stale(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	d->geo.generation--;
	ml_ckpt(d, 8, 1000);
	ml_ckpt(d, 9, 1001);
	d->geo.generation++;
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.ckpt_stamp, 0);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

static void stale_generation(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 2, .img = { { 6, 'o' } });
	d->geo.generation++;
	d->seed = zj_seed(mem_uuid, d->geo.generation);
	ml_log_super(d);
	PUT(d, 1, .stamp = 1, .img = { { 7, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 'a');
	ml_free(d);
}

/* The new tenure is shorter; the old one's chunks after it are in place. */
static void stale_tenure(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 2, .img = { { 6, 'o' } });
	PUT(d, 0, .stamp = 9, .lane = 0, .img = { { 7, 'o' } });
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 11, .img = { { 8, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 1);
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 0);
	ml_expect(d, 8, 'a');
	ml_free(d);
}

/* The new tenure's first header was lost: the old one's is there instead. */
static void stale_first_chunk(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u8 old[1024];

	ml_ckpt(d, 1, 1);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	memcpy(old, ml_block(d, 4), sizeof(old));
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 2, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 3, .deps = { 2 }, .img = { { 6, 'a' } });
	memcpy(ml_block(d, 4), old, sizeof(old));
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_free(d);
}

/* A segment filled to its last block, and one that ends in a lone header. */
static void full_segment(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 15, .stamp = 1, .img = { { 1, 'a' }, { 2, 'a' }, { 3, 'a' },
					{ 4, 'a' }, { 5, 'a' }, { 6, 'a' },
					{ 7, 'a' } });
	PUT(d, 14, .stamp = 2, .lane = 1,
	    .img = { { 11, 'a' }, { 12, 'a' }, { 13, 'a' }, { 14, 'a' },
		     { 15, 'a' }, { 16, 'a' } });
	PUT(d, 14, .stamp = 3, .lane = 1, .revokes = { 11 });
	ml_recover_ok(d, NULL);
	for (u64 b = 1; b <= 7; b++)
		ml_expect(d, b, 'a');
	ml_expect(d, 11, 0);
	ml_expect(d, 16, 'a');
	ml_free(d);
}

static void revokes(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' }, { 7, 'a' } });
	PUT(d, 0, .stamp = 2, .img = { { 5, 'b' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .revokes = { 5, 6, 20 });
	PUT(d, 1, .stamp = 4, .lane = 1, .img = { { 6, 'c' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.images, 5);
	assert_int_equal(s.revoked, 3);
	assert_int_equal(s.replayed, 2);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 'c');
	ml_expect(d, 7, 'a');
	ml_free(d);
}

static void revoke_in_uncommitted_component(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2, .revokes = { 5 });
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

/* The revoke is reclaimed, so what it revoked is too. */
static void revoke_reclaimed(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	ml_ckpt(d, 1, 2);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .revokes = { 5 });
	PUT(d, 1, .stamp = 3, .lane = 1, .img = { { 5, 'b' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 'b');
	ml_free(d);
}

static void escaped_images(void **state)
{
	static const u8 magic[2][4] = {
		{ 0xc0, 0x3b, 0x39, 0x98 }, { 'Z', 'J', 'C', 'H' },
	};
	struct memdev *d = ml_new(16, 8, 32);

	for (u32 i = 0; i < 2; i++) {
		u32 at = PUT(d, i, .stamp = i + 1, .lane = i,
			     .img = { { 5 + i, 'a' } });
		struct zj_tag *tag = zj_chunk_tags(ml_block(d, at), 0, 0);
		u8 *image = ml_block(d, at + 1);

		memcpy(image, magic[i], 4);
		tag->flags = cpu_to_le16(zj_escape(image));
		assert_int_not_equal(tag->flags, 0);
		tag->csum = cpu_to_le32(zj_image_csum(d->seed, image, 1024));
		ml_reseal(d, at);
	}
	ml_recover_ok(d, NULL);
	for (u32 i = 0; i < 2; i++)
		assert_memory_equal(d->home + (5 + i) * 1024, magic[i], 4);
	ml_free(d);
}

/* Far more of everything than the arrays begin with. */
static void large_log(void **state)
{
	struct memdev *d = ml_new(32, 512, 4096);
	struct zj_recovery_stats s;
	u64 stamp = 0;

	for (u32 seg = 0; seg < 32; seg++)
		for (u32 i = 0; i < 500 / 5; i++) {
			stamp++;
			PUT(d, seg, .stamp = stamp, .lane = seg % 8,
			    .deps = { stamp - 1, stamp / 2 },
			    .revokes = { 4000 },
			    .img = { { stamp % 3000, 'x' }, { 3500, 'y' },
				     { 3600 + seg, 'a' + i % 20 },
				     { 3700 + i, 'b' } });
		}
	/* Stamp 1 has no dependencies, so revokes came first in its list. */
	assert_int_equal(ml_recover(d, false, &s), 0);
	assert_int_equal(s.committed_components, 3200);
	assert_int_equal(s.images, 4 * 3200);
	assert_int_equal(s.replayed, 3000 + 1 + 32 + 100);
	ml_expect(d, 3500, 'y');
	ml_expect(d, 3600, 'a' + 99 % 20);
	ml_free(d);
}

/* A chain of 3,000 whose first link is missing: nothing of it is committed. */
static void long_broken_chain(void **state)
{
	struct memdev *d = ml_new(32, 512, 32);
	struct zj_recovery_stats s;

	for (u64 stamp = 2; stamp < 3002; stamp++)
		PUT(d, (stamp - 2) / 256, .stamp = stamp, .deps = { stamp - 1 },
		    .img = { { 3, 'x' } });
	assert_int_equal(ml_recover(d, false, &s), 0);
	assert_int_equal(s.components, 3000);
	assert_int_equal(s.committed_components, 0);
	ml_expect(d, 3, 0);
	ml_free(d);
}

const struct CMUnitTest recovery_tests[] = {
	cmocka_unit_test(empty_log),
	cmocka_unit_test(committed_chain),
	cmocka_unit_test(member_of_many_chunks),
	cmocka_unit_test(missing_chunk),
	cmocka_unit_test(missing_dependency),
	cmocka_unit_test(dependency_on_reclaimed),
	cmocka_unit_test(reclaimed_images_are_not_read),
	cmocka_unit_test(torn_image),
	cmocka_unit_test(torn_header),
	cmocka_unit_test(ckpt_slots_alternate),
	cmocka_unit_test(ckpt_slot_torn),
	cmocka_unit_test(ckpt_slot_stale),
	cmocka_unit_test(stale_generation),
	cmocka_unit_test(stale_tenure),
	cmocka_unit_test(stale_first_chunk),
	cmocka_unit_test(full_segment),
	cmocka_unit_test(revokes),
	cmocka_unit_test(revoke_in_uncommitted_component),
	cmocka_unit_test(revoke_reclaimed),
	cmocka_unit_test(escaped_images),
	cmocka_unit_test(large_log),
	cmocka_unit_test(long_broken_chain),
};

const size_t nr_recovery_tests = ARRAY_SIZE(recovery_tests);
