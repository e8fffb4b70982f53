// SPDX-License-Identifier: GPL-2.0-only
/* The committed stamp: recovery of logs with a lost or damaged part. */
#include <stdio.h>
#include "memlog.h"
#include "tests.h"

/* Three components of one lane, then one of another lane that knows of all three. */
static struct memdev *durable_log(u32 at[3])
{
	struct memdev *d = ml_new(16, 8, 32);

	at[0] = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at[1] = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	at[2] = PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	PUT(d, 4, .stamp = 4, .lane = 1, .durable = 3, .img = { { 8, 'd' } });
	return d;
}

static void durable_and_whole(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	ml_recover_ok(d, &s);
	assert_int_equal(s.committed_stamp, 3);
	assert_int_equal(s.committed_components, 4);
	ml_free(d);
}

/* The message names the lowest of several torn ones with its place; others are missing. */
static void durable_lost_is_reported_with_its_place(void **state)
{
	for (u32 first = 1; first <= 3; first++) {
		u32 at[3], place;
		struct memdev *d;
		char text[128];

		for (u32 also = 0; also < 2; also++) {
			d = durable_log(at);
			for (u32 i = first - 1; i < (also ? 3 : first); i++)
				((u8 *)ml_block(d, at[i] + 1))[700] ^= 1;
			place = at[first - 1] - ml_seg_block(d, 0, 0);
			snprintf(text, sizeof(text), "stamp %u: a block of segment 0 block %u has a wrong checksum, though all up to stamp 3",
				 first, place);
			ml_recover_refused(d, text);
			ml_free(d);
		}
	}
	for (u32 newer = 0; newer < 2; newer++) {
		struct memdev *d = ml_new(16, 8, 32);
		/* The older one is found later. */
		u32 b = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
		u32 a = PUT(d, 1, .stamp = 1, .lane = 1, .img = { { 5, 'a' } });

		PUT(d, 2, .stamp = 3, .lane = 2, .durable = 2, .img = { { 7, 'c' } });
		((u8 *)ml_block(d, a + 1))[700] ^= 1;
		((u8 *)ml_block(d, b + 1))[700] ^= newer;
		ml_recover_refused(d, "stamp 1: a block of segment 1 block 0 has a wrong");
		ml_free(d);
	}
}

/* A changed image, a changed header, a block that was never written. */
static void durable_lost(void **state)
{
	struct memdev *d;
	char text[64];
	u32 at[3];

	for (u32 i = 0; i < 9; i++) {
		d = durable_log(at);
		if (i % 3 == 0)
			((u8 *)ml_block(d, at[i / 3] + 1))[700] ^= 1;
		else if (i % 3 == 1)
			((u8 *)ml_block(d, at[i / 3]))[700] ^= 1;
		else
			memset(ml_block(d, at[i / 3]), 0, 1024);
		snprintf(text, sizeof(text), "damaged log: stamp %u", 1 + i / 3);
		ml_recover_refused(d, text);
		ml_free(d);
	}
}

/* A committed stamp that only a header after the lost one has; the last chunk is not covered. */
static void durable_behind_lost_header(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d = ml_new(16, 8, 32);
	u32 at, last;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	last = PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, last + 1))[1000] ^= 1;
	ml_recover_ok(d, &s);
	assert_int_equal(s.committed_components, 2);
	assert_int_equal(s.committed_stamp, 2);
	ml_free(d);

	d = ml_new(16, 8, 32);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, at))[900] ^= 1;
	ml_recover_refused(d, "stamp 2 is not in the log, or in part only, though all up to stamp 2 was durable");
	ml_free(d);
}

static void durable_first_block_lost(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	u32 at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });

	PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	((u8 *)ml_block(d, at))[900] ^= 1;
	ml_recover_refused(d, "stamp 1 is not in the log");
	ml_free(d);
}

/* Reclaimed stamps are not missed, wherever the checkpoint stamp was found. */
static void durable_and_reclaimed(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	memset(ml_block(d, at[0]), 0, 1024);
	ml_ckpt(d, 1, 3);
	ml_recover_ok(d, &s);
	assert_int_equal(s.committed_components, 1);
	ml_free(d);

	d = ml_new(16, 8, 32);
	d->geo.ckpt_stamp = 70;
	ml_log_super(d);
	PUT(d, 0, .stamp = 71, .durable = 70, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 72, .durable = 71, .img = { { 6, 'b' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.ckpt_stamp, 70);
	assert_int_equal(s.committed_components, 2);
	ml_free(d);
}

/* The newest checkpoint slot has rotted, and what it freed is in use again. */
static void ckpt_slot_rotten(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	ml_ckpt(d, 1, 0);
	ml_ckpt(d, 2, 1);
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, 2))[0x100] ^= 1;
	ml_recover_refused(d, "stamp 1 is not in the log");
	ml_free(d);
}

static void durable_dropped(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	((u8 *)ml_block(d, at[1] + 1))[700] ^= 1;
	assert_int_equal(ml_recover_dropping(d, &s), 0);
	assert_int_equal(s.lost_stamp, 2);
	assert_int_equal(s.transactions, 1);
	assert_int_equal(s.discarded, 2);
	assert_int_equal(s.newest_stamp, 1);
	ml_expect(d, 5, 'a');
	for (u64 b = 6; b <= 8; b++)
		ml_expect(d, b, 0);
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_free(d);
}

/* The first one is lost; of those above it one is incomplete anyway. */
static void durable_dropped_from_the_first_on(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	PUT(d, 0, .stamp = 3, .members = 2, .durable = 1, .img = { { 7, 'c' } });
	PUT(d, 1, .stamp = 4, .lane = 1, .durable = 1, .img = { { 8, 'd' } });
	assert_int_equal(ml_recover_dropping(d, &s), 0);
	assert_int_equal(s.lost_stamp, 1);
	assert_int_equal(s.components, 3);
	assert_int_equal(s.committed_components, 0);
	assert_int_equal(s.transactions, 0);
	assert_int_equal(s.discarded, 3);
	assert_int_equal(s.newest_stamp, 0);
	assert_int_equal(s.replayed, 0);
	for (u64 b = 6; b <= 8; b++)
		ml_expect(d, b, 0);
	ml_free(d);
}

const struct CMUnitTest recovery_durable_tests[] = {
	cmocka_unit_test(durable_and_whole),
	cmocka_unit_test(durable_lost),
	cmocka_unit_test(durable_lost_is_reported_with_its_place),
	cmocka_unit_test(durable_behind_lost_header),
	cmocka_unit_test(durable_first_block_lost),
	cmocka_unit_test(durable_and_reclaimed),
	cmocka_unit_test(ckpt_slot_rotten),
	cmocka_unit_test(durable_dropped),
	cmocka_unit_test(durable_dropped_from_the_first_on),
};

const size_t nr_recovery_durable_tests = ARRAY_SIZE(recovery_durable_tests);
